"""``slowwave sessions``: what it prints, what it changes, and how it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from tests.unit.formats import opencode_files
from tests.unit.stores.store_builder import cersei, claude, tombstone, write

Capture = pytest.CaptureFixture[str]
LIST_FIELDS = [
    "dialect", "id", "path", "parts", "project", "title", "first_prompt", "records", "messages", "bad_lines", "bytes",
    "created", "last_activity", "kind",
]  # fmt: skip


def sessions(*args: object) -> int:
    return main(["sessions", *map(str, args)])


def objects(capsys: Capture) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def store_in(tmp_path: Path) -> Path:
    project = tmp_path / "projects" / "-home-ann-shop"
    write(
        project / "abc.jsonl",
        claude("user", "fix it", 0),
        claude("assistant", "done", 1),
        claude("user", "<system-reminder>x</system-reminder>thanks", 2),
        claude("assistant", "bye", 3),
    )
    write(project / "def.jsonl", cersei("user", "hello", 10), cersei("assistant", "hi", 11), tombstone("u10"))
    write(project / "def_part2.jsonl", cersei("user", "more", 12))
    write(project / "agent-1.jsonl", claude("user", "go", 5, isSidechain=True))
    write(project / "empty.jsonl")
    return tmp_path / "projects"


def test_list_prints_one_object_a_line_with_the_promised_fields(tmp_path: Path, capsys: Capture):
    assert sessions("list", "--store", store_in(tmp_path), "--json") == 0
    rows = objects(capsys)
    assert [list(row)[:14] for row in rows] == [LIST_FIELDS] * 3
    by_id = {row["id"]: row for row in rows}
    assert {i: (r["dialect"], r["kind"], r["parts"], r["messages"]) for i, r in by_id.items()} == {
        "abc": ("claude", "main", 1, 4),
        "def": ("cersei", "main", 2, 2),
        "agent-1": ("claude", "subagent", 1, 1),
    }
    assert by_id["def"]["bytes"] == sum(p.stat().st_size for p in Path(by_id["def"]["path"]).parent.glob("def*"))


def test_list_says_what_was_left_out(tmp_path: Path, capsys: Capture):
    sessions("list", "--store", store_in(tmp_path))
    printed = capsys.readouterr()
    assert "1 empty" in printed.err
    assert "2 sessions, and 1 of sub-agents" in printed.out
    assert "\x1b" not in printed.out


def test_list_filters_by_project_and_dialect(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    assert sessions("list", "--store", store, "--dialect", "cersei", "--json") == 0
    assert [row["id"] for row in objects(capsys)] == ["def"]
    assert sessions("list", "--store", store, "--project", "shop", "--json") == 0
    assert len(objects(capsys)) == 3
    assert sessions("list", "--store", store, "--project", "nope") == 3
    assert "found: shop\n" in capsys.readouterr().err
    assert sessions("list", "--store", store, "--dialect", "nope") == 2


def test_list_does_not_read_twice(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    store = store_in(tmp_path)
    sessions("list", "--store", store, "--json")
    first = capsys.readouterr().out

    def reading(*_args: object) -> None:
        pytest.fail("a session was read again")

    monkeypatch.setattr("slowwave.stores.catalogue.scan", reading)
    sessions("list", "--store", store, "--json")
    assert capsys.readouterr().out == first


def test_names_that_are_no_utf8_are_printed_so_that_programs_get_them_back(tmp_path: Path, capsys: Capture):
    path = write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.jsonl")), claude("user", "hi"))
    assert sessions("list", "--store", tmp_path, "--json") == 0
    (row,) = objects(capsys)
    assert row["path"] == os.fspath(path)
    assert sessions("list", "--store", tmp_path) == 0


def test_context_is_what_the_client_would_send(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    assert sessions("context", store / "-home-ann-shop" / "abc.jsonl", "--json") == 0
    (context,) = objects(capsys)
    assert context == {
        "dialect": "claude",
        "session": "abc",
        "messages": [
            {"role": "user", "text": "fix it"},
            {"role": "assistant", "text": "done"},
            {"role": "user", "text": "thanks"},
            {"role": "assistant", "text": "bye"},
        ],
    }


def test_context_takes_all_parts_whichever_is_named(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    for name in ("def.jsonl", "def_part2.jsonl"):
        assert sessions("context", store / "-home-ann-shop" / name, "--json") == 0
        (context,) = objects(capsys)
        assert [m["text"] for m in context["messages"]] == ["hi", "more"]


def test_context_reads_summaries_by_mode(tmp_path: Path, capsys: Capture):
    summary = {
        "type": "summary", "uuid": "x", "timestamp": "2026-11-20T10:00:00Z", "session_id": "s",
        "summary": "the gist", "messages_compacted": 2,
    }  # fmt: skip
    path = write(tmp_path / "s.jsonl", cersei("user", "a", 0), cersei("assistant", "b", 1), summary)
    assert sessions("context", path, "--json", "--mode", "code") == 0
    assert len(objects(capsys)[0]["messages"]) == 2
    assert sessions("context", path, "--json") == 0
    assert "the gist" in objects(capsys)[0]["messages"][0]["text"]


def test_context_of_another_session_than_the_file_holds_is_refused(tmp_path: Path, capsys: Capture):
    path = write(tmp_path / "s.jsonl", claude("user", "hi"))
    assert sessions("context", path, "--session", "other") == 3
    assert sessions("context", path, "--session", "s") == 0
    assert capsys.readouterr().err.count("\n") == 1


def test_a_database_gives_its_oldest_session_or_the_one_that_is_named(tmp_path: Path, capsys: Capture):
    first, second = opencode_files.Session("ses_one1"), opencode_files.Session("ses_two2")
    first.user("from the first")
    second.user("from the second")
    path = opencode_files.database(tmp_path, first, second)
    shown: list[tuple[str, str]] = []
    for options in ([], ["--session", "ses_two2"]):
        assert sessions("context", path, "--json", *options) == 0
        (answer,) = objects(capsys)
        shown.append((answer["session"], answer["messages"][0]["text"]))
    assert shown == [("ses_one1", "from the first"), ("ses_two2", "from the second")]
    assert sessions("context", path, "--session", "ses_none") == 3


def test_show_takes_an_id_a_beginning_a_file_or_the_most_recent(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    for path in store.rglob("*.jsonl"):
        os.utime(path, (1, 1))
    os.utime(store / "-home-ann-shop" / "abc.jsonl", (5, 5))
    for name in (["abc"], ["ab"], [store / "-home-ann-shop" / "abc.jsonl"], []):
        assert sessions("show", *name, "--store", store, "--json") == 0
        (shown,) = objects(capsys)
        assert shown["session"] == "abc"
        assert [m["role"] for m in shown["messages"]] == ["user", "assistant", "user", "assistant"]
    assert sessions("show", "abc", "--store", store) == 0
    assert "fix it" in capsys.readouterr().out


def test_a_session_is_written_shown_hidden_forked_removed_and_restored(tmp_path: Path, capsys: Capture):
    store = tmp_path / "new"
    assert (
        sessions("append", "abc12345", "--role", "user", "fix the tests", "--store", store, "--cwd", "/home/ann") == 0
    )
    asked = capsys.readouterr().out.strip()
    assert (
        sessions("append", "abc12345", "--role", "assistant", "ok", "--parent", asked, "--store", store, "--json") == 0
    )
    (made,) = objects(capsys)
    assert Path(made["path"]) == store / "projects" / "-home-ann" / "abc12345.jsonl"
    assert sessions("tombstone", "abc12345", asked, "--store", store) == 0
    assert sessions("fork", "abc", "--store", store, "--json") == 0
    capsys.readouterr()
    sessions("list", "--store", store, "--json")
    rows = objects(capsys)
    assert sorted((row["kind"], row["messages"]) for row in rows) == [("fork", 1), ("main", 1)]
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in store.rglob("*.jsonl")}
    ids = [row["id"] for row in rows]
    assert sessions("rm", *ids, "--store", store, "--dry-run") == 0
    assert len(list(store.rglob("*.jsonl"))) == 2
    assert sessions("rm", *ids, "--store", store) == 0
    assert [p for p in store.rglob("*") if p.is_file()] == []
    assert sessions("restore") == 0
    assert "2 in the trash" in capsys.readouterr().out
    assert sessions("restore", ids[0]) == 0
    assert sessions("restore", "--all") == 0
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in store.rglob("*.jsonl")} == before


def test_rm_says_how_many_parts_and_takes_all(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    assert sessions("rm", "def", "--store", store) == 0
    assert "session def (2 parts)" in capsys.readouterr().out
    assert list(store.rglob("def*")) == []


def test_rm_looks_everything_up_before_it_moves_anything(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    assert sessions("rm", "def", "nope", "--store", store) == 3
    assert len(list(store.rglob("def*"))) == 2
    assert "nope" in capsys.readouterr().err


def test_a_restore_that_would_replace_something_is_refused(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    sessions("rm", "abc", "--store", store)
    path = write(store / "-home-ann-shop" / "abc.jsonl", claude("user", "new"))
    before = path.read_bytes()
    assert sessions("restore", "abc") == 4
    assert path.read_bytes() == before
    assert "exists again" in capsys.readouterr().err


def test_append_keeps_the_dialect_and_the_folder_of_a_session(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    assert sessions("append", "abc", "--role", "user", "more", "--store", store, "--dialect", "cersei") == 0
    added = json.loads((store / "-home-ann-shop" / "abc.jsonl").read_bytes().splitlines()[-1])
    assert (added["sessionId"], added["parentUuid"]) == ("abc", "u3")
    assert sessions("append", "xy", "--role", "user", "a new id", "--store", store, "--cwd", "/home/ann/shop") == 0
    assert (store / "-home-ann-shop" / "xy.jsonl").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("context @/none.jsonl", 3, "No such file"),
        ("context @", 3, "is a folder"),
        ("show @/empty.jsonl", 3, "empty"),
        ("context @/strange.jsonl", 3, "expected JSON lines"),
        ("show @/pipe.jsonl", 3, "not a regular file"),
        ("show nope --store @/good", 3, "sessions list"),
        ("list --store @/none", 3, "does not exist"),
        ("list --store @/strange.jsonl", 3, "is a file"),
        ("list --store @/odd", 3, "known dialect"),
        ("list --store @/good --set store.part_bytes=-1", 2, "store.part_bytes"),
        ("list --store @/good --set nonsense.key=1", 2, "nonsense"),
        ("append .. --role user hi --store @/good", 2, "'..'"),
        ("append a\tb --role user hi --store @/good", 2, "control character"),
        ("append x --role user  --store @/good", 2, "empty"),
        ("append x --role user hi --store @/strange.jsonl", 3, "is a file"),
        ("tombstone s u0 --store @/good", 2, "tombstones"),
        ("tombstone s nope --store @/good", 3, "shows no message"),
        ("fork nope --store @/good", 3, "nope"),
        ("rm nope --store @/good", 3, "nope"),
        ("restore nope", 3, "nope"),
        ("restore x --all", 2, "--all"),
    ],
)
def test_bad_input_is_one_line_with_the_remedy_and_changes_nothing(
    tmp_path: Path, capsys: Capture, line: str, code: int, says: str
):
    write(tmp_path / "good" / "s.jsonl", claude("user", "hi", 0))
    write(tmp_path / "odd" / "x.jsonl", {"foo": 1})
    write(tmp_path / "strange.jsonl", {"foo": 1})
    write(tmp_path / "empty.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    assert sessions(*line.replace("@", str(tmp_path)).split(" ")) == code
    printed = capsys.readouterr()
    assert says in printed.err
    assert (printed.err.count("\n"), printed.out) == (1, "")
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before


def test_damage_is_told_with_its_place(tmp_path: Path, capsys: Capture):
    path = write(tmp_path / "s.jsonl", claude("user", "hi"), b"broken {", claude("assistant", "yo", 1))
    assert sessions("context", path) == 0
    assert f"{path}:2 (offset " in capsys.readouterr().err


def test_neither_help_nor_a_listing_imports_prefect(tmp_path: Path):
    store = store_in(tmp_path)
    code = (
        "import sys\nfrom slowwave.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "heavy = {'prefect', 'rich', 'openai', 'dateparser'} & set(sys.modules)\nassert not heavy, heavy"
    )
    for args in (["sessions", "--help"], ["sessions", "list", "--store", str(store)]):
        subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path):
    store = store_in(tmp_path)
    command = f"{sys.executable} -m slowwave sessions list --json --store {store} | head -c 1"
    done = subprocess.run(command, shell=True, check=True, capture_output=True)
    assert b"Traceback" not in done.stderr

"""``slowwave sessions append``, ``compact``, ``branch``, ``label``, ``name`` and ``fork``, in every dialect."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from tests.unit.formats import opencode_files
from tests.unit.formats.codex_files import THREAD, meta, rollout, turn
from tests.unit.formats.pi_files import Session
from tests.unit.stores.store_builder import cersei, claude, write

Capture = pytest.CaptureFixture[str]


def sessions(*args: object) -> int:
    return main(["sessions", *map(str, args)])


def objects(capsys: Capture) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def context(capsys: Capture, path: Path) -> list[str]:
    capsys.readouterr()
    assert sessions("context", path, "--json") == 0
    (found,) = objects(capsys)
    return [f"{m['role']}: {m.get('text', '')}" for m in found["messages"]]


def claude_file(tmp_path: Path) -> Path:
    talk = [claude("user", "one"), claude("assistant", "1", 1), claude("user", "two", 2), claude("assistant", "2", 3)]
    return write(tmp_path / "-home-ann-shop" / "s.jsonl", *talk)


def pi_file(tmp_path: Path) -> Path:
    made = Session()
    made.user("one")
    made.model("1")
    made.user("two")
    made.model("2")
    path = tmp_path / "--work--" / "2026-03-15T10-00-00-000Z_abc.jsonl"
    path.parent.mkdir()
    path.write_bytes(made.data())
    return path


def codex_file(tmp_path: Path) -> Path:
    folder = tmp_path / ".codex" / "sessions" / "2026" / "11" / "21"
    return rollout(folder, meta(), *turn("one", "1"), *turn("two", "2"))


@pytest.mark.parametrize("made", [claude_file, pi_file, codex_file])
def test_a_message_is_added_in_the_form_of_the_sessions_client(tmp_path: Path, capsys: Capture, made: Any):
    path = made(tmp_path)
    before = path.read_bytes()
    assert sessions("append", path, "--role", "user", "three", "--answer", "3", "--json") == 0
    (said,) = objects(capsys)
    assert (said["path"], bool(said["uuid"])) == (str(path), True)
    assert path.read_bytes().startswith(before)
    assert context(capsys, path)[-2:] == ["user: three", "assistant: 3"]


@pytest.mark.parametrize("made", [claude_file, pi_file])
def test_a_tools_result_names_its_call(tmp_path: Path, capsys: Capture, made: Any):
    path = made(tmp_path)
    assert sessions("append", path, "--role", "tool", "found", "--call", "c9", "--tool", "read") == 0
    assert b'"c9"' in path.read_bytes().splitlines()[-1]
    assert sessions("append", path, "--role", "tool", "found") == 2
    assert "--call" in capsys.readouterr().err


def test_a_session_of_pi_is_begun_with_its_first_answer(tmp_path: Path, capsys: Capture):
    store = tmp_path / "agent"
    begin = ["append", "abc", "--role", "user", "hi", "--dialect", "pi", "--store", store, "--cwd", "/home/ann/shop"]
    assert sessions(*begin) == 2
    assert "--answer" in capsys.readouterr().err
    assert not store.exists()
    assert sessions(*begin, "--answer", "hello") == 0
    (path,) = (store / "sessions" / "--home-ann-shop--").iterdir()
    assert path.name.endswith("_abc.jsonl")
    assert context(capsys, path) == ["user: hi", "assistant: hello"]
    assert sessions("append", "abc", "--role", "user", "more", "--store", store) == 0
    assert context(capsys, path)[-1] == "user: more"


@pytest.mark.parametrize("made", [claude_file, pi_file, codex_file])
def test_a_summary_stands_for_what_was_before(
    tmp_path: Path, capsys: Capture, made: Any, monkeypatch: pytest.MonkeyPatch
):
    path = made(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("the gist"))
    assert sessions("compact", path, "--summary", "-") == 0
    shown = context(capsys, path)
    assert any("the gist" in text for text in shown)
    assert "assistant: 1" not in shown


@pytest.mark.parametrize(("made", "first"), [(claude_file, "u2"), (pi_file, "e3")])
def test_a_compaction_keeps_what_follows_a_message(tmp_path: Path, capsys: Capture, made: Any, first: str):
    path = made(tmp_path)
    assert sessions("compact", path, "--summary", "the gist", "--keep-from", first, "--json") == 0
    shown = context(capsys, path)
    assert "the gist" in shown[0]
    assert shown[-1] == "assistant: 2"


def test_a_compaction_says_about_how_large_the_context_was(tmp_path: Path):
    path = pi_file(tmp_path)
    assert sessions("append", path, "--role", "user", "x" * 4000) == 0
    assert sessions("compact", path, "--summary", "the gist") == 0
    assert json.loads(path.read_bytes().splitlines()[-1])["tokensBefore"] == 1002


def test_a_compaction_with_a_ulid_says_how_large_what_it_summarises_was(tmp_path: Path):
    store, session = tmp_path / ".agent", "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    log = store / "sessions" / session / "session.jsonl"
    for text in ("x" * 400, "y" * 4000):
        assert sessions("append", session, "--role", "user", text, "--dialect", "ulid", "--store", store) == 0
    assert sessions("compact", session[:12], "--summary", "the gist", "--keep-from", "2", "--store", store) == 0
    assert json.loads(log.read_bytes().splitlines()[-1])["tokensBefore"] == 100
    assert sessions("compact", log, "--summary", "the gist") == 0
    assert json.loads(log.read_bytes().splitlines()[-1])["tokensBefore"] > 1000


def test_the_log_with_a_ulid_names_its_session_and_goes_with_its_folder(tmp_path: Path, capsys: Capture):
    session = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    words = ["append", session, "--role", "user", "hello", "--dialect", "ulid", "--store", tmp_path / ".agent"]
    assert sessions(*words) == 0
    log = tmp_path / ".agent" / "sessions" / session / "session.jsonl"
    capsys.readouterr()
    assert sessions("name", log, "greeting", "--json") == 0
    assert objects(capsys) == [{"session": session, "name": "greeting"}]
    assert sessions("rm", log) == 0
    assert not log.parent.exists()


def test_a_message_to_the_beginning_of_an_id_names_the_session_meant(tmp_path: Path, capsys: Capture):
    path = claude_file(tmp_path).with_name("abcdef.jsonl")
    claude_file(tmp_path).rename(path)
    append = ["append", "abc", "--role", "user", "hi", "--store", tmp_path]
    assert sessions(*append) == 2
    assert "beginning of session abcdef" in capsys.readouterr().err
    path.with_name("abcxyz.jsonl").write_bytes(path.read_bytes())
    assert sessions(*append) == 3
    assert "matches 2 sessions" in capsys.readouterr().err
    assert len(list(path.parent.iterdir())) == 2
    path.with_name("abc.jsonl").touch()
    assert sessions(*append) == 0
    assert path.with_name("abc.jsonl").read_bytes()
    for words in (["name", "abcd", "x"], ["compact", "abcd", "--summary", "x"], ["fork", "abcd"], ["rm", "abcd"]):
        assert sessions(*words, "--store", tmp_path) == 0
    assert not path.exists()


def test_a_session_is_begun_in_a_store_that_is_empty_or_not_there(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    for store in ("empty", "new"):
        assert sessions("append", "s", "--role", "user", "hi", "--cwd", "/w", "--store", tmp_path / store) == 0
    assert len(list(tmp_path.rglob("s.jsonl"))) == 2


def test_a_file_of_the_working_folder_is_no_new_id(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    session = opencode_files.Session("ses_one1")
    session.user("hello")
    opencode_files.database(tmp_path, session)
    monkeypatch.chdir(tmp_path)
    assert sessions("append", "opencode.db", "--role", "user", "hi", "--store", tmp_path) == 2
    assert "read only" in capsys.readouterr().err


def test_branches_labels_and_names_of_pi(tmp_path: Path, capsys: Capture):
    path = pi_file(tmp_path)
    assert sessions("label", path, "e1", "start") == 0
    assert sessions("name", path, "counting") == 0
    assert sessions("branch", path, "--from", "e2", "--summary", "they said two") == 0
    shown = context(capsys, path)
    assert shown[:2] == ["user: one", "assistant: 1"]
    assert "they said two" in shown[2]
    assert sessions("label", path, "e1", "") == 0
    assert "label removed" in capsys.readouterr().out
    kinds = [json.loads(line)["type"] for line in path.read_bytes().splitlines()[-4:]]
    assert kinds == ["label", "session_info", "branch_summary", "label"]


def test_a_name_of_codex_is_in_its_index(tmp_path: Path, capsys: Capture):
    path = codex_file(tmp_path)
    assert sessions("name", path, "counting", "--json") == 0
    assert objects(capsys) == [{"session": THREAD, "name": "counting"}]
    assert b'"counting"' in (tmp_path / ".codex" / "session_index.jsonl").read_bytes()


@pytest.mark.parametrize(("made", "at"), [(claude_file, "msg_1"), (pi_file, "e2")])
def test_a_path_becomes_a_session_of_its_own(tmp_path: Path, capsys: Capture, made: Any, at: str):
    path = made(tmp_path)
    assert sessions("fork", path, "--at", at, "--json") == 0
    (fork,) = objects(capsys)
    assert context(capsys, Path(fork["path"])) == ["user: one", "assistant: 1"]
    assert Path(fork["path"]).parent == path.parent
    assert sessions("fork", path) == 0
    assert len(list(path.parent.iterdir())) == 3


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("append @/c/s.jsonl --role user hi --parent nope", 3, "shows no message"),
        ("compact @/c/s.jsonl --summary ", 2, "empty"),
        ("compact @/c/s.jsonl --summary x --keep-from nope", 3, "shows no message"),
        ("compact @/k/k.jsonl --summary x --keep-from nope", 3, "shows no message"),
        ("branch @/c/s.jsonl --from u0", 2, "records of branches"),
        ("label @/c/s.jsonl u0 x", 2, "labels"),
        ("label @/--work--/2026-03-15T10-00-00-000Z_abc.jsonl nope x", 3, "shows no message"),
        ("name @/k/k.jsonl x", 2, "names"),
        ("name nope x --store @/c", 3, "nope"),
        ("fork @/c/s.jsonl --at nope", 3, "shows no message"),
        ("append @/opencode.db --role user hi", 2, "only its client writes"),
        ("name @/opencode.db x", 2, "only its client writes"),
        ("fork @/opencode.db", 2, "only its client writes"),
        ("append new --role user hi --dialect codex --store @/c", 2, "begin it in its client"),
    ],
)
def test_what_cannot_be_written_changes_nothing(tmp_path: Path, capsys: Capture, line: str, code: int, says: str):
    write(tmp_path / "c" / "s.jsonl", claude("user", "hi"))
    write(tmp_path / "k" / "k.jsonl", cersei("user", "hi"))
    pi_file(tmp_path)
    session = opencode_files.Session("ses_one1")
    session.user("hello")
    opencode_files.database(tmp_path, session)
    before = {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in tmp_path.rglob("*")}
    words = line.replace("@", str(tmp_path)).split(" ")
    try:
        result = sessions(*words)
    except SystemExit as stopped:
        result = stopped.code
    assert result == code
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.out == ""
    assert {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in tmp_path.rglob("*")} == before


def test_an_open_session_is_refused_with_the_process_that_has_it(tmp_path: Path, capsys: Capture):
    path = claude_file(tmp_path)
    claims = Path(os.environ["HOME"]) / ".claude" / "sessions"
    claims.mkdir(parents=True)
    (claims / f"{os.getpid()}.json").write_text(json.dumps({"sessionId": "s"}))
    before = path.read_bytes()
    for words in (["append", path, "--role", "user", "x"], ["name", path, "x"], ["compact", path, "--summary", "x"]):
        assert sessions(*words) == 4
        assert f"process {os.getpid()}" in capsys.readouterr().err
    assert path.read_bytes() == before

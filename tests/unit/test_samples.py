"""The sample week: the same bytes every time, field-true lines, closed chains, everything planted in its place."""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import RFC_4122, UUID

import orjson
import pytest

from slowwave.errors import UnreadableError
from slowwave.formats import SessionFiles, Transcript
from slowwave.formats.registry import by_name, detect
from slowwave.samples import MARKER, build, files_of, secrets
from tests.week.codex import write_codex
from tests.week.opencode import PATH as DATABASE
from tests.week.opencode import Begun, write_opencode
from tests.week.pi import write_pi
from tests.week.plan import plan, scripts
from tests.week.script import Identity, Say, Script, ScriptError, parse

NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)
# Codex keeps the titles of its sessions outside of them.
UNTITLED = ("cersei", "codex")
CLIENTS = (".claude", ".codex", ".local", ".pi")

WRITERS: dict[str, Callable[[Script, datetime, str], object]] = {
    "pi": write_pi,
    "codex": write_codex,
    "opencode": lambda script, began, cwd: write_opencode([Begun(script, began, cwd)]),
}


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p.relative_to(root)): (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}


def lines(data: bytes) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", orjson.loads(line)) for line in data.splitlines()]


def transcripts(below: str = "") -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for file in plan(NOW):
        if file.path.startswith(below) and file.path.endswith(".jsonl"):
            yield file.path, lines(file.data)


def claude_files() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    return ((path, found) for path, found in transcripts(".claude/") if "session_id" not in found[0])


def read_all(home: Path) -> dict[str, Transcript]:
    """Read every session as it lies on disk, and the one in the database."""
    found: dict[str, Transcript] = {}
    for path in sorted((*home.rglob("*.jsonl"), home / DATABASE)):
        dialect = detect(path)
        if "_part" not in path.name:
            parts = (path, *sorted(path.parent.glob(f"{path.stem}_part*.jsonl")))
            found[str(path.relative_to(home))] = dialect.read(SessionFiles(path.stem, parts))
    return found


def test_two_builds_leave_equal_bytes_and_times(tmp_path: Path):
    build(tmp_path / "a", NOW)
    build(tmp_path / "b", NOW)

    first, second = ([tree(tmp_path / name / client) for client in CLIENTS] for name in ("a", "b"))

    assert [len(files) for files in first] == [16, 2, 1, 2]
    assert first == second


@pytest.mark.parametrize("now", [NOW, datetime(2001, 1, 8, tzinfo=UTC), datetime.fromisoformat("2031-12-31T23-05:00")])
def test_the_files_of_the_library_are_what_the_scripts_make(now: datetime):
    made = [(file.path, file.modified, file.data) for file in plan(now)]
    held = list(files_of(now))

    assert [one[:2] for one in held] == [one[:2] for one in made]
    for (name, _, data), (_, _, wanted) in zip(held, made, strict=True):
        assert dump(data) == dump(wanted) if name == DATABASE else data == wanted, name


def dump(database: bytes) -> list[str]:
    with closing(sqlite3.connect(":memory:")) as rows:
        rows.deserialize(database)
        return list(rows.iterdump())


def test_a_finished_sample_is_left_as_it_is(tmp_path: Path):
    made = build(tmp_path / "home", NOW)
    path = made.home / made.files[0]
    path.write_bytes(b"changed by a night\n")
    before = tree(tmp_path)

    again = build(tmp_path / "home", NOW + timedelta(days=3))

    assert tree(tmp_path) == before
    assert (made.is_new, again.is_new) == (True, False)
    assert (again.built_at, again.files, again.home) == (NOW, made.files, made.home)


def test_a_sample_that_was_not_finished_is_written_again(tmp_path: Path):
    made = build(tmp_path / "home", NOW)
    whole = tree(made.home)
    marker = made.home / MARKER
    marker.write_bytes(marker.read_bytes().replace(b'"finished": true', b'"finished": false'))
    (made.home / made.files[3]).unlink()

    again = build(tmp_path / "home", NOW)

    assert again.is_new
    assert {name: found for name, found in tree(made.home).items() if name != MARKER} == {
        name: found for name, found in whole.items() if name != MARKER
    }


def test_a_folder_with_something_else_in_it_is_refused_and_untouched(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(UnreadableError, match="not a sample"):
        build(tmp_path, NOW)

    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_as_target_and_a_broken_marker_are_named(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    (home / MARKER).write_text("{", encoding="utf-8")

    with pytest.raises(UnreadableError, match="not a folder"):
        build(file, NOW)
    with pytest.raises(UnreadableError, match="delete the sample's folder"):
        build(home, NOW)


def test_the_week_ended_the_evening_before():
    stamps = [file.modified for file in plan(NOW)]

    assert min(stamps) > datetime(2026, 3, 2, tzinfo=UTC)
    assert datetime(2026, 3, 8, 17, tzinfo=UTC) < max(stamps) < datetime(2026, 3, 8, 21, tzinfo=UTC)


def test_a_file_was_changed_last_when_its_last_line_was_written(tmp_path: Path):
    made = build(tmp_path, NOW)
    moved = {file.path: file.modified for file in plan(NOW)}

    for name in made.files:
        assert (made.home / name).stat().st_mtime == moved[name].timestamp()


def test_time_never_runs_backwards_inside_a_session():
    for path, found in transcripts():
        stamps = [line["timestamp"] for line in found if "timestamp" in line]
        assert stamps == sorted(stamps), path


def test_every_chain_is_closed_and_every_id_is_used_once():
    uuids: Counter[str] = Counter()
    for path, found in claude_files():
        seen: set[str] = set()
        for line in found:
            if "uuid" not in line:
                continue
            above = line["parentUuid"] or line.get("logicalParentUuid")
            assert above is None or above in seen, path
            seen.add(line["uuid"])
            uuids[line["uuid"]] += 1
    assert len(uuids) > 400
    assert set(uuids.values()) == {1}


def test_every_tool_call_has_its_one_result_under_its_own_line():
    pairs = 0
    for path, found in claude_files():
        calls = {
            block["id"]: line["uuid"]
            for line in found
            if line["type"] == "assistant"
            for block in line["message"]["content"]
            if block["type"] == "tool_use"
        }
        for line in found:
            if "toolUseResult" in line:
                (block,) = line["message"]["content"]
                assert calls.pop(block["tool_use_id"]) == line["parentUuid"], path
                pairs += 1
        assert not calls, path
    assert pairs > 100


def test_ids_are_made_of_the_time_as_the_clients_make_theirs():
    ids, at = Identity("any"), datetime.fromtimestamp(1795294925.419, UTC)

    assert re.fullmatch(r"ses_e00156d94ffe[0-9A-Za-z]{14}", ids.sorted_id("ses", at, newest_first=True))
    assert ids.sorted_id("msg", at) < ids.sorted_id("msg", at, 2) < ids.sorted_id("msg", at + timedelta(seconds=1))
    made = UUID(ids.uuid7(at))
    assert (made.version, made.variant, made.int >> 80) == (7, RFC_4122, 1795294925419)


@pytest.mark.parametrize(
    ("client", "step", "reason"),
    [
        ("pi", "compact: no more", "pi has no 'compact'"),
        ("codex", "queued: and this", "Codex has no 'queued'"),
        ("opencode", "part:", "opencode has no 'part'"),
        ("pi", "Task: look\n  please\nreport: done", "pi has no sub-agents"),
        ("codex", "Task: look\n  please\nreport: done", "rollouts of their own"),
        ("opencode", "Task: look\n  please\nreport: done", "sessions of their own"),
    ],
)
def test_a_step_that_a_client_does_not_have_is_refused(client: str, step: str, reason: str):
    script = parse("story", f"client: {client}\nproject: x\nstart: 1 09:00\n\nuser: hi\n{step}\n")

    with pytest.raises(ValueError, match=reason):
        WRITERS[client](script, NOW, "/home/ana/x")


def test_all_sessions_read_back_without_problems(tmp_path: Path):
    read = read_all(build(tmp_path, NOW).home)

    assert [problem for transcript in read.values() for problem in transcript.problems] == []
    assert Counter((t.dialect, t.kind) for t in read.values()) == {
        ("claude", "main"): 9,
        ("claude", "subagent"): 3,
        ("cersei", "main"): 2,
        ("pi", "main"): 2,
        ("codex", "main"): 2,
        ("opencode", "main"): 1,
    }
    assert {kind for t in read.values() for kind in t.unknown_types} == set()


def test_all_main_sessions_but_one_are_long_enough_for_extraction(tmp_path: Path):
    read = read_all(build(tmp_path, NOW).home)
    counts = {
        path: (transcript.messages[0].cwd, sum(m.active and not m.sidechain for m in transcript.messages))
        for path, transcript in read.items()
        if transcript.kind == "main"
    }

    long = Counter(cwd for cwd, count in counts.values() if count >= 20)
    assert long == {"/home/ana/tern": 9, "/home/ana/quill": 6}
    assert [count for _, count in counts.values() if count < 20] == [6]


def test_what_people_typed_and_only_that_reads_as_typed(tmp_path: Path):
    read = read_all(build(tmp_path, NOW).home)
    typed = {m.text for t in read.values() for m in t.messages if m.origin == "typed" and m.active and not m.sidechain}

    said = {
        step.text
        for script in scripts()
        for step in script.steps
        if isinstance(step, Say) and step.kind in ("user", "queued")
    }
    assert typed == said


def test_titles_are_the_sessions_own(tmp_path: Path):
    read = read_all(build(tmp_path, NOW).home)

    titles = {t.title for t in read.values() if t.dialect not in UNTITLED and t.kind == "main"}
    assert titles == {script.title for script in scripts() if script.client not in UNTITLED}


def test_the_three_places_of_sub_agents_are_there():
    paths = [path for path, _ in claude_files()]
    inline = [
        path for path, found in claude_files() if len({line.get("isSidechain") for line in found} & {True, False}) == 2
    ]

    assert len([p for p in paths if "/subagents/agent-" in p]) == 1
    assert len([p for p in paths if p.count("/") == 3 and "/agent-" in p]) == 2
    assert len(inline) == 1


def test_parallel_calls_fork_the_chain_and_split_messages_share_an_id():
    forks = splits = 0
    for _, found in claude_files():
        under = Counter(line["parentUuid"] for line in found if line["type"] in ("user", "assistant"))
        forks += sum(count > 1 for parent, count in under.items() if parent)
        ids = Counter(line["message"]["id"] for line in found if line["type"] == "assistant")
        splits += sum(count > 1 for count in ids.values())
    assert forks >= 4
    assert splits >= 20


def test_cersei_sessions_hold_parts_summaries_and_tombstones():
    found = {path: {line["type"] for line in data} for path, data in transcripts(".claude/") if "session_id" in data[0]}

    assert len(found) == 3
    assert len([path for path in found if path.endswith("_part2.jsonl")]) == 1
    assert all({"user", "assistant"} <= kinds for kinds in found.values())
    assert sum({"summary", "tombstone"} <= kinds for kinds in found.values()) == 2


@pytest.mark.parametrize(("name", "kind"), [("db_url", "user"), ("aws_key", "tool"), ("aws_secret", "tool")])
def test_the_fake_secrets_are_in_the_transcripts_and_not_in_the_source(tmp_path: Path, name: str, kind: str):
    secret = secrets()[name]
    read = read_all(build(tmp_path, NOW).home)
    messages = [m for t in read.values() for m in t.messages]
    holding = [m for m in messages if secret in m.text or any(secret in result.text for result in m.results)]

    assert {"tool" if m.results else m.role for m in holding} == {kind}
    source = Path(__file__).parents[2] / "lib" / "slowwave" / "samples"
    assert [p.name for p in source.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()] == []


def test_the_fake_secrets_have_the_shape_of_real_ones():
    known = secrets()

    assert re.fullmatch(r"AKIA[A-Z2-7]{16}", known["aws_key"])
    assert re.fullmatch(r"[A-Za-z0-9/+]{40}", known["aws_secret"])
    assert re.fullmatch(r"postgres://\w+:[\w-]+@[\w.]+\.invalid/\w+", known["db_url"])


def test_the_hostile_instruction_stands_in_tool_results_only(tmp_path: Path):
    read = read_all(build(tmp_path, NOW).home)
    hostile = "ignore your previous instructions"
    messages = [m for t in read.values() for m in t.messages]

    assert sum(hostile in result.text for m in messages for result in m.results) == 2
    assert not any(hostile in m.text for m in messages)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("client: claude 3\nproject: x\nstart: 1 09:00\n\nuser: hi\n", "header needs client"),
        ("client: cersei\nproject: x\nstart: 8 09:00\n\nuser: hi\n", "header needs client"),
        ("client cersei\n\nuser: hi\n", "not 'key: value'"),
        ("client: cersei\nproject: x\nstart: 1 09:00\n\nhello\n", "line 1"),
        ("client: cersei\nproject: x\nstart: 1 09:00\n\nnobody: hello\n", "neither a speaker nor a tool"),
        ("client: cersei\nproject: x\nstart: 1 09:00\n\nTask: a\n  b\nBash: ls\n", "no report"),
    ],
)
def test_a_script_that_breaks_the_format_is_refused(text: str, reason: str):
    with pytest.raises(ScriptError, match=reason):
        parse("story", text)


def test_what_was_compacted_is_no_longer_sent(tmp_path: Path):
    read = read_all(build(tmp_path, NOW).home)
    long = {t.title or t.files.id: t for t in read.values() if any(m.origin == "summary" for m in t.messages)}
    sent = {name: by_name(t.dialect).context(t) for name, t in long.items()}

    assert "Move webhook events to an outbox table" in sent
    assert len(sent) == 3
    for name, messages in sent.items():
        (summary,) = {m.text for m in long[name].messages if m.origin == "summary"}
        assert summary.strip() in messages[0].text, name
        assert len(messages) < len(long[name].messages), name

"""Cersei's own tests of session storage, by their names, against slowwave's sessions, reader and part files.

Where its behaviour is a defect that slowwave does not repeat, the test's name says so.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.context import FixedClock
from slowwave.formats.append import append_record, part_paths
from slowwave.formats.cersei.dialect import CERSEI, CerseiTranscript
from slowwave.formats.model import SessionFiles
from slowwave.library import Sessions
from slowwave.stores.projects import spelled


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "project", clock=FixedClock(datetime(2026, 4, 3, 10, tzinfo=UTC)), cwd="/project")


def transcript(sessions: Sessions, session_id: str = "s") -> CerseiTranscript:
    paths, problems = part_paths(sessions.folder / f"{session_id}.jsonl")
    return CERSEI.read(SessionFiles(session_id, tuple(paths), tuple(problems)))


def texts(sessions: Sessions) -> list[str]:
    return [m.text for m in sessions.load("s")]


def test_transcript_path(sessions: Sessions) -> None:
    uuid = sessions.write_user_message("s", "hello")
    assert (sessions.folder / "s.jsonl").is_file()
    assert uuid
    assert spelled("/Users/foo/project", "cersei") == "_Users_foo_project"


def test_write_and_load(sessions: Sessions) -> None:
    first = sessions.write_user_message("s", "one")
    sessions.write_assistant_message("s", "two", first)
    sessions.write_user_message("s", "three")
    assert texts(sessions) == ["one", "two", "three"]
    entries = [entry for entry, _ in transcript(sessions).entries]
    assert [e.parent_uuid for e in entries] == [None, first, None]
    assert [e.session_id for e in entries] == ["s"] * 3


def test_empty_file(sessions: Sessions) -> None:
    sessions.folder.mkdir()
    (sessions.folder / "s.jsonl").touch()
    assert transcript(sessions).entries == []


def test_malformed_lines_skipped(sessions: Sessions) -> None:
    sessions.write_user_message("s", "one")
    with (sessions.folder / "s.jsonl").open("ab") as file:
        file.write(b"this is not valid json\n")
    sessions.write_user_message("s", "two")
    assert texts(sessions) == ["one", "two"]
    assert [p.line for p in transcript(sessions).problems] == [2]


def test_tombstone(sessions: Sessions) -> None:
    sessions.write_user_message("s", "one")
    middle = sessions.write_user_message("s", "two")
    sessions.write_user_message("s", "three")
    sessions.tombstone("s", middle)
    assert texts(sessions) == ["one", "three"]
    assert b'"two"' in (sessions.folder / "s.jsonl").read_bytes()


def test_summary_entry(sessions: Sessions) -> None:
    sessions.write_user_message("s", "one")
    sessions.write_assistant_message("s", "two")
    sessions.write_summary("s", "They said one and two.", 2)
    assert len(transcript(sessions).entries) == 3
    assert texts(sessions) == ["They said one and two."]


def test_multi_part_load(sessions: Sessions) -> None:
    sessions.write_user_message("s", "base")
    base = sessions.folder / "s.jsonl"
    append_record(sessions.folder / "s_part2.jsonl", base.read_bytes().strip().replace(b"base", b"part two"))
    assert [p.name for p in part_paths(base)[0]] == ["s.jsonl", "s_part2.jsonl"]
    assert texts(sessions) == ["base", "part two"]


def test_tombstone_across_parts(sessions: Sessions) -> None:
    small = Sessions(sessions.folder, clock=sessions.clock, cwd="/project", part_bytes=600)
    ids = [small.write_user_message("s", f"message {n}") for n in range(4)]
    small.tombstone("s", ids[0])
    assert len(part_paths(small.folder / "s.jsonl")[0]) > 1
    assert texts(small) == ["message 1", "message 2", "message 3"]


def test_auto_fork_on_size_limit(sessions: Sessions) -> None:
    small = Sessions(sessions.folder, clock=sessions.clock, cwd="/project", part_bytes=500)
    for number in range(6):
        small.write_user_message("s", f"message {number}")
    paths, problems = part_paths(small.folder / "s.jsonl")
    assert [p.name for p in paths] == ["s.jsonl", *(f"s_part{n}.jsonl" for n in range(2, len(paths) + 1))]
    assert len(paths) > 2
    assert all(p.stat().st_size <= 500 for p in paths)
    assert problems == []
    assert texts(small) == [f"message {n}" for n in range(6)]


def test_total_session_size(sessions: Sessions) -> None:
    sessions.write_user_message("s", "one")
    _, problems = part_paths(sessions.folder / "s.jsonl", warn_bytes=10)
    assert [p.kind for p in problems] == ["too-large"]
    assert texts(sessions) == ["one"]


def test_a_gap_does_not_hide_later_parts_as_it_does_in_cersei(sessions: Sessions) -> None:
    sessions.write_user_message("s", "one")
    line = (sessions.folder / "s.jsonl").read_bytes().strip()
    append_record(sessions.folder / "s_part3.jsonl", line.replace(b'"one"', b'"three"'))
    read = transcript(sessions)
    assert [m.text for m in read.messages] == ["one", "three"]
    assert [p.kind for p in read.problems] == ["gap"]

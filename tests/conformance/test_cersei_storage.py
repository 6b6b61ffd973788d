"""Cersei's own tests of session storage, by their names, against slowwave's sessions, reader and part files.

Where its behaviour is a defect that slowwave does not repeat, the test's name says so.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.context import FixedClock
from slowwave.formats import SessionFiles
from slowwave.formats.cersei.dialect import CERSEI, CerseiTranscript
from slowwave.formats.changes import append_record
from slowwave.library import Sessions
from slowwave.stores.projects import spelled
from slowwave.stores.roots import session_of_path


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "project", clock=FixedClock(datetime(2026, 4, 3, 10, tzinfo=UTC)), cwd="/project")


def transcript(sessions: Sessions, session_id: str = "s") -> CerseiTranscript:
    return CERSEI.read(SessionFiles(session_id, tuple(parts(sessions, session_id))))


def parts(sessions: Sessions, session_id: str = "s") -> list[Path]:
    found = session_of_path(sessions.folder / f"{session_id}.jsonl")
    return [sessions.folder / file.name for file in found.files]


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
    assert [p.name for p in parts(sessions)] == ["s.jsonl", "s_part2.jsonl"]
    assert texts(sessions) == ["base", "part two"]


def test_tombstone_across_parts(sessions: Sessions) -> None:
    small = Sessions(sessions.folder, clock=sessions.clock, cwd="/project", part_bytes=600)
    ids = [small.write_user_message("s", f"message {n}") for n in range(4)]
    small.tombstone("s", ids[0])
    assert len(parts(small)) > 1
    assert texts(small) == ["message 1", "message 2", "message 3"]


def test_auto_fork_on_size_limit(sessions: Sessions) -> None:
    small = Sessions(sessions.folder, clock=sessions.clock, cwd="/project", part_bytes=500)
    for number in range(6):
        small.write_user_message("s", f"message {number}")
    paths = parts(small)
    assert [p.name for p in paths] == ["s.jsonl", *(f"s_part{n}.jsonl" for n in range(2, len(paths) + 1))]
    assert len(paths) > 2
    assert all(p.stat().st_size <= 500 for p in paths)
    assert texts(small) == [f"message {n}" for n in range(6)]


def test_a_gap_does_not_hide_later_parts_as_it_does_in_cersei(sessions: Sessions) -> None:
    sessions.write_user_message("s", "one")
    line = (sessions.folder / "s.jsonl").read_bytes().strip()
    append_record(sessions.folder / "s_part3.jsonl", line.replace(b'"one"', b'"three"'))
    assert [m.text for m in transcript(sessions).messages] == ["one", "three"]
    assert session_of_path(sessions.folder / "s.jsonl").missing_parts() == [2]

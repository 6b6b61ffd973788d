"""The note of a run at work: written in place, told apart from that of a run that is over, told of once."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowwave.locks import this_process
from slowwave.observability import progress
from slowwave.observability.night import STOPPED, alarms_of, append_night, read_nights
from slowwave.observability.progress import (
    SIZE,
    AtWork,
    Nobody,
    Noting,
    begun,
    end_note,
    note_path,
    over_because,
    read_notes,
    settle,
    write_note,
)
from slowwave.settings import AlarmSettings
from tests.unit.observability.nights import FIRST, a_night

AT = FIRST.isoformat()


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def of_a_gone_process(**fields: Any) -> AtWork:
    """Return a note that a process wrote which is over now."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    note = begun("nightly", "r1", AT)
    return msgspec.structs.replace(note, owner=msgspec.structs.replace(note.owner, pid=process.pid), **fields)


def test_a_note_says_how_far_its_run_is_and_never_needs_more_room(tmp_path: Path):
    path = write_note(environ(tmp_path), begun("nightly", "r1", AT))
    inode = path.stat().st_ino
    noting = Noting(path, Nobody())
    noting.plan("extract", 3)
    noting.done("extract", "-home-ann-shop")
    (note,), problems = read_notes(environ(tmp_path))
    assert problems == []
    assert (note.job, note.where, over_because(note)) == ("nightly", "while reading sessions, 1 of 3 done", "")
    end_note(path, "TerminationSignal: " + "\\\u2028é" * SIZE)
    assert (path.stat().st_ino, path.stat().st_size) == (inode, SIZE)
    assert read_notes(environ(tmp_path))[0][0].ended.startswith("TerminationSignal: ")


def test_steps_that_take_turns_are_counted_each_on_its_own(tmp_path: Path):
    noting = Noting(write_note(environ(tmp_path), begun("backfill", "b1", AT)), Nobody())
    seen: list[str] = []
    noting.plan("read", 4)
    noting.plan("land", 2)
    assert read_notes(environ(tmp_path))[0][0].where == "while reading sessions, 0 of 4 done"
    for step in ("read", "read", "land", "read", "read", "land"):
        noting.done(step, "")
        seen.append(read_notes(environ(tmp_path))[0][0].where)
    assert [seen[at] for at in (1, 2, 4, 5)] == [
        *("while reading sessions, 2 of 4 done", "while adding what was found, 1 of 2 done"),
        *("while reading sessions, 4 of 4 done", "while adding what was found, 2 of 2 done"),
    ]


def test_a_run_on_a_full_disk_still_says_how_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_note(environ(tmp_path), begun("nightly", "r1", AT))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, os.strerror(28))

    for name in ("write", "ftruncate", "link"):
        monkeypatch.setattr(os, name, full)
    end_note(path, "the disk is full")
    assert over_because(read_notes(environ(tmp_path))[0][0]) == "the disk is full"


def test_a_note_that_is_gone_stays_gone(tmp_path: Path):
    Noting(note_path(environ(tmp_path), "r1"), Nobody()).plan("extract", 3)
    end_note(note_path(environ(tmp_path), "r1"), "whatever")
    assert read_notes(environ(tmp_path)) == ([], [])


def test_a_process_that_is_gone_a_machine_that_was_restarted_and_one_that_says_nothing_are_over():
    now = time.time()
    mine = begun("nightly", "r1", AT)

    def why(sign: float = now, **owner: str) -> str:
        note = msgspec.structs.replace(mine, owner=msgspec.structs.replace(mine.owner, **owner), sign=sign)
        return over_because(note, lambda: now)

    assert why() == why(sign=now - 10 * progress.SILENT_S) == ""
    assert why(boot="another") == "the machine was restarted meanwhile"
    assert why(host="other", sign=now - progress.SILENT_S + 1) == ""
    assert why(host="other", sign=now + 7200) == ""
    assert "on other for 24 h" in why(host="other", sign=now - progress.SILENT_S - 1)
    assert "was killed" in over_because(of_a_gone_process())
    reused = msgspec.structs.replace(this_process(""), started="1")
    assert "was killed" in over_because(msgspec.structs.replace(mine, owner=reused))


def test_a_stopped_run_is_put_into_the_history_once_and_the_one_that_finds_it_raises_the_alarm(tmp_path: Path):
    home = environ(tmp_path)
    write_note(home, of_a_gone_process(step="extract_batch", done=2, of=5, seconds=7.5))
    (night,) = settle(home, "r2")
    assert settle(home, "r3") == []
    assert read_nights(home) == ([night], [])
    assert (night.outcome, night.run_id, night.at, night.seconds, night.failed) == (STOPPED, "r1", AT, 7.5, 1)
    assert night.failures[0].startswith("nightly stopped while reading sessions, 2 of 5 done: its process ")
    (alarm,) = alarms_of([night], a_night(1, run_id="r2"), AlarmSettings())
    assert (alarm.name, alarm.count) == ("stopped", 1)
    assert alarm.summary.startswith("nightly of 2026-03-01 03:30: nightly stopped while reading sessions")
    assert alarms_of([night], a_night(2, run_id="r3"), AlarmSettings()) == []


def test_a_run_that_was_killed_behind_its_own_line_is_not_told_twice(tmp_path: Path):
    home = environ(tmp_path)
    write_note(home, of_a_gone_process())
    append_night(home, a_night(run_id="r1", at=AT))
    assert settle(home, "r2") == []
    assert read_notes(home) == ([], [])
    assert len(read_nights(home)[0]) == 1


@pytest.mark.parametrize("damage", [b"{", msgspec.json.encode(begun("nightly", "r2", "yesterday"))])
def test_a_damaged_note_is_named_and_the_others_are_read(tmp_path: Path, damage: bytes):
    home = environ(tmp_path)
    write_note(home, begun("nightly", "r1", AT))
    note_path(home, "r2").write_bytes(damage)
    notes, (problem,) = read_notes(home)
    assert [note.run_id for note in notes] == ["r1"]
    assert str(note_path(home, "r2")) in problem


def test_a_stopped_run_ends_no_silence_and_counts_for_no_vanished_session():
    stopped = a_night(1, outcome=STOPPED, sessions=0, failed=1, failures=["x"], found_by="r9")
    assert alarms_of([a_night(0), stopped], a_night(2), AlarmSettings()) == []
    assert not stopped.has_looked

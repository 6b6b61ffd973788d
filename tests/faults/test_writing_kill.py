"""A process that is killed while it writes to a session leaves the old or the new state, and nothing in the way."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from tests.faults.killed import killed_at
from tests.unit.stores.writing.written import sessions_in

ID = "01a20006-4850-7187-9c46-f871573043ed"
MOST_STEPS = 50


def talk(sessions: Sessions) -> list[str]:
    """Write two turns, and return the ids of their messages."""
    made: list[str] = []
    for number in range(2):
        made.append(sessions.write_user_message(ID, f"question {number}"))
        made.append(sessions.write_assistant_message(ID, f"answer {number}"))
    return made


def begin(sessions: Sessions, _made: list[str]) -> None:
    if sessions.dialect == "pi":
        sessions.write_user_message("new", "waits in memory")
    sessions.write_assistant_message("new", "hi")


def compact(sessions: Sessions, made: list[str]) -> None:
    sessions.compact(ID, Compaction("so far", None if sessions.dialect == "cersei" else made[2]))


def fork(sessions: Sessions, _made: list[str]) -> None:
    sessions.fork(ID)


def extract(sessions: Sessions, made: list[str]) -> None:
    sessions.fork(ID, at=made[1])


def append(sessions: Sessions, _made: list[str]) -> None:
    sessions.write_user_message(ID, "one more")


Contexts = dict[str, list[str]]


def contexts(folder: Path, dialect: str) -> Contexts:
    sessions = sessions_in(folder, dialect)
    found = {row.id for row in sessions.list()}
    return {name: [m.text for m in sessions.load(name)] for name in found}


@pytest.mark.parametrize("work", [append, begin, compact, fork, extract], ids=lambda work: work.__name__)
@pytest.mark.parametrize("dialect", ["cersei", "claude", "pi"])
def test_a_kill_before_any_change_leaves_the_old_or_the_new_state(
    tmp_path: Path, dialect: str, work: Callable[[Sessions, list[str]], None]
):
    old, new, _ = tried(tmp_path / "whole", dialect, work, 0)
    assert old != new
    for step in range(1, MOST_STEPS):
        folder = tmp_path / str(step)
        before, left, was_killed = tried(folder, dialect, work, step)
        assert before == old
        assert left in (old, new)
        again = sessions_in(folder, dialect, first=100)
        again.write_user_message(ID, "and on")
        assert [m.text for m in again.load(ID) if m.role == "user"][-1].endswith("and on")
        if not was_killed:
            assert left == new
            return
    pytest.fail("more changes than there should be")


def tried(
    folder: Path, dialect: str, work: Callable[[Sessions, list[str]], None], step: int
) -> tuple[Contexts, Contexts, bool]:
    """Return what the sessions of a folder hold before and after a piece of work that is killed at a step."""
    sessions = sessions_in(folder, dialect, fsync=True)
    made = talk(sessions)
    before = contexts(folder, dialect)
    was_killed = killed_at(step, lambda: work(sessions, made))
    return before, contexts(folder, dialect), was_killed

"""Whether extraction would still take something: retention waits for that, and for nothing that will never come."""

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowwave.context import Run
from slowwave.extraction.gates import FAILURES, Failure
from slowwave.extraction.job import Pending
from slowwave.extraction.selection import EXTRACTOR
from slowwave.formats.sessions import StoredSession
from slowwave.jobs.story import run_job
from slowwave.memory.folder import Notes
from slowwave.settings import ExtractionSettings, Settings
from slowwave.stores.discovery import known_projects
from slowwave.stores.projects import Project
from tests.unit.retention.homes import Home


def the_one(home: Home) -> tuple[Project, StoredSession]:
    (project,) = known_projects(home.settings, home.environ).projects
    return project, project.sessions[0]


def long(home: Home, messages: int = 40) -> tuple[Project, StoredSession]:
    home.add("claude", 1, 10, *(f"say {number}" for number in range(messages)))
    return the_one(home)


def extract(home: Home, settings: Settings | None = None) -> None:
    run_job("extract", Run("r", settings or home.settings, home.clock, home.environ))


def left(project: Project, session: StoredSession) -> str:
    return Pending(project.memory).left(session)


def test_a_long_session_is_waited_for_until_it_was_read(tmp_path: Path) -> None:
    home = Home(tmp_path)
    project, session = long(home)
    assert "bytes have not been read" in left(project, session)
    extract(home)
    assert left(project, session) == ""
    with session.files.paths[0].open("ab") as file:
        file.write(session.files.paths[0].read_bytes().splitlines(keepends=True)[-1])
    home.touch(session.files.paths[0], 9)
    assert "bytes have not been read" in left(project, the_one(home)[1])


@pytest.mark.parametrize(
    "change",
    [{"kind": "subagent"}, {"origin": "cron"}, {"origin": "hook"}, {"source": "backup"}],
)
def test_what_is_never_taken_is_not_waited_for(tmp_path: Path, change: dict[str, str]) -> None:
    project, session = long(Home(tmp_path))
    assert left(project, replace(session, **change)) == ""


def test_a_short_session_is_waited_for_until_it_has_ended_and_was_read(tmp_path: Path) -> None:
    home = Home(tmp_path)
    project, session = long(home, 5)
    going_on = ExtractionSettings(ended_after=timedelta(days=9999))
    extract(home, replace(home.settings, extraction=going_on))
    assert "bytes have not been read" in left(project, session)
    extract(home)
    assert left(project, session) == ""


def test_what_failed_three_times_is_told(tmp_path: Path) -> None:
    project, session = long(Home(tmp_path))
    project.memory.mkdir(parents=True)
    stamp = f"{session.size}:{session.mtime_ns}"
    Notes(Failure, FAILURES).append(
        project.memory, [Failure(session.id, stamp, 3, "odd", EXTRACTOR, "2026-11-22T00:00:00Z")]
    )
    assert left(project, session) == "it could not be read 3 times: odd"

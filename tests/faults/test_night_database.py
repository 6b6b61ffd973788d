"""The server's database is gone for two minutes of a night: that goes on or says why not, the next one is complete."""

import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.faults.night_stage import Server, Stage, until
from tests.faults.night_town import Town, said
from tests.flows.test_operator import POSTGRES, free_port
from tests.flows.test_server import call

DRILLS = os.environ.get("DRILLS", "")
PROJECTS, SESSIONS = 4, 5
AWAY_S = 120.0
# Prefect's own: a worker that asks every second gives up within the two minutes
USUAL_QUERY_S = 15

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.drill,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(DRILLS != "all", reason="DRILLS=all: many minutes with a real server and a real database"),
]


class Postgres:
    """A PostgreSQL of our own, as its own user where we are root, that can be stopped and started again."""

    def __init__(self, place: Path) -> None:
        assert POSTGRES is not None
        self.place, self.port, self.binaries = place, free_port(), POSTGRES
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.as_user:
            shutil.chown(place, "postgres")
        made = [*self.as_user, str(POSTGRES / "initdb"), "-D", f"{place}/data", "-U", "postgres", "--auth=trust"]
        subprocess.run(made, check=True, capture_output=True, cwd=place)

    @property
    def url(self) -> str:
        return f"postgresql+asyncpg://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        place = str(self.place)
        command = [str(self.binaries / "postgres"), "-D", f"{place}/data", "-p", str(self.port), "-k", place]
        with (self.place / "log").open("ab") as log:
            subprocess.Popen(
                [*self.as_user, *command, "-h", "127.0.0.1", "-c", "fsync=off"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        ready = [str(self.binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        until(lambda: subprocess.run(ready, check=False).returncode == 0, "PostgreSQL")

    def stop(self) -> None:
        """End it at once, as a crash of it does: it recovers when it is started again."""
        pid = int((self.place / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, "its end")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if POSTGRES is None:
        pytest.skip("not installed here: postgresql")
    # outside of pytest's folders, which every session of pytest closes to other users again
    with tempfile.TemporaryDirectory(prefix="slowwave-postgres-", ignore_cleanup_errors=True) as place:
        database = Postgres(Path(place))
        database.start()
        try:
            yield database
        finally:
            database.stop()


@pytest.fixture
def on_postgres(postgres: Postgres, tmp_path: Path, own_home: Path) -> Iterator[Stage]:
    home = tmp_path / "server"
    environ = {**os.environ, "HOME": str(home), "PREFECT_API_DATABASE_CONNECTION_URL": postgres.url}
    with Server(home, environ) as server:
        server.deploy()
        yield Stage(server, Town(own_home, PROJECTS, SESSIONS), tmp_path)


@pytest.fixture
def on_sqlite(tmp_path: Path, own_home: Path) -> Iterator[Stage]:
    home = tmp_path / "server"
    # by default a request waits for a minute before it is refused
    environ = {**os.environ, "HOME": str(home), "PREFECT_SERVER_DATABASE_TIMEOUT": "5"}
    with Server(home, environ) as server:
        server.deploy()
        yield Stage(server, Town(own_home, PROJECTS, SESSIONS), tmp_path)


def is_refused(stage: Stage) -> bool:
    """Say whether the server refuses to note something."""
    try:
        call(stage.server.api, "/variables/", {"name": f"drill_{time.monotonic_ns()}", "value": 1})
    except (urllib.error.URLError, OSError):
        return True
    return False


def the_night_goes_on_or_says_why_not(
    stage: Stage, capsys: pytest.CaptureFixture[str], gone: Callable[[], Generator[None]]
) -> None:
    expected = stage.town.of_one_night()
    with stage.worker(USUAL_QUERY_S):
        first = stage.begin("first")
        pid = stage.in_its_middle(2)
        with contextmanager(gone)():
            until(lambda: is_refused(stage), "a request that is refused")
            ends = time.monotonic() + AWAY_S
            while time.monotonic() < ends:
                assert is_refused(stage)
        until(lambda: not is_refused(stage), f"the database's return; {stage.logs()}")
        until(lambda: not psutil.pid_exists(pid), f"the end of its process; {stage.logs()}")
        # What could not tell the server that it is over is taken for dead after three heartbeats. To shorten that here
        # would begin the automation's count anew, and nothing of a run that is over would ever set it off again.
        state = stage.ended(first)
        status = said(capsys, "status")[1]
        is_stopped = "  stopped" in status
        assert is_stopped or "Last run: nightly of 2026-03-02 03:30" in status
        if not is_stopped:
            assert stage.town.memories() == expected
        assert state["type"] in ("COMPLETED", "FAILED", "CRASHED")
        state = stage.night("next")
        assert state["type"] == "COMPLETED", (state, stage.logs())
    assert stage.town.memories() == expected
    assert stage.town.note() is None
    nights = {night.run_id: night for night in stage.town.nights()}
    assert set(nights) == {"first", "next"}
    assert [alarm.name for alarm in nights["next"].alarms] == ["stopped"] * is_stopped


def test_a_postgresql_that_is_gone_in_mid_night(
    on_postgres: Stage, postgres: Postgres, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone() -> Generator[None]:
        postgres.stop()
        try:
            yield
        finally:
            postgres.start()

    the_night_goes_on_or_says_why_not(on_postgres, capsys, gone)


def test_an_sqlite_that_another_process_keeps_locked_in_mid_night(
    on_sqlite: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone() -> Generator[None]:
        file = on_sqlite.server.home / "prefect.db"
        other = sqlite3.connect(file, isolation_level=None, timeout=300)
        try:
            other.execute("BEGIN IMMEDIATE")
            yield
        finally:
            other.close()

    the_night_goes_on_or_says_why_not(on_sqlite, capsys, gone)

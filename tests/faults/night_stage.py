"""A stage for drills of nights through Prefect: a server and a worker that may be killed and started again."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import psutil

from slowwave.service.server import own_server
from tests.faults.night_town import Town
from tests.faults.test_silent_failures import FIRST
from tests.flows.test_operator import free_port
from tests.flows.test_server import call, run

LIMIT_S = 300
TERMINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
# how long the automation of `slowwave deploy` waits for a word of a run: three heartbeats; and in a hurry
USUAL_S, SOON_S = 180, 15
_PAUSE_S = 0.1
_BUSY = 500


def until(ready: Callable[[], object], what: str) -> Any:
    """Wait until something is true and return it."""
    ends = time.monotonic() + LIMIT_S
    while not (found := ready()):
        assert time.monotonic() < ends, f"waited for ever: {what}"
        time.sleep(_PAUSE_S)
    return found


class Server:
    """A Prefect server that keeps its port and its database over a kill."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self.home, self.environ, self.port = home, environ, free_port()
        self._running = ExitStack()
        self.api = ""
        self.nightly = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.api = self._running.enter_context(own_server(self.home, self.environ, port=self.port))

    def deploy(self) -> None:
        """Deploy a night that nobody starts but we."""
        environ = {"PREFECT_API_URL": self.api, "PREFECT_HOME": str(self.home), "HOME": str(self.home)}
        deployed = run("slowwave", "deploy", "--timezone", "UTC", "--create-pool", **environ)
        assert deployed.returncode == 0, deployed.stderr
        (schedule,) = self.ask("/deployments/name/nightly/nightly")["schedules"]
        self.nightly = schedule["deployment_id"]
        self.ask(f"/deployments/{self.nightly}/schedules/{schedule['id']}", {"active": False}, method="PATCH")

    def patience(self, seconds: int) -> None:
        """Set how long the automation waits for a word of a run before it takes it for dead."""
        (died,) = self.ask("/automations/filter", {})
        died["trigger"]["within"] = seconds
        names = ("name", "description", "enabled", "trigger", "actions", "tags")
        wanted = {name: died[name] for name in names if name in died}
        self.ask(f"/automations/{died['id']}", wanted, method="PUT")

    def ask(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:
        """Ask the server's API, again as long as its database is busy."""

        def answer() -> list[Any]:
            try:
                return [call(self.api, path, body, method)]
            except urllib.error.HTTPError as error:
                if error.code < _BUSY:
                    raise
                return []

        return until(answer, path)[0]

    def kill(self) -> None:
        """End it and everything that it started as ``kill -9`` does."""
        mine = [p for p in psutil.Process().children() if "slowwave.service.child" in p.cmdline()]
        for process in [one for parent in mine for one in (*parent.children(recursive=True), parent)]:
            process.kill()
        self._running.close()
        self._running = ExitStack()


class Stage:
    """A server, a town, and a folder for the worker between them."""

    def __init__(self, server: Server, town: Town, home: Path) -> None:
        self.server, self.town, self.home = server, town, home

    def ask(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:
        return self.server.ask(path, body, method)

    def begin(self, run_id: str, *overrides: str) -> str:
        """Ask for a night and return the id of its flow run."""
        given = {"store": [str(self.town.root)], "now": FIRST.isoformat(), "run_id": run_id}
        params = {**given, "overrides": ["extraction.batch_sessions=1", *overrides]}
        asked = {"parameters": {"params": params}, "state": {"type": "SCHEDULED"}}
        return str(self.ask(f"/deployments/{self.server.nightly}/create_flow_run", asked)["id"])

    def state(self, flow_run: str) -> dict[str, Any]:
        """Return the state of a run; {} while the server does not answer."""
        try:
            return self.ask(f"/flow_runs/{flow_run}")["state"]
        except (urllib.error.URLError, OSError):
            return {}

    def ended(self, flow_run: str) -> dict[str, Any]:
        """Wait for the end of a run, and return its state."""

        def over() -> dict[str, Any] | None:
            state = self.state(flow_run)
            return state if state and state["type"] in TERMINAL else None

        return until(over, f"the end of {flow_run}: {self.state(flow_run)}; {self.logs()}")

    def night(self, run_id: str) -> dict[str, Any]:
        """Run a night and return the state that it ends in."""
        return self.ended(self.begin(run_id))

    def in_its_middle(self, done: int) -> int:
        """Wait until the night at work has done so many of its portions; return the id of its process."""

        def ready() -> int | None:
            note = self.town.note()
            return note.owner.pid if note and not note.ended and note.step and note.done >= done else None

        return until(ready, f"portion {done}; {self.logs()}")

    def logs(self) -> str:
        return "".join(f"\n{log}: {log.read_text(errors='replace')[-3000:]}" for log in self.home.glob("*.log"))

    @contextmanager
    def worker(self, query_s: int = 1) -> Generator[subprocess.Popen[bytes]]:
        """Run a worker; what is left of it and of its runs at the end is ended by process id.

        Args:
            query_s: how often it asks for runs. It gives up after a number of refusals, not after a time.
        """
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "slowwave"]
        environ = {
            **os.environ,
            "PREFECT_API_URL": self.server.api,
            "PREFECT_HOME": str(self.home),
            "PREFECT_WORKER_QUERY_SECONDS": str(query_s),
        }
        with (self.home / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.home,
                start_new_session=True,
            )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                for one in (*psutil.Process(process.pid).children(recursive=True), process):
                    one.kill()
            process.wait()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)

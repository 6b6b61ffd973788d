"""What Prefect costs a night: 100 projects of 100 sessions, against the same night by plain function calls."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from measure import Row, compared
from peers import HERE

from slowwave.service.server import own_server

PROJECTS, SESSIONS = 100, 100
MOST_RATIO = 1.2
MOST_CALLS = 0.1
# runnable processes a core, before anything begins
MOST_LOAD = 0.75
# Short sessions that just pass the gates: the less work there is, the more of it is orchestration.
TURNS = 11
TOOLS = ("ripgrep", "ruff", "pnpm", "just", "podman", "zstd", "sqlite", "nginx", "caddy", "jq")


def orchestration(build: Path, rounds: int) -> list[Row]:
    """Run the night both ways in turns, each in a process of its own, the server beside it on the same machine.

    The demand is on wall time. That tells something only where nothing else is at work, so it is not judged on a busy
    machine; the processor time of the process is judged anywhere.
    """
    is_busy = os.getloadavg()[0] > MOST_LOAD * (os.cpu_count() or 1)
    store = village(build / "village" / "projects")
    took: dict[str, list[Took]] = {"plain calls": [], "Prefect": []}
    with own_server(build / "server", dict(os.environ)) as api:
        night("prefect", store / "-home-dev-p0", build / "night", api)  # modules are compiled, the server is warm
        for _ in range(max(1, rounds // 3)):
            for name, way in (("plain calls", "direct"), ("Prefect", "prefect")):
                one = night(way, store, build / "night", api)
                done = (one.report["projects"], one.report["sessions"], one.report["dreams"], one.report["failures"])
                assert done == (PROJECTS, PROJECTS * SESSIONS, PROJECTS, []), one.report
                took[name].append(one)
    wall = {name: statistics.median(one.wall for one in every) for name, every in took.items()}
    cpu = {name: statistics.median(one.cpu for one in every) for name, every in took.items()}
    each = max(one.report["calls"] for one in took["Prefect"]) / (PROJECTS * SESSIONS)
    waited = compared("night of 100 x 100, wall", wall, "Prefect", "plain calls", MOST_RATIO)
    return [
        replace(waited, ratio=None) if is_busy else waited,
        compared("its processor time", cpu, "Prefect", "plain calls", MOST_RATIO),
        Row("Prefect API calls a session", f"{each:.4f}", "most", f"{MOST_CALLS:g}", each / MOST_CALLS, 1),
    ]


@dataclass(frozen=True, slots=True)
class Took:
    """What one night says, and what it took: wall and processor time in seconds."""

    report: dict[str, Any]
    wall: float
    cpu: float


def night(way: str, store: Path, place: Path, api: str) -> Took:
    """Run one night from nothing in a process of its own."""
    shutil.rmtree(place, ignore_errors=True)
    for folder in ("home", "state", "data", "config"):
        (place / folder).mkdir(parents=True)
    for memory in store.glob("*/memory"):
        shutil.rmtree(memory)
    environ = {
        **os.environ,
        **{f"XDG_{name.upper()}_HOME": str(place / name) for name in ("state", "data", "config")},
        "HOME": str(place / "home"),
        "PREFECT_API_URL": api,
    }
    command = [sys.executable, str(HERE / "night_one.py"), way, str(store), "consolidation.min_sessions=1"]
    begin = time.perf_counter()
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, env=environ, stdout=output, stdin=subprocess.DEVNULL) as process,
    ):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begin
        output.seek(0)
        said = output.read()
    if process.returncode:
        raise RuntimeError(f"{command} ended with code {process.returncode}")
    return Took(json.loads(said.splitlines()[-1]), wall, usage.ru_utime + usage.ru_stime)


def village(folder: Path) -> Path:
    """Make the sessions once: each with one wish of a person, and talk around it."""
    if (folder / ".made").exists():
        return folder
    began = datetime.now(UTC) - timedelta(days=2)
    for project in range(PROJECTS):
        home = folder / f"-home-dev-p{project}"
        home.mkdir(parents=True, exist_ok=True)
        for number in range(SESSIONS):
            name = f"{project:08}-0000-4000-8000-{number:012}"
            path = home / f"{name}.jsonl"
            path.write_text("".join(f"{line}\n" for line in _session(name, project, number, began)), encoding="utf-8")
            os.utime(path, (began.timestamp() + 3600, began.timestamp() + 3600))
    (folder / ".made").touch()
    return folder


def _session(name: str, project: int, number: int, began: datetime) -> list[str]:
    tool = TOOLS[number % len(TOOLS)]
    wish = f"Always use {tool} in package{number // len(TOOLS)} of project {project}."
    lines: list[str] = []
    for turn in range(2 * TURNS):
        role = "assistant" if turn % 2 else "user"
        said = "That is done, the next one follows. " * 8
        content = [{"type": "text", "text": said}] if turn % 2 else (wish if turn == 0 else f"go on with step {turn}")
        record = {
            "type": role,
            "uuid": f"{name}-{turn}",
            "parentUuid": f"{name}-{turn - 1}" if turn else None,
            "sessionId": name,
            "cwd": f"/home/dev/p{project}",
            "version": "2.1.0",
            "timestamp": (began + timedelta(minutes=turn)).isoformat().replace("+00:00", "Z"),
            "message": {"role": role, "content": content},
        }
        lines.append(json.dumps(record))
    return lines

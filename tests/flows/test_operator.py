"""A new operator with nothing but the pages: their lines are run as they stand, from a fresh environment to artifacts.

What is replaced: ports, by free ones; what pip would fetch, by the packages of this environment (``DRILLS=full`` lets
pip fetch); what apt-get would install, by the binaries of this machine.
"""

import importlib.util
import itertools
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from slowwave.samples import build

ROOT = Path(__file__).parents[2]
LIMIT_S = 600
FULL = os.environ.get("DRILLS") == "full"

pytestmark = [pytest.mark.e2e, pytest.mark.drill, pytest.mark.timeout(1200)]


def commands(name: str) -> list[str]:
    """Return the lines of a block for an operator, in the README or on the page about services."""
    pages = [ROOT / "README.md", ROOT / "docs" / "deploy" / "README.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = re.findall(rf"<!-- operator: {re.escape(name)} -->\n```\n(.*?)\n```", text, re.DOTALL)
    assert len(found) == 1, f"{len(found)} blocks for {name}"
    return str(found[0]).splitlines()


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def desk(tmp_path: Path, own_home: Path) -> Path:
    """Make a checkout as somebody would have it, and a home folder with transcripts."""
    desk = tmp_path / "slowwave"
    desk.mkdir()
    for name in ("lib", "flows", "tasks", "docs"):
        shutil.copytree(ROOT / name, desk / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "prefect.yaml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, desk / name)
    build(own_home, datetime.now(UTC))
    return desk


def borrowed(venv: Path) -> str:
    """Return the lines that stand in for what pip would fetch: packages, and the command that comes with them."""
    if FULL:
        return ""
    site = f"{venv}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    return (
        f"echo {sysconfig.get_paths()['purelib']} > {site}/borrowed.pth\n"
        f"printf '#!/bin/sh\\nexec {venv}/bin/python -m prefect \"$@\"\\n' > {venv}/bin/prefect\n"
        f"chmod +x {venv}/bin/prefect\n"
        "export PIP_NO_INDEX=1 PIP_NO_DEPS=1 PIP_NO_BUILD_ISOLATION=0\n"
    )


def carried_out(lines: list[str], desk: Path, ports: dict[str, int], more: dict[str, str]) -> str:
    """Run the lines in one shell, end what they started, and return what the last one printed."""
    port = ports["4200"]
    # job control: without it a shell's background job ignores the signal that ends a worker
    script = "set -eum\n"
    # Prefect turns the first request to end into an interrupt; each job is a group of its own
    script += "trap 'for n in 1 2; do for j in $(jobs -p); do kill -TERM -- -$j 2>/dev/null; done; done; wait' EXIT\n"
    for line in lines:
        for usual, free in ports.items():
            line = re.sub(rf"\b{usual}\b", str(free), line)  # noqa: PLW2901 - the line as this machine can run it
        script += f"echo '>>>' \"{line.split('#')[0].split()[0]}\" >&2\n{line}\n"
        if line.startswith(". "):
            script += borrowed(desk / "venv")
    script = script.replace("\nprefect artifact ls", "\necho '=== artifacts'\nprefect artifact ls")
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith("PREFECT_") and k != "PYTHONPATH"},
        **more,
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "DO_NOT_TRACK": "1",
        "COLUMNS": "200",
    }
    shell = subprocess.Popen(
        ["bash", "-c", script], cwd=desk, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    with shell:
        try:
            said, _ = shell.communicate(timeout=LIMIT_S * 2 if FULL else LIMIT_S)
        finally:
            # what is left when time ran out: a server that nobody ends would outlive the test
            for process in psutil.Process().children(recursive=True) if shell.poll() is None else ():
                if _cwd(process).is_relative_to(desk):
                    process.kill()
    logs = "".join(f"{log.name}: {log.read_text(errors='replace')[-2000:]}\n" for log in sorted(desk.glob("*.log")))
    assert shell.returncode == 0, said[-6000:] + logs
    return said


def _cwd(process: psutil.Process) -> Path:
    try:
        return Path(process.cwd())
    except psutil.Error:
        return Path("/gone")


def check(said: str, home: Path) -> None:
    artifacts = said.partition("=== artifacts")[2]
    assert {"nightly-funnel", "nightly-memory-diff"} <= set(re.findall(r"nightly-[a-z-]+", artifacts)), said
    assert re.search(r"nightly +03:30 every day \(", said), "no schedule"
    assert list(home.glob(".claude/projects/*/memory/MEMORY.md"))


def python_for(desk: Path) -> dict[str, str]:
    """Put this interpreter first as python3: the packages that are borrowed are for its version."""
    tools = desk.parent / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    return {"PATH": f"{tools}:/usr/bin:/bin:/usr/sbin:/sbin"}


def test_ten_lines_lead_from_a_fresh_machine_to_a_scheduled_night_with_artifacts(desk: Path, own_home: Path) -> None:
    lines = commands("SQLite")
    assert len(lines) <= 10
    check(carried_out(lines, desk, {"4200": free_port()}, python_for(desk)), own_home)


POSTGRES = next((p.parent for p in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), None)


@contextmanager
def running(command: list[str], **how: Any) -> Generator[None]:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **how)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def postgres(port: int) -> Generator[None]:
    """Run a PostgreSQL of our own, as its own user where we are root: it refuses to run as root.

    Its folder lies outside of pytest's, which every session of pytest closes to other users again.
    """
    assert POSTGRES is not None
    with tempfile.TemporaryDirectory(prefix="slowwave-postgres-", ignore_cleanup_errors=True) as place:
        as_user: list[str] = []
        if os.geteuid() == 0:
            shutil.chown(place, "postgres")
            as_user = ["runuser", "-u", "postgres", "--"]
        data = f"{place}/data"
        made = [*as_user, str(POSTGRES / "initdb"), "-D", data, "-U", "postgres", "--auth=trust"]
        subprocess.run(made, check=True, capture_output=True, cwd=place)
        command = [*as_user, str(POSTGRES / "postgres"), "-D", data, "-p", str(port), "-k", place, "-h", "127.0.0.1"]
        with Path(place, "log").open("wb") as log, running([*command, "-c", "fsync=off"], stdout=log, stderr=log):
            ready = ["bash", "-c", f"until {POSTGRES}/pg_isready -q -h 127.0.0.1 -p {port}; do :; done"]
            subprocess.run(ready, check=True, timeout=120)
            yield


@contextmanager
def redis(folder: Path, port: int) -> Generator[None]:
    folder.mkdir()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    with (folder / "log").open("wb") as log, running(command, stdout=log, stderr=log):
        ready = f"until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do :; done"
        subprocess.run(["bash", "-c", ready], check=True, timeout=60)
        yield


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def missing() -> str:
    lacks = [
        name
        for name, there in (
            ("postgresql", POSTGRES),
            ("redis-server", shutil.which("redis-server")),
            ("prefect-redis", importlib.util.find_spec("prefect_redis")),
        )
        if not there
    ]
    return f"not installed here: {', '.join(lacks)}" if lacks else ""


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_fifteen_lines_lead_to_the_same_on_postgresql_and_redis(
    desk: Path, own_home: Path, tmp_path: Path, stack: ExitStack
) -> None:
    lines = commands("PostgreSQL and Redis")
    assert len(lines) <= 15
    ports = {"4200": free_port(), "5432": free_port(), "6379": free_port()}
    stack.enter_context(postgres(ports["5432"]))
    stack.enter_context(redis(tmp_path / "redis", ports["6379"]))
    apt, role, *rest = lines
    assert apt.startswith("apt-get install -y postgresql redis-server")
    # the same statements, to the server of this test
    psql = shlex.split(shlex.split(role)[-1])
    statements = [after for word, after in itertools.pairwise(psql) if word == "-c"]
    assert (psql[0], len(statements)) == ("psql", 2), role
    for statement in statements:
        who = ["-h", "127.0.0.1", "-p", str(ports["5432"]), "-U", "postgres", "-c", statement]
        subprocess.run(["psql", *who], check=True, capture_output=True)
    scaled = desk / "docs" / "deploy" / "server-scaled.env"
    text = scaled.read_text(encoding="utf-8")
    for usual, free in ports.items():
        text = re.sub(rf"\b{usual}\b", str(free), text)
    scaled.write_text(text, encoding="utf-8")
    rest = [line.replace("pip install . prefect-redis", "pip install .") if not FULL else line for line in rest]
    redis_package = importlib.util.find_spec("prefect_redis")
    assert redis_package is not None
    assert redis_package.origin is not None
    more = {**python_for(desk), "PYTHONPATH": "" if FULL else str(Path(redis_package.origin).parents[1])}
    check(carried_out(rest, desk, ports, more), own_home)

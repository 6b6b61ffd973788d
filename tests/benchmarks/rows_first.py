"""What a person waits for who starts a job by hand: the first line, nothing to do, a dry run, and what is in the way.

Wall time, which tells something only where nothing else is at work. On a busy machine a row tells processor time in its
place, or is not judged: the first line, which is not the end of a process, and the dry run, which several processes
share. Each stands beside something that a person knows, measured in turns with it: the start of Python, a walk over the
same home, and reading the same bytes. The sessions are real ones where they lie beside the checkout.
"""

import json
import os
import pty
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from measure import Row, seconds
from rows_orchestration import MOST_LOAD
from rows_reading import CORPUS
from sessions_data import VERSION, fleet

LINE_S, NOTHING_S, DRY_S, CAUSE_S = 0.3, 1.0, 4.0, 2.0
FILES, MEDIAN, PROJECTS = 215, 135_000, 8
JOBS = (
    *("nightly", "extract", "consolidate", "compact", "retain --apply", "erase --secrets --apply"),
    *("erase --topic x --apply", "backfill --since 2020-01-01"),
)
_WALK = "import os, sys; [os.stat(os.path.join(at, n)) for at, _, names in os.walk(sys.argv[1]) for n in names]"
_READ = "import pathlib, sys; [p.open('rb').read() for p in pathlib.Path(sys.argv[1]).rglob('*.jsonl')]"


class Took(NamedTuple):
    """What a command took, in seconds; no processor time where that is not its own alone."""

    wall: float
    cpu: float


def first_minute(build: Path, rounds: int) -> list[Row]:
    """Run the command at a terminal of its own, beside its comparators, and every job where it can do nothing."""
    rounds = max(2, rounds // 2)
    home = lived_in(build)
    store = str(home / ".claude")
    size = sum(path.stat().st_size for path in home.rglob("*.jsonl")) / 1e6
    others = {"python -c pass": ("pass",), "walk of the home": (_WALK, store), "read the same": (_READ, store)}
    waited(home, "nightly")  # the night after which there is nothing to do
    lines: list[Took] = []
    times: dict[str, list[Took]] = {"nothing": [], "dry": [], **{name: [] for name in others}}
    for _ in range(rounds):
        line, whole = waited(home, "nightly")
        lines.append(line)
        times["nothing"].append(whole)
        with away([home / "state", *home.glob(".claude/projects/*/memory")]):
            times["dry"].append(waited(home, "nightly --dry-run")[1]._replace(cpu=0.0))
        for name, words in others.items():
            times[name].append(took([sys.executable, "-c", *words])[0])
    rows = [
        row("first line at a terminal", lines, LINE_S, "python -c pass", times),
        row("nightly, nothing to do", times["nothing"], NOTHING_S, "walk of the home", times),
        row(f"nightly --dry-run, {size:.0f} MB", times["dry"], DRY_S, "read the same", times),
    ]
    for name, found in causes(build, home, rounds).items():
        job = f"{name} named, slowest job"
        no_row = Row(f"{job} (at most {CAUSE_S:g} s)", "not here", "-", "-", None, CAUSE_S)
        rows.append(row(job, found, CAUSE_S, "python -c pass", times) if found else no_row)
    return rows


def row(job: str, ours: Sequence[Took], most: float, other: str, times: Mapping[str, Sequence[Took]]) -> Row:
    """Return a row: ours beside a comparator, judged by seconds."""
    is_busy = os.getloadavg()[0] > MOST_LOAD * (os.cpu_count() or 1)
    by_cpu = is_busy and bool(ours[0].cpu)
    figure, theirs = (
        statistics.median(one.cpu if by_cpu else one.wall for one in every) for every in (ours, times[other])
    )
    name = f"{job}{', processor time' if by_cpu else ''} (at most {most:g} s)"
    ratio = None if is_busy and not by_cpu else figure / theirs
    return Row(name, seconds(figure), other, seconds(theirs), ratio, most / theirs)


def lived_in(build: Path) -> Path:
    """Return a home in which people worked: real sessions, each where its client keeps it, else made ones."""
    home = build / "first" / "home"
    projects = home / ".claude" / "projects"
    if (home / ".made").exists():
        for folder in (home / "state", home / ".config", *projects.glob("*/memory")):
            shutil.rmtree(folder, ignore_errors=True)
        return home
    shutil.rmtree(home, ignore_errors=True)
    for number, path in enumerate(sorted((CORPUS / "claude-code").rglob("*.jsonl"))):
        session, folder = said_in(path)
        place = projects / re.sub(r"[^A-Za-z0-9]", "-", folder or f"/home/ann/{path.parent.name}")
        place.mkdir(parents=True, exist_ok=True)
        name = session or path.stem
        is_taken = (place / f"{name}.jsonl").exists()
        shutil.copyfile(path, place / f"{name}{f'-{number}' if is_taken else ''}.jsonl")
    if not projects.is_dir():
        shutil.copytree(fleet(build / f"data-{VERSION}" / "first", FILES, MEDIAN, projects=PROJECTS), home / ".claude")
    for path in projects.rglob("*.jsonl"):
        os.utime(path, (time.time() - 3 * 86400, time.time() - 3 * 86400))
    (home / ".made").touch()
    return home


def said_in(path: Path) -> tuple[str, str]:
    """Return which session a file is, and in which folder somebody worked in it, as its records say."""
    session = folder = ""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                found: object = json.loads(line)
            except ValueError:
                continue
            record = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
            session, folder = session or record.get("sessionId") or "", folder or record.get("cwd") or ""
            if session and folder:
                break
    return session, folder


def causes(build: Path, home: Path, rounds: int) -> dict[str, list[Took]]:
    """Return how long the slowest job takes to name each of the things in its way; nothing where one cannot be made."""
    nowhere, barred, disk = (build / "first" / name for name in ("nowhere", "barred", "disk"))
    barred.touch()
    disk.mkdir(exist_ok=True)
    here = {"HOME": str(home)}
    found = {
        "missing home": slowest({"HOME": str(nowhere)}, "no such home", rounds),
        "unwritable folder": slowest({**here, "XDG_STATE_HOME": str(barred)}, "File exists", rounds),
        "full disk": list[Took](),
    }
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "slowwave-bench", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        try:
            found["full disk"] = slowest({**here, "XDG_STATE_HOME": str(disk)}, "No space left", rounds)
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    return found


def slowest(environ: Mapping[str, str], cause: str, rounds: int) -> list[Took]:
    """Return how long each round's slowest job takes to end with its cause named in one line."""
    found: list[Took] = []
    for _ in range(min(rounds, 3)):
        times: list[Took] = []
        for job in JOBS:
            spent, said = took(command(job), around(environ))
            times.append(spent)
            if cause not in said or said.count("\n") != 1:
                raise RuntimeError(f"{job} does not name {cause!r} in one line: {said!r}")
        found.append(max(times))
    return found


def command(job: str) -> list[str]:
    """Return the command of a job, in its own process."""
    return [sys.executable, "-m", "slowwave", "run", *job.split(), "--direct"]


def around(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a job: nothing of the person at work."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SLOWWAVE_", "PREFECT_"))}
    return {**kept, "TERM": "xterm", **environ}


def took(words: Sequence[str], environ: Mapping[str, str] | None = None) -> tuple[Took, str]:
    """Return how long a command takes, and what it says on standard error."""
    with tempfile.TemporaryFile() as told:
        begin = time.perf_counter()
        with subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL, stderr=told) as process:
            spent = ended(process, begin)
        told.seek(0)
        return spent, told.read().decode()


def ended(process: subprocess.Popen[bytes], begin: float) -> Took:
    """Wait for a process, and return what it took."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Took(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime)


@contextmanager
def away(folders: Sequence[Path]) -> Generator[None]:
    """Let folders be away inside, so that all is new; what is made in their places goes."""
    for folder in folders:
        folder.rename(folder.with_name(f"{folder.name}.away"))
    try:
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_name(f"{folder.name}.away").rename(folder)


def waited(home: Path, job: str) -> tuple[Took, Took]:
    """Return after how long a job shows something at its terminal, and after how long it is over."""
    ours, theirs = pty.openpty()
    environ = around({"HOME": str(home), "XDG_STATE_HOME": str(home / "state")})
    begin = time.perf_counter()
    with subprocess.Popen(command(job), env=environ, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        line = 0.0
        while part := read(ours):
            shown += part
            line = line or (time.perf_counter() - begin if b"Looking" in shown else 0.0)
        whole = ended(process, begin)
    os.close(ours)
    if process.returncode or not line:
        raise RuntimeError(f"{job} ended with code {process.returncode} and showed {shown[-500:]!r}")
    return Took(line, 0.0), whole


def read(terminal: int) -> bytes:
    """Return what a terminal shows next; nothing when the program is gone, which Linux tells as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""

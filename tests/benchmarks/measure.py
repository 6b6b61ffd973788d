"""Measuring: processor time, medians, interleaved rounds. Ratios of one run are comparable, absolute times are not."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: our time beside the comparator's, and what the design demands."""

    job: str
    ours: str
    comparator: str
    theirs: str
    ratio: float | None
    must: float | None

    @property
    def verdict(self) -> str:
        """Whether the demand holds."""
        if self.ratio is None or self.must is None:
            return "-"
        return "holds" if self.ratio <= self.must else "MISSED"


# what the design demands of speed besides, of code that does not exist yet
LATER = (
    Row("context of a compacted session", "", "pi SessionManager, 40 MB", "", None, 0.1),
    Row("text of 1 GB", "", "jq", "", None, 0.3),
    Row("text of 1 GB", "", "ripgrep -o", "", None, 1.2),
)


Work = Callable[[], object] | Sequence[str | Path]


def cache_bytecode(folder: Path) -> None:
    """Let the measured programs keep their compiled modules in ``folder``, as an installed package does.

    Without it every start would compile slowwave anew where the shell forbids to write bytecode.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def cpu_of(works: Mapping[str, Work], rounds: int, *, before: Callable[[], object] | None = None) -> dict[str, float]:
    """Return the median processor time of each work, run in turns.

    A function is measured in this process, a command with its start and imports. ``before`` is run before each and
    not measured.
    """
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        if not callable(work):
            cpu_of_command(work)  # the files are in memory afterwards, and the modules compiled
    for _ in range(rounds):
        for name, work in works.items():
            if before:
                before()
            times[name].append(cpu_of_call(work) if callable(work) else cpu_of_command(work))
    return {name: statistics.median(values) for name, values in times.items()}


def cpu_of_call(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def cpu_of_command(command: Sequence[str | Path]) -> float:
    """Return the processor time of one run."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        output = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} failed: {output.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


def seconds(value: float) -> str:
    """Return a time for the table."""
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"


def compared(job: str, times: Mapping[str, float], ours: str, theirs: str, must: float | None) -> Row:
    """Return a row of two measured times."""
    ratio = times[ours] / times[theirs]
    return Row(job, seconds(times[ours]), theirs, seconds(times[theirs]), ratio, must)


def print_rows(rows: Sequence[Row]) -> None:
    """Print the table, and what is not measured yet."""
    head = ("job", "slowwave", "comparator", "its figure", "ratio", "must", "")
    body = [(r.job, r.ours, r.comparator, r.theirs, _number(r.ratio), _number(r.must), r.verdict) for r in rows]
    body += [(r.job, "-", r.comparator, "-", "-", _number(r.must), "later work") for r in LATER]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    for line in [head, *body]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

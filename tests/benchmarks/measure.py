"""Measuring: processor time, medians, interleaved rounds. Ratios of one run are comparable, absolute times are not."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
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
        """Whether the demand holds; a row whose comparator cannot be had here says so."""
        if self.must is None:
            return "-"
        if self.ratio is None:
            return "SKIPPED"
        return "holds" if self.ratio <= self.must else "MISSED"


Work = Callable[[], object] | Sequence[str | Path]


def cache_bytecode(folder: Path) -> None:
    """Let the measured programs keep their compiled modules in ``folder``, as an installed package does.

    Without it every start would compile slowwave anew where the shell forbids to write bytecode.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def cpu_of(works: Mapping[str, Work], rounds: int, *, before: Callable[[], object] | None = None) -> dict[str, float]:
    """Return the median processor time of each work, run in turns; the arguments are those of :func:`rounds_of`."""
    return {name: statistics.median(values) for name, values in rounds_of(works, rounds, before=before).items()}


def rounds_of(
    works: Mapping[str, Work], rounds: int, *, before: Callable[[], object] | None = None
) -> dict[str, list[float]]:
    """Return the processor times of each work, one a round, run in turns.

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
    return times


def cpu_of_call(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def cpu_of_command(command: Sequence[str | Path]) -> float:
    """Return the processor time of one run."""
    usage = _usage_of(command)
    return usage.ru_utime + usage.ru_stime


def peak_of(command: Sequence[str | Path]) -> int:
    """Return the peak of the resident memory of one run in bytes."""
    launcher = [sys.executable, Path(__file__).with_name("peak_one.py"), *command]
    return int(subprocess.run(launcher, check=True, capture_output=True).stdout)


def _usage_of(command: Sequence[str | Path]) -> resource.struct_rusage:
    """Run a command; its output goes to a file, so that reading it costs nothing here."""
    with tempfile.TemporaryFile() as output, subprocess.Popen(command, stdout=output) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise RuntimeError(f"{command} failed: {output.read(2000).decode(errors='replace')}")
    return usage


def seconds(value: float) -> str:
    """Return a time for the table."""
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"


def compared(job: str, times: Mapping[str, float], ours: str, theirs: str, must: float | None) -> Row:
    """Return a row of two measured times."""
    ratio = times[ours] / times[theirs]
    return Row(job, seconds(times[ours]), theirs, seconds(times[theirs]), ratio, must)


def print_rows(rows: Sequence[Row]) -> None:
    """Print the table."""
    head = ("job", "slowwave", "comparator", "its figure", "ratio", "must", "")
    body = [(r.job, r.ours, r.comparator, r.theirs, _number(r.ratio), _number(r.must), r.verdict) for r in rows]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    for line in [head, *body]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

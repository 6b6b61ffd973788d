"""Fuzz all targets in turn, or those that are named: ``python -m tests.fuzz.run SECONDS [TARGET ...]``.

The seconds are shared by the targets. What was learned stays in ``.fuzz/`` and is where the next run goes on from; a
table says what was run, how much of the library it reached, and what was found. Exit code 1 means findings.
"""

import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.seeds import TARGETS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".fuzz"
_SHORTEST = 5
_STATE = re.compile(r"^#(\d+)\s.*?cov: (\d+) ft: (\d+)", re.MULTILINE)
_COUNTERS = re.compile(r"\((\d+) inline 8-bit counters\)")


class Outcome(NamedTuple):
    """What came of one target."""

    target: str
    seconds: float
    executions: int
    reached: int
    features: int
    edges: int
    findings: int


def main(arguments: list[str]) -> int:
    """Fuzz and print a table."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        print("fuzzing needs atheris, which is made for Linux on x86-64; this is", sys.platform, platform.machine())
        return 2
    seconds = int(arguments[0]) if arguments else 600
    targets = arguments[1:] or list(TARGETS)
    if unknown := set(targets) - set(TARGETS):
        print("unknown targets:", *sorted(unknown), "- there are:", *TARGETS)
        return 2
    each = max(_SHORTEST, seconds // len(targets))
    outcomes = [_fuzzed(target, each) for target in targets]
    _print(outcomes)
    return 1 if any(o.findings for o in outcomes) else 0


def _fuzzed(target: str, seconds: int) -> Outcome:
    folder = FOLDER / target
    begun = time.monotonic()
    executions = reached = features = edges = 0
    while (left := seconds - (time.monotonic() - begun)) >= 1:
        command = [sys.executable, "-m", "tests.fuzz.one_target", target, str(max(1, int(left))), str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        log = done.stderr.decode("utf-8", "replace")
        (folder / "log.txt").write_text(log, encoding="utf-8")
        states = _STATE.findall(log)
        if not states:
            raise SystemExit(f"the target {target} did not start:\n{log[-2000:]}")
        executions += int(states[-1][0])
        reached, features = int(states[-1][1]), int(states[-1][2])
        edges = sum(map(int, _COUNTERS.findall(log)))
        print(f"{target}: {states[-1][0]} inputs, exit code {done.returncode}", flush=True)
        if done.returncode == 0:
            break
    kept = [*(folder / "findings").glob("*.txt"), *folder.glob("stopped-*")]
    return Outcome(target, time.monotonic() - begun, executions, reached, features, edges, len(kept))


def _print(outcomes: list[Outcome]) -> None:
    print(f"{'target':14}{'seconds':>8}{'inputs':>10}{'edges reached':>15}{'of':>8}{'features':>10}{'findings':>10}")
    for o in outcomes:
        print(f"{o.target:14}{o.seconds:8.0f}{o.executions:10}{o.reached:15}{o.edges:8}{o.features:10}{o.findings:10}")
    total = sum(o.executions for o in outcomes)
    print(f"{total} inputs, {sum(o.findings for o in outcomes)} findings (in {FOLDER.name}/TARGET/findings)")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

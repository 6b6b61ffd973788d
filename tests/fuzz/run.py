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
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.fuzz.seeds import TARGETS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".fuzz"
_SHORTEST = 5
_ROW = "{:14}{:>8}{:>9}{:>15}{:>8}{:>10}{:>10}"
_MEMORY = Path("/dev/shm")  # thousands of small files a second
_STATE = re.compile(r"^#(\d+)\s.*?cov: (\d+) ft: (\d+)", re.MULTILINE)
_EDGES = re.compile(r"^EDGES (\d+)$", re.MULTILINE)


class Outcome(NamedTuple):
    """What came of one target."""

    target: str
    seconds: int
    executions: int
    reached: int
    features: int
    edges: int
    findings: int


def main(arguments: list[str]) -> int:
    """Fuzz and print a table."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        print("SKIPPED: fuzzing needs atheris, made for Linux on x86-64; this is", sys.platform, platform.machine())
        return 0
    seconds = int(arguments[0]) if arguments else 600
    targets = arguments[1:] or list(TARGETS)
    if unknown := set(targets) - set(TARGETS):
        print("unknown targets:", *sorted(unknown), "- there are:", *TARGETS)
        return 2
    each = max(_SHORTEST, seconds // len(targets))
    with TemporaryDirectory(prefix="slowwave-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None) as scratch:
        outcomes = [_fuzzed(target, each, scratch) for target in targets]
    _print(outcomes)
    return 1 if any(o.findings for o in outcomes) else 0


def _fuzzed(target: str, seconds: int, scratch: str) -> Outcome:
    folder = FOLDER / target
    _try_again(folder)
    begun = time.monotonic()
    executions = reached = features = edges = 0
    while (left := seconds - (time.monotonic() - begun)) >= 1:
        command = [sys.executable, "-m", "tests.fuzz.one_target", target, str(max(1, int(left))), str(folder), scratch]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        log = done.stderr.decode("utf-8", "replace")
        (folder / "log.txt").write_text(log, encoding="utf-8")
        states = _STATE.findall(log)
        if not states:
            raise SystemExit(f"the target {target} did not start:\n{log[-2000:]}")
        executions += int(states[-1][0])
        reached, features = max(reached, int(states[-1][1])), max(features, int(states[-1][2]))
        edges = int(_EDGES.findall(log)[-1])
        if done.returncode == 0:
            break
    kept = _kept(folder)
    outcome = Outcome(target, round(time.monotonic() - begun), executions, reached, features, edges, len(kept))
    print(_ROW.format(*outcome), flush=True)
    return outcome


def _kept(folder: Path) -> list[Path]:
    return [*(p for p in folder.glob("findings/*") if p.suffix != ".txt"), *folder.glob("stopped-*")]


def _try_again(folder: Path) -> None:
    """Start from what earlier runs found: what is still a defect is found again at once."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for path in _kept(folder):
        path.rename(corpus / path.name)
    for path in folder.glob("findings/*.txt"):
        path.unlink()


def _print(outcomes: list[Outcome]) -> None:
    print("\n" + _ROW.format("target", "seconds", "inputs", "edges reached", "of", "features", "findings"))
    for outcome in outcomes:
        print(_ROW.format(*outcome))
    seconds, inputs = sum(o.seconds for o in outcomes), sum(o.executions for o in outcomes)
    reached, edges = sum(o.reached for o in outcomes), sum(o.edges for o in outcomes)
    findings = sum(o.findings for o in outcomes)
    print(_ROW.format("all", seconds, inputs, reached, edges, "", findings))
    if findings:
        print(f"findings are in {FOLDER.name}/TARGET/findings")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

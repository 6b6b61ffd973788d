"""Measure what a session and a gigabyte cost on this machine, and simulate a night of a million sessions from it.

``make scale`` prints the page; ``RECORD=1`` writes the record beside this file and ``docs/scale.md``. About five
minutes and 200 MB under ``build/scale``.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.measure import cache_bytecode
from tests.benchmarks.scale_page import PAGE, RECORD, page_of
from tests.benchmarks.sessions_data import Maker, claude_lines

ROOT = Path(__file__).parents[2]
# sessions, bytes of each, projects: small ones, usual ones, large ones, and the usual ones fourfold
SHAPES = ((400, 12_000, 8), (100, 200_000, 4), (400, 200_000, 8), (16, 4_000_000, 4))
STEPS = ("decode", "read", "land", "dream", "plan")
WISH = (
    b'{"type":"user","uuid":"w-%d","sessionId":"%s","cwd":"/home/dev/p","version":"2.1.80",'
    b'"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Always use %s in package%d."}}\n'
)
TOOLS = (b"ripgrep", b"ruff", b"pnpm", b"just", b"podman", b"zstd", b"sqlite", b"nginx", b"caddy", b"jq")


def main() -> None:
    """Measure, fit, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--record", action="store_true", help="write the record and docs/scale.md")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "scale")
    options = parser.parse_args()
    build: Path = options.build.absolute()
    cache_bytecode(build / "bytecode")
    stores = [_store(build / f"{number}-{size}", number, size, projects) for number, size, projects in SHAPES]
    measured = [[_measured(store, build / "night") for store in stores] for _ in range(options.rounds)]
    record = {"rounds": options.rounds, "shapes": [_middle(rounds) for rounds in zip(*measured, strict=True)]}
    text = page_of(record)
    if options.record:
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _store(folder: Path, number: int, size: int, projects: int) -> Path:
    """Make sessions once: each with one wish of a person, the rest as real ones are."""
    store = folder / "projects"
    if not (folder / "made").exists():
        make = Maker(number * 31 + size)
        for one in range(number):
            path = store / f"-home-dev-p{one % projects}" / f"{one:08}-0000-4000-8000-{size:012}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            wish = WISH % (one, path.stem.encode(), TOOLS[one % len(TOOLS)], one // len(TOOLS))
            path.write_bytes(b"".join([wish, *claude_lines(make, size)]))
            os.utime(path, (1_767_000_000, 1_767_000_000))
        (folder / "made").touch()
    return store


def _measured(store: Path, place: Path) -> dict[str, Any]:
    """Run every step from nothing, in a process and folders of its own."""
    shutil.rmtree(place, ignore_errors=True)
    for memory in store.glob("*/memory"):
        shutil.rmtree(memory)
    names = ("STATE", "DATA", "CONFIG", "CACHE")
    (place / "home").mkdir(parents=True)
    environ = {**os.environ, "HOME": str(place / "home")}
    environ |= {f"XDG_{name}_HOME": str(place / name.lower()) for name in names}
    command = [sys.executable, "-m", "tests.benchmarks.scale_one", str(store)]
    done = subprocess.run(command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _middle(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    seconds = {step: round(median(one["seconds"][step] for one in rounds), 4) for step in STEPS}
    return {**rounds[0], "seconds": seconds}


if __name__ == "__main__":
    main()

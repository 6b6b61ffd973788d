"""Reading sessions for their meaning: against loading them."""

import sys
from pathlib import Path

from measure import Row, compared, cpu_of
from peers import HERE
from sessions_data import VERSION, Maker, claude_lines, write_lines

CORPUS = HERE.parents[1].parent / "shared" / "corpus"
SIZE = 20_000_000
# of the whole process, decoding included
MOST_RATIO = 8
# real sessions are enough from so many bytes on
_MOST = 30_000_000


def reading(build: Path, rounds: int) -> list[Row]:
    """Read sessions for their meaning, secrets and pasted parts told: real ones where they lie beside the checkout."""
    real: list[Path] = []
    for path in sorted((CORPUS / "claude-code").rglob("*.jsonl"), key=lambda path: -path.stat().st_size):
        if sum(one.stat().st_size for one in real) < _MOST:
            real.append(path)
    data = build / f"data-{VERSION}"
    made = write_lines(data / "claude-20.jsonl", claude_lines(Maker(6), SIZE))
    wanted = {f"read {len(real)} real sessions for meaning": real} if real else {}
    wanted["read 20 MB for meaning, made up"] = [made]
    rows: list[Row] = []
    for job, paths in wanted.items():
        commands = {
            script: [sys.executable, str(HERE / f"{script}_one.py"), *map(str, paths)] for script in ("reading", "load")
        }
        times = cpu_of(commands, rounds)
        rows.append(compared(job, times, "reading", "load", MOST_RATIO))
    return rows

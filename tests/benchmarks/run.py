"""Measure the promises of speed and print their table: ``python tests/benchmarks/run.py [--only load,list]``.

Data and comparators are made once under ``build/bench`` (about 2 GB and a minute). Every figure is processor time,
the median of interleaved rounds; a ratio is ours divided by the comparator's of the same run. A program is measured
with its start and imports, its modules compiled before, as those of an installed package are. The exit code is 1 when
a demand is missed. A comparator that cannot be had is named, and its row says SKIPPED.
"""

import argparse
import os
import sys
from pathlib import Path

from chart import draw
from measure import cache_bytecode, print_rows
from rows_backfill import backfill
from rows_context import context
from rows_first import first_minute
from rows_hook import hook
from rows_load import load, memory
from rows_orchestration import orchestration
from rows_plan import plan
from rows_reading import reading
from rows_retention import archive, deciding
from rows_rewrite import rewrite
from rows_search import searching
from rows_store import changed, listing
from rows_text import text

ROWS = {
    "load": load,
    "context": context,
    "plan": plan,
    "list": listing,
    "changed": changed,
    "text": text,
    "search": searching,
    "rewrite": rewrite,
    "memory": memory,
    "reading": reading,
    "archive": archive,
    "decide": deciding,
    "orchestration": orchestration,
    "backfill": backfill,
    "first": first_minute,
    "hook": hook,
}
ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run the chosen rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(ROWS), help=f"comma-separated: {', '.join(ROWS)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bench", help="where data and comparators lie")
    parser.add_argument("--chart", action="store_true", help="draw cost against size instead (about 2 GB more)")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(ROWS)
    if unknown:
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}")
    cache_bytecode(options.build.absolute() / "bytecode")
    # what slowwave keeps between two calls lies beside the data, never with what the person at work keeps
    os.environ["XDG_STATE_HOME"] = str(options.build.absolute() / "state")
    print(f"compiled modules of the measured programs: {options.build / 'bytecode'}", flush=True)
    if options.chart:
        draw(options.build, options.rounds)
        return 0
    rows = [row for name in options.only.split(",") for row in ROWS[name](options.build, options.rounds)]
    print_rows(rows)
    return int(any(row.verdict == "MISSED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())

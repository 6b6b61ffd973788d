"""Measure what slowwave remembers, beside what simpler rules would: ``python -m tests.quality.run [--section NAME]``.

Each section prints tables with intervals at 95 % and baselines of the same run, then the demands. What needs data that
does not lie beside the checkout is skipped and says so. The exit code is 1 when a demand is missed.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.quality.table import Section

# name of a section: the module that measures it
SECTIONS = {
    "gold": "rows_gold",
    "reader": "rows_reader",
    "fresh": "rows_fresh",
    "people": "rows_people",
    "decisions": "rows_decisions",
    "calibration": "rows_calibration",
    "junk": "rows_junk",
    "locomo": "rows_locomo",
    "dates": "rows_dates",
    "merges": "rows_merges",
    "contradictions": "rows_contradictions",
    "supersession": "rows_supersession",
    "effect": "rows_effect",
    "hooks": "rows_hooks",
    "secrets": "rows_secrets",
    "attacks": "rows_attacks",
    "compaction": "rows_compaction",
    "compaction-model": "rows_compaction_model",
    "tokens": "rows_tokens",
    "house": "rows_house",
    "notes": "rows_notes",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen sections and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--section", action="append", choices=tuple(SECTIONS), help="only this one; may be repeated")
    parser.add_argument("--errors", action="store_true", help="list every error by its class")
    parser.add_argument("--plot", type=Path, help="write the reliability diagram there, as an SVG")
    options = parser.parse_args(arguments)
    missed: list[str] = []
    for name in options.section or SECTIONS:
        began = time.monotonic()
        section = measure_of(name)(errors=options.errors)
        print(f"\n=== {name} ({time.monotonic() - began:.0f} s)\n\n{section}", flush=True)
        if options.plot and section.picture:
            options.plot.write_text(section.picture, encoding="utf-8")
            print(f"\nwritten: {options.plot}")
        missed += [f"{name}: {must.name}" for must in section.musts if not must.holds]
    print(f"\n{len(missed)} demands missed" + "".join(f"\n  {name}" for name in missed))
    return int(bool(missed))


def measure_of(name: str) -> Callable[..., Section]:
    """Return what measures a section; it takes ``errors``, whether every error shall be listed."""
    return importlib.import_module(f"tests.quality.{SECTIONS[name]}").measure


if __name__ == "__main__":
    sys.exit(main())

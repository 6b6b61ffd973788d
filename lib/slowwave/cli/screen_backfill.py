"""The report of a backfill for a person: what it would cost, what it read, how far a range is covered."""

from collections.abc import Iterator
from typing import Any

from slowwave.cli.output import say

MOST_ROWS = 20
# counters in the order in which things happen, with their words
_NUMBERS = {
    "in_range": "sessions are in the range",
    "read": "of them were read before",
    "passed_over": "hold no words of a person",
    "refused": "were not ready before (too short, or in use)",
    "given_up": "could not be read three times (--retry-failed)",
    "unreadable": "cannot be opened",
    **dict.fromkeys(("not_unread", "not_grown"), "have something new, which was not asked for"),
    "not_older": "were read by an older version, which was not asked for",
    "not_unasked": "were read by the miners and not by the model, which was not asked for",
    "not_failed": "could not be read, which was not asked for",
    "beyond_limit": "are beyond the limit",
    "read_again": "were read by an older version, and are read again",
    "taken_over": "were read by an older version, and are taken over as they are",
    "extracted": "were read now",
    "carried_over": "were taken over from an older version as they are",
    "skipped_by_gate": "are not ready yet (too short, or in use)",
    "unchanged": "had nothing new for the miners",
    "moved": "have changed since they were planned, and wait for the next night",
    "read_meanwhile": "were read by another run meanwhile",
    "erased_sessions": "were erased meanwhile",
    "failed": "could not be read",
    "left": "are left",
    "candidates": "facts were noted",
    "about_erased": "facts were about something that was erased meanwhile, and are left out",
    "model_answers": "answers of the model",
    "rolled_back": "pieces were taken back",
}


def show(report: dict[str, Any]) -> None:
    """Print the report."""
    for line in lines(report):
        say(line)


def lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the report."""
    yield f"backfill {report['run_id']}"
    for item in report["items"][:MOST_ROWS]:
        yield f"  {item['action']:<9}  {_about(item)}{item['reason']}"
    if len(report["items"]) > MOST_ROWS:
        yield f"  and {len(report['items']) - MOST_ROWS} more (--json shows all)"
    counts = report["counts"]
    yield from (f"  {counts[name]:>9,}  {words}" for name, words in _NUMBERS.items() if counts.get(name))
    for title, rows in (("Failed", report["failures"]), ("Note", report["warnings"])):
        for row in rows[:MOST_ROWS]:
            yield f"{title}: {row}"
        if len(rows) > MOST_ROWS:
            yield f"and {len(rows) - MOST_ROWS} more (--json shows all)"


def _about(item: dict[str, Any]) -> str:
    return f"{item['project']}: " if item["project"] else ""

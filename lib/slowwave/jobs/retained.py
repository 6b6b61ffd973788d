"""What people read about retention in the scheduler's pages: the plan as a table, bytes over time as a chart."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from slowwave.jobs.pages import capped, printable
from slowwave.report import Report, RetainItem
from slowwave.retention.audit import Line

# nearly two years; older weeks are in the audit log
_MOST_WEEKS = 100
_BAR = 40


def retained_rows(report: Report) -> list[dict[str, Any]]:
    """Return what went, would go or stays, as table rows."""
    items = (item for item in report.items if isinstance(item, RetainItem))
    return capped(
        [
            {
                "project": printable(item.project),
                "session": printable(item.target),
                "action": item.action,
                "rule": item.rule,
                "guard": item.guard,
                "bytes": item.bytes,
                "reason": printable(item.reason),
            }
            for item in items
        ]
    )


def reclaimed(lines: Iterable[Line]) -> str:
    """Return the bytes that went into the trash and that were freed, week by week, as Markdown with bars."""
    weeks: dict[date, dict[str, int]] = defaultdict(lambda: {"trash": 0, "free": 0})
    for line in lines:
        if line.action in ("trash", "free"):
            day = datetime.fromisoformat(line.at).date()
            weeks[day - timedelta(days=day.weekday())][line.action] += line.size
    if not weeks:
        return "Nothing was removed yet.\n"
    shown = sorted(weeks.items())[-_MOST_WEEKS:]
    most = max(numbers["free"] for _, numbers in shown)
    rows = ["| week of | into the trash | freed | |", "| --- | ---: | ---: | --- |"]
    for week, numbers in shown:
        bar = "█" * -(-numbers["free"] * _BAR // most) if most else ""
        rows.append(f"| {week} | {numbers['trash']:,} | {numbers['free']:,} | {bar} |")
    total = sum(numbers["free"] for numbers in weeks.values())
    return "\n".join([f"Freed in all: {total:,} bytes", "", *rows]) + "\n"

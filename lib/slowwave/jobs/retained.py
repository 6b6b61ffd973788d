"""What people read about retention in the scheduler's pages: the plan as a table, bytes over time as a chart."""

from collections.abc import Iterable
from typing import Any

from slowwave.jobs.pages import capped, printable
from slowwave.observability.weeks import weeks_of
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
    weeks = weeks_of(lines)
    if not weeks:
        return "Nothing was removed yet.\n"
    most = max(week.freed for week in weeks[-_MOST_WEEKS:])
    rows = ["| week of | into the trash | freed | |", "| --- | ---: | ---: | --- |"]
    for week in weeks[-_MOST_WEEKS:]:
        bar = "█" * -(-week.freed * _BAR // most) if most else ""
        rows.append(f"| {week.begin} | {week.trashed:,} | {week.freed:,} | {bar} |")
    total = sum(week.freed for week in weeks)
    return "\n".join([f"Freed in all: {total:,} bytes", "", *rows]) + "\n"

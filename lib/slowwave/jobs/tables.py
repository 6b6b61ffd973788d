"""What people read about a run in the scheduler's pages: funnel, diff of the memories, plan, bytes week by week."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from slowwave.jobs.story import Tally
from slowwave.observability.lessons import Learned
from slowwave.observability.page import learned_lines, literal
from slowwave.observability.sections import weeks_of
from slowwave.report import PARKED_FOR_REVIEW, Report, RetainItem
from slowwave.retention.audit import Line

# Tables are stored whole with the run; more rows than this nobody reads.
MOST_ROWS = 200


def funnel(tally: Tally) -> list[dict[str, Any]]:
    """Return one row for each project, from its sessions to its memories; the busiest first.

    Only what was done counts: the plan of a dry run and of a parked dream has pages of its own.
    """
    planned, none = tally.plan.dry_run, Report(tally.plan.job)
    rows = [
        _funnel_row(key, number, tally.projects.get(key, none), is_done=not planned)
        for key, number in tally.plan.sessions.items()
    ]
    rows.sort(key=lambda row: (-row["memories"], -row["candidates"], -row["sessions"], row["project"]))
    return capped(rows)


def _funnel_row(key: str, sessions: int, given: Report, *, is_done: bool) -> dict[str, Any]:
    parked = key in given.parked_projects()
    actions = [item.action for item in given.items if item.action == "candidate" or (is_done and not parked)]
    # Prefect's tables wrap nothing: words would push what stands behind them out of the window
    refused = [f"{gate} {times}" for gate, times in Counter(g.gate for g in given.gates if not g.passed).items()]
    refused += [PARKED_FOR_REVIEW] * parked
    return {
        "project": printable(key),
        "sessions": sessions,
        "candidates": actions.count("candidate"),
        "memories": actions.count("add"),
        "merged": actions.count("merge"),
        "superseded": actions.count("supersede"),
        "dropped": actions.count("drop"),
        "refused": printable(", ".join(refused)),
        "failed": len(given.failures),
    }


def memory_diff(report: Report, diffs: Mapping[str, str]) -> str:
    """Return what happened to the memories as Markdown: what was learned, then the files' own diffs."""
    learned = msgspec.convert(report.learned, Learned)
    lines = [f"# Memory diff of {report.job} {report.run_id}", "", *learned_lines(learned, report.job, report.run_id)]
    parked = report.parked_projects()
    for project, phases in report.phases.items():
        waits = f" ({PARKED_FOR_REVIEW}, not done)" if project in parked else ""
        lines += [f"- {literal(project)}{waits}: {phases}"]
    lines.append("")
    for dream, diff in diffs.items():
        lines += [f"## Dream {dream}", "", f"Undo: `slowwave memory undo {dream}`", "", *_fenced(diff), ""]
    return printable("\n".join(lines)).rstrip() + "\n"


def _fenced(diff: str) -> list[str]:
    """Return a diff as a code block that its own content cannot close."""
    longest = max((len(run) for run in re.findall("`+", diff)), default=0)
    fence = "`" * max(3, longest + 1)
    rows = diff.splitlines()
    more = [f"and {len(rows) - MOST_ROWS} more lines"] if len(rows) > MOST_ROWS else []
    return [f"{fence}diff", *rows[:MOST_ROWS], *more, fence]


def plan_rows(report: Report) -> list[dict[str, Any]]:
    """Return what a run would do, as table rows."""
    return capped(
        [
            {
                "project": printable(item.project),
                "action": item.action,
                "target": printable(item.text or item.target),
                "reason": printable(item.reason),
            }
            for item in report.items
        ]
    )


def printable(text: str) -> str:
    """Return text that any JSON carries: file names may hold bytes that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def capped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first rows of a table, and how many more there are."""
    if len(rows) <= MOST_ROWS:
        return rows
    note: dict[str, Any] = dict.fromkeys(rows[0], "")
    note["project"] = f"and {len(rows) - MOST_ROWS + 1} more"
    return [*rows[: MOST_ROWS - 1], note]


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

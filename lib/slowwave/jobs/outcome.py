"""What a report amounts to, in one word and one sentence: the state that a scheduler shows for the run."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from slowwave.report import COUNTERS, Report, counted

# More failed projects or sessions than this share, and the whole run counts as failed; fewer, and it is named
# PartlyFailed. One broken project of a fleet, or one odd session of a hundred, must not turn every night red, and a
# night that lost a tenth must not look green.
FAILED_SHARE = 0.10
MOST_REASONS = 5

Name = Literal["Completed", "Skipped", "Planned", "Parked", "PartlyFailed", "Failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Name of the state, and why."""

    name: Name
    message: str


def outcome_of(report: Report, *, dry_run: bool = False) -> Outcome:
    """Return what a report amounts to; a failure outweighs parking, and parking a closed gate."""
    if report.failures:
        return Outcome("Failed" if _failed_share(report) > FAILED_SHARE else "PartlyFailed", _joined(report.failures))
    if report.parked:
        return Outcome("Parked", f"waiting for review: {_joined(report.parked)}")
    if dry_run:
        return Outcome("Planned", f"dry run, nothing was changed; {_numbers(report)}")
    if not did_something(report):
        return Outcome("Skipped", _refusals(report))
    return Outcome("Completed", _numbers(report))


def did_something(report: Report) -> bool:
    """Say whether the run left anything behind."""
    return bool(
        report.dream_ids
        or report.counts.get("candidates")
        or report.counts.get("extracted")
        or report.counts.get("replaced")
        or report.counts.get("compacted")
        or report.counts.get("removed")
        or report.counts.get("freed")
        or report.counts.get("rescued")
        or report.counts.get("purged")
        or report.counts.get("openclaw_entries")
        or report.counts.get("taken_back")
        or report.counts.get("pruned")
        or report.counts.get("model_answers")
        or report.counts.get("model_batch_questions")
        or report.counts.get("carried_over")
        or report.counts.get("rolled_back")
    )


def _failed_share(report: Report) -> float:
    """Return the share of projects that broke as a whole, or of sessions that did, whichever is larger."""
    parts = [failure.split(": ", 2) for failure in report.failures]
    sessions = sum(len(part) > 1 and part[1].startswith("session ") for part in parts)
    projects = {part[0] for part in parts if len(part) < 2 or not part[1].startswith("session ")}  # noqa: PLR2004
    return max(
        len(projects) / max(report.counts.get("projects", 0), 1), sessions / max(report.counts.get("sessions", 0), 1)
    )


def _refusals(report: Report) -> str:
    closed = Counter(f"{g.gate}: {g.reason}" for g in report.gates if not g.passed)
    rows = [f"{reason} ({number} times)" if number > 1 else reason for reason, number in closed.most_common()]
    return _joined(rows) if rows else "there was nothing new"


def _joined(rows: list[str]) -> str:
    more = f"; and {len(rows) - MOST_REASONS} more" if len(rows) > MOST_REASONS else ""
    return "; ".join(rows[:MOST_REASONS]) + more


def _numbers(report: Report) -> str:
    """Return what was counted, in words and in the order in which it happens."""
    known = [name for name in COUNTERS if report.counts.get(name)]
    others = sorted(name for name, number in report.counts.items() if number and name not in COUNTERS)
    return ", ".join(counted(name, report.counts[name]) for name in (*known, *others)) or "nothing was counted"

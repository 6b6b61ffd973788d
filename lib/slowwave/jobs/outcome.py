"""What a run is called and what its report amounts to, in one word and one sentence: what a scheduler shows of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from slowwave.report import Report
from slowwave.stores.model import Project

# More failed projects or sessions than this share, and the whole run counts as failed; fewer, and it is named
# PartlyFailed. One broken project of a fleet, or one odd session of a hundred, must not turn every night red, and a
# night that lost a tenth must not look green.
FAILED_SHARE = 0.10
MOST_REASONS = 5
MOST_NAMES = 3
# counters of what a run did, in the order in which a reader cares: what it did, the thing, and what became of it
_DEEDS = (
    ("added", "kept", "new memory", ""),
    ("merged", "merged", "fact", " into memories"),
    ("superseded", "superseded", "memory", ""),
    ("extracted", "read", "session", ""),
    ("candidates", "found", "candidate", ""),
    ("compacted", "compacted", "session", ""),
    ("pruned", "cleared old outputs in", "session", ""),
    ("removed", "moved", "session", " to the trash"),
    ("freed", "freed", "session", " from the trash"),
    ("rescued", "archived", "session", " that its client deletes soon"),
    ("purged", "purged", "session", ""),
    ("replaced", "took out", "secret", ""),
    ("rolled_back", "took back", "addition", ""),
    ("taken_back", "took back", "session", ""),
    ("model_answers", "used", "answer", " of the model"),
    ("model_batch_questions", "handed the model", "question", ""),
)

Name = Literal["Completed", "Skipped", "Planned", "Parked", "PartlyFailed", "Failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Name of the state, and why."""

    name: Name
    message: str


def title_of(job: str, at: datetime, projects: Sequence[Project], *, dry_run: bool = False) -> str:
    """Return what people call a run: ``nightly 2026-11-23 tern, quill``; the projects with most sessions first."""
    most = sorted(projects, key=lambda project: -len(project.sessions))
    names = list(dict.fromkeys(Path(project.root).name or project.key for project in most))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    said = f"{job} {at.astimezone().date()} {', '.join(names[:MOST_NAMES])}{more}".rstrip()
    return f"{said} (dry run)" if dry_run else said


def outcome_of(report: Report, *, dry_run: bool = False) -> Outcome:
    """Return what a report amounts to; a failure outweighs parking, and parking a closed gate."""
    run = f"{report.job} {report.run_id}"
    if report.failures:
        name = "Failed" if _failed_share(report) > FAILED_SHARE else "PartlyFailed"
        return Outcome(name, f"{run} met {_some(len(report.failures), 'failure')}: {_joined(report.failures)}.")
    if report.parked:
        return Outcome("Parked", f"{run} waits for review: {_joined(report.parked)}.")
    if dry_run:
        return Outcome("Planned", f"{run} was a dry run and changed nothing: it {_deeds(report)}.")
    if not did_something(report):
        return Outcome("Skipped", f"{run} did nothing: {_refusals(report)}.")
    return Outcome("Completed", f"{run} {_deeds(report)}.")


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


def _deeds(report: Report) -> str:
    """Say what a run did, or a dry run would do, and over what it went."""
    counts = report.counts
    done = [f"{did} {_some(counts[name], thing)}{where}" for name, did, thing, where in _DEEDS if counts.get(name)]
    said = " and ".join(filter(None, [", ".join(done[:-1]), *done[-1:]])) or "found nothing to keep"
    return f"{said}, in {_some(counts.get('sessions', 0), 'session')} of {_some(counts.get('projects', 0), 'project')}"


def _some(number: int, thing: str) -> str:
    if number == 1:
        return f"1 {thing}"
    return f"{number:,} {thing.removesuffix('y')}ies" if thing.endswith("y") else f"{number:,} {thing}s"

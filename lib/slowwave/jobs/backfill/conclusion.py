"""What a backfill leaves in the history of nights: a line each time that it was led, and one when it was taken back."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from slowwave.jobs.backfill.model import Plan
from slowwave.jobs.concluding import Around, Began, Concluded, conclude
from slowwave.observability.history import read_nights
from slowwave.report import Report

# the outcome of a run of which something is left to read, because somebody paused it
UNFINISHED = "Unfinished"
# what a report says of the whole range, each time anew
_OF_RANGE = frozenset({"projects", "in_range", "left"})


class Ended(NamedTuple):
    """The report of what was done, and what was recorded of it; None for what changes nothing."""

    report: Report
    concluded: Concluded | None = None


def recorded(report: Report, plan: Plan, began: Began, environ: Mapping[str, str], *, anew: bool = False) -> Ended:
    """Record what a run did since it was last recorded, and tell whoever the settings name.

    A run that is resumed reports all of its numbers again; the history has each of them once.

    Args:
        report: the report, without secrets; warnings are added to it.
        plan: the run.
        began: when this part of it began.
        environ: the environment.
        anew: the report tells of nothing that was recorded before.
    """
    counts = report.counts if anew else _since_recorded(report, environ)
    news = msgspec.structs.replace(report, counts=counts, warnings=[])
    outcome = UNFINISHED if report.counts.get("left") and not report.failures else ""
    around = Around(plan.settings, environ)
    concluded = conclude(news, began, around, plan.projects, outcome=outcome, sessions=plan.sessions)
    report.warnings += news.warnings
    report.learned = news.learned
    return Ended(report, concluded)


def _since_recorded(report: Report, environ: Mapping[str, str]) -> dict[str, int]:
    try:
        before = [night for night in read_nights(environ)[0] if night.run_id == report.run_id]
    except OSError:
        return report.counts  # conclude says what is wrong with the history
    known = {name: sum(night.counts.get(name, 0) for night in before) for name in report.counts}
    new = {name: number - (0 if name in _OF_RANGE else known[name]) for name, number in report.counts.items()}
    return {name: number for name, number in new.items() if number > 0}

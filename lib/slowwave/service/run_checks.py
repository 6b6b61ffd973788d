"""Checks of the runs: one that was stopped and that no other has told of, and what a clock that was moved leaves."""

from collections.abc import Mapping
from datetime import datetime

from slowwave.jobs.lately import lately
from slowwave.observability.night import Night
from slowwave.service.check import Check
from slowwave.settings import Settings


def runs(settings: Settings, environ: Mapping[str, str], now: datetime) -> Check:
    """Say whether every run came to its end."""
    past = lately(settings.model, environ, now)
    if past.problems:
        fix = "move that line or file away; what it told is lost"
        return Check("runs", ok=False, seen=f"{len(past.problems)} records, first: {past.problems[0]}", fix=fix)
    if past.stopped:
        last = past.stopped[-1]
        seen = f"{len(past.stopped)} stopped, last: {last.failures[0]}"
        return Check("runs", ok=False, seen=seen, fix=_going_on(last))
    if past.ahead:
        return Check("runs", ok=False, seen=past.ahead, fix="set this machine's clock; later nights pass by themselves")
    seen = f"{len(past.at_work)} at work, none stopped"
    if past.last is not None:
        seen += f"; the last one, {past.last.job}, ended as {past.last.outcome}"
    return Check("runs", ok=True, seen=seen)


def _going_on(stopped: Night) -> str:
    """Return what goes on with a run: the next of its job, but for a backfill, which has no next time."""
    if stopped.job == "backfill":
        return f"slowwave run backfill --resume {stopped.run_id}"
    return f"slowwave run {stopped.job}, or wait for its next time"

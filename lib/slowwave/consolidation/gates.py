"""The gates before a dream, cheapest first (seed 000): time, sessions; the third is the lock.

Who works little on a project opens the second one by waiting: what was said there is remembered a week later. Each
answers with a reason whichever way it goes. Unlike Cersei's, they do not count part files, sub-agents or the session
that is being written, and a clock that ran backwards closes the gate.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from slowwave.report import Gate
from slowwave.stores.model import StoredSession

# A daily schedule comes to a project now sooner, now later, and when summer time begins an hour sooner: so much of the
# time is enough for it, or every second night would find the gate closed.
ENOUGH = 5 / 6


@dataclass(frozen=True, slots=True)
class Changed:
    """The sessions that changed since the last dream, and those that do not count."""

    sessions: tuple[StoredSession, ...]
    live: tuple[str, ...]


def time_gate(project: str, last: int | None, now: datetime, min_hours: float) -> Gate:
    """Pass when the last dream began at least ``min_hours`` ago, or never."""
    if last is None:
        return Gate("time", project, passed=True, reason="no dream yet")
    hours = (now.timestamp() - last) / 3600
    when = f"{datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M} UTC"
    if hours < 0:
        reason = f"the last dream began {when}, which is in the future: the clock ran backwards"
        return Gate("time", project, passed=False, reason=reason)
    ago = f"{hours:.1f} h" if hours >= 1 else "less than an hour"
    reason = f"{ago} since the last dream ({when}), {min_hours:g} h needed"
    return Gate("time", project, passed=hours >= min_hours, reason=reason)


def changed_since(
    sessions: Iterable[StoredSession], last: int | None, live_reason: Callable[[StoredSession], str]
) -> Changed:
    """Return the main sessions whose modification time (whole seconds, as Cersei compares) is after ``last``."""
    changed: list[StoredSession] = []
    live: list[str] = []
    for session in sessions:
        if session.kind != "main" or (last is not None and session.mtime_ns // 1_000_000_000 <= last):
            continue
        reason = live_reason(session)
        if reason:
            live.append(f"{session.id}: {reason}")
        else:
            changed.append(session)
    return Changed(tuple(changed), tuple(live))


def session_gate(project: str, changed: Changed, min_sessions: int) -> Gate:
    """Pass when enough sessions changed since the last dream."""
    number = len(changed.sessions)
    reason = f"{number} session{'' if number == 1 else 's'} changed since the last dream, {min_sessions} needed"
    if changed.live:
        reason += f"; {len(changed.live)} in use do not count"
    return Gate("sessions", project, passed=number >= min_sessions, reason=reason)


def or_after_waiting(few: Gate, since: datetime | None, now: datetime, max_wait: timedelta) -> Gate:
    """Return the gate that too few sessions shut, open when a candidate waits for ``max_wait``.

    Args:
        few: the gate as the sessions left it.
        since: when the oldest candidate that no dream has looked at was said, None when there is none.
        now: the current time.
        max_wait: how long it may wait for further sessions.
    """
    if since is None:
        return few
    day = timedelta(days=1)
    passed = now - since >= max_wait
    reason = f"{few.reason}, {'but' if passed else 'or'} a fact that has waited {max_wait / day:g} days"
    return Gate(
        few.gate, few.project, passed, f"{reason}: the oldest has waited {max(now - since, timedelta()) / day:.1f}"
    )

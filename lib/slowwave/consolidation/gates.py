"""The gates before a dream, when the last one was, and what none has looked at yet."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import orjson

from slowwave.errors import CorruptStateError
from slowwave.formats import parse_time
from slowwave.formats.sessions import StoredSession
from slowwave.memory import Candidate, ExtractedRange, iso
from slowwave.memory.book import Book, read_book
from slowwave.memory.candidates import candidates_path, read_entries
from slowwave.memory.folder import STATE_FILE, read_or_none
from slowwave.quantities import counted
from slowwave.report import Gate, in_wait

# The gates, cheapest first (seed 000): time, sessions; the third is the lock.
#
# Who works little on a project opens the second one by waiting: what was said there is remembered a week later. Each
# answers with a reason whichever way it goes. Unlike Cersei's, they do not count part files, sub-agents or the session
# that is being written, and a clock that ran backwards closes the gate.

# A daily schedule comes to a project now sooner, now later, and when summer time begins an hour sooner: so much of the
# time is enough for it, or every second night would find the gate closed.
ENOUGH = 5 / 6


@dataclass(frozen=True, slots=True)
class Changed:
    """The sessions that changed since the last dream, and those that do not count; before the first one all of them."""

    sessions: tuple[StoredSession, ...]
    live: tuple[str, ...]
    is_first: bool = False


def time_gate(
    project: str, last: int | None, now: datetime, min_hours: float, nothing_waits: Callable[[], bool] = lambda: False
) -> Gate:
    """Pass when the last dream began at least ``min_hours`` ago, or never.

    ``nothing_waits`` says whether nothing that was noted waits for the next one; only a shut gate asks it.
    """
    if last is None:
        return Gate("time", project, passed=True, reason="no earlier dream to wait for")
    hours = (now.timestamp() - last) / 3600
    when = _minute(datetime.fromtimestamp(last, UTC))
    if hours < 0:
        reason = f"the last dream began {when}, which is in the future: the clock ran backwards"
        return Gate("time", project, passed=False, reason=reason)
    if hours >= min_hours:
        ago = f"{hours:.1f} h" if hours >= 1 else "less than an hour"
        return Gate("time", project, passed=True, reason=f"{ago} since the last dream ({when}), {min_hours:g} h needed")
    due = f"not before {_minute(due_after(last, min_hours))}: a project dreams at most every {min_hours:g} hours"
    if nothing_waits():
        reason = f"{due}, and nothing new was noted since the last dream ({when})"
        return Gate("time", project, passed=False, reason=reason, nothing_waits=True)
    return Gate("time", project, passed=False, reason=f"{due} (the last dream: {when})")


def due_after(last: int, min_hours: float) -> datetime:
    """Return when the time gate opens again: ``min_hours`` after a dream that began in the second ``last``."""
    return datetime.fromtimestamp(last, UTC) + timedelta(hours=min_hours)


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


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
    return Changed(tuple(changed), tuple(live), last is None)


def session_gate(project: str, changed: Changed, min_sessions: int) -> Gate:
    """Pass when enough sessions changed since the last dream."""
    number = len(changed.sessions)
    since = "" if changed.is_first else " changed since the last dream"
    live = f" ({len(changed.live)} in use do not count)" if changed.live else ""
    comes = f"{'a first dream' if changed.is_first else 'the next dream'} comes with {min_sessions}"
    reason = f"{number} session{'' if number == 1 else 's'}{since}{live}: {comes}"
    return Gate("sessions", project, passed=number >= min_sessions, reason=reason)


def or_after_waiting(few: Gate, changed: Changed, noted: "Noted", now: datetime, max_wait: timedelta) -> Gate:
    """Return the gate that too few sessions shut, open when a candidate waits for ``max_wait``.

    Args:
        few: the gate as the sessions left it.
        changed: these sessions.
        noted: what was noted of the project.
        now: the current time.
        max_wait: how long it may wait for further sessions.
    """
    if not noted.backlog:
        return Gate(few.gate, few.project, passed=False, reason=_why_none(changed, noted), nothing_waits=True)
    since, day = noted.since, timedelta(days=1)
    age = "a week" if max_wait == 7 * day else "a day" if max_wait == day else f"{max_wait / day:g} days"
    reason = f"{few.reason}, or once something noted here is {age} old"
    if since is None:
        return Gate(few.gate, few.project, passed=False, reason=reason)
    is_old = now - since >= max_wait
    when = "" if is_old else f", so from {_minute(since + max_wait)} on"
    reason += f" (the oldest: {max(now - since, timedelta()) / day:.1f} days{when})"
    return Gate(few.gate, few.project, passed=is_old, reason=reason)


def _why_none(changed: Changed, noted: "Noted") -> str:
    """Say what there is of a project of which nothing waits for a dream."""
    live = f" ({len(changed.live)} in use)" if changed.live else ""
    if changed.is_first or not noted.facts:
        return noted.told + live
    if not changed.sessions:
        return f"nothing new since the last dream{live}"
    return f"{counted(len(changed.sessions), 'session')} changed since the last dream{live}, and nothing new was noted"


# ``.consolidation_state.json``: when the last dream of a memory folder began (seed 000, read by Cersei as well).

# The last second that a date can name; a stamp in milliseconds lies beyond it.
_LAST_SECOND = 253_402_300_799
_REMEDY = "repair or remove it; a damaged file does not count as one that is missing"


def parse_state(data: bytes | None, path: Path) -> int | None:
    """Return the second at which the last dream began, None when there was none.

    Raises:
        CorruptStateError: the content is not such a state.
    """
    if data is None:
        return None
    try:
        state = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise CorruptStateError(path, f"is not JSON ({error})", _REMEDY) from error
    if not isinstance(state, dict) or "last_consolidated_at" not in state:
        raise CorruptStateError(path, "has no last_consolidated_at", _REMEDY)
    last = cast("dict[str, object]", state)["last_consolidated_at"]
    if last is None:
        return None
    if not isinstance(last, int) or isinstance(last, bool) or not 0 <= last <= _LAST_SECOND:
        raise CorruptStateError(path, f"last_consolidated_at is {last!r}, not seconds since 1970", _REMEDY)
    return last


def read_state(memory: Path) -> int | None:
    """Return the second at which the last dream of a memory folder began, None when there was none.

    Raises:
        CorruptStateError: the state does not parse.
        UnreadableError: it cannot be read.
    """
    path = memory / STATE_FILE
    return parse_state(read_or_none(path), path)


def render_state(last: int) -> bytes:
    """Return the state as Cersei writes it: its key order, two blanks, no final newline, ``lock_etag`` always null."""
    return b'{\n  "last_consolidated_at": %d,\n  "lock_etag": null\n}' % last


# What was noted of a project, what of it no dream has looked at yet, and since when that waits.


@dataclass(frozen=True, slots=True)
class Noted:
    """What was noted of a project so far, and what became of it: what every screen says where nothing is remembered."""

    sessions: int  # how many were read
    facts: int  # how many were noted
    undecided: int  # those of them that were neither taken nor refused
    backlog: tuple[tuple[Candidate, str], ...]  # those that no dream has looked at, see :func:`backlog_of`

    @property
    def since(self) -> datetime | None:
        """Since when the oldest of the backlog waits: since it was said, or was noted where no record says when.

        None when there is none, or no time is known of any.
        """
        times = (min(filter(None, (_known(c.observed_at), noted)), default="") for c, noted in self.backlog)
        oldest = min(filter(None, times), default="")
        return datetime.fromisoformat(oldest) if oldest else None

    @property
    def told(self) -> str:
        """It in words, without a capital or a full stop."""
        if not self.sessions and not self.facts:
            return "no session was read yet"
        if not self.facts:
            return f"{counted(self.sessions, 'session was', 'sessions were')} read, and nothing worth a line was found"
        if self.backlog:
            number = len(self.backlog)
            them = "it" if number == 1 else "them"
            return f"{counted(number, 'fact was', 'facts were')} noted, and no dream has looked at {them} yet"
        if self.undecided:
            return in_wait(self.undecided)
        return "all that was noted is decided on"


def noted_of(memory: Path, noted: Path | None = None) -> Noted:
    """Return what was noted of a project; the arguments are those of :func:`backlog_of`.

    Raises:
        CorruptStateError: the state or the ledger is damaged.
        UnreadableError: a file cannot be read.
    """
    if not candidates_path(noted or memory).exists():
        return Noted(0, 0, 0, ())
    book, entries = read_book(memory), read_entries(noted or memory)[0]
    facts = [entry for entry in entries if isinstance(entry, Candidate)]
    read = {(e.session.dialect, e.session.id) for e in entries if not isinstance(e, Candidate)}
    undecided = sum(book.waits(fact) for fact in facts)
    return Noted(len(read), len(facts), undecided, tuple(_backlog(entries, book, read_state(memory))))


def backlog_of(memory: Path, book: Book, noted: Path | None = None) -> list[tuple[Candidate, str]]:
    """Return each candidate that no dream has looked at, and when it was noted: ISO time, "" where it is not known.

    What a dream has looked at and let wait for more evidence is no backlog: it may wait for ever.

    Args:
        memory: the memory folder.
        book: what its ledger adds up to.
        noted: the folder that the candidates are in, where that is another one.

    Raises:
        CorruptStateError: the state is damaged.
        UnreadableError: the candidates cannot be read.
    """
    if not candidates_path(noted or memory).exists():
        return []
    return _backlog(read_entries(noted or memory)[0], book, read_state(memory))


def _backlog(
    entries: Iterable[Candidate | ExtractedRange], book: Book, last: int | None
) -> list[tuple[Candidate, str]]:
    found: list[tuple[Candidate, str]] = []
    open_: list[Candidate] = []
    for entry in entries:
        if isinstance(entry, Candidate):
            open_.append(entry)
            continue
        # candidates stand before the ranges of bytes that they came from, and these say when they were read
        at = _known(entry.at)
        found += [(c, at) for c in open_ if book.waits(c) and _is_later(at, last)]
        open_ = []
    return found + [(c, _known(c.observed_at)) for c in open_ if book.waits(c)]


def _known(at: str) -> str:
    """Return a time in UTC, "" where it is damaged: what waits since nobody knows when waits all the same."""
    return iso(found) if (found := parse_time(at)) else ""


def _is_later(at: str, last: float | None) -> bool:
    """Say whether something was noted after the last dream began, in whole seconds; a night notes, then dreams."""
    return last is None or not at or datetime.fromisoformat(at).timestamp() > last

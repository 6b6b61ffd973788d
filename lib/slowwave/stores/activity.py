"""Whether somebody still works in a session, which is then left alone; and by which versions of clients they work."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec
import orjson

from slowwave.formats.model import parse_time
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession
from slowwave.formats.tail import lines_backward

# Among so many last records at least one has a time, in every version seen.
_LAST_RECORDS = 50


class _Line(msgspec.Struct, gc=False):
    timestamp: str | None = None


_decoder = msgspec.json.Decoder(_Line)


def live_reason(session: StoredSession, now: datetime, idle: timedelta, home: Path) -> str | None:
    """Return why a session counts as live, or None when it rests.

    Args:
        session: the session; its files are looked at again, since a plan may be minutes old.
        now: the current time.
        idle: how long every file of it must have rested.
        home: the user's home folder; Claude Code notes its running sessions under ``.claude/sessions``.
    """
    # the time of a database is that of the newest of all its sessions
    shared = session.in_database
    newest = session.mtime_ns / 1e9 if shared else max((_mtime(path) for path in session.files.paths), default=0.0)
    age = now.timestamp() - newest
    if age < 0:
        return f"its file is dated {timedelta(seconds=round(-age))} in the future; check the clock of this machine"
    if age < idle.total_seconds():
        return f"changed {timedelta(seconds=int(age))} ago, and must rest for {idle}"
    return claimed_by(session, home, now)


def active_reason(session: StoredSession, now: datetime, idle: timedelta, home: Path) -> str | None:
    """Return why somebody still works in a session, for jobs that only read it; None when it rests.

    As :func:`live_reason`, but a file that was copied, restored or synchronised a moment ago does not count as
    changed when the last records in it are older than ``idle``. Whatever changes a session must not rely on that: a
    client that resumes an old session writes lines without a time first.
    """
    reason = live_reason(session, now, idle, home)
    if reason is None or session.in_database or claimed_by(session, home, now):
        return reason
    written = _last_written(session)
    return None if written is not None and now - written >= idle else reason


def _last_written(session: StoredSession) -> datetime | None:
    """Return the latest time among the last records of the file that changed last, None when they tell none."""
    path = max(session.files.paths, key=_mtime)
    times: list[datetime] = []
    for _, raw in islice(lines_backward(path), _LAST_RECORDS):
        try:
            at = parse_time(_decoder.decode(raw.strip(b" \t\r\n\0")).timestamp)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if at is not None:
            times.append(at)
    return max(times, default=None)


def claimed_by(session: StoredSession, home: Path, now: datetime) -> str | None:
    """Return which running client says that it has this session open, or None."""
    return client_of(session.dialect).claimed_by(session, home, now)


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


# Which version of a client wrote its latest sessions, by what they say themselves.

# so many of the sessions that changed last, and so much of each end
_SESSIONS = 5
_BYTES = 64 << 10
_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:[-+].*)?$")


def newest_version(sessions: Iterable[StoredSession], dialect: str) -> str:
    """Return the newest version that a client's latest sessions name, "" where they name none."""
    own = [s for s in sessions if s.dialect == dialect and not s.in_database]
    latest = sorted(own, key=lambda s: s.mtime_ns, reverse=True)[:_SESSIONS]
    versions = [version for session in latest for version in _versions(session)]
    return max(versions, key=version_order, default="")


def latest_version(sessions: Iterable[StoredSession], dialect: str) -> str:
    """Return the version that the session names which changed last of those that name one; "" where none does."""
    own = [s for s in sessions if s.dialect == dialect and not s.in_database]
    latest = sorted(own, key=lambda s: s.mtime_ns, reverse=True)[:_SESSIONS]
    named = (max(_versions(session), key=version_order, default="") for session in latest)
    return next(filter(None, named), "")


def version_order(version: str) -> tuple[int, ...]:
    """Return a version as numbers; one of another form has none."""
    found = _VERSION.match(version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _versions(session: StoredSession) -> Iterator[str]:
    for path in session.files.paths[-1:]:
        for line in _ends(path):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # a piece of a line, or damage that other commands report
            if isinstance(record, dict) and (version := _version_of(cast("dict[str, Any]", record))):
                yield version


def _version_of(record: dict[str, Any]) -> str:
    """Return the version in a record: its own, or that in the header of Codex."""
    payload = record.get("payload")
    inner = cast("dict[str, Any]", payload).get("cli_version") if isinstance(payload, dict) else None
    found = inner or record.get("version")
    return str(found) if version_order(str(found)) else ""


def _ends(path: Path) -> list[bytes]:
    """Return the lines at both ends of a file; one that cannot be read has none, which the permissions tell."""
    try:
        with path.open("rb") as file:
            head = file.read(_BYTES)
            file.seek(max(len(head), file.seek(0, 2) - _BYTES))
            return [*head.splitlines(), *file.read().splitlines()]
    except OSError:
        return []

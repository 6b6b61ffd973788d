"""Whether somebody is still working in a session: such a session is left alone."""

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec

from slowwave.formats.tail import lines_backward
from slowwave.formats.times import parse_time
from slowwave.processes import created_at, is_running, start_ticks
from slowwave.stores.locks import TRANSCRIPT_LOCK, holder, is_held_by_codex
from slowwave.stores.model import StoredSession

# Start times are rounded differently by clients and systems.
_START_TOLERANCE_S = 2.0
# Among so many last records at least one has a time, in every version seen.
_LAST_RECORDS = 50
_SECONDS = range(10**9, 10**10)
_MILLISECONDS = range(10**12, 10**13)


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
    """Return which running client says that it has this session open, or None.

    Claude Code writes ``sessions/<pid>.json`` into its home and leaves it behind after a kill -9, so the process must
    be alive and, where the file tells its start time, be the same process. Codex holds a lock on a file in its home,
    Clawdbot and OpenClaw make one beside the transcript.
    """
    first = session.files.paths[0]
    if session.dialect == "codex":
        return "open in a running Codex" if is_held_by_codex(first) else None
    if session.dialect in ("pi", "openclaw"):
        who = "" if session.in_database else holder(first, TRANSCRIPT_LOCK, now.timestamp())
        return f"being written by {who}" if who else None
    ids = {session.id}
    if session.kind == "subagent":
        # a sub-agent is live as long as the session is that it works for
        ids |= {folder.name for folder in first.parents if session.folder in folder.parents}
    for claims in {home / ".claude" / "sessions", session.folder.parent.parent / "sessions"}:
        for pid, claim in _claims(claims):
            if claim.get("sessionId") in ids and is_same_process(pid, claim.get("procStart")):
                return f"open in a running client (process {pid})"
    return None


def is_same_process(pid: int, started: object) -> bool:
    """Say whether process ``pid`` is alive and may be the one that started at ``started``.

    An unknown form of ``started`` proves nothing: the process then counts as the same one.
    """
    if not is_running(pid):
        return False
    created = created_at(pid)
    return created is None or _may_be_start(started, created, pid)


def _may_be_start(started: object, created: float, pid: int) -> bool:
    if isinstance(started, str) and not started.isdigit():
        at = parse_time(started)
        return at is None or abs(at.timestamp() - created) <= _START_TOLERANCE_S
    if isinstance(started, (str, int, float)) and not isinstance(started, bool):
        number = float(started)
        if int(number) in _SECONDS:
            return abs(number - created) <= _START_TOLERANCE_S
        if int(number) in _MILLISECONDS:
            return abs(number / 1000 - created) <= _START_TOLERANCE_S
        ticks = start_ticks(pid)
        return ticks is None or ticks == int(number)
    return True


def _claims(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names only
    except OSError:
        return
    for name in names:
        pid = name.removesuffix(".json")
        if not name.endswith(".json") or not pid.isdigit():
            continue
        try:
            claim: object = json.loads((folder / name).read_bytes())
        except (OSError, ValueError):
            continue  # being written, or gone again
        if isinstance(claim, dict):
            yield int(pid), cast("dict[str, Any]", claim)


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0

"""Holds: what must not be removed, purged or erased, because somebody said so; each with its reason and who set it.

A hold names a project, a session, a person (by text), a time, or several of these at once; it holds the sessions that
all of them fit. What is not known of a session speaks for holding it.
"""

import secrets
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from slowwave.errors import CorruptStateError, NotFoundError, UsageError
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.formats.append import locked_file
from slowwave.moments import told
from slowwave.places import data_folder, state_folder
from slowwave.retention.audit import AuditLog, Entry

if TYPE_CHECKING:
    from slowwave.retention.subjects.needles import Needle

FILE = "holds.json"
LOCK = "holds.lock"
_VERSION = 1
_TIMES = ("since", "until")
_NAMES = ("project", "session", "person", *_TIMES)
_REMEDY = "put it back from a copy; nothing is removed as long as nobody can say what is held"


class Hold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hold; what is empty says nothing.

    Attributes:
        id: names it.
        reason: why, in the words of who set it.
        by: who set it.
        at: when, as ISO time.
        project: projects whose key or folder contains this.
        session: id of one session; with that of a sub-agent, the session that it goes with is held, too.
        person: sessions in which this name or phrase stands, in whatever form.
        since: sessions in which something happened at this ISO time or later.
        until: sessions in which something happened at this ISO time or before.
    """

    id: str
    reason: str
    by: str
    at: str
    project: str = ""
    session: str = ""
    person: str = ""
    since: str = ""
    until: str = ""

    @property
    def what(self) -> str:
        """What it holds, in one line, with times in the zone of this machine."""
        return ", ".join(f"{name} {_said(name, value)}" for name in _NAMES if (value := getattr(self, name)))


class _File(msgspec.Struct, frozen=True):
    v: int
    holds: list[Hold]


class Facts(NamedTuple):
    """What a hold is asked about.

    Attributes:
        ids: of the session, and of the sub-agents that go where it goes.
        places: key and folder of its project, and where its files lie; None when nobody knows its project any more.
        times: returns when something first and last happened in it, in seconds since 1970; None when that is unknown.
        texts: returns the bytes of all that goes with it, in pieces that no record is parted by.
    """

    ids: Collection[str]
    places: Sequence[str] | None
    times: Callable[[], tuple[float, float] | None]
    texts: Callable[[], Iterable[bytes]]


def read_holds(environ: Mapping[str, str]) -> list[Hold]:
    """Return all holds, oldest first.

    Raises:
        CorruptStateError: the file does not parse; it never counts as empty.
    """
    path = data_folder(environ) / FILE
    if not path.exists():
        return []
    try:
        file = msgspec.json.decode(file_bytes(path), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptStateError(path, f"does not parse: {error}", _REMEDY) from error
    if file.v != _VERSION:
        raise CorruptStateError(path, f"has the form {file.v}, which a newer version wrote", "use that version")
    return file.holds


def place_hold(environ: Mapping[str, str], at: datetime, *, reason: str, by: str, **what: str) -> Hold:
    """Set a hold and return it.

    Args:
        environ: the environment.
        at: the current time.
        reason: why.
        by: who sets it.
        what: any of ``project``, ``session``, ``person``, ``since`` and ``until``.

    Raises:
        UsageError: it names nothing, no reason, a person without a letter, or an end before its beginning.
        CorruptStateError: the holds or the audit log are damaged.
        OSError: the data folder cannot be written.
    """
    named = {name: text for name, text in what.items() if text}
    if not named:
        raise UsageError(f"a hold names something: {', '.join(_NAMES)}")
    if not reason.strip():
        raise UsageError("a hold has a reason: whoever finds it later must know why it is there")
    if {"since", "until"} <= named.keys() and _seconds(named["since"]) > _seconds(named["until"]):
        raise UsageError("a hold ends before it begins; exchange since and until")
    if "person" in named:
        try:
            _needle(named["person"])
        except ValueError as error:
            raise UsageError(f"--person {named['person']!r}: {error}") from error
    hold = Hold(id=f"h{secrets.token_hex(4)}", reason=reason.strip(), by=by, at=at.isoformat(), **named)
    with _changing(environ) as holds:
        # the log comes second: a kill in between leaves a hold too much, never one too few
        _write(environ, [*holds, hold])
        AuditLog(environ).append([Entry(action="hold", item=hold.id)], at)
    return hold


def release_hold(environ: Mapping[str, str], name: str, at: datetime) -> Hold:
    """Take a hold back and return it.

    Raises:
        NotFoundError: there is none of this id.
        CorruptStateError: the holds or the audit log are damaged.
        OSError: the data folder cannot be written.
    """
    with _changing(environ) as holds:
        found = next((hold for hold in holds if hold.id == name), None)
        if found is None:
            raise NotFoundError(f"there is no hold {name!r}; `slowwave retain holds` lists them")
        AuditLog(environ).append([Entry(action="release", item=name)], at)
        _write(environ, [hold for hold in holds if hold.id != name])
    return found


def held_reason(hold: Hold, facts: Facts) -> str:
    """Return why a hold holds a session, or ""."""
    if hold.session and hold.session not in facts.ids:
        return ""
    if hold.project and facts.places is not None and not any(hold.project in place for place in facts.places):
        return ""
    if (hold.since or hold.until) and not _overlaps(hold, facts.times()):
        return ""
    if hold.person:
        needle = _needle(hold.person)
        if not any(needle.occurs_in(text) for text in facts.texts()):
            return ""
    return f"{hold.id} ({hold.reason}; set by {hold.by})"


def held_by(holds: Iterable[Hold], facts: Facts) -> str:
    """Return why the first of the holds holds a session, or ""; those that need no look into files come first."""
    reasons = (held_reason(hold, facts) for hold in sorted(holds, key=lambda hold: bool(hold.person)))
    return next((reason for reason in reasons if reason), "")


def _overlaps(hold: Hold, times: tuple[float, float] | None) -> bool:
    if times is None:
        return True
    first, last = times
    return not (hold.since and last < _seconds(hold.since)) and not (hold.until and first > _seconds(hold.until))


@lru_cache(maxsize=64)
def _needle(person: str) -> "Needle":
    from slowwave.retention.subjects.needles import Needle  # noqa: PLC0415 - whoever lists holds looks for nobody

    return Needle(person)


def _said(name: str, value: str) -> str:
    return told(datetime.fromisoformat(value)) if name in _TIMES else value


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@contextmanager
def _changing(environ: Mapping[str, str]) -> Generator[list[Hold]]:
    folder = state_folder(environ)
    private_folder(folder)
    with locked_file(folder / LOCK, create=True):
        yield read_holds(environ)


def _write(environ: Mapping[str, str], holds: list[Hold]) -> None:
    path = data_folder(environ) / FILE
    private_folder(path.parent)
    atomic_write(path, msgspec.json.format(msgspec.json.encode(_File(_VERSION, holds)), indent=1), mode=0o600)

"""Which clients there are, and whose a file is, told by its content and never by the place that it lies in.

By which version of its client a session was written is told by its content as well.

A new client is one module with its ``CLIENT``, and its place here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from slowwave.errors import UnknownDialectError, UnreadableError, UsageError
from slowwave.formats import REFUSALS, SessionFiles, Transcript
from slowwave.formats.cersei import BARE
from slowwave.formats.cersei import CLIENT as CERSEI
from slowwave.formats.claude import CLIENT as CLAUDE
from slowwave.formats.claude import UNKNOWN
from slowwave.formats.client import Client, Dialect, NotedTailDialect, Notes, TailDialect
from slowwave.formats.codex import CLIENT as CODEX
from slowwave.formats.crabtalk import CLIENT as CRABTALK
from slowwave.formats.database import HEADER, tables_of
from slowwave.formats.lines import open_plain
from slowwave.formats.openclaw import CLIENT as OPENCLAW
from slowwave.formats.opencode import CLIENT as OPENCODE
from slowwave.formats.pi import CLIENT as PI
from slowwave.formats.sessions import StoredSession
from slowwave.formats.ulid import CLIENT as ULID

# In the order in which they are asked whose a record or a folder is: what one of the first wrote could be taken for
# what one of the last did.
CLIENTS: dict[str, Client] = {
    client.name: client for client in (CERSEI, CLAUDE, PI, CRABTALK, ULID, BARE, CODEX, OPENCODE, OPENCLAW)
}
NAMES = tuple(CLIENTS)
# What a file should have been, for those who get the error that it is of no client.
EXPECTED = f"expected JSON lines of {', '.join(client.shows for client in CLIENTS.values())}"
# Past this many bytes a file is none that we know.
_MOST_BYTES = 1 << 20
# Entries of a client before its first prompt; a session that shows no mark of its own by then is of the client whose
# form it has.
_MOST_OWN = 32


def client_of(name: str) -> Client:
    """Return a client by its name; of one that nobody knows, what holds for any file in a folder of transcripts."""
    return CLIENTS.get(name, UNKNOWN)


def by_name(name: str) -> Dialect:
    """Return the dialect called ``name``. Raises UsageError: there is no such dialect; the message lists all."""
    client = CLIENTS.get(name)
    if client is None:
        raise UsageError(f"unknown dialect {name!r}: write one of {', '.join(NAMES)}")
    return client.dialect()


def detect(path: Path) -> Dialect:
    """Return the dialect that the first records of a file are written in.

    Raises UnknownDialectError: the file is empty or no dialect recognises a record near its start.
    """
    found = sniff(path)
    if found is None:
        raise UnknownDialectError(path, "empty, or not a transcript of any known client", EXPECTED)
    return by_name(found)


def sniff(path: Path) -> str | None:
    """Return the name of a file's dialect, or None when it is empty or shows none (listings skip it with a note)."""
    try:
        with open_plain(path, most=_MOST_BYTES + (1 << 16)) as file:
            head = file.read(1 << 16)
            if head.startswith(HEADER):
                return _of_database(path)
            found = _of_records(objects_on_lines(head)) or _of_records(object_over_lines(head))
            if found is None and len(head) == 1 << 16:
                found = _of_records(objects_on_lines(head + file.read(_MOST_BYTES)))
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    return found


def _of_records(records: Iterator[dict[str, object]]) -> str | None:
    for record in records:
        for name, client in CLIENTS.items():
            if not client.form_of and client.marks(record):
                return _narrowed(name, record, records)
    return None


def _narrowed(name: str, first: dict[str, object], rest: Iterator[dict[str, object]]) -> str:
    """Tell a client from the one whose form its files have, by entries of its own in them."""
    others = [client for client in CLIENTS.values() if client.form_of == name]
    near = [first, *islice(rest, _MOST_OWN)] if others else []
    return next((other.name for other in others if any(map(other.marks, near))), name)


def _of_database(path: Path) -> str | None:
    tables = tables_of(path)
    return next((name for name, client in CLIENTS.items() if client.marks_tables(tables)), None)


def read_for_context(dialect: Dialect, files: SessionFiles, notes: Notes | None = None) -> Transcript:
    """Return what ``dialect.context`` needs of a session: its end where that is surely enough, else all of it.

    ``Transcript.is_tail`` says which of the two it is. Notes change nothing but the time that it takes.
    """
    if notes is not None and isinstance(dialect, NotedTailDialect):
        tail = dialect.noted_tail(files, notes)
    else:
        tail = dialect.tail(files) if isinstance(dialect, TailDialect) else None
    return dialect.read(files) if tail is None else tail


# The objects at the beginning of a file, as far as they can be told: lines may be cut short, glued or damaged.

# A dialect shows in its first record; past this many records a file is none that we know.
_MOST_RECORDS = 200
_BOM = b"\xef\xbb\xbf"
_PADDING = b" \t\r\n\0"


def object_over_lines(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the fields of one object over many lines, as exports are; those of a cut value have none."""
    raw = head.removeprefix(_BOM).lstrip(_PADDING)
    if raw[:1] == b"{" and raw[1:64].lstrip(_PADDING)[:1] == b'"':
        yield _top_fields(raw)


def objects_on_lines(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the objects of the first lines; of a line that is cut short or glued, the fields before the damage."""
    for line in head.removeprefix(_BOM).split(b"\n", _MOST_RECORDS)[:_MOST_RECORDS]:
        raw = line.strip(_PADDING)
        if raw[:1] != b"{":
            continue
        try:
            value: object = msgspec.json.decode(raw)
        except REFUSALS:
            value = _top_fields(raw)
        if isinstance(value, dict):
            yield cast("dict[str, object]", value)


def _top_fields(raw: bytes) -> dict[str, object]:
    """Return the top-level fields that stand before the place where ``raw`` stops being one JSON object.

    Of a last one that is cut short the name is known: its value is None.
    """
    from slowwave.formats.salvage import members_of  # noqa: PLC0415 - few files begin with a line that is cut short

    fields: dict[str, object] = {}
    for key, start, value in members_of(raw):
        if value.status == "broken":
            break
        try:
            name = msgspec.json.decode(key, type=str)
            fields[name] = msgspec.json.decode(raw[start : value.at]) if value.status == "whole" else None
        except REFUSALS:
            break
    return fields


# Which version of a client wrote its latest sessions, by what they say themselves.

# so many of the sessions that changed last, and so much of each end
_LATEST = 5
_END_BYTES = 64 << 10
_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:[-+].*)?$")


class Seen(NamedTuple):
    """A version of a client that one of its sessions names, or that is installed."""

    version: str = ""  # "" where none is named
    day: str = ""  # when that session changed last, ISO date in UTC; "" of what is installed

    @property
    def told(self) -> str:
        """It in words."""
        return f"{self.version} on {self.day}" if self.day else f"{self.version} (installed)"


def newest_version(sessions: Iterable[StoredSession], dialect: str) -> Seen:
    """Return the newest version that a client's latest sessions name, of the latest of these."""
    return max(_seen(sessions, dialect), key=lambda seen: (version_order(seen.version), seen.day), default=Seen())


def latest_version(sessions: Iterable[StoredSession], dialect: str) -> Seen:
    """Return the version that the session names which changed last of those that name one."""
    return next(_seen(sessions, dialect), Seen())


def versions_in_use(sessions: Iterable[StoredSession], environ: Mapping[str, str]) -> dict[str, Seen]:
    """Return the version of each client that counts: the installed one, else the newest that its sessions name.

    The latest sessions of all projects tell it: a project that nobody worked in lately is opened with the client of
    today. Clients whose version nothing names are left out. An empty ``environ`` stands for another machine's.
    """
    by_client: dict[str, list[StoredSession]] = {}
    for session in sessions:
        by_client.setdefault(session.dialect, []).append(session)
    found = {
        name: Seen(installed)
        if (installed := client.installed(environ) if environ else "")
        else newest_version(own, name)
        for name, own in by_client.items()
        if (client := CLIENTS.get(name)) and client.tested
    }
    return {name: seen for name, seen in found.items() if seen.version}


def _seen(sessions: Iterable[StoredSession], dialect: str) -> Iterator[Seen]:
    """Yield the newest version that each of a client's latest sessions names, the latest first."""
    own = [s for s in sessions if s.dialect == dialect and not s.in_database]
    for session in sorted(own, key=lambda s: s.mtime_ns, reverse=True)[:_LATEST]:
        if version := max(_versions(session), key=version_order, default=""):
            yield Seen(version, f"{datetime.fromtimestamp(session.mtime_ns / 1e9, UTC):%Y-%m-%d}")


def version_order(version: str) -> tuple[int, ...]:
    """Return a version as numbers; one of another form has none."""
    found = _VERSION.match(version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _versions(session: StoredSession) -> Iterator[str]:
    for path in session.files.paths[-1:]:
        for line in _ends(path):
            try:
                record = msgspec.json.decode(line)
            except REFUSALS:
                continue  # a piece of a line, or damage that other commands report
            if isinstance(record, dict) and (version := _version_of(cast("dict[str, object]", record))):
                yield version


def _version_of(record: dict[str, object]) -> str:
    """Return the version in a record: its own, or that in the header of Codex."""
    payload = record.get("payload")
    inner = cast("dict[str, object]", payload).get("cli_version") if isinstance(payload, dict) else None
    found = inner or record.get("version")
    return str(found) if version_order(str(found)) else ""


def _ends(path: Path) -> list[bytes]:
    """Return the lines at both ends of a file; one that cannot be read has none, which the permissions tell."""
    try:
        with path.open("rb") as file:
            head = file.read(_END_BYTES)
            file.seek(max(len(head), file.seek(0, 2) - _END_BYTES))
            return [*head.splitlines(), *file.read().splitlines()]
    except OSError:
        return []

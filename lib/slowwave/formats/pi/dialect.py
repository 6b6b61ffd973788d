"""The dialect of pi, versions 1 to 3, which Clawdbot builds on: a header, then a tree of entries in one file.

A file is read without being changed: versions 1 and 2 are brought to version 3 in memory, where pi rewrites the file.
What pi would not survive is read on: a cycle of parents, a missing header, two records on one line, a torn tail.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from slowwave.formats.append import session_id
from slowwave.formats.lines import relaxed_collector
from slowwave.formats.model import Message, SessionFiles, SessionKind, Span, Transcript
from slowwave.formats.pi.context import Model, said, session_entries, settings_of, tail_of, wire
from slowwave.formats.pi.messages import PiMessage, links_of
from slowwave.formats.pi.records import (
    DECODER,
    KNOWN_TYPES,
    ROLES,
    Entry,
    Envelope,
    Loaded,
    entry_of,
    live_entries,
    load,
    path_of,
    text_or_empty,
)
from slowwave.formats.registry import Told


class PiTranscript(Transcript):
    """A session with its entries and what they say beside messages.

    Attributes:
        loaded: every record of the file.
        path: the entries that pi goes on from, root first; empty when pi would start a new session in this file.
        header: the fields of the first header (``id``, ``cwd``, ``version``, ``parentSession``, ...).
        labels: the name that a person gave to an entry, by the entry's id; the last one wins, an empty one clears.
        model: the model that a resumed session goes on with, None when the path names none.
        thinking_level: the thinking level that it goes on with.
    """

    loaded: Loaded = msgspec.field(default_factory=lambda: Loaded([]))
    path: list[Entry] = msgspec.field(default_factory=list[Entry])
    header: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    model: Model | None = None
    thinking_level: str = "off"

    @property
    def leaf(self) -> str | None:
        """The id of the entry that the next one is appended to."""
        return self.path[-1].id if self.path else None


class Pi:
    """Rules of pi's sessions."""

    name = "pi"
    decoder = DECODER

    def read(self, files: SessionFiles) -> PiTranscript:
        """Read a session, all messages in file order.

        Raises:
            UnreadableError: a file cannot be opened.
        """
        result = PiTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            loaded = result.loaded = load(files, result.problems)
            result.path = path_of(loaded.seen)
            cwd = describe(result, loaded)
            live = live_entries(loaded)
            result.messages = spoken(loaded.entries, cwd, live)
        return result

    def tail(self, files: SessionFiles) -> PiTranscript | None:
        """Return the end of a compacted session, from the first entry on that its last compaction keeps."""
        tail = tail_of(files)
        if tail is None:
            return None
        problems = list(files.problems)
        return PiTranscript(
            self.name, files, problems=problems, is_tail=True, loaded=tail.loaded, path=tail.path, model=tail.model
        )

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what pi would send if this session were resumed now."""
        whole = transcript if isinstance(transcript, PiTranscript) else self.read(transcript.files)
        return wire(said(session_entries(whole.path, whole.loaded)), whole.model)

    def told(self, span: Span, record: Envelope, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return what an entry tells: the header, a name of the session, or a message."""
        return told_by(entry_of(record, span), PiMessage)


def told_by(entry: Entry, message_of: Callable[..., Message]) -> Told:
    """Return what an entry tells of its session; ``message_of`` makes the message of it."""
    if entry.type == "session":
        fields = entry.fields()
        return Told(kind=_kind(fields), cwd=text_or_empty(fields.get("cwd")), parent=parent_of(fields))
    if entry.type == "session_info":
        return Told(title=_title(entry))
    return Told(message_of(entry, "", True)) if entry.kind else Told()  # noqa: FBT003 - fields of a struct


def describe(result: PiTranscript, loaded: Loaded, known_types: frozenset[str] = KNOWN_TYPES) -> str:
    """Fill in everything but path and messages; return the folder that the session worked in."""
    entries = loaded.entries
    result.records = len(entries)
    result.unknown_types = Counter([kind for e in entries if (kind := _unknown(e, known_types)) is not None])
    header = next((e for e in entries if e.type == "session"), None)
    result.header = header.fields() if header is not None else {}
    result.kind, result.parent = _kind(result.header), parent_of(result.header)
    for entry in entries:
        if entry.type == "session_info":
            result.title = _title(entry)
        elif entry.type == "label":
            _label(entry.fields(), result.labels)
    result.model, result.thinking_level = settings_of(result.path, entries)
    return text_or_empty(result.header.get("cwd"))


def _kind(header: dict[str, Any]) -> SessionKind:
    return "fork" if header.get("parentSession") or header.get("branchedFrom") else "main"


def parent_of(header: dict[str, Any]) -> str:
    """Return the id of the session that a header says it was forked from, "" for none: it names the file."""
    named = text_or_empty(header.get("parentSession")) or text_or_empty(header.get("branchedFrom"))
    # the path may be of another system
    return session_id(named.replace("\\", "/").rpartition("/")[2])


def _title(entry: Entry) -> str:
    return text_or_empty(entry.fields().get("name")).strip()


def spoken(entries: list[Entry], cwd: str, live: set[int] | None) -> list[Message]:
    """Return the messages of entries; those that are not in ``live`` (identities, None for all) are abandoned."""
    links = links_of(entries)
    return [PiMessage(e, cwd, live is None or id(e) in live, links=links) for e in entries if e.kind]


def _unknown(entry: Entry, known_types: frozenset[str]) -> str | None:
    if entry.type == "message":
        return None if entry.role in ROLES else f"role {entry.role}"
    return None if entry.type in known_types else entry.type


def _label(fields: dict[str, Any], labels: dict[str, str]) -> None:
    target, label = text_or_empty(fields.get("targetId")), text_or_empty(fields.get("label"))
    labels.pop(target, None)
    if label:
        labels[target] = label


PI = Pi()

"""The dialect of Clawdbot and OpenClaw: session files of pi with entries of their own, and the database of 2026.

Files and databases are only read. In a database ``SessionFiles.id`` names the session; any other id means its oldest
session that no other one started.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from slowwave.formats.client import Told
from slowwave.formats.database import HEADER
from slowwave.formats.lines import open_regular, relaxed_collector
from slowwave.formats.model import Block, Content, Injected, Message, SessionFiles, Span, Text, Transcript
from slowwave.formats.openclaw.context import (
    OPENCLAW_VERSION,
    OWN_TYPES,
    active_entries,
    active_path,
    messages_for,
    resumed_path,
)
from slowwave.formats.openclaw.database import About, Database, opened_session
from slowwave.formats.pi.dialect import PiTranscript, describe, tail_of, told_by, wire
from slowwave.formats.pi.records import (
    DECODER,
    KNOWN_TYPES,
    Entry,
    Envelope,
    Loaded,
    PiMessage,
    content_of,
    entry_of,
    links_of,
    load,
    migrated,
)

_TYPES = KNOWN_TYPES.union(OWN_TYPES)


class OpenclawTranscript(PiTranscript):
    """A session with its entries.

    Attributes:
        about: what the database says of it beside its transcript.
        hidden: identities (``id()``) of entries on the path that the client's index keeps out of the context.
    """

    about: About = msgspec.field(default_factory=About)
    hidden: frozenset[int] = frozenset()


class Openclaw:
    """Rules of the sessions of Clawdbot and OpenClaw."""

    name = "openclaw"
    decoder = DECODER

    def read(self, files: SessionFiles) -> OpenclawTranscript:
        """Read a session, all messages in file order.

        Raises:
            UnreadableError: the file cannot be opened, or is a database without sessions.
        """
        result = OpenclawTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            if _is_database(files):
                loaded = _from_rows(result)
            else:
                loaded = load(files, result.problems)
                result.path = active_path(loaded)
            result.loaded = loaded
            cwd = describe(result, loaded, _TYPES)
            result.about.describe(result)
            live = active_entries(loaded, result.path)
            links = links_of(loaded.entries)
            result.messages = [
                OpenclawMessage(e, cwd, live is None or id(e) in live, links=links) for e in loaded.entries if e.kind
            ]
        return result

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database, of which no more than one is held.

        Raises:
            UnreadableError: it is no database with such a session, or it cannot be read.
        """
        return passed(files, about)

    def tail(self, files: SessionFiles) -> OpenclawTranscript | None:
        """Return the end of a compacted file, from the first entry on that its last compaction keeps."""
        tail = None if _is_database(files) else tail_of(files)
        if tail is None or any(e.type in OWN_TYPES for e in tail.loaded.entries):
            return None
        if tail.path[-1].role == "user":
            return None  # whether that prompt counts is told by entries that may lie further back
        problems = list(files.problems)
        return OpenclawTranscript(
            self.name, files, problems=problems, is_tail=True, loaded=tail.loaded, path=tail.path, model=tail.model
        )

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what the client would send if this session were resumed now."""
        whole = transcript if isinstance(transcript, OpenclawTranscript) else self.read(transcript.files)
        is_modern = whole.loaded.version >= OPENCLAW_VERSION
        path = whole.path if is_modern else resumed_path(whole.path, whole.loaded.entries)
        return wire(messages_for(path, whole.loaded, whole.model, whole.hidden), whole.model, is_modern=is_modern)

    def told(self, span: Span, record: Envelope, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return what an entry of a file tells: the header, a name of the session, or a message."""
        return told_by(entry_of(record, span), OpenclawMessage)


def _is_database(files: SessionFiles) -> bool:
    with open_regular(files.paths[0]) as file:
        return file.read(len(HEADER)) == HEADER


def _from_rows(result: OpenclawTranscript) -> Loaded:
    """Load the session that a transcript names from its database."""
    path = result.files.paths[0]
    rows = Database(path, result.files.id, result.problems)
    result.files = SessionFiles(rows.id, result.files.paths, result.files.problems)
    result.about = rows.about
    loaded = migrated(rows.entries)
    if rows.active is None:
        result.path = active_path(loaded)
    else:
        by_seq: dict[int, Entry] = {e.span.offset: e for e in loaded.entries}
        result.path = [by_seq[seq] for seq in rows.active.sequences if seq in by_seq]
        result.hidden = frozenset(id(by_seq[seq]) for seq in rows.active.hidden if seq in by_seq)
    return loaded


# Messages of Clawdbot and OpenClaw, and which part of a user's message a person really wrote.
#
# The gateway puts the sender and the time in front of what arrives over a channel, its own notes around it, and passes
# on messages of other sessions in the user's role (``provenance``).

_OTHERS = ("inter_session", "internal_system")
# Notes of the client: marked blocks, what others said before in a group, the envelope of a channel, a line of the
# system, the sender and the id of a message.
_NOTES = re.compile(
    r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?(?:<<<END_OPENCLAW_INTERNAL_CONTEXT>>>|\Z)"
    r"|<<<EXTERNAL_UNTRUSTED_CONTENT[^>\n]*>>>.*?(?:<<<END_EXTERNAL_UNTRUSTED_CONTENT[^>\n]*>>>|\Z)"
    r"|\A\[Chat messages since your last reply - for context\].*?(?:\[Current message - respond to this\]\n|\Z)"
    r"|(?:\A|(?<=\[Current message - respond to this\]\n))\[[^\]\n]*\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}[^\]\n]*\][ ]?"
    r"|^System: \[[^\]\n]*\][^\n]*$"
    r"|^\[(?:message_id|from): [^\]\n]*\]$",
    re.DOTALL | re.MULTILINE,
)
# What the client itself asks in the user's role: heartbeats, jobs, the turn before a compaction, a new session.
_CLIENT_ASKS = re.compile(
    r"\s*(?:Read HEARTBEAT\.md if it exists|Pre-compaction memory flush\.|\[(?:cron|hook):[^\]\n]*\]"
    r"|A new session was started via /new or /reset)"
)


class OpenclawMessage(PiMessage, gc=False, eq=False):
    """A message entry, a message of an extension, or a summary."""

    def _opened(self) -> Content:
        if self.opened is None:
            self.opened = _content(self.entry)
        return self.opened


def _content(entry: Entry) -> Content:
    content = content_of(entry)
    if entry.kind != "user":
        return content
    if _is_of_others(entry.message()) or _CLIENT_ASKS.match(_words(content)):
        return content._replace(origin="injected")
    blocks = [piece for block in content.blocks for piece in _split(block)]
    says = any(isinstance(block, Text) for block in blocks) or not blocks
    return Content(tuple(blocks), (entry.span,) * len(blocks), "typed" if says else "injected")


def _words(content: Content) -> str:
    return next((block.text for block in content.blocks if isinstance(block, Text)), "")


def _is_of_others(message: dict[str, Any]) -> bool:
    """Say whether somebody else than the agent's owner wrote a user's message: another session, or a guest."""
    provenance, about = message.get("provenance"), message.get("__openclaw")
    if isinstance(provenance, dict) and cast("dict[str, Any]", provenance).get("kind") in _OTHERS:
        return True
    return isinstance(about, dict) and cast("dict[str, Any]", about).get("senderIsOwner") is False


def _split(block: Block) -> list[Block]:
    """Return what a person typed and the client's notes in it, in order."""
    if not isinstance(block, Text) or _NOTES.search(block.text) is None:
        return [block]
    pieces: list[Block] = []
    at = 0
    for note in _NOTES.finditer(block.text):
        pieces += _typed(block.text[at : note.start()])
        pieces.append(Injected(note[0]))
        at = note.end()
    return pieces + _typed(block.text[at:])


def _typed(text: str) -> list[Block]:
    return [Text(text.strip())] if text.strip() else []


# One pass over a session in OpenClaw's database that holds a single event at a time, whatever it has of them.


def passed(files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
    """Yield the messages of a session; see :class:`slowwave.formats.client.RowDialect`.

    Raises:
        UnreadableError: it is no database with such a session, or it cannot be read.
    """
    with opened_session(files.paths[0], files.id) as session:
        about.files = SessionFiles(session.id, files.paths, files.problems)
        first = session.header()
        header = told_by(first, OpenclawMessage) if first is not None else Told()
        about.kind, about.parent = header.kind or "main", header.parent
        session.about.describe(about)
        for entry in session.entries(about.problems):
            about.records += 1
            if entry.kind:
                yield OpenclawMessage(entry, header.cwd, True), True  # noqa: FBT003 - fields of a struct
            elif (title := told_by(entry, OpenclawMessage).title) is not None:
                about.title = title
        session.about.describe(about)


OPENCLAW = Openclaw()

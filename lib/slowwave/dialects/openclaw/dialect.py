"""The dialect of Clawdbot and OpenClaw: session files of pi with entries of their own, and the database of 2026.

Files and databases are only read. In a database ``SessionFiles.id`` names the session; any other id means its oldest
session that no other one started.
"""

from collections.abc import Iterator, Sequence

import msgspec

from slowwave.dialects.base import Told
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.dialects.openclaw.context import OPENCLAW_VERSION, messages_for
from slowwave.dialects.openclaw.database import About, Database
from slowwave.dialects.openclaw.messages import OpenclawMessage
from slowwave.dialects.openclaw.tree import OWN_TYPES, active_entries, active_path, resumed_path
from slowwave.dialects.pi.dialect import PiTranscript, describe, told_by
from slowwave.dialects.pi.load import Loaded, load, migrated
from slowwave.dialects.pi.messages import links_of
from slowwave.dialects.pi.records import DECODER, KNOWN_TYPES, Entry, Envelope, entry_of
from slowwave.dialects.pi.wire import wire
from slowwave.records.bulk import relaxed_collector
from slowwave.records.database import HEADER
from slowwave.records.lines import open_regular
from slowwave.records.model import Span

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
        from slowwave.dialects.openclaw.passing import passed  # noqa: PLC0415 - only listings need it

        return passed(files, about)

    def tail(self, files: SessionFiles) -> OpenclawTranscript | None:
        """Return the end of a compacted file, from the first entry on that its last compaction keeps."""
        from slowwave.dialects.pi.tail import tail_of  # noqa: PLC0415  # only contexts need it

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


OPENCLAW = Openclaw()

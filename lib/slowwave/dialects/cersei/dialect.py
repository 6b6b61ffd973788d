"""The dialect of Cersei's transcripts: snake_case entries in part files, with tombstones and summaries.

Two modes say what is sent again. ``seed`` (default) does what Cersei's document promises: tombstones applied, the
latest summary is one user message in the place of the ``messages_compacted`` oldest messages that were not hidden yet;
what an earlier summary hid stays hidden. ``code`` does what its loader does: summaries are never messages and hide
nothing.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from slowwave.dialects.base import Notes
from slowwave.dialects.cersei.records import KNOWN_TYPES, MESSAGE_TYPES, CerseiMessage, Entry, summary_message
from slowwave.dialects.chain import chain
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.records.bulk import relaxed_collector
from slowwave.records.lines import read_records
from slowwave.records.model import Span

Mode = Literal["seed", "code"]
_DECODER = msgspec.json.Decoder(Entry)


class CerseiTranscript(Transcript):
    """A session with its entries: everything but tombstones and what they delete, in file order."""

    placed: list[CerseiMessage] = msgspec.field(default_factory=list[CerseiMessage])

    @property
    def entries(self) -> list[tuple[Entry, Span]]:
        """Each entry that counts, with its place."""
        return [(item.entry, item.span) for item in self.placed]


class Cersei:
    """Rules of Cersei's transcripts, in one of the two modes."""

    name = "cersei"

    def __init__(self, mode: Mode = "seed") -> None:
        self.mode: Mode = mode

    def read(self, files: SessionFiles) -> CerseiTranscript:
        """Read all parts of a session; a tombstone deletes its target in any part, also a later one.

        Raises:
            UnreadableError: a part cannot be opened.
        """
        result = CerseiTranscript(self.name, files, problems=list(files.problems))
        placed: list[CerseiMessage] = []
        with relaxed_collector():
            for part, path in enumerate(files.paths):
                records = read_records(path, _DECODER, result.problems, part=part)
                placed += [CerseiMessage(entry, span) for span, entry in records]
            result.records = len(placed)
            deleted = {item.entry.deleted_uuid for item in placed if item.entry.type == "tombstone"}
            if deleted:
                deleted.discard(None)
                placed = [p for p in placed if (e := p.entry).uuid not in deleted and e.type != "tombstone"]
            result.placed = placed
            result.messages = [message for item in placed if (message := _message(item)) is not None]
            chain(result.messages)
        result.unknown_types = Counter([p.entry.type for p in placed if p.entry.type not in KNOWN_TYPES])
        return result

    def tail(self, files: SessionFiles) -> CerseiTranscript | None:
        """Return the newest summary of a session and what follows it, when they hide all the rest (mode ``seed``)."""
        return self._tail(files, None)

    def noted_tail(self, files: SessionFiles, notes: Notes) -> CerseiTranscript | None:
        """Return what ``tail`` does; what stands before the summary is looked at only as far as no note tells it."""
        return self._tail(files, notes)

    def _tail(self, files: SessionFiles, notes: Notes | None) -> CerseiTranscript | None:
        from slowwave.dialects.cersei.tail import tail_of  # noqa: PLC0415  # only contexts need it

        found = tail_of(files, notes) if self.mode == "seed" else None
        if found is None:
            return None
        return CerseiTranscript(self.name, files, problems=found.problems, is_tail=True, placed=found.placed)

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the messages that a resumed run would start with, by the rules of this mode.

        Raises:
            UnreadableError: mode ``code`` meets what Cersei's loader refuses (over 200 MB, bytes that are not UTF-8).
        """
        if self.mode == "code":
            from slowwave.dialects.cersei.code import code_messages  # noqa: PLC0415  # rarely asked for

            return code_messages(transcript.files)
        whole = transcript if isinstance(transcript, CerseiTranscript) else self.read(transcript.files)
        if whole.is_tail:  # what is hidden is not among its entries
            return [message for item in whole.placed if (message := _message(item)) is not None]
        return _seed_messages(whole.placed)


def _message(item: CerseiMessage) -> Message | None:
    """Return the message that an entry shows to a reader, if it is one."""
    if item.entry.type in MESSAGE_TYPES:
        return item if item.entry.message is not None else None
    return summary_message(item.entry, item.span) if item.entry.type == "summary" else None


def _seed_messages(placed: list[CerseiMessage]) -> list[Message]:
    summary: CerseiMessage | None = None
    shown: list[Message] = []
    hidden = 0
    for item in placed:
        if item.entry.type == "summary":
            summary = item
            hidden = min(hidden + max(item.entry.messages_compacted or 0, 0), len(shown))
        elif item.entry.type in MESSAGE_TYPES and item.entry.message is not None:
            shown.append(item)
    if summary is None:
        return shown
    return [summary_message(summary.entry, summary.span), *shown[hidden:]]


CERSEI = Cersei()

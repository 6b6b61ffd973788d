"""The dialect of Cersei's transcripts: snake_case entries in part files, with tombstones and summaries.

Two modes say what is sent again. ``seed`` (default) does what Cersei's document promises: tombstones applied, the
latest summary is one user message in the place of the ``messages_compacted`` messages directly before it; what an
earlier summary hid stays hidden. ``code`` does what its loader does: summaries are never messages and hide nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from slowwave.dialects.cersei_records import KNOWN_TYPES, MESSAGE_TYPES, CerseiMessage, Entry, summary_message
from slowwave.dialects.claude import MARKS as CLAUDE_MARKS
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.records.bulk import relaxed_collector
from slowwave.records.lines import read_records
from slowwave.records.model import Span

Mode = Literal["seed", "code"]
_DECODER = msgspec.json.Decoder(Entry)
_MARKS = frozenset({"session_id", "deleted_uuid", "parent_uuid"})


@dataclass(slots=True)
class CerseiTranscript(Transcript):
    """A session with its entries: everything but tombstones and what they delete, in file order."""

    placed: list[tuple[Span, Entry]] = field(default_factory=list[tuple[Span, Entry]])

    @property
    def entries(self) -> list[tuple[Entry, Span]]:
        """Each entry that counts, with its place."""
        return [(entry, span) for span, entry in self.placed]


class Cersei:
    """Rules of Cersei's transcripts, in one of the two modes."""

    name = "cersei"

    def __init__(self, mode: Mode = "seed") -> None:
        self.mode: Mode = mode

    def recognises(self, record: dict[str, object]) -> bool:
        """Say whether a record is Cersei's: a type beside a snake_case envelope field and no field of Claude Code."""
        return isinstance(record.get("type"), str) and not _MARKS.isdisjoint(record) and CLAUDE_MARKS.isdisjoint(record)

    def read(self, files: SessionFiles) -> CerseiTranscript:
        """Read all parts of a session; a tombstone deletes its target in any part, also a later one.

        Raises:
            UnreadableError: a part cannot be opened.
        """
        result = CerseiTranscript(self.name, files, problems=list(files.problems))
        placed = result.placed
        with relaxed_collector():
            for part, path in enumerate(files.paths):
                placed += read_records(path, _DECODER, result.problems, part=part)
            result.records = len(placed)
            deleted = {entry.deleted_uuid for _, entry in placed if entry.type == "tombstone"}
            if deleted:
                placed = [item for item in placed if item[1].type != "tombstone" and item[1].uuid not in deleted]
                result.placed = placed
            result.messages = [
                CerseiMessage(kind, body, span, entry)
                if (kind := entry.type) in MESSAGE_TYPES and (body := entry.message) is not None
                else summary_message(entry, span)
                for span, entry in placed
                if entry.message is not None or entry.type == "summary"
                if entry.type in KNOWN_TYPES
            ]
        result.unknown_types = Counter([entry.type for _, entry in placed if entry.type not in KNOWN_TYPES])
        return result

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the messages that a resumed run would start with, by the rules of this mode.

        Raises:
            UnreadableError: mode ``code`` meets what Cersei's loader refuses (over 200 MB, bytes that are not UTF-8).
        """
        if self.mode == "code":
            from slowwave.dialects.cersei_code import code_messages  # noqa: PLC0415  # rarely asked for

            return code_messages(transcript.files)
        whole = transcript if isinstance(transcript, CerseiTranscript) else self.read(transcript.files)
        return _seed_messages(whole.placed)


def _seed_messages(entries: list[tuple[Span, Entry]]) -> list[Message]:
    last = max((i for i, (_, e) in enumerate(entries) if e.type == "summary"), default=-1)
    shown: list[Message | None] = []
    for index, (span, entry) in enumerate(entries):
        if entry.type in MESSAGE_TYPES and entry.message is not None:
            shown.append(CerseiMessage(entry.type, entry.message, span, entry))
        elif entry.type == "summary":
            count = min(max(entry.messages_compacted or 0, 0), len(shown))
            shown[len(shown) - count :] = [None] * count
            if index == last:
                shown.append(summary_message(entry, span))
    return [m for m in shown if m is not None]


CERSEI = Cersei()

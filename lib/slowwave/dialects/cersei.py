"""The dialect of Cersei's transcripts: snake_case entries in part files, with tombstones and summaries.

Two modes say what is sent again. ``seed`` (default) does what Cersei's document promises: tombstones applied, the
latest summary is one user message in the place of the ``messages_compacted`` messages directly before it; what an
earlier summary hid stays hidden. ``code`` does what its loader does: summaries are never messages and hide nothing.
"""

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

    entries: list[tuple[Entry, Span]] = field(default_factory=list[tuple[Entry, Span]])


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
        entries: list[tuple[Entry, Span]] = []
        deleted: set[str] = set()
        with relaxed_collector():
            for part, path in enumerate(files.paths):
                for span, entry in read_records(path, _DECODER, result.problems, part=part):
                    result.records += 1
                    if entry.type == "tombstone":
                        deleted.add(entry.deleted_uuid or "")
                    else:
                        entries.append((entry, span))
            if deleted:
                entries = [item for item in entries if item[0].uuid not in deleted]
            result.entries = entries
            _fill(result)
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
        return _seed_messages(whole.entries)


def _fill(result: CerseiTranscript) -> None:
    add = result.messages.append
    for entry, span in result.entries:
        kind = entry.type
        if kind in MESSAGE_TYPES and entry.message is not None:
            add(CerseiMessage(kind, entry.message, span, entry))
        elif kind == "summary":
            add(summary_message(entry, span))
        elif kind not in KNOWN_TYPES:
            result.unknown_types[kind] = result.unknown_types.get(kind, 0) + 1


def _seed_messages(entries: list[tuple[Entry, Span]]) -> list[Message]:
    last = max((i for i, (e, _) in enumerate(entries) if e.type == "summary"), default=-1)
    shown: list[Message | None] = []
    for index, (entry, span) in enumerate(entries):
        if entry.type in MESSAGE_TYPES and entry.message is not None:
            shown.append(CerseiMessage(entry.type, entry.message, span, entry))
        elif entry.type == "summary":
            count = min(max(entry.messages_compacted or 0, 0), len(shown))
            shown[len(shown) - count :] = [None] * count
            if index == last:
                shown.append(summary_message(entry, span))
    return [m for m in shown if m is not None]


CERSEI = Cersei()

"""The dialect of Cersei's transcripts: snake_case entries in part files, with tombstones and summaries.

Two modes say what is sent again. ``seed`` (default) does what Cersei's document promises: tombstones applied, the
latest summary is one user message in the place of the ``messages_compacted`` oldest messages that were not hidden yet;
what an earlier summary hid stays hidden. ``code`` does what its loader does: summaries are never messages and hide
nothing.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.cersei import BARE_ROLES
from slowwave.formats.cersei.records import (
    DECODER,
    KNOWN_TYPES,
    MESSAGE_TYPES,
    Body,
    CerseiMessage,
    Entry,
    summary_message,
    tail_of,
)
from slowwave.formats.client import Notes
from slowwave.formats.lines import read_records, relaxed_collector
from slowwave.formats.messages import chain
from slowwave.formats.model import Message, SessionFiles, Span, Transcript
from slowwave.formats.sessions import session_stem

Mode = Literal["seed", "code"]


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
        """Read all parts of a session; a tombstone deletes its target in any part, also a later one."""
        result = CerseiTranscript(self.name, files, problems=list(files.problems))
        placed: list[CerseiMessage] = []
        with relaxed_collector():
            for part, path in enumerate(files.paths):
                records = read_records(path, DECODER, result.problems, part=part)
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
        found = tail_of(files, notes) if self.mode == "seed" else None
        if found is None:
            return None
        return CerseiTranscript(self.name, files, problems=found.problems, is_tail=True, placed=found.placed)

    def later(self, path: Path, start: int, *, by_agent: bool) -> list[Message] | None:  # noqa: ARG002
        """Return the messages from an offset on; None behind a tombstone, which hides one that may stand before."""
        found: list[Message] = []
        for span, entry in read_records(path, DECODER, [], start=start):
            if entry.type == "tombstone":
                return None
            if (message := _message(CerseiMessage(entry, span))) is not None:
                found.append(message)
        return found

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the messages that a resumed run would start with, by the rules of this mode.

        Raises UnreadableError: mode ``code`` meets what Cersei's loader refuses (over 200 MB, bytes that are not
        UTF-8).
        """
        if self.mode == "code":
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


# Exactly what Cersei's own loader returns for a session, its defects included (mode ``code``).
#
# Parts are read up to the first gap in their numbers and joined without a separator; a line counts only when it is
# exactly one entry with all its fields; more than 200,000,000 bytes or one byte that is not UTF-8 fail the session.

MOST_BYTES = 200_000_000


def code_messages(files: SessionFiles) -> list[Message]:
    """Return the messages of the user, assistant and system entries that no tombstone names.

    Raises UnreadableError: Cersei refuses this session.
    """
    paths = _contiguous(files.paths)
    total = sum(path.stat().st_size for path in paths)
    if total > MOST_BYTES:
        raise UnreadableError(files.paths[0], f"{total} bytes in {len(paths)} parts; Cersei loads at most {MOST_BYTES}")
    data = b"".join(path.read_bytes() for path in paths)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(files.paths[0], "not UTF-8, so Cersei refuses it", "use mode seed") from error
    entries = [entry for line in data.split(b"\n") if (entry := _entry(line)) is not None]
    deleted = {e.deleted_uuid for e, _ in entries if e.type == "tombstone"}
    return [
        CerseiMessage(e, span)
        for e, span in entries
        if e.message is not None and e.type != "summary" and e.uuid not in deleted
    ]


def _contiguous(paths: tuple[Path, ...]) -> list[Path]:
    """Return the base file, if it is there, and the parts 2, 3, ... up to the first missing number."""
    by_number = {session_stem(path.name)[1]: path for path in paths}
    found = [by_number[1]] if 1 in by_number else []
    number = 2
    while number in by_number:
        found.append(by_number[number])
        number += 1
    return found


def _entry(line: bytes) -> tuple[Entry, Span] | None:
    """Return the entry of a line that the loader accepts; it skips every other line without a word."""
    raw = line.strip()
    try:
        entry = DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    match entry.type:
        case "user" | "assistant" | "system":
            whole = entry.uuid and entry.timestamp and entry.session_id is not None and _is_message(entry.message)
        case "summary":
            compacted = entry.messages_compacted
            whole = entry.uuid and entry.summary is not None and compacted is not None and compacted >= 0
        case "tombstone":
            whole = entry.deleted_uuid and entry.timestamp
        case _:
            whole = False
    # The joined text has no offsets of its own, so the spans of this mode carry the bytes only.
    return (entry, Span(0, 0, 0, raw)) if whole else None


def _is_message(body: Body | None) -> bool:
    return body is not None and body.role in ("user", "assistant", "system") and bytes(body.content)[:1] in (b'"', b"[")


CERSEI = Cersei()


# The dialect of Cersei's bare-message file: one ``Message`` a line, without envelope, ids of records or times.
#
# Source of the rules: Cersei's ``JsonlMemory``, which rewrites the whole file at the end of each run.

_BARE_DECODER = msgspec.json.Decoder(Body)


class CerseiBare:
    """Rules of the bare-message file."""

    name = "cersei-bare"

    def read(self, files: SessionFiles) -> Transcript:
        """Read the file; a bad line is reported and does not fail it, as it would in Cersei."""
        result = Transcript(self.name, files, problems=list(files.problems))
        for part, path in enumerate(files.paths):
            for span, body in read_records(path, _BARE_DECODER, result.problems, part=part):
                result.records += 1
                if body.role in BARE_ROLES:
                    result.messages.append(CerseiMessage(Entry(type=body.role, message=body), span))
                else:
                    kind = f"role {body.role}"
                    result.unknown_types[kind] = result.unknown_types.get(kind, 0) + 1
        chain(result.messages)
        return result

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return all messages: the file is exactly what the next run starts with."""
        return transcript.messages


CERSEI_BARE = CerseiBare()

"""The dialect of the session specification with ULIDs: ``{ULID}/session.jsonl``, an append-only log of records.

Compactions are overlays: the latest one shows as a summary, then every message from ``firstKeptSeq`` on, each once
(steps 3b and 3c of the specification overlap). Records of another type or of a higher schema version say nothing to
this version; they are counted and kept.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.dialects.ulid.records import DECODER, ROLES, SCHEMA, Record, UlidMessage, integer
from slowwave.records.bulk import relaxed_collector
from slowwave.records.lines import read_records


class UlidTranscript(Transcript):
    """A session with its records.

    Attributes:
        spoken: the messages and compactions in file order, as ``messages``.
    """

    spoken: list[UlidMessage] = msgspec.field(default_factory=list[UlidMessage])


class Ulid:
    """Rules of the specification."""

    name = "ulid"

    def read(self, files: SessionFiles) -> UlidTranscript:
        """Read a session, all messages in file order, compactions as summaries.

        Raises:
            UnreadableError: a file cannot be opened.
        """
        result = UlidTranscript(self.name, files, problems=list(files.problems))
        unknown: Counter[str] = Counter()
        with relaxed_collector():
            for part, path in enumerate(files.paths):
                for span, record in read_records(path, DECODER, result.problems, part=part):
                    result.records += 1
                    if (kind := _unknown(record)) is not None:
                        unknown[kind] += 1
                    else:
                        result.spoken.append(UlidMessage(record, span))
        result.messages = list[Message](result.spoken)
        result.unknown_types = unknown
        return result

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the latest summary, then the messages that it does not cover; all of them without one."""
        whole = transcript if isinstance(transcript, UlidTranscript) else self.read(transcript.files)
        last = max((i for i, m in enumerate(whole.spoken) if m.is_summary), default=None)
        messages = [(i, m) for i, m in enumerate(whole.spoken) if not m.is_summary]
        if last is None:
            return [m for _, m in messages]
        summary = whole.spoken[last]
        return [summary, *(m for i, m in messages if i > last or _is_kept(m, summary))]


def _is_kept(message: UlidMessage, summary: UlidMessage) -> bool:
    first = integer(summary.record.first_kept)
    return first is not None and message.seq is not None and message.seq >= first


def _unknown(record: Record) -> str | None:
    """Return what a record is if this version does not know it, else None."""
    kind = record.type if isinstance(record.type, str) else "no recordType"
    version = integer(record.schema)
    if version is not None and version > SCHEMA:
        return f"{kind} of schema {version}"
    if kind == "message":
        known = isinstance(record.role, str) and record.role in ROLES
        return None if known else f"role {record.role}"
    return None if kind == "compaction" else kind


ULID = Ulid()

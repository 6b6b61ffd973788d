"""The dialect of the session specification with ULIDs: ``{ULID}/session.jsonl``, an append-only log of records.

Compactions are overlays: the latest one shows as a summary, then every message from ``firstKeptSeq`` on, each once
(steps 3b and 3c of the specification overlap). Records of another type or of a higher schema version say nothing to
this version; they are counted and kept. The name of a session stands in ``metadata.json`` beside its log.
"""

from collections.abc import Sequence

import msgspec

from slowwave.dialects.base import Told
from slowwave.dialects.chain import chain
from slowwave.dialects.linear import read_linear
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.dialects.ulid.metadata import METADATA, name_of, read_metadata
from slowwave.dialects.ulid.records import DECODER, Record, UlidMessage, integer, unknown_kind
from slowwave.dialects.ulid.tail import kept_from
from slowwave.errors import CorruptStateError
from slowwave.records.model import Problem, Span


class UlidTranscript(Transcript):
    """A session with its records.

    Attributes:
        spoken: the messages and compactions in file order, as ``messages``.
    """

    spoken: list[UlidMessage] = msgspec.field(default_factory=list[UlidMessage])

    def take(self, span: Span, record: Record) -> str | None:
        """Add one record, and say what it is when this version does not know it."""
        if (kind := unknown_kind(record)) is None:
            self.spoken.append(UlidMessage(record, span))
        return kind


class Ulid:
    """Rules of the specification."""

    name = "ulid"
    decoder = DECODER

    def read(self, files: SessionFiles) -> UlidTranscript:
        """Read a session, all messages in file order, compactions as summaries.

        Raises:
            UnreadableError: a file cannot be opened.
        """
        result = UlidTranscript(self.name, files, problems=list(files.problems))
        read_linear(result, DECODER, result.take)
        result.messages = list[Message](result.spoken)
        chain(result.messages)
        _add_title(result)
        return result

    def tail(self, files: SessionFiles) -> UlidTranscript | None:
        """Return the end of a compacted log, from the first record on that its last compaction keeps."""
        from slowwave.dialects.ulid.tail import tail_of  # noqa: PLC0415  # only contexts need it

        found = tail_of(files)
        if found is None:
            return None
        problems = [*files.problems, *found.problems]
        return UlidTranscript(self.name, files, problems=problems, is_tail=True, spoken=found.spoken)

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the latest summary, then the messages that it does not cover; all of them without one."""
        whole = transcript if isinstance(transcript, UlidTranscript) else self.read(transcript.files)
        last = max((i for i, m in enumerate(whole.spoken) if m.is_summary), default=None)
        messages = [(i, m) for i, m in enumerate(whole.spoken) if not m.is_summary]
        if last is None:
            return [m for _, m in messages]
        summary = whole.spoken[last]
        begin = kept_from(whole.spoken, last) or 0
        return [summary, *(m for i, m in messages if i > last or (i >= begin and _is_kept(m, summary)))]

    def told(self, span: Span, record: Record, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return the message or the compaction that a record is."""
        return Told(UlidMessage(record, span)) if unknown_kind(record) is None else Told()


def _add_title(result: UlidTranscript) -> None:
    """Take the name that the client shows from the metadata; a log needs none to be read."""
    for path in result.files.paths:
        try:
            result.title = name_of(read_metadata(path.with_name(METADATA)))
        except CorruptStateError as error:
            result.problems.append(Problem("garbage", error.path, 1, 0, 0, error.reason))


def _is_kept(message: UlidMessage, summary: UlidMessage) -> bool:
    first = integer(summary.record.first_kept)
    return first is not None and message.seq is not None and message.seq >= first


ULID = Ulid()

"""The dialect of crabtalk: RFC 0064 (a line of metadata, messages, compact markers) with the fields of RFC 0135.

One file is one conversation between an agent and a sender; the last compact marker cuts what is sent again, its
summary comes first as the user's. Source: ``runtime/session.rs`` of crabtalk at RFC 0064, ``conversation.rs`` at 0135.
A line that is not UTF-8 aborts crabtalk's loader; here it is read with replacements and reported.
"""

from collections.abc import Sequence

import msgspec

from slowwave.dialects.base import Told
from slowwave.dialects.crabtalk.records import DECODER, SKIPPED, SPEAKING, CrabtalkMessage, Line, Meta, kind_of, meta_of
from slowwave.dialects.linear import read_linear
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.dialects.times import parse_time
from slowwave.errors import UnreadableError
from slowwave.records.model import Span


class CrabtalkTranscript(Transcript):
    """A session with what its first line says.

    Attributes:
        meta: the first record, or None where it is no metadata; crabtalk refuses such a file.
        meta_line: the number of its line; crabtalk wants it on the first one.
        spoken: the messages and markers in file order, as ``messages``.
    """

    meta: Meta | None = None
    meta_line: int = 0
    spoken: list[CrabtalkMessage] = msgspec.field(default_factory=list[CrabtalkMessage])

    def take(self, span: Span, line: Line) -> str | None:
        """Add one line, and say what it is when it says nothing to this version."""
        if self.records == 1 and (meta := meta_of(line, span)) is not None:
            self.meta, self.meta_line, self.title = meta, span.number, meta.title
            self.created = parse_time(meta.created_at)
            return None
        kind = kind_of(line)
        if kind not in SPEAKING:
            return kind
        self.spoken.append(CrabtalkMessage(line, span))
        return None


class Crabtalk:
    """Rules of crabtalk's sessions."""

    name = "crabtalk"
    decoder = DECODER

    def read(self, files: SessionFiles) -> CrabtalkTranscript:
        """Read a session, all messages in file order, compact markers as summaries.

        Raises:
            UnreadableError: a file cannot be opened.
        """
        result = CrabtalkTranscript(self.name, files, problems=list(files.problems))
        read_linear(result, DECODER, result.take)
        result.messages = list[Message](result.spoken)
        return result

    def tail(self, files: SessionFiles) -> CrabtalkTranscript | None:
        """Return the end of a compacted session, from its last marker on."""
        from slowwave.dialects.crabtalk.tail import tail_of  # noqa: PLC0415  # only contexts need it

        found = tail_of(files)
        if found is None:
            return None
        meta, spoken = found
        result = CrabtalkTranscript(self.name, files, problems=list(files.problems), is_tail=True)
        result.meta, result.meta_line, result.spoken = meta, 1, spoken
        return result

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the last summary and what came after it; everything where nothing was compacted.

        Raises:
            UnreadableError: the first line is no metadata, so crabtalk would refuse to load the session.
        """
        whole = transcript if isinstance(transcript, CrabtalkTranscript) else self.read(transcript.files)
        skipped = {line for p in whole.problems if p.kind in SKIPPED for line in range(p.line, p.line + p.lines)}
        if whole.meta_line != 1 or 1 in skipped:
            path = whole.files.paths[0]
            raise UnreadableError(path, "the first line is no crabtalk metadata, so crabtalk would not load it")
        seen = [m for m in whole.spoken if m.span.number not in skipped and not m.is_injected]
        last = max((i for i, m in enumerate(seen) if m.is_summary), default=0)
        return seen[last:]

    def told(self, span: Span, record: Line, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return what a line tells: metadata with a title if it is the first, else a message or a marker."""
        if is_first and (meta := meta_of(record, span)) is not None:
            return Told(title=meta.title or None, created=parse_time(meta.created_at))
        return Told(CrabtalkMessage(record, span)) if kind_of(record) in SPEAKING else Told()


CRABTALK = Crabtalk()

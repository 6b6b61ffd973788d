"""The dialect of crabtalk: RFC 0064 (a line of metadata, messages, compact markers) with the fields of RFC 0135.

One file is one conversation between an agent and a sender; the last compact marker cuts what is sent again, its
summary comes first as the user's. Source: ``runtime/session.rs`` of crabtalk at RFC 0064, ``conversation.rs`` at 0135.
A line that is not UTF-8 aborts crabtalk's loader; here it is read with replacements and reported.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from slowwave.dialects.crabtalk.records import DECODER, CrabtalkMessage, Line, Meta, kind_of, meta_of
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.errors import UnreadableError
from slowwave.records.bulk import relaxed_collector
from slowwave.records.lines import read_records
from slowwave.records.model import Span

# Lines that crabtalk's parser refuses as a whole and skips, also where we read records on them.
_SKIPPED = frozenset({"glued", "garbage", "torn", "nul"})


class CrabtalkTranscript(Transcript):
    """A session with what its first line says.

    Attributes:
        meta: the first record, or None where it is no metadata; crabtalk refuses such a file.
        spoken: the messages and markers in file order, as ``messages``.
    """

    meta: Meta | None = None
    spoken: list[CrabtalkMessage] = msgspec.field(default_factory=list[CrabtalkMessage])


class Crabtalk:
    """Rules of crabtalk's sessions."""

    name = "crabtalk"

    def read(self, files: SessionFiles) -> CrabtalkTranscript:
        """Read a session, all messages in file order, compact markers as summaries.

        Raises:
            UnreadableError: a file cannot be opened.
        """
        result = CrabtalkTranscript(self.name, files, problems=list(files.problems))
        kinds: Counter[str] = Counter()
        with relaxed_collector():
            for part, path in enumerate(files.paths):
                for span, line in read_records(path, DECODER, result.problems, part=part):
                    kinds[_take(result, line, span, first=not kinds)] += 1
        result.messages = list[Message](result.spoken)
        result.records = kinds.total()
        result.unknown_types = {k: n for k, n in kinds.items() if k not in ("meta", "message", "compact")}
        result.title = result.meta.title if result.meta is not None else ""
        return result

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the last summary and what came after it; everything where nothing was compacted.

        Raises:
            UnreadableError: the session has no metadata, so crabtalk would refuse to load it.
        """
        whole = transcript if isinstance(transcript, CrabtalkTranscript) else self.read(transcript.files)
        if whole.meta is None:
            path = whole.files.paths[0]
            raise UnreadableError(path, "the first line is no crabtalk metadata, so crabtalk would not load it")
        skipped = {p.line for p in whole.problems if p.kind in _SKIPPED}
        seen = [m for m in whole.spoken if m.span.number not in skipped]
        last = max((i for i, m in enumerate(seen) if m.is_summary), default=0)
        return seen[last:]


def _take(result: CrabtalkTranscript, line: Line, span: Span, *, first: bool) -> str:
    """Add one line to the session, and say what it was."""
    if first and (meta := meta_of(line, span)) is not None:
        result.meta = meta
        return "meta"
    kind = kind_of(line)
    if kind in ("compact", "message"):
        result.spoken.append(CrabtalkMessage(line, span))
    return kind


CRABTALK = Crabtalk()

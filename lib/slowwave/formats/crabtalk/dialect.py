"""The dialect of crabtalk: RFC 0064 (a line of metadata, messages, compact markers) with the fields of RFC 0135.

One file is one conversation between an agent and a sender; the last compact marker cuts what is sent again, its
summary comes first as the user's. Source: ``runtime/session.rs`` of crabtalk at RFC 0064, ``conversation.rs`` at 0135.
A line that is not UTF-8 aborts crabtalk's loader; here it is read with replacements and reported.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.errors import UnreadableError, UsageError
from slowwave.formats import (
    REFUSALS,
    Block,
    Content,
    Message,
    Origin,
    Problem,
    Role,
    SessionFiles,
    Span,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    clean,
    decoded,
    parse_time,
    text_or_empty,
)
from slowwave.formats.client import Told
from slowwave.formats.lines import read_records
from slowwave.formats.messages import LazyMessage, read_linear
from slowwave.formats.sessions import SUFFIX
from slowwave.formats.tail import Suffix, first_record

# Lines of crabtalk's sessions and the messages made of them: OpenAI's shapes, without ids or times of their own.


class Meta(msgspec.Struct, frozen=True, gc=False):
    """The first line; identity is (agent, created_by), a title changes nothing about it."""

    agent: str
    created_by: str
    created_at: str = ""
    title: str = ""
    uptime_secs: float = 0


class Line(msgspec.Struct, gc=False):
    """What loading needs of any line; it is told by its keys, since none has a type.

    ``agent`` on a message, and ``title`` and ``archived_at`` on a marker, are RFC 0135's.
    """

    role: Any = None
    compact: Any = msgspec.UNSET
    agent: Any = None
    created_by: Any = None
    archived_at: Any = None
    event: Any = msgspec.UNSET
    auto_injected: Any = None
    content: msgspec.Raw = msgspec.Raw()


class CrabtalkMessage(LazyMessage, gc=False, eq=False):
    """A message line, or a compact marker as the user message that stands for what it covers."""

    line: Line
    span: Span

    @property
    def role(self) -> Role:
        """The role of the line; a marker's summary is the user's."""
        return "user" if self.is_summary else cast("Role", self.line.role)

    @property
    def is_summary(self) -> bool:
        """True for a compact marker."""
        return isinstance(self.line.compact, str)

    @property
    def is_injected(self) -> bool:
        """True for what crabtalk puts in anew before every run; it strips such lines, and nobody typed them."""
        return self.line.auto_injected is True

    @property
    def timestamp(self) -> datetime | None:
        """When a marker was archived (RFC 0135); messages have no time."""
        return parse_time(text_or_empty(self.line.archived_at))

    def _content(self) -> Content:
        if self.is_summary:
            return Content((Text(self.line.compact),), (self.span,), "summary")
        blocks = self._blocks()
        origin = "injected" if self.is_injected else _ORIGINS[self.line.role]
        return Content(tuple(blocks), (self.span,) * len(blocks), origin)

    def _blocks(self) -> list[Block]:
        body = _body(self.span)
        text = text_or_empty(decoded(self.line.content))
        if self.line.role == "tool":
            return [ToolResult(body.call_id or "", text)]
        blocks: list[Block] = [Thinking(body.reasoning)] if body.reasoning else []
        blocks += [Text(text)] if text else []
        calls = body.calls or []
        return blocks + [ToolCall(c.id, c.function.name, _arguments(c.function.arguments)) for c in calls]


class CrabtalkTranscript(Transcript):
    """A session with what its first line says."""

    meta: Meta | None = None  # the first record, or None where it is no metadata; crabtalk refuses such a file
    meta_line: int = 0  # the number of its line; crabtalk wants it on the first one
    # the messages and markers in file order, as ``messages``
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


DECODER = msgspec.json.Decoder(Line)


class Crabtalk:
    """Rules of crabtalk's sessions."""

    name = "crabtalk"
    decoder = DECODER

    def read(self, files: SessionFiles) -> CrabtalkTranscript:
        """Read a session, all messages in file order, compact markers as summaries."""
        result = CrabtalkTranscript(self.name, files, problems=list(files.problems))
        read_linear(result, DECODER, result.take)
        result.messages = list[Message](result.spoken)
        return result

    def tail(self, files: SessionFiles) -> CrabtalkTranscript | None:
        """Return the end of a compacted session, from its last marker on."""
        meta = _meta(files)
        if meta is None:
            return None
        suffix = Suffix(files.paths, DECODER)
        for _ in range(_MOST_HITS):
            if not suffix.back_to(_MARK) or suffix.problems or suffix.is_whole:
                return None
            if any(kind_of(line) == "compact" for _, line in suffix.records):
                result = CrabtalkTranscript(self.name, files, problems=list(files.problems), is_tail=True)
                result.meta, result.meta_line = meta, 1
                result.spoken = [CrabtalkMessage(n, s) for s, n in suffix.records if kind_of(n) in SPEAKING]
                return result if suffix.is_steady() else None
        return None

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the last summary and what came after it; everything where nothing was compacted.

        Raises UnreadableError: the first line is no metadata, so crabtalk would refuse to load the session.
        """
        whole = transcript if isinstance(transcript, CrabtalkTranscript) else self.read(transcript.files)
        skipped = {line for p in whole.problems if p.kind in SKIPPED for line in range(p.line, p.line + p.lines)}
        if whole.meta_line != 1 or 1 in skipped:
            path = whole.files.paths[0]
            raise UnreadableError(path, "the first line is not crabtalk metadata, so crabtalk would not load it")
        seen = [m for m in whole.spoken if m.span.number not in skipped and not m.is_injected]
        last = max((i for i, m in enumerate(seen) if m.is_summary), default=0)
        return seen[last:]

    def told(self, span: Span, record: Line, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return what a line tells: metadata with a title if it is the first, else a message or a marker."""
        if is_first and (meta := meta_of(record, span)) is not None:
            return Told(title=meta.title or None, created=parse_time(meta.created_at))
        return Told(CrabtalkMessage(record, span)) if kind_of(record) in SPEAKING else Told()


ROLES = frozenset({"system", "user", "assistant", "tool"})
_ORIGINS: dict[str, Origin] = {"system": "injected", "user": "typed", "assistant": "model", "tool": "tool"}


class Call(msgspec.Struct, gc=False):
    """The function of a tool call; ``arguments`` is JSON in a string."""

    name: str = ""
    arguments: Any = ""


class ToolCallLine(msgspec.Struct, gc=False):
    """An element of ``tool_calls``."""

    id: str = ""
    function: Call = msgspec.field(default_factory=Call)


class Body(msgspec.Struct, gc=False):
    """The rest of a message, decoded when somebody looks at it."""

    reasoning: str | None = msgspec.field(default=None, name="reasoning_content")
    call_id: str | None = msgspec.field(default=None, name="tool_call_id")
    calls: list[ToolCallLine] | None = msgspec.field(default=None, name="tool_calls")


# What of :func:`kind_of` is said to the model.
SPEAKING = frozenset({"compact", "message"})
# Lines that crabtalk's parser refuses as a whole and skips, also where we read records on them.
SKIPPED = frozenset({"glued", "garbage", "torn", "nul", "bom", "nonstandard"})
_METAS = msgspec.json.Decoder(Meta)
_BODIES = msgspec.json.Decoder(Body)


def meta_of(line: Line, span: Span) -> Meta | None:
    """Return the metadata that a line is, or None."""
    if line.role is not None or line.agent is None or line.created_by is None:
        return None
    try:
        return _METAS.decode(clean(span.raw))
    except REFUSALS:
        return None


def kind_of(line: Line) -> str:
    """Return ``compact``, ``message`` or what else a line is, by its keys as crabtalk tells them."""
    if isinstance(line.compact, str):
        return "compact"
    if line.event is not msgspec.UNSET:
        return "event"
    if isinstance(line.role, str):
        return "message" if line.role in ROLES else f"role {line.role}"
    return "no role"


def _body(span: Span) -> Body:
    try:
        return _BODIES.decode(clean(span.raw))
    except REFUSALS:
        return Body()


def _arguments(written: object) -> object:
    """Return the arguments of a call as a value; what is no JSON stays the string that it is."""
    if not isinstance(written, str):
        return written
    try:
        return msgspec.json.decode(written)
    except REFUSALS:
        return written


# The end of a compacted crabtalk session: the last compact marker and what came after it.

_MARK = b'"compact"'
# Messages may speak of compacting; past so many of them, all is read.
_MOST_HITS = 50


def _meta(files: SessionFiles) -> Meta | None:
    first = first_record(files.paths[0], DECODER) if len(files.paths) == 1 else None
    if first is None or first[0].number != 1:
        return None
    return meta_of(first[1], first[0])


CRABTALK = Crabtalk()


# The first line of a session: found without reading the rest, and written anew with every field that it had.
#
# crabtalk itself truncates the whole file to change it, and puts the present time in the place of ``created_at``; here
# the time stays, and fields that this version does not know stay, too.


class MetaLine(NamedTuple):
    """The metadata of a session and the place of their line in its file."""

    meta: Meta
    span: Span


def meta_line_of(path: Path) -> MetaLine | None:
    """Return the metadata that a file begins with, or None when its first record is something else."""
    problems: list[Problem] = []
    for span, line in islice(read_records(path, DECODER, problems), 1):
        meta = meta_of(line, span)
        return None if meta is None else MetaLine(meta, span)
    return None


def session_meta(path: Path) -> MetaLine:
    """Return the metadata of a session that crabtalk would load.

    Raises UnreadableError: the file cannot be read, or its first line is no metadata.
    """
    found = meta_line_of(path)
    if found is None or found.span.number != 1:
        raise UnreadableError(path, "the first line is not crabtalk metadata, so crabtalk would not load it")
    return found


def changed_line(span: Span, changes: Mapping[str, object]) -> bytes:
    """Return the line of metadata with some fields changed, without a newline.

    Raises UnicodeEncodeError: a change is no valid text.
    """
    fields = cast("dict[str, object]", json.loads(clean(span.raw)))
    text = json.dumps({**fields, **changes}, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


# Names of crabtalk's files: ``{agent}_{sender_slug}_{seq}.jsonl``, and ``_{title_slug}`` for every title set.
#
# A name alone does not tell where the agent ends: ``crab_user_1`` can be agent ``crab`` or ``crab_user``. What a file
# is stands in its first line; crabtalk itself goes by names, and one odd name hides all sessions from it. A slug never
# holds an underscore, so with the agent known the rest of a name can be read in one way only.

_RUN = re.compile(r"-+")
# Linux allows 255 bytes for a name; a number, a temporary ending and the suffix must still fit.
_MOST_BYTES = 200


class Place(NamedTuple):
    """Where a name puts a session among those of its agent."""

    sender: str  # the sender's slug
    seq: int  # the number of the session among those of the agent and the sender
    titles: tuple[str, ...]  # the slugs of the titles that it was given, the first one first


def sender_slug(sender: str) -> str:
    """Return a sender as it stands in a file's name: ``TG:user-123`` is ``tg-user-123``, ``:::`` is empty.

    ASCII letters become small; letters and digits of every script stay, anything else is one hyphen. Titles become
    slugs in the same way.
    """
    lowered = "".join(c.lower() if c.isascii() else c for c in sender)
    return _RUN.sub("-", "".join(c if c.isalnum() or c == "-" else "-" for c in lowered)).strip("-")


def place_of(name: str, agent: str) -> Place | None:
    """Return what a file's name says if it is one of the agent's, else None."""
    if not name.startswith(f"{agent}_") or not name.endswith(SUFFIX):
        return None
    sender, _, rest = name.removeprefix(f"{agent}_").removesuffix(SUFFIX).partition("_")
    number, *titles = rest.split("_")
    if not number.isascii() or not number.isdigit():
        return None
    return Place(sender, int(number), tuple(titles))


def sequence_of(name: str, agent: str, sender: str) -> int | None:
    """Return the number of a session's file if its name can belong to this agent and sender, else None."""
    place = place_of(name, agent)
    return place.seq if place is not None and place.sender == sender_slug(sender) else None


def session_id(agent: str, sender: str, seq: int) -> str:
    """Return what a session is known by; a title does not change it."""
    return f"{agent}_{sender_slug(sender)}_{seq}"


def id_of(name: str, meta: Meta | None) -> str:
    """Return the id of a file: agent, sender and number where name and metadata agree, else the whole name.

    ``meta``: its first line; without one only the name is left.
    """
    place = place_of(name, meta.agent) if meta is not None else None
    if meta is None or place is None:
        return name.removesuffix(SUFFIX)
    return f"{meta.agent}_{place.sender}_{place.seq}"


def latest_session(files: Iterable[tuple[str, Meta | None]], agent: str, sender: str) -> str | None:
    """Return the name of the latest session of an agent and a sender.

    ``files``: name and metadata of each file; a file without metadata is judged by its name alone. ``sender``: who
    talks to it, as in ``created_by``.
    """
    found = [(place.seq, name) for name, meta in files if (place := _owned(name, meta, agent, sender)) is not None]
    return max(found)[1] if found else None


def _owned(name: str, meta: Meta | None, agent: str, sender: str) -> Place | None:
    """Return the place of a file that belongs to an agent and a sender."""
    slug = sender_slug(sender)
    place = place_of(name, agent)
    # crabtalk's idea of a letter is a little wider than Python's: there the metadata alone says who talks
    if place is None or (place.sender != slug and (meta is None or sender.isascii())):
        return None
    return place if meta is None or (meta.agent, sender_slug(meta.created_by)) == (agent, slug) else None


def checked_agent(agent: str) -> str:
    """Return an agent's name when it can begin a file's name: crabtalk puts it there as it is.

    Raises UsageError: it is empty, too long or a hidden name, or holds a separator or a control character.
    """
    odd = not agent or agent.startswith(".") or any(c in "/\\" or not c.isprintable() for c in agent)
    if odd or len(agent.encode("utf-8", "replace")) > _MOST_BYTES // 2:
        raise UsageError(f"agent {agent[:64]!r} cannot begin a file's name; nothing was written")
    return agent


def titled_name(name: str, title: str) -> str:
    """Return a file's name once it has got this title; the same name where the title says nothing.

    As in crabtalk, every title adds its slug. What would make the name too long is cut off.
    """
    stem = name.removesuffix(SUFFIX)
    room = _MOST_BYTES - len(stem.encode("utf-8", "surrogateescape")) - 1
    slug = sender_slug(title).encode("utf-8", "replace")[: max(room, 0)].decode("utf-8", "ignore").strip("-")
    return f"{stem}_{slug}{SUFFIX}" if slug else name

"""What every format comes down to: messages of blocks, and where on disk each of them stands."""

import codecs
import re
from collections.abc import Iterator, Mapping
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

# everything that a decoder raises for a value that it does not accept
REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
ProblemKind = Literal[
    "torn",  # the last line is not complete JSON and has no newline
    "garbage",  # a line in the middle that no JSON can be read from
    "glued",  # two or more objects on one line: all are read
    "nul",  # a run of NUL bytes around a line
    "bom",  # a UTF-8 byte order mark at the start of the file
    "not-utf8",  # bytes that are not UTF-8 inside a record that is otherwise read
    "nonstandard",  # a lone surrogate, NaN or Infinity inside a record that is otherwise read
    "not-object",  # valid JSON, but not an object
    "gap",  # a numbered part is missing
    "too-large",  # the session exceeds the total that its client would load
    "unreadable",  # the operating system refuses the file
]


class Span(msgspec.Struct, frozen=True, gc=False):
    """One JSON object in a file, kept as the bytes that it was written with."""

    part: int  # index of the file in the session's list of parts
    number: int  # 1-based line number within that file
    offset: int  # byte offset of ``raw`` within that file
    raw: bytes  # the bytes of the object, without line terminator, BOM or NUL padding


class RowSpan(Span, frozen=True, gc=False):
    """A record that is a row of a database: ``offset`` is its rank in the session, ``raw`` its decoded bytes."""

    record: str = ""  # what the row is found by, as the dialect's own reader of rows takes it


class Problem(msgspec.Struct, frozen=True):
    """Something in a file that is not a clean record; it is reported and never stops a run."""

    kind: ProblemKind  # what is wrong
    path: Path  # the file
    line: int  # 1-based number of the (first) line
    offset: int  # byte offset of the first byte concerned
    length: int  # number of bytes concerned
    detail: str  # what was expected or done
    # number of lines; adjacent bad lines of one kind are one problem, so that a file of another format does not fill
    # the memory with reports
    lines: int = 1

    def __str__(self) -> str:
        """Say it in one line, with file, line and offset."""
        lines = f"-{self.line + self.lines - 1}" if self.lines > 1 else ""
        place = f"{self.path}:{self.line}{lines} (offset {self.offset}, {self.length} bytes)"
        return f"{place}: {self.kind}: {self.detail}"


# Is it UTF-8? Decoders skip the strings that nobody asked for without looking at their bytes.

_BLOCK = 1 << 20


def is_utf8(raw: bytes) -> bool:
    """Say whether ``raw`` is valid UTF-8, with bounded memory also for a line of 100 MB."""
    if raw.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(raw)
    try:
        for at in range(0, len(raw), _BLOCK):
            decoder.decode(view[at : at + _BLOCK], final=at + _BLOCK >= len(raw))
    except UnicodeDecodeError:
        return False
    return True


# The dialect-free shapes: what a model saw (messages of blocks) and where on disk each block came from.

Role = Literal["user", "assistant", "system", "tool"]
Origin = Literal[
    "typed",  # a person typed it (also while the agent worked, also as the reason of a rejected tool call)
    "injected",  # the harness put it there: commands, reminders, hook output, skill bodies, notifications
    "model",  # the assistant said or called it
    "tool",  # a tool returned it
    "summary",  # a compaction summary
]


class Text(msgspec.Struct, frozen=True, gc=False):
    """Plain text."""

    text: str


class Thinking(msgspec.Struct, frozen=True, gc=False):
    """Reasoning of the model; never sent to an extractor, never shown unless asked for."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A call that the assistant made."""

    id: str
    name: str
    args: object


class ToolResult(msgspec.Struct, frozen=True, gc=False):
    """What a tool answered; ``text`` joins its text blocks by newlines, other blocks stand as ``[type]``."""

    id: str
    text: str
    is_error: bool = False


class Other(msgspec.Struct, frozen=True, gc=False):
    """A block that is neither of the above (image, document, ...), known by its type only."""

    type: str


class Injected(msgspec.Struct, frozen=True, gc=False):
    """Text that the harness put into a user record beside what a person typed (a reminder, a command's output)."""

    text: str


Block = Text | Thinking | ToolCall | ToolResult | Other | Injected


class Content(NamedTuple):
    """What a message says once it is decoded: blocks, the span of each, and who is behind them."""

    blocks: tuple[Block, ...]
    sources: tuple[Span, ...]
    origin: Origin


class Message:
    """One message as the model saw it; never changed after it was made.

    Each dialect has its own kind, which decodes ``blocks``, ``sources`` and ``origin`` when they are first looked at
    (:class:`slowwave.formats.messages.LazyMessage`), since most messages of a long session never are;
    :class:`slowwave.formats.messages.PlainMessage` has them from the start. All are structs
    that the collector never visits: a session may have a hundred thousand of them.
    """

    __slots__ = ()

    def _opened(self) -> Content:
        raise NotImplementedError

    @property
    def role(self) -> Role:
        """Who speaks."""
        raise NotImplementedError

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The content in order."""
        return self._opened().blocks

    @property
    def sources(self) -> tuple[Span, ...]:
        """For each block the span of the record that it was read from (same length as ``blocks``)."""
        return self._opened().sources

    @property
    def origin(self) -> Origin:
        """Who really produced the text; only ``typed`` may create a preference, constraint or decision alone."""
        return self._opened().origin

    @property
    def id(self) -> str | None:
        """The client's id of the message or record, if it has one."""
        return None

    @property
    def parent(self) -> str | None:
        """The id of the message before it on its branch; None for the first one, and where messages have no ids."""
        return None

    @property
    def is_result(self) -> bool:
        """True where it is certain without decoding it that it holds nothing but what a tool returned."""
        return self.role == "tool"

    @property
    def cwd(self) -> str:
        """The working folder that the record names, or ""."""
        return ""

    @property
    def branch(self) -> str:
        """The git branch that the record names, or ""."""
        return ""

    @property
    def timestamp(self) -> datetime | None:
        """When the client wrote it, aware; None when the record has no readable time."""
        return None

    @property
    def active(self) -> bool:
        """False for abandoned branches (rewinds, forks) that the client would not send again."""
        return True

    @property
    def sidechain(self) -> bool:
        """True for a sub-agent's messages inside a main file."""
        return False

    @property
    def text(self) -> str:
        """The text blocks joined by newlines."""
        return "\n".join(b.text for b in self.blocks if isinstance(b, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolResult))

    def placed(self) -> Iterator[tuple[Block, Span]]:
        """Yield each block with the span it came from."""
        return zip(self.blocks, self.sources, strict=True)

    def _key(self) -> tuple[object, ...]:
        place = (self.id, self.timestamp, self.cwd, self.active, self.sidechain, self.branch)
        return (self.role, self.blocks, self.sources, self.origin, *place)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Message) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.role, self.id, self.timestamp))

    def __repr__(self) -> str:
        return (
            f"Message({self.role!r}, {self.blocks!r}, origin={self.origin!r}, id={self.id!r}, active={self.active!r})"
        )


class SessionFiles(msgspec.Struct, frozen=True):
    """One session on disk: its id and its files in reading order (Cersei writes ``_partN`` files)."""

    id: str
    paths: tuple[Path, ...]
    problems: tuple[Problem, ...] = ()


SessionKind = Literal["main", "subagent", "fork"]
# Who began a session, where its client tells: a person, a clock, a call from outside, a program, slowwave itself
# with a question to a model's command; "" where it does not.
SessionOrigin = Literal["", "interactive", "cron", "hook", "api", "question"]


class Transcript(msgspec.Struct, eq=False):
    """A session as one dialect read it: every message in file order, and what could not be read."""

    dialect: str  # name of the dialect, for example ``claude``
    files: SessionFiles  # the files it was read from
    # all messages in file order, also sidechains and abandoned branches (``Message.active``)
    messages: list[Message] = []
    problems: list[Problem] = []  # everything that was not a clean record
    records: int = 0  # number of records (JSON objects) read
    # count of records by a type that this version does not know; they survive rewrites
    unknown_types: dict[str, int] = {}
    title: str = ""  # the title that the client shows, or ""
    kind: SessionKind = "main"  # main, subagent or fork
    # id of the session that started a sub-agent's, or that a fork was made from, where this one names it
    parent: str = ""
    created: datetime | None = None  # when it was created, where its records say so beside their own times
    # True when only the end of the session was read, which is enough for its context; the problems are those of that
    # part then, and all but them and ``files`` is empty
    is_tail: bool = False


# Times as clients write them: ISO 8601 with ``Z`` or an offset, with up to nanoseconds.

# Cersei and crabtalk write nanoseconds, which datetime refuses.
_LONG_FRACTION = re.compile(r"(\.\d{6})\d+")
_EDGES = (MINYEAR, MAXYEAR)


def parse_time(text: str | None) -> datetime | None:
    """Return the aware time that ``text`` means, or None when it is missing or unreadable.

    A time without an offset is taken as UTC, as the clients mean it.
    """
    if not text:
        return None
    try:
        at = datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", text))
        if at.tzinfo is None:
            return at.replace(tzinfo=UTC)
        if at.year in _EDGES:
            at.astimezone(UTC)
    except (ValueError, OverflowError):  # also a time that UTC has no year for
        return None
    return at


def clock_time(milliseconds: object) -> datetime | None:
    """Return the time that a number of milliseconds since 1970 means, None when it is none."""
    if not isinstance(milliseconds, int | float) or isinstance(milliseconds, bool):
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def millisecond_time(at: datetime) -> str:
    """Return a time as Claude Code writes it: UTC with milliseconds and ``Z``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def offset_time(at: datetime) -> str:
    """Return a time as Cersei writes it: UTC with microseconds and ``+00:00``."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


# JSON as it really occurs, made fit for strict decoders: valid UTF-8, no lone surrogates, no NaN. Few values need it:
# the first of them compiles the expressions.

_HIGH = rb"u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"u[dD][c-fC-F][0-9a-fA-F]{2}"
# a pair, a lone half (group 1), or any other escape; the order matters, and "\\" must be eaten as one
_ESCAPE = rb"(?s)\\(?:" + _HIGH + rb"\\" + _LOW + rb"|(" + _HIGH + rb"|" + _LOW + rb")|.)"
_LONE = rb"\\" + _HIGH + rb"|\\" + _LOW
_NOT_A_NUMBER = rb'(?s)"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)'


def without_lone_halves(raw: bytes) -> bytes:
    """Return the JSON value ``raw`` without lone halves of surrogate pairs, as clients in JavaScript send it."""
    return re.sub(_ESCAPE, _nothing, raw) if re.search(_LONE, raw) else raw


def clean(raw: bytes) -> bytes:
    """Return the JSON value ``raw`` with everything that strict decoders refuse replaced.

    Bytes that are not UTF-8 and lone halves of surrogate pairs become U+FFFD, as a UTF-8 encoder would write them;
    NaN and Infinity become null. A value that has none of these comes back as it is.
    """
    if not is_utf8(raw):
        raw = raw.decode("utf-8", "replace").encode()
    if b"\\u" in raw:
        raw = re.sub(_ESCAPE, _whole_character, raw)
    if b"NaN" in raw or b"Infinity" in raw:
        raw = re.sub(_NOT_A_NUMBER, _number, raw)
    return raw


def _nothing(match: re.Match[bytes]) -> bytes:
    return b"" if match[1] else match[0]


def _whole_character(match: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if match[1] else match[0]


def _number(match: re.Match[bytes]) -> bytes:
    return b"null" if match[1] else match[0]


# Values of records: decoded also where a strict decoder refuses them, and read whatever type they have.


def fields_of(value: object) -> dict[str, Any]:
    """Return the fields of an object, none for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def objects_of(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list, none for anything else."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def text_or_empty(value: object) -> str:
    """Return a string as it is, and "" for anything else."""
    return value if isinstance(value, str) else ""


def object_in(fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a field that is an object, {} when it is missing or of another type."""
    return fields_of(fields.get(key))


def text_in(fields: Mapping[str, Any], key: str) -> str:
    """Return a text field, "" when it is missing or of another type."""
    return text_or_empty(fields.get(key))


def whole(raw: bytes) -> dict[str, Any]:
    """Return a record as a dictionary; bytes that are not UTF-8 and lone surrogates become U+FFFD."""
    try:
        value: object = msgspec.json.decode(raw)
    except REFUSALS:
        value = lenient(raw)
    return fields_of(value)


def decoded(content: msgspec.Raw) -> object:
    """Return the value of an undecoded field, None when it is absent."""
    raw = bytes(content)
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except REFUSALS:
        return lenient(raw)


def lenient(raw: bytes) -> object:
    """Decode JSON that a strict decoder refuses, or return None when nothing can be read."""
    import json  # noqa: PLC0415  # only damaged records need the slow decoder

    cleaned = clean(raw)
    try:
        return msgspec.json.decode(cleaned)
    except REFUSALS:
        pass  # what is still odd: control characters in strings
    try:
        return json.loads(cleaned, strict=False)
    except (ValueError, RecursionError):
        return None

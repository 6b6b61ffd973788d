"""The dialect-free shapes: what a model saw (messages of blocks) and where on disk each block came from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from slowwave.records.model import Problem, Span

Role = Literal["user", "assistant", "system", "tool"]

Origin = Literal[
    "typed",  # a person typed it (also while the agent worked, also as the reason of a rejected tool call)
    "injected",  # the harness put it there: commands, reminders, hook output, skill bodies, notifications
    "model",  # the assistant said or called it
    "tool",  # a tool returned it
    "summary",  # a compaction summary
]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning of the model; never sent to an extractor, never shown unless asked for."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the assistant made."""

    id: str
    name: str
    args: object


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered; ``text`` joins its text blocks by newlines, other blocks stand as ``[type]``."""

    id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """A block that is neither of the above (image, document, ...), known by its type only."""

    type: str


Block = Text | Thinking | ToolCall | ToolResult | Other


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the model saw it.

    Attributes:
        role: who speaks.
        blocks: the content in order.
        sources: for each block the span of the record that it was read from (same length as ``blocks``).
        origin: who really produced the text; only ``typed`` may create a preference, constraint or decision alone.
        id: the client's id of the message or record, if it has one.
        timestamp: when the client wrote it, aware; None when the record has no readable time.
        cwd: the working folder that the record names, or "".
        active: False for abandoned branches (rewinds, forks) that the client would not send again.
        sidechain: True for a sub-agent's messages inside a main file.
        branch: git branch that the record names, or "".
    """

    role: Role
    blocks: tuple[Block, ...]
    sources: tuple[Span, ...]
    origin: Origin
    id: str | None = None
    timestamp: datetime | None = None
    cwd: str = ""
    active: bool = True
    sidechain: bool = False
    branch: str = ""

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


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """One session on disk: its id and its files in reading order (Cersei writes ``_partN`` files)."""

    id: str
    paths: tuple[Path, ...]
    problems: tuple[Problem, ...] = ()


SessionKind = Literal["main", "subagent", "fork"]


@dataclass(slots=True)
class Transcript:
    """A session as one dialect read it: every message in file order, and what could not be read.

    Attributes:
        dialect: name of the dialect, for example ``claude``.
        files: the files it was read from.
        messages: all messages in file order, also sidechains and abandoned branches (``Message.active``).
        problems: everything that was not a clean record.
        records: number of records (JSON objects) read.
        unknown_types: count of records by a type that this version does not know; they survive rewrites.
        title: the title that the client shows, or "".
        kind: main, subagent or fork.
    """

    dialect: str
    files: SessionFiles
    messages: list[Message] = field(default_factory=list[Message])
    problems: list[Problem] = field(default_factory=list[Problem])
    records: int = 0
    unknown_types: dict[str, int] = field(default_factory=dict[str, int])
    title: str = ""
    kind: SessionKind = "main"

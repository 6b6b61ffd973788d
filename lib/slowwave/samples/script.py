"""The scripts that the sample sessions are written as: who says what, which tool is called and what it answers.

A script is a text file: ``key: value`` lines, an empty line, then steps. A step starts at the margin; lines indented
by two spaces belong to it, what a command prints stands behind ``|``. ``Bash!:`` is a command that fails with exit
code 1, ``+Bash:`` one that runs in parallel with the step before it, ``Task:`` opens a sub-agent and ``report:`` closes
it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from slowwave.samples.planted import fill

SayKind = Literal["user", "queued", "retract", "agent", "think", "pause", "compact", "part", "summary", "report"]
Tool = Literal["Bash", "Read", "Edit", "Write", "Grep"]
Client = Literal["claude 1.0", "claude 2.0", "claude 2.1", "cersei", "pi", "codex", "opencode"]

_HEAD = re.compile(r"(\+?)([A-Za-z]+)(!?):(?: (.*))?$")
_BODY = "  "


class ScriptError(ValueError):
    """A script does not follow the format; the message names its line."""


@dataclass(frozen=True, slots=True)
class Say:
    """Something said or done that is not a tool call; ``text`` of a pause is its length in minutes."""

    kind: SayKind
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with its result; ``body`` holds the output, or the file's text, or the edit as -/+ lines."""

    tool: Tool
    argument: str
    body: tuple[str, ...] = ()
    failed: bool = False
    parallel: bool = False


@dataclass(frozen=True, slots=True)
class Delegation:
    """A sub-agent: what it was asked, what it did and what it reported."""

    description: str
    prompt: str
    steps: tuple["Step", ...]
    report: str
    parallel: bool = False


Step = Say | Call | Delegation


@dataclass(frozen=True, slots=True)
class Script:
    """One session of the sample week.

    Attributes:
        name: the script's file name without suffix; all ids derive from it.
        client: which client wrote it, for Claude Code with its layout.
        project: name of the project, the last part of its working folder.
        day: 1 for the first day of the week, 7 for its last.
        minute: minutes after midnight UTC at which it starts.
        title: the session's title, or "" where the client gave none.
        foreign: title of another session that the client noted in this file (1.0 and 2.0 did), or "".
        steps: everything that happened, in order.
    """

    name: str
    client: Client
    project: str
    day: int
    minute: int
    title: str
    foreign: str
    steps: tuple[Step, ...]


def parse(name: str, text: str) -> Script:
    """Read one script.

    Raises:
        ScriptError: a line is neither a header, a step nor the body of one, or a value is not what it must be.
    """
    head, _, rest = text.partition("\n\n")
    fields = dict(_header(name, line) for line in head.splitlines() if not line.startswith("#"))
    client = next((c for c in get_args(Client) if c == fields.get("client")), None)
    start = re.fullmatch(r"([1-7]) (\d\d):(\d\d)", fields.get("start", ""))
    if client is None or start is None or "project" not in fields:
        raise ScriptError(f"{name}: the header needs client, project and start, for example 'start: 2 09:30'")
    return Script(
        name,
        client,
        fields["project"],
        int(start[1]),
        int(start[2]) * 60 + int(start[3]),
        fields.get("title", ""),
        fields.get("foreign", ""),
        tuple(_nested(name, _flat(name, rest))),
    )


def _header(name: str, line: str) -> tuple[str, str]:
    key, colon, value = line.partition(": ")
    if not colon:
        raise ScriptError(f"{name}: header line {line!r} is not 'key: value'")
    return key, value


@dataclass
class _Raw:
    """A step before its meaning is known."""

    name: str
    first: str
    body: list[str]
    failed: bool
    parallel: bool

    @property
    def words(self) -> str:
        """What was said: people do not break their lines, so an empty line alone makes a paragraph."""
        paragraphs = " ".join([self.first, *(line or "\n\n" for line in self.body)]).split(" \n\n ")
        return "\n\n".join(paragraphs).strip()

    @property
    def lines(self) -> str:
        return "\n".join([self.first, *self.body])

    @property
    def output(self) -> tuple[str, ...]:
        """What a tool printed, or the text of a file."""
        return tuple(line[2:] if line.startswith("|") else line for line in self.body)


def _flat(name: str, text: str) -> Iterator[_Raw]:
    current: _Raw | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        match = _HEAD.match(line)
        if match:
            if current:
                yield current
            current = _Raw(match[2], fill(match[4] or ""), [], bool(match[3]), bool(match[1]))
        elif current and line.startswith(_BODY):
            current.body.append(fill(line[len(_BODY) :]))
        elif current and not line.strip():
            current.body.append("")
        else:
            raise ScriptError(f"{name}: line {number} after the header is not a step: {line!r}")
    if current:
        yield current


def _nested(name: str, raws: Iterator[_Raw]) -> Iterator[Step]:
    for raw in raws:
        while raw.body and not raw.body[-1]:
            raw.body.pop()
        if raw.name == "Task":
            inner = list(_nested(name, _until_report(name, raws)))
            report = inner.pop()
            assert isinstance(report, Say), "a sub-agent ends with its report"
            yield Delegation(raw.first, " ".join(raw.body), tuple(inner), report.text, raw.parallel)
        elif raw.name in get_args(Tool):
            yield Call(_tool(raw.name), raw.first, raw.output, raw.failed, raw.parallel)
        else:
            kind = _kind(name, raw.name)
            yield Say(kind, raw.lines if kind == "compact" else raw.words)


def _until_report(name: str, raws: Iterator[_Raw]) -> Iterator[_Raw]:
    for raw in raws:
        yield raw
        if raw.name == "report":
            return
    raise ScriptError(f"{name}: a Task has no report")


def _tool(word: str) -> Tool:
    return next(t for t in get_args(Tool) if t == word)


def _kind(name: str, word: str) -> SayKind:
    kind = next((k for k in get_args(SayKind) if k == word), None)
    if kind is None:
        raise ScriptError(f"{name}: {word!r} is neither a speaker nor a tool")
    return kind

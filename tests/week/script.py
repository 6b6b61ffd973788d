"""The scripts that the sample sessions are written as: who says what, which tool is called and what it answers.

A script is a text file: ``key: value`` lines, an empty line, then steps. A step starts at the margin; lines indented
by two spaces belong to it, what a command prints stands behind ``|``. ``Bash!:`` is a command that fails with exit
code 1, ``+Bash:`` one that runs in parallel with the step before it, ``Task:`` opens a sub-agent and ``report:`` closes
it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args
from uuid import UUID

from slowwave.samples import secrets

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


# From steps to turns: which words and calls of the agent were one message, which results answer it.


@dataclass
class Answer:
    """One message of the agent: reasoning, words and the tool calls that it made at once."""

    thinking: str = ""
    text: str = ""
    calls: list[Call | Delegation] = field(default_factory=list["Call | Delegation"])


Turn = Say | Answer


def turns(steps: Iterable[Step]) -> Iterator[Turn]:
    """Yield what was said, with consecutive steps of the agent joined into messages as a model emits them."""
    answer: Answer | None = None
    for step in steps:
        if answer and _starts_anew(answer, step):
            yield answer
            answer = None
        match step:
            case Say(kind="think"):
                answer = Answer(thinking=step.text)
            case Say(kind="agent"):
                answer = answer or Answer()
                answer.text = step.text
            case Say():
                yield step
            case Call() | Delegation():
                answer = answer or Answer()
                answer.calls.append(step)
    if answer:
        yield answer


def _starts_anew(answer: Answer, step: Step) -> bool:
    match step:
        case Say(kind="agent"):
            return bool(answer.text or answer.calls)
        case Say():
            return True
        case Call() | Delegation():
            return bool(answer.calls) and not step.parallel


# What a tool call and its result look like in a Claude Code transcript, by layout.

Json = dict[str, object]

# The reminder that the 1.0 and 2.0 clients put behind every file they read.
_READ_REMINDER = (
    "\n\n<system-reminder>\nWhenever you read a file, you should consider whether it looks malicious. If it does, you"
    " MUST refuse to improve or augment the code. You can still analyze existing code, write reports, or answer"
    " high-level questions about the code behavior.\n</system-reminder>\n"
)


def call_input(call: Call, cwd: str) -> Json:
    """Return the arguments that the model gave."""
    match call.tool:
        case "Bash":
            return {"command": call.argument, "description": f"Run {call.argument.split()[0]}"}
        case "Read":
            return {"file_path": f"{cwd}/{call.argument}"}
        case "Edit":
            old, new = edit_texts(call)
            return {"file_path": f"{cwd}/{call.argument}", "old_string": old, "new_string": new}
        case "Write":
            return {"file_path": f"{cwd}/{call.argument}", "content": file_text(call)}
        case "Grep":
            return {"pattern": call.argument, "output_mode": "content", "-n": True}


def result_text(call: Call, cwd: str, *, modern: bool) -> str:
    """Return the text that the model saw; ``modern`` is the 2.1 layout."""
    body = "\n".join(call.body)
    match call.tool:
        case "Bash":
            return f"Exit code 1\n{body}" if call.failed else body
        case "Read":
            return _numbered(call.body, "\t", 0) if modern else _numbered(call.body, "→", 6) + _READ_REMINDER
        case "Edit":
            path = f"{cwd}/{call.argument}"
            if modern:
                note = "(file state is current in your context — no need to Read it back)"
                return f"The file {path} has been updated successfully. {note}"
            _, new = edit_texts(call)
            head = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the"
            return f"{head} edited file:\n{_numbered(tuple(new.splitlines()), '→', 6)}"
        case "Write":
            return f"File created successfully at: {cwd}/{call.argument}"
        case "Grep":
            return body


def tool_use_result(call: Call, cwd: str, *, modern: bool) -> object:
    """Return the structured result that the client keeps beside the message."""
    body = "\n".join(call.body)
    path = f"{cwd}/{call.argument}"
    if call.failed:
        return f"Error: {result_text(call, cwd, modern=modern)}"
    match call.tool:
        case "Bash":
            plain: Json = {"stdout": body, "stderr": "", "interrupted": False, "isImage": False}
            return plain | {"noOutputExpected": False} if modern else plain
        case "Read":
            count = len(call.body) + 1
            file = {"filePath": path, "content": body + "\n", "numLines": count, "startLine": 1, "totalLines": count}
            return {"type": "text", "file": file}
        case "Edit":
            old, new = edit_texts(call)
            both = {"filePath": path, "oldString": old, "newString": new, "originalFile": old + "\n"}
            return both | {"structuredPatch": [_hunk(old, new)], "userModified": False, "replaceAll": False}
        case "Write":
            return {"type": "create", "filePath": path, "content": file_text(call), "structuredPatch": []}
        case "Grep":
            return {"mode": "content", "numFiles": 0, "filenames": [], "content": body, "numLines": len(call.body)}


def edit_texts(call: Call) -> tuple[str, str]:
    """Return the replaced and the new text of an edit, written as ``- old`` and ``+ new`` lines."""
    old = [line[2:] for line in call.body if line.startswith("-")]
    new = [line[2:] for line in call.body if line.startswith("+")]
    return "\n".join(old), "\n".join(new)


def file_text(call: Call) -> str:
    """Return the text of a written file."""
    return "\n".join(call.body) + "\n"


def _hunk(old: str, new: str) -> Json:
    before, after = old.splitlines(), new.splitlines()
    lines = [f"-{line}" for line in before] + [f"+{line}" for line in after]
    return {"oldStart": 1, "oldLines": len(before), "newStart": 1, "newLines": len(after), "lines": lines}


def _numbered(lines: tuple[str, ...], separator: str, width: int) -> str:
    shown = [*lines, ""]
    return "\n".join(f"{number:>{width}}{separator}{line}" for number, line in enumerate(shown, start=1))


# Ids and seconds that look random and are not: both derive from a hash of the session's name and a counter.

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass
class Identity:
    """Makes the ids of one session, always the same ones in the same order."""

    seed: str
    _count: int = 0

    def _digest(self, what: str) -> bytes:
        self._count += 1
        return hashlib.sha256(f"{self.seed}/{what}/{self._count}".encode()).digest()

    def uuid(self) -> str:
        """Return a version 4 UUID."""
        return str(UUID(bytes=self._digest("uuid")[:16], version=4))

    def uuid7(self, at: datetime) -> str:
        """Return a version 7 UUID: the milliseconds of ``at``, then what looks random."""
        random = int.from_bytes(self._digest("uuid7")[:10], "big")
        bits = (_milliseconds(at) << 80 | random) & ~(0xF << 76) & ~(0x3 << 62)
        return str(UUID(int=bits | 0x7 << 76 | 0x2 << 62))

    def sorted_id(self, prefix: str, at: datetime, number: int = 1, *, newest_first: bool = False) -> str:
        """Return an id of opencode: twelve digits that sort by time, then what looks random.

        Args:
            prefix: what the id is for, as ``msg``.
            at: its time.
            number: tells apart the ids of one millisecond.
            newest_first: whether a later id sorts before an earlier one, as those of sessions do.
        """
        place = _milliseconds(at) << 12 | number
        place = (~place if newest_first else place) & (1 << 48) - 1
        digest = self._digest("sorted")
        return f"{prefix}_{place:012x}" + "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:14])

    def token(self, prefix: str, length: int) -> str:
        """Return ``prefix`` followed by ``length`` hexadecimal digits."""
        return prefix + self._digest("token").hex()[:length]

    def between(self, low: int, high: int) -> int:
        """Return a number from ``low`` to ``high``, both included."""
        return low + int.from_bytes(self._digest("number")[:4], "big") % (high - low + 1)


@dataclass
class Watch:
    """The time inside one session: it only moves forward."""

    at: datetime
    ids: Identity

    def seconds(self, low: int, high: int) -> None:
        """Move on by a number of seconds in that range and by some milliseconds."""
        self.at += timedelta(seconds=self.ids.between(low, high), milliseconds=self.ids.between(3, 60))

    def minutes(self, count: int) -> None:
        """Move on by whole minutes: a pause in the work."""
        self.at += timedelta(minutes=count)

    def iso(self) -> str:
        """Return the time as Claude Code writes it: milliseconds and ``Z``."""
        return self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.at.microsecond // 1000:03d}Z"

    def rfc3339(self) -> str:
        """Return the time as Cersei writes it: nanoseconds and ``+00:00``."""
        nano = self.at.microsecond * 1000 + 417
        return self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{nano:09d}+00:00"


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1000 + at.microsecond // 1000


# One file of the sample week: where it lies below the person's home, its bytes, when it was changed last.


@dataclass(frozen=True, slots=True)
class SampleFile:
    """A file that a client left.

    Attributes:
        path: relative to the home folder.
        data: its bytes.
        modified: when the client wrote to it last.
    """

    path: str
    data: bytes
    modified: datetime


_MARK = re.compile(r"\{\{(\w+)\}\}")


def fill(text: str) -> str:
    """Replace every ``{{name}}`` by the fake secret of that name.

    Raises:
        KeyError: there is no secret of that name.
    """
    known = secrets()
    return _MARK.sub(lambda match: known[match[1]], text)

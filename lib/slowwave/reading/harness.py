"""What clients write around a person's decisions: refused tool calls, answered questions; and which tools do what."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

import msgspec

from slowwave.dialects.model import ToolResult

_SHELLS = frozenset(
    {
        "bash",
        "powershell",
        "shell",
        "local_shell",
        "exec",
        "exec_command",
        "shell_command",
        "run_command",
        "execute",
        "terminal",
    }
)
# a command that failed could print the client's words; only this tool writes its exit code before what a command said
_MARKS_FAILURE = frozenset({"Bash"})
_EDITORS = frozenset({"edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create", "patch"})
# a shell as a program with its line as a word of its own
_GIVE_SCRIPT = ("-c", "-lc", "-lic", "-ic")
_WITH_SCRIPT = 3
# client: Codex since 0.60 hands on what a running command prints to this tool
_WAITS = frozenset({"write_stdin"})
_ASKS = frozenset({"askuserquestion", "ask_user", "ask_user_question", "question"})
# client: Claude Code 1.0 to 2.1 write exactly this before the reason that a person gave; the second form is that of
# a call that waited for a permission
_REJECTED = re.compile(
    r"\A(?:The user doesn't want to proceed with this tool use|Permission for this tool use was denied)\. "
    r"The tool use was rejected[^\n]{0,200}?(?:To tell you how to proceed, )?[Tt]he user said:\n(?P<reason>.+)\Z",
    re.DOTALL,
)
# client: Claude Code writes a slash command as these elements, in one of two orders, and what was typed behind it
_COMMAND = re.compile(
    r"\A\s*<command-(?:name|message)>[^<]*</command-(?:name|message)>\s*"
    r"(?:<command-(?:name|message)>[^<]*</command-(?:name|message)>\s*)?"
    r"<command-args>(?P<words>.*)</command-args>\s*\Z",
    re.DOTALL,
)
# the quote that ends an answer: before the next pair, the end, or what the client adds
_ENDS = re.compile(r'"(?=\.\s|\s*$|\s+(?:selected|user|notes)\b)')
_MOST_CHARS = 50_000
_SHORTEST_WRITTEN = 20
_COMMAND_CHARS = 2_000
# client: the kinds of a record's origin that stand for a person
_PEOPLE = ("", "human", "cli", "user")
# client: Codex names the files of a patch in its header lines
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_NOTES = re.compile(r"\s+(?:user notes|selected preview|notes):.*\Z", re.DOTALL | re.IGNORECASE)


class _Metadata(msgspec.Struct):
    exit_code: int = 0


class _Wrapped(msgspec.Struct):
    output: str
    metadata: _Metadata | None = None


_wrapped = msgspec.json.Decoder(_Wrapped)


class _Sender(msgspec.Struct):
    kind: str = ""


class _Marks(msgspec.Struct):
    """What Claude Code notes about a user record that nobody typed.

    Attributes:
        meta: the client made it up.
        sidechain: it is a sub-agent's.
        origin: who sent it, in newer clients.
    """

    meta: bool = msgspec.field(name="isMeta", default=False)
    sidechain: bool = msgspec.field(name="isSidechain", default=False)
    origin: _Sender | None = None


_marks = msgspec.json.Decoder(_Marks)


def command_words(text: str, raw: bytes) -> str:
    """Return what a person typed behind the name of a slash command, or "".

    Args:
        text: a text of a user record.
        raw: the record, which tells whether the client or another agent made it up.
    """
    found = _COMMAND.match(text) if "<command-args>" in text[:_COMMAND_CHARS] else None
    if found is None:
        return ""
    try:
        marks = _marks.decode(raw)
    except msgspec.MsgspecError:
        return ""  # no record of this client: another one could put anything into such elements
    by_person = marks.origin is None or marks.origin.kind in _PEOPLE
    return found["words"].strip() if by_person and not (marks.meta or marks.sidechain) else ""


def rejection_reason(tool: str, result: ToolResult) -> str | None:
    """Return the reason that a person typed when they refused a tool call, or None.

    Tools of other programs could write the same words themselves, so only the client's own tools count.
    """
    if not result.is_error or is_foreign(tool) or (tool.lower() in _SHELLS and tool not in _MARKS_FAILURE):
        return None
    found = _REJECTED.match(result.text)
    return found["reason"] if found else None


def is_foreign(tool: str) -> bool:
    """Say whether a tool's output is written by other programs or pages, which could imitate the client's words."""
    return "__" in tool or tool.lower().startswith("web")


class Offer(NamedTuple):
    """An answer that a dialog offers."""

    label: str
    description: str


class Question(NamedTuple):
    """What a dialog asks."""

    header: str
    options: tuple[Offer, ...]


class _Offered(msgspec.Struct):
    label: str = ""
    description: str = ""


class _Asked(msgspec.Struct):
    question: str = ""
    header: str = ""
    options: list[_Offered] = []


class _Dialog(msgspec.Struct):
    questions: list[_Asked] = []


def questions_in(args: Mapping[str, object]) -> dict[str, Question]:
    """Return what a call of a dialog asks, by the words of the question; {} where it is of no known form."""
    try:
        dialog = msgspec.convert(args, _Dialog)
    except msgspec.ValidationError:
        return {}
    return {
        asked.question.strip(): Question(asked.header, tuple(Offer(o.label, o.description) for o in asked.options))
        for asked in dialog.questions
    }


def answers_in(tool: str, result: ToolResult) -> Iterator[tuple[str, str]]:
    """Yield question and answer of every question that a person answered in the client's dialog."""
    if tool.lower() not in _ASKS or result.is_error or len(result.text) > _MOST_CHARS:
        return
    start = result.text.find(': "')
    parts = result.text[start + 3 :].split('"="') if start >= 0 else []
    question = parts[0] if parts else ""
    for part in parts[1:]:
        answer, more, following = part.rpartition('", "')
        if not more or part is parts[-1]:
            answer, following = _ENDS.split(part, maxsplit=1)[0], ""
        yield question.strip(), _NOTES.sub("", answer).strip()
        question = following


def command_in(tool: str, args: Mapping[str, object]) -> str:
    """Return the shell line of a call, or "" when the tool is no shell."""
    return line_in(args) if tool.lower() in _SHELLS else ""


def line_in(args: Mapping[str, object]) -> str:
    """Return the shell line among the arguments of a shell's call, or ""."""
    for name in ("command", "cmd", "script"):
        value = args.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            words = [str(word) for word in cast("list[object]", value)]
            return words[2] if len(words) == _WITH_SCRIPT and words[1] in _GIVE_SCRIPT else shlex.join(words)
    return ""


def waited_for(tool: str, args: Mapping[str, object]) -> str:
    """Return the name of the running command whose further output a call asks for, or ""."""
    session = args.get("session_id")
    return str(session) if tool.lower() in _WAITS and isinstance(session, int | str) else ""


def edited_paths(tool: str, args: Mapping[str, object], line: str = "") -> tuple[str, ...]:
    """Return the files that a call changes: named by an editor, or in the patch that a call or a shell line holds."""
    patch = line or args.get("input", args.get("patch"))
    if isinstance(patch, str) and "*** Begin Patch" in patch:
        return tuple(dict.fromkeys(_PATCHED.findall(patch)))
    if tool.lower() not in _EDITORS:
        return ()
    for name in ("file_path", "path", "notebook_path", "filePath"):
        value = args.get(name)
        if isinstance(value, str):
            return (value,)
    return ()


def written_texts(tool: str, args: object) -> list[str]:
    """Return what a call writes into files: the texts of an editor's call, the commands of a shell's."""
    name = tool.lower()
    if name not in _EDITORS and name not in _SHELLS:
        return []
    if not isinstance(args, dict):
        return [args] if isinstance(args, str) else []
    values = list(cast("Mapping[str, object]", args).values())
    for edit in [one for value in values if isinstance(value, list) for one in cast("list[object]", value)]:
        values += cast("Mapping[str, object]", edit).values() if isinstance(edit, dict) else [edit]
    return [value for value in values if isinstance(value, str) and len(value) > _SHORTEST_WRITTEN]


def output_of(text: str) -> str:
    """Return what a command printed: Codex to 2025 wrapped it in JSON (client: Codex 0.2 to 0.50)."""
    if not text.startswith('{"output":'):
        return text
    try:
        wrapped = _wrapped.decode(text)
    except msgspec.MsgspecError:
        return text  # cut off, or a program's own JSON
    return f"Exit code {wrapped.metadata.exit_code}\n{wrapped.output}" if wrapped.metadata else wrapped.output

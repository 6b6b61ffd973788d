"""What clients write around a person's decisions: refused tool calls, answered questions; and which tools do what."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar, cast

import msgspec

from slowwave.dialects.model import ToolResult
from slowwave.records.model import REFUSALS

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
# a command that failed could print the client's words; only these tools write its exit code before what it said
_MARKS_FAILURE = frozenset({"Bash", "PowerShell"})
_EDITORS = frozenset({"edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create", "patch"})
_ASKS = frozenset({"askuserquestion", "ask_user", "ask_user_question", "question", "request_user_input"})
# client: Claude Code 1.0 to 2.1 write one of these in the place of the result of a call that was not let through
_REFUSED = re.compile(
    r"\A(?:The user doesn't want to (?:proceed with this tool use|take this action right now)"
    r"|Permission for this tool use was denied)\."
)
# ... this before the reason that a person gave, and since 2.1 a note behind it
_REASON = re.compile(
    r" The tool use was rejected[^\n]{0,200}?[Tt]he user said:\n(?P<reason>.+?)"
    r"(?:\n\nNote: The user's next message may contain a correction or preference\..*)?\Z",
    re.DOTALL,
)
_BY_PERSON = "user-rejected"
# client: so are its own tools called; those of servers have a low line in their name
_OWN_TOOL = re.compile(r"[A-Z][A-Za-z]*")
# client: opencode 1.0 to 1.18, as the error of the call
_FEEDBACK = re.compile(
    r"\AThe user rejected permission to use this specific tool call"
    r"(?:\.\Z| with the following feedback: (?P<reason>.+)\Z)",
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
_TYPED = "user_note: "


class _Metadata(msgspec.Struct):
    exit_code: int = 0


class _Wrapped(msgspec.Struct):
    output: str
    metadata: _Metadata | None = None


_wrapped = msgspec.json.Decoder(_Wrapped)


class _Sender(msgspec.Struct):
    kind: str = ""


class _Record(msgspec.Struct):
    """What Claude Code notes about a user record beside its words; no tool can write here.

    Attributes:
        type: the kind of the record.
        session: the id of the session, under the name that only this client gives it.
        meta: the client made it up.
        sidechain: it is a sub-agent's.
        origin: who sent it, in newer clients.
        outcome: what a tool returned to the client: a text where the call failed or was not let through.
        denial: why a call was not let through, in newer clients.
    """

    type: str = ""
    session: str = msgspec.field(name="sessionId", default="")
    meta: bool = msgspec.field(name="isMeta", default=False)
    sidechain: bool = msgspec.field(name="isSidechain", default=False)
    origin: _Sender | None = None
    outcome: msgspec.Raw = msgspec.field(name="toolUseResult", default=msgspec.Raw(b"null"))
    denial: str = msgspec.field(name="toolDenialKind", default="")


class _Note(msgspec.Struct):
    notes: str = ""


class _Outcome(msgspec.Struct):
    answers: dict[str, str | list[str]]
    annotations: dict[str, _Note] = {}


class _Details(msgspec.Struct):
    answers: list[list[str]] = []


class _State(msgspec.Struct):
    status: str = ""
    metadata: _Details = msgspec.field(default_factory=_Details)


class _Part(msgspec.Struct):
    """What opencode keeps of a call and its result."""

    type: str = ""
    call: str = msgspec.field(name="callID", default="")
    state: _State = msgspec.field(default_factory=_State)


class _Chosen(msgspec.Struct):
    answers: list[str]


class _Response(msgspec.Struct):
    """What Codex returns of a dialog, by the ids of the questions."""

    answers: dict[str, _Chosen]


_record = msgspec.json.Decoder(_Record)
_part = msgspec.json.Decoder(_Part)
_outcome = msgspec.json.Decoder(_Outcome)
_response = msgspec.json.Decoder(_Response)
_Read = TypeVar("_Read")


def _decoded(decoder: msgspec.json.Decoder[_Read], raw: bytes | str) -> _Read | None:
    """Return what a record holds, None where it is of another form: another client's, or broken."""
    try:
        return decoder.decode(raw)
    except REFUSALS:
        return None


def _claude(raw: bytes) -> _Record | None:
    """Return the marks of a user record of Claude Code, None of all others."""
    record = _decoded(_record, raw)
    return record if record and record.type == "user" and record.session else None


def command_words(text: str, raw: bytes) -> str:
    """Return what a person typed behind the name of a slash command, or "".

    Args:
        text: a text of a user record.
        raw: the record, which tells whether the client or another agent made it up.
    """
    found = _COMMAND.match(text) if "<command-args>" in text[:_COMMAND_CHARS] else None
    record = _claude(raw) if found else None
    if found is None or record is None or record.meta or record.sidechain:
        return ""
    by_person = record.origin is None or record.origin.kind in _PEOPLE
    return found["words"].strip() if by_person else ""


def refusal_in(tool: str, result: ToolResult, raw: bytes) -> str | None:
    """Return the reason that a person typed when they refused a call, "" where they gave none, None where nobody did.

    The words alone prove nothing, since what a call returns could imitate them: the record must be of the client that
    writes them, marked as it marks a refusal, and the tool one whose errors begin with the client's own words.

    Args:
        tool: the tool that was called.
        result: what stands in the place of its result.
        raw: the record of the result.
    """
    if not result.is_error or is_foreign(tool):
        return None
    if found := _FEEDBACK.match(result.text):
        part = _decoded(_part, raw) if tool in _SHELLS | _EDITORS else None
        is_own = part and (part.type, part.call, part.state.status) == ("tool", result.id, "error")
        return (found["reason"] or "") if is_own else None
    refused = _REFUSED.match(result.text)
    if refused is None or not _OWN_TOOL.fullmatch(tool) or (tool.lower() in _SHELLS and tool not in _MARKS_FAILURE):
        return None
    record = _claude(raw)
    if record is None or record.denial not in ("", _BY_PERSON) or not bytes(record.outcome).startswith(b'"'):
        return None
    # who leaves a dialog to talk about its questions has typed nothing: the client lists them there
    found = None if tool.lower() in _ASKS else _REASON.match(result.text, refused.end())
    return found["reason"] if found else ""


def is_foreign(tool: str) -> bool:
    """Say whether a tool's output is written by other programs or pages, which could imitate the client's words."""
    return "__" in tool or "mcp" in tool.lower() or tool.lower().startswith("web")


class Offer(NamedTuple):
    """An answer that a dialog offers."""

    label: str
    description: str


class Question(NamedTuple):
    """What a dialog asks.

    Attributes:
        words: the question.
        header: its title, or "".
        options: what it offers.
        is_multiple: several answers may be chosen.
        id: by what the client finds its answer, or "".
        is_secret: the answer is a password or the like.
    """

    words: str
    header: str = ""
    options: tuple[Offer, ...] = ()
    is_multiple: bool = False
    id: str = ""
    is_secret: bool = False


class Answer(NamedTuple):
    """What a person answered to a question, and what they typed beside it."""

    question: Question
    words: str
    notes: str = ""


class _Offered(msgspec.Struct):
    label: str = ""
    description: str = ""


class _Asked(msgspec.Struct):
    question: str = ""
    header: str = ""
    options: list[_Offered] | None = None
    several: bool = msgspec.field(name="multiSelect", default=False)
    multiple: bool = False
    id: str = ""
    secret: bool = msgspec.field(name="isSecret", default=False)


class _Dialog(msgspec.Struct):
    questions: list[_Asked] = []


def _questions_in(args: Mapping[str, object]) -> list[Question]:
    """Return what a call of a dialog asks; nothing where it is of no known form."""
    try:
        dialog = msgspec.convert(args, _Dialog)
    except REFUSALS:
        return []
    return [
        Question(
            one.question.strip(),
            one.header,
            tuple(Offer(o.label, o.description) for o in one.options or ()),
            one.several or one.multiple,
            one.id,
            one.secret,
        )
        for one in dialog.questions
    ]


def answers_in(tool: str, args: Mapping[str, object], result: ToolResult, raw: bytes) -> Iterator[Answer]:
    """Yield every question that a person answered in the client's dialog; the answers to secret ones are left out.

    Args:
        tool: the tool that was called.
        args: with what.
        result: what it returned.
        raw: the record of the result, in which Claude Code and opencode keep the answers one by one.
    """
    if tool.lower() not in _ASKS or result.is_error:
        return
    asked = _questions_in(args)
    known = {question.words: question for question in asked}
    for words, answer, notes in _kept(asked, result, raw) or _written(result.text):
        question = known.get(words.strip()) or Question(words.strip())
        if answer.strip() and not question.is_secret:
            yield Answer(question, answer.strip(), notes.strip())


def _kept(asked: Sequence[Question], result: ToolResult, raw: bytes) -> list[tuple[str, str, str]]:
    """Return question, answer and notes where the client keeps them apart."""
    record = _claude(raw)
    if record is not None:
        found = _decoded(_outcome, bytes(record.outcome))
        notes = found.annotations if found else {}
        given = found.answers.items() if found else ()
        return [(q, a if isinstance(a, str) else ", ".join(a), notes.get(q, _Note()).notes) for q, a in given]
    if response := _decoded(_response, result.text):
        of = {question.id: question.words for question in asked}
        return [(of[i], *_with_note(one.answers)) for i, one in response.answers.items() if i in of]
    part = _decoded(_part, raw)
    answers = part.state.metadata.answers if part and part.type == "tool" else []
    return [(question.words, ", ".join(answer), "") for question, answer in zip(asked, answers, strict=False)]


def _with_note(answers: Sequence[str]) -> tuple[str, str]:
    """Return the options that were chosen, and what was typed beside them (client: Codex marks it)."""
    typed = [one.removeprefix(_TYPED) for one in answers if one.startswith(_TYPED)]
    chosen = [one for one in answers if not one.startswith(_TYPED)]
    return (", ".join(chosen), "\n".join(typed)) if chosen else ("\n".join(typed), "")


def _written(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield question and answer out of the sentence in which clients tell the model of them."""
    start = text.find(': "') if len(text) <= _MOST_CHARS else -1
    parts = text[start + 3 :].split('"="') if start >= 0 else []
    question = parts[0] if parts else ""
    for part in parts[1:]:
        answer, more, following = part.rpartition('", "')
        if not more or part is parts[-1]:
            answer, following = _ENDS.split(part, maxsplit=1)[0], ""
        yield question, _NOTES.sub("", answer), ""
        question = following


def command_in(tool: str, args: Mapping[str, object]) -> str:
    """Return the shell line of a call, or "" when the tool is no shell."""
    if tool.lower() not in _SHELLS:
        return ""
    for name in ("command", "cmd", "script"):
        value = args.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            words = [str(word) for word in value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return words[-1] if len(words) > 2 and words[1] in ("-c", "-lc") else " ".join(words)  # noqa: PLR2004
    return ""


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
    wrapped = _decoded(_wrapped, text)
    if wrapped is None:
        return text  # cut off, or a program's own JSON
    return f"Exit code {wrapped.metadata.exit_code}\n{wrapped.output}" if wrapped.metadata else wrapped.output

"""What clients note beside the words of a record, and the dialogs in which they let an assistant ask."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from slowwave.formats.model import REFUSALS, ToolResult
from slowwave.reading.items import Option

# The marks beside the words: a tool can print any words, but it can write nothing here.

Read = TypeVar("Read")


class _Sender(msgspec.Struct):
    kind: str = ""


class Record(msgspec.Struct):
    """What Claude Code notes about a user record beside its words; no tool can write here."""

    type: str = ""  # the kind of the record
    # the id of the session, under the name that only this client gives it
    session: str = msgspec.field(name="sessionId", default="")
    meta: bool = msgspec.field(name="isMeta", default=False)  # the client made it up
    sidechain: bool = msgspec.field(name="isSidechain", default=False)  # it is a sub-agent's
    origin: _Sender | None = None  # who sent it, in newer clients
    # what a tool returned to the client: a text where the call failed or was not let through
    outcome: msgspec.Raw = msgspec.field(name="toolUseResult", default=msgspec.Raw(b"null"))
    denial: str = msgspec.field(name="toolDenialKind", default="")  # why a call was not let through, in newer clients
    # how the client was started, in newer clients: ``cli`` with a screen, ``sdk-...`` by a program
    entrypoint: str = ""


class _Details(msgspec.Struct):
    answers: list[list[str]] = []


class _State(msgspec.Struct):
    status: str = ""
    metadata: _Details = msgspec.field(default_factory=_Details)


class Part(msgspec.Struct):
    """What opencode keeps of a call and its result."""

    type: str = ""
    call: str = msgspec.field(name="callID", default="")
    state: _State = msgspec.field(default_factory=_State)


_record = msgspec.json.Decoder(Record)
_part = msgspec.json.Decoder(Part)


def decoded(decoder: msgspec.json.Decoder[Read], raw: bytes | str) -> Read | None:
    """Return what a record holds, None where it is of another form: another client's, or broken."""
    try:
        return decoder.decode(raw)
    except REFUSALS:
        return None


def claude_record(raw: bytes) -> Record | None:
    """Return the marks of a user record of Claude Code, None of all others."""
    record = decoded(_record, raw)
    return record if record and record.type == "user" and record.session else None


def opencode_part(raw: bytes) -> Part | None:
    """Return what opencode keeps of a call and its result, None of all other records."""
    part = decoded(_part, raw)
    return part if part and part.type == "tool" else None


# The dialogs in which clients let an assistant ask: what was asked and offered, and what a person answered.

_ASKS = frozenset({"askuserquestion", "ask_user", "ask_user_question", "question", "request_user_input"})
# the quote that ends an answer: before the next pair, the end, or what the client adds
_ENDS = re.compile(r'"(?=\.\s|\s*$|\s+(?:selected|user|notes)\b)')
_MOST_CHARS = 50_000
_NOTES = re.compile(r"\s+(?:user notes|selected preview|notes):.*\Z", re.DOTALL | re.IGNORECASE)
_TYPED = "user_note: "


class _Note(msgspec.Struct):
    notes: str = ""


class _Outcome(msgspec.Struct):
    answers: dict[str, str | list[str]]
    annotations: dict[str, _Note] = {}


class _Chosen(msgspec.Struct):
    answers: list[str]


class _Response(msgspec.Struct):
    """What Codex returns of a dialog, by the ids of the questions."""

    answers: dict[str, _Chosen]


_outcome = msgspec.json.Decoder(_Outcome)
_response = msgspec.json.Decoder(_Response)


def is_dialog(tool: str) -> bool:
    """Say whether a tool asks the person."""
    return tool.lower() in _ASKS


class Question(msgspec.Struct, frozen=True):
    """What a dialog asks, as clients write it."""

    words: str = msgspec.field(name="question", default="")  # the question
    header: str = ""  # its title, or ""
    options: list[Option] | None = None  # what it offers
    several: bool = msgspec.field(name="multiSelect", default=False)  # several answers may be chosen (Claude Code)
    multiple: bool = False  # the same (opencode)
    id: str = ""  # by what the client finds its answer, or ""
    is_secret: bool = msgspec.field(name="isSecret", default=False)  # the answer is a password or the like


class Answer(NamedTuple):
    """What a person answered to a question, and what they typed beside it."""

    question: Question
    words: str
    notes: str = ""


class _Dialog(msgspec.Struct):
    questions: list[Question] = []


def _questions_in(args: Mapping[str, object]) -> list[Question]:
    """Return what a call of a dialog asks; nothing where it is of no known form."""
    try:
        asked = msgspec.convert(args, _Dialog).questions
    except REFUSALS:
        return []
    return [msgspec.structs.replace(one, words=one.words.strip()) for one in asked]


def answers_in(tool: str, args: Mapping[str, object], result: ToolResult, raw: bytes) -> Iterator[Answer]:
    """Yield every question that a person answered in the client's dialog; the answers to secret ones are left out.

    ``tool``: the tool that was called. ``raw``: the record of the result, in which Claude Code and opencode keep the
    answers one by one.
    """
    if not is_dialog(tool) or result.is_error:
        return
    asked = _questions_in(args)
    known = {question.words: question for question in asked}
    for words, answer, notes in _kept(asked, result, raw) or written(result.text):
        question = known.get(words.strip()) or Question(words.strip())
        if answer.strip() and not question.is_secret:
            yield Answer(question, answer.strip(), notes.strip())


def _kept(asked: Sequence[Question], result: ToolResult, raw: bytes) -> list[tuple[str, str, str]]:
    """Return question, answer and notes where the client keeps them apart."""
    record = claude_record(raw)
    if record is not None:
        found = decoded(_outcome, bytes(record.outcome))
        notes = found.annotations if found else {}
        given = found.answers.items() if found else ()
        return [(q, a if isinstance(a, str) else ", ".join(a), notes.get(q, _Note()).notes) for q, a in given]
    if response := decoded(_response, result.text):
        of = {question.id: question.words for question in asked}
        return [(of[i], *_with_note(one.answers)) for i, one in response.answers.items() if i in of]
    part = opencode_part(raw)
    answers = part.state.metadata.answers if part else []
    return [(question.words, ", ".join(answer), "") for question, answer in zip(asked, answers, strict=False)]


def _with_note(answers: Sequence[str]) -> tuple[str, str]:
    """Return the options that were chosen, and what was typed beside them (client: Codex marks it)."""
    typed = [one.removeprefix(_TYPED) for one in answers if one.startswith(_TYPED)]
    chosen = [one for one in answers if not one.startswith(_TYPED)]
    return (", ".join(chosen), "\n".join(typed)) if chosen else ("\n".join(typed), "")


def written(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield question, answer and "" out of the sentence in which clients tell the model of them."""
    start = text.find(': "') if len(text) <= _MOST_CHARS else -1
    parts = text[start + 3 :].split('"="') if start >= 0 else []
    question = parts[0] if parts else ""
    for part in parts[1:]:
        answer, more, following = part.rpartition('", "')
        if not more or part is parts[-1]:
            answer, following = _ENDS.split(part, maxsplit=1)[0], ""
        yield question, _NOTES.sub("", answer), ""
        question = following

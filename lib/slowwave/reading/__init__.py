"""The items of a reading: each with the records that show it, when it happened, and who stands behind it.

With them what clients note beside the words of a record, the dialogs in which they let an assistant ask, and what was
said, cut into statements: sentences that belong together, entries of lists, with what they stand under. Markdown is
told by its marks alone: code between fences and tables state nothing; a heading and the line before a list ("Decided:")
say what the entries below are about.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

import msgspec

from slowwave.formats import REFUSALS, Span, ToolResult
from slowwave.shell.commands import Run

Speaker = Literal["person", "assistant"]

# How words of a person came into the session.
Channel = Literal[
    "typed",  # as a message, or while the assistant worked
    "command",  # behind the name of a slash command
    "refusal",  # as the reason for refusing a tool call
    "choice",  # in answer to a dialog
]


@dataclass(frozen=True, slots=True)
class Item:
    """What every item has."""

    order: int  # its rank in the reading, from 0
    sources: tuple[Span, ...]  # the records that show it, in order
    record: str  # the client's id of the message, or ""
    at: datetime | None  # when it happened, if the client wrote it down
    cwd: str  # the working folder, or ""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a message."""

    text: str  # the words, without secrets and without characters that nobody sees
    is_pasted: bool  # its form shows that it was not typed: code, quotations, logs, listings, documents, mail


@dataclass(frozen=True, slots=True)
class Said(Item):
    """Words of the person or of the assistant."""

    speaker: Speaker  # whose turn it is
    parts: tuple[Part, ...]  # the message in order
    channel: Channel = "typed"  # how a person's words came in; "typed" of the assistant
    is_last: bool = True  # nothing of the same speaker follows before the other one speaks
    refused: str = ""  # what the assistant was about to do, where the words are a reason for refusing it
    # which of slowwave's own commands the words stood behind (:mod:`slowwave.reading.session`), or ""
    command: str = ""
    by_program: bool = False  # a program may have typed that command

    @property
    def own(self) -> str:
        """What the speaker said, without what was pasted."""
        return "\n\n".join(part.text for part in self.parts if not part.is_pasted)

    @property
    def text(self) -> str:
        """The whole message."""
        return "\n".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Option:
    """One of several answers that a dialog offered."""

    label: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Chosen(Item):
    """A question that the assistant asked in the client's own dialog, and what the person answered."""

    question: str  # the question
    header: str  # the title that the dialog gave it, or ""
    options: tuple[Option, ...]  # what was offered
    answer: str  # what the person chose or wrote; several answers are joined by commas
    is_multiple: bool = False  # several options could be chosen

    @property
    def chosen(self) -> tuple[Option, ...]:
        """The options that were chosen; empty where the person wrote an answer of their own."""
        labels = _labels_in(self.answer, self.options) if self.is_multiple else {self.answer}
        return tuple(option for option in self.options if option.label in labels)


@dataclass(frozen=True, slots=True)
class Ran(Item):
    """A shell line that ran to an end."""

    line: str  # as the assistant gave it, without secrets
    run: Run  # its commands, and what became of each
    cause: str  # the decisive line of the output of what failed, or ""


@dataclass(frozen=True, slots=True)
class Failed(Item):
    """A call of a tool other than a shell, which failed."""

    tool: str
    error: str


@dataclass(frozen=True, slots=True)
class Edited(Item):
    """A file that the assistant changed."""

    path: str  # the file
    removed: str = ""  # the lines taken out, as they were: they are looked at, never kept
    added: str = ""  # the lines put in, likewise
    is_whole: bool = False  # the file was written as a whole


# who wrote what was heard, where it was no tool
PERSON = "person"
AGENT = "a message of the assistant"


@dataclass(frozen=True, slots=True)
class Heard:
    """A text that stood in the session, not copied."""

    order: int  # the rank of the item that it stood before; a person's message has its own rank
    text: str  # the text
    by: str  # who wrote it


Meaning = Said | Chosen | Ran | Failed | Edited


@dataclass(slots=True)
class Reading:
    """A session in the order in which it happened."""

    items: list[Meaning] = field(default_factory=list[Meaning])  # everything, in order
    # the texts of tools and of the assistant as they were, to see who only repeats them
    heard: list[Heard] = field(default_factory=list[Heard])

    def said(self, speaker: Speaker) -> Iterator[Said]:
        """Yield what one of the two said."""
        return (item for item in self.items if isinstance(item, Said) and item.speaker == speaker)

    def before(self, item: Meaning, speaker: Speaker) -> Said | None:
        """Return what a speaker said last before an item."""
        earlier: Sequence[Meaning] = self.items[: item.order]
        return next((one for one in reversed(earlier) if isinstance(one, Said) and one.speaker == speaker), None)


def _labels_in(answer: str, options: Sequence[Option]) -> set[str]:
    """Return the labels that an answer begins with, the longest first: one may hold another, or a comma."""
    found: set[str] = set()
    rest = f"{answer}, "
    labels = sorted((option.label for option in options if option.label), key=len, reverse=True)
    while label := next((one for one in labels if rest.startswith(f"{one}, ")), ""):
        found.add(label)
        rest = rest[len(label) + 2 :]
    return found


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


class OpencodePart(msgspec.Struct):
    """What opencode keeps of a call and its result."""

    type: str = ""
    call: str = msgspec.field(name="callID", default="")
    state: _State = msgspec.field(default_factory=_State)


_record = msgspec.json.Decoder(Record)
_part = msgspec.json.Decoder(OpencodePart)


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


def opencode_part(raw: bytes) -> OpencodePart | None:
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


# sentences of one paragraph are kept together up to here
_MOST_CHARS_OF_A_STATEMENT = 260
# one sentence of more characters is a document rather than a statement
_LONGEST = 700
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})")
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+(?P<hash>.+?)[ \t#]*|\*\*(?P<bold>[^*\n]{2,90})\*\*:?)$")
_ENTRY = re.compile(r"^(?P<indent>[ \t]*)(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<text>\S.*)$")
_RULE = re.compile(r"^[ \t]*(?:\||[-=*_]{3,}[ \t]*$)")
_END = re.compile(r"(?<=[.!?\u2026])[\"'\u201d\u2019)\]*`]*\s+(?=[\"'\u201c(\[*`]*[^\W_a-z])|(?<=[\u3002\uff01\uff1f])")
# people begin sentences with small letters, too
_END_TYPED = re.compile(_END.pattern + r"|(?<=[.!?])(?<!\.\.)\s+(?=[\"'`(]*\w)")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|vs|etc|approx|resp|z\.B|bzw|cf|[A-Z])|\b\d)\.$", re.IGNORECASE)
# "no. 5" goes on, "No. Use tabs." does not
_NUMBERED = re.compile(r"\bn(?:o|r)\.$", re.IGNORECASE)
_CONTENT = re.compile(r"[^\W\d_]{4,}|\d+(?:[.,]\d+)*|[\u3040-\u30ff\u4e00-\u9fff]{2}")
_LETTER = re.compile(r"[^\W\d_]")
# a sentence that begins so says nothing without the one before it
_REFERS = r"this|that|these|those|it|its|they|them|their|he|she|both|same|which"
_POINTS_BACK = re.compile(
    rf"^(?:{_REFERS}|so|then|but|and|because|otherwise|instead|also|here|there)\b(?!['\u2019]?s (?:a|an|the) )",
    re.IGNORECASE,
)
# what is talked of was named before, not only what it follows from
_REFERS_BACK = re.compile(rf"^(?:if so|(?:{_REFERS})\b(?!['\u2019]?s (?:a|an|the) ))", re.IGNORECASE)
# with what a sentence goes on from another one, and says the same without it
_GOES_ON = re.compile(
    r"^(?:(?:yes|ok(?:ay)?|oh|well|hm+)[,.!]?\s+)?(?:and|also|but|btw|by the way)[,:]?\s+(?=(?:\S+\s+){3})",
    re.IGNORECASE,
)
# "Thanks." and "ok then" are nothing that a sentence could point back to
_SMALL_TALK = 2
# "Run the tests:" leads what stands below it
_LEADS = (":", "\uff1a")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement."""

    said: Said  # the message that it stands in
    text: str  # its words on one line
    index: int  # its rank in the message
    total: int  # how many statements the message has
    under: tuple[str, ...] = ()  # the heading and the lines before lists that it stands under, outermost first
    before: str = ""  # the statement before it in the same paragraph, or ""
    is_entry: bool = False  # it is an entry of a list


def statements(said: Said) -> list[Statement]:
    """Return the statements of a message in order, without what was pasted."""
    found = list(_blocks(said.own))
    pieces = [
        (piece, under, before, is_entry)
        for text, under, is_entry in found
        for piece, before in _packed(text, by_person=said.speaker == "person")
        if len(piece) <= _LONGEST and _LETTER.search(piece)
    ]
    return [
        Statement(said, piece, index, len(pieces), under, before, is_entry)
        for index, (piece, under, before, is_entry) in enumerate(pieces)
    ]


_Block = tuple[str, tuple[str, ...], bool]


def _blocks(text: str) -> Iterator[_Block]:
    """Yield paragraphs and entries, each with what it stands under and whether it is an entry."""
    outline = _Outline()
    for line in [*text.split("\n"), ""]:
        yield from outline.feed(line)


class _Outline:
    """Lines as they come: what is held of the present paragraph or entry, and what it stands under."""

    def __init__(self) -> None:
        self._heading = ""
        self._leads: list[tuple[int, str]] = []
        self._held: list[str] = []
        self._is_entry = False
        self._fenced = False

    def feed(self, line: str) -> Iterator[_Block]:
        """Take a line, and yield the block that it ends."""
        kind = self._kind(line)
        if kind == "text" and (self._held or not self._is_entry or line[0] in " \t"):
            self._held.append(line)
            return
        entry = _ENTRY.match(line) if kind == "entry" else None
        depth = len(entry["indent"]) if entry else 0
        words = " ".join(" ".join(self._held).split())
        self._held = []
        if words.endswith(_LEADS) and kind in ("entry", "blank", "code"):
            # the line before a list; a new paragraph ends those before it
            above = [(at, lead) for at, lead in self._leads if at < depth and self._is_entry]
            self._leads = [*above, (depth, words.rstrip(":\uff1a "))]
        elif words:
            under = (self._heading, *(lead for _, lead in self._leads))
            yield words, tuple(one for one in under if one), self._is_entry
        if entry:
            self._leads = [(at, lead) for at, lead in self._leads if at <= depth]
            self._held, self._is_entry = [entry["text"]], True
        elif kind != "blank":
            self._begin(line, kind)

    def _kind(self, line: str) -> str:
        if _FENCE.match(line):
            self._fenced = not self._fenced
            return "code"
        if self._fenced:
            return "code"
        if not line.strip():
            return "blank"
        kinds = {"rule": _RULE, "entry": _ENTRY, "title": _HEADING}
        return next((kind for kind, form in kinds.items() if form.match(line)), "text")

    def _begin(self, line: str, kind: str) -> None:
        """Begin what stands outside of the list before it."""
        self._is_entry = False
        if kind == "text":
            self._held, self._leads = [line], []
        elif kind == "code" and not self._fenced:
            self._leads = []  # what led to the code leads to nothing behind it
        title = _HEADING.match(line) if kind == "title" else None
        if title:
            self._heading, self._leads = (title["hash"] or title["bold"]).strip(" *:"), []


def _packed(text: str, *, by_person: bool) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a paragraph with the one before, of an assistant as many together as may be.

    People go from an order to a rule and on to a question in one line, so of theirs only what points back is joined.
    """
    held = before = ""
    for sentence in sentences(text, by_person=by_person):
        is_apart = by_person and (is_small_talk(held) or not points_back(sentence))
        if held and (is_apart or len(held) + len(sentence) >= _MOST_CHARS_OF_A_STATEMENT):
            yield held, before
            before, held = held, sentence
        else:
            held = f"{held} {sentence}" if held else sentence
    if held:
        yield held, before


def points_back(text: str) -> bool:
    """Say whether a sentence says nothing without the one before it."""
    return bool(_POINTS_BACK.match(text.lstrip("`\"'(*_")))


def refers_back(text: str) -> bool:
    """Say whether a sentence begins with what only the one before it names."""
    return bool(_REFERS_BACK.match(text.lstrip("`\"'(*_")))


def begun(text: str) -> str:
    """Return a sentence without the words with which it goes on from another one ("yes and ...", "also ...")."""
    return _GOES_ON.sub("", text)


def is_small_talk(text: str) -> bool:
    """Say whether a sentence is too short for another to be about it."""
    return len(text.split()) <= _SMALL_TALK


@lru_cache(maxsize=4096)
def sentences(text: str, *, by_person: bool = False) -> tuple[str, ...]:
    """Return the sentences of a paragraph, not cut behind abbreviations.

    ``by_person``: it was typed, so a small letter may begin a sentence.
    """
    found: list[str] = []
    held = ""
    for piece in _pieces(text, _END_TYPED if by_person else _END):
        goes_on = _ABBREVIATED.search(held) or (_NUMBERED.search(held) and piece[:1].isdigit())
        if held and not goes_on:
            found.append(held)
            held = ""
        held = f"{held} {piece}".strip()
    return (*found, held) if held else tuple(found)


def _pieces(text: str, end: re.Pattern[str]) -> Iterator[str]:
    at = 0
    for found in end.finditer(text):
        # quotes and brackets that close behind the full stop belong to what they close
        yield text[at : found.start() + len(found[0].rstrip())].strip()
        at = found.end()
    yield text[at:].strip()


@lru_cache(maxsize=8192)
def contents_of(text: str) -> frozenset[str]:
    """Return the words of a text that carry its content: long ones, values, names, code."""
    return frozenset(word.lower() for word in _CONTENT.findall(text))

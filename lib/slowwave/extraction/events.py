"""What happened in a session, as typed events out of messages of any dialect; miners see nothing else.

Only what a person said in their own words becomes a :class:`Turn`; commands and answers keep the records of both the
call and its result, so that every fact can cite them. All text is decoded, cleaned and free of secrets here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from slowwave.dialects.model import Injected, Message, Text, ToolCall, ToolResult
from slowwave.extraction.taint import words_of
from slowwave.letters import visible
from slowwave.reading.dialogs import answers_in
from slowwave.reading.harness import (
    command_in,
    command_words,
    edited_paths,
    output_of,
    refusal_in,
    waited_for,
    written_texts,
)
from slowwave.reading.items import AGENT, PERSON, Heard
from slowwave.records.model import Span
from slowwave.shell.commands import Proven, cause_of, run_of
from slowwave.shell.purposes import asks_version
from slowwave.shell.reports import exit_code, printed, running_as, setup_error

Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Event:
    """What every event has.

    Attributes:
        sources: the records that show it, in order.
        record: the client's id of the message, or "".
        at: when it happened, if the client wrote it down.
        cwd: the working folder, or "".
        order: its rank among all events.
    """

    sources: tuple[Span, ...]
    record: str
    at: datetime | None
    cwd: str
    order: int


@dataclass(frozen=True, slots=True)
class Turn(Event):
    """A person's own words.

    Attributes:
        text: without pasted blocks, injected text and secrets.
        after: what the assistant said right before, shortened.
        after_work: the assistant had changed or run something since the last turn.
        is_rejection: the words are the reason for refusing a tool call.
        is_long: the message is so long that it is a brief or a pasted document rather than talk.
        doubtful: the parts of the text that may be somebody else's words.
    """

    text: str
    after: str = ""
    after_work: bool = False
    is_rejection: bool = False
    is_long: bool = False
    doubtful: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command(Event):
    """A shell line that ran to an end.

    Attributes:
        line: the line as the assistant gave it.
        steps: the commands in it, each with what this run proved of it.
        ok: as far as is known the line did what it was run for.
        code: the exit code, where the client tells.
        error: the line of output that says what went wrong, or "".
        setup_error: the same, only where it tells of the set-up or a wrong call.
        answer: the first line of output, only of a command that asks for a version.
    """

    line: str
    steps: tuple[Proven, ...]
    ok: bool
    code: int | None = None
    error: str = ""
    setup_error: str = ""
    answer: str = ""

    @property
    def worked(self) -> bool:
        """What the line leads to has succeeded for certain."""
        return self.ok and bool(self.steps) and self.steps[-1].outcome == "succeeded"


@dataclass(frozen=True, slots=True)
class Failure(Event):
    """A call of a tool that is no shell, which failed.

    Attributes:
        tool: the tool's name.
        error: the first line of what it said.
    """

    tool: str
    error: str


@dataclass(frozen=True, slots=True)
class Answer(Event):
    """A person's choice in answer to a question that the assistant asked through the client."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Edit(Event):
    """A file that the assistant changed."""

    path: str


@dataclass(slots=True)
class Events:
    """All events of a session, in order, and the texts that stood beside them.

    Attributes:
        heard: what tools, the assistant and people wrote, in order; a person who types one of these sentences after it
            stood there states nothing of their own.
        others: what people typed that was taken for somebody else's words, as turns; only the quarantine tells of it.
    """

    turns: list[Turn] = field(default_factory=list[Turn])
    commands: list[Command] = field(default_factory=list[Command])
    answers: list[Answer] = field(default_factory=list[Answer])
    edits: list[Edit] = field(default_factory=list[Edit])
    failures: list[Failure] = field(default_factory=list[Failure])
    heard: list[Heard] = field(default_factory=list[Heard])
    others: list[Turn] = field(default_factory=list[Turn])


# longer typed messages are briefs or pasted documents; people who talk to an agent stay far below
LONG_TURN = 2000
_AFTER_CHARS = 6_000
_OUTPUT_CHARS = 20_000
_ANSWER_CHARS = 80
_ERROR_CHARS = 200
LINE_CHARS = 4_000
# of a huge paste only its ends can be words of the person who pasted it
_END_CHARS = 16_000


def events_of(messages: Sequence[Message], redact: Redact) -> Events:
    """Return the events of the main conversation: no abandoned branches, no sub-agents, no summaries."""
    reader = _Reader(redact)
    for message in messages:
        if message.active and not message.sidechain:
            reader.read(message)
    return reader.events


class _Reader:
    """Goes through the messages once and pairs calls with their results."""

    def __init__(self, redact: Redact) -> None:
        self.events = Events()
        self._redact = redact
        self._calls: dict[str, tuple[ToolCall, Span]] = {}
        # commands that run on, by the client's name for them: which event, and its whole line
        self._running: dict[str, tuple[int, str]] = {}
        self._said = ""
        self._worked = False
        self._order = 0
        # records whose words of a person were taken from the tool result, or must not be taken at all
        self._heard: set[tuple[int, int]] = set()

    def read(self, message: Message) -> None:
        for block, span in message.placed():
            match block:
                case ToolCall():
                    self._calls[block.id] = (block, span)
                    self._hear(written_texts(block.name, block.args), "what the assistant wrote into a file")
                case ToolResult():
                    self._result(block, span, message)
                case Text() if message.role == "assistant":
                    self._said = block.text[-_AFTER_CHARS:]
                    self._hear((block.text,), AGENT)
                case Text() if message.role == "user" and message.origin == "typed":
                    if (span.part, span.offset) not in self._heard:
                        self._turn(block.text, (span,), message, rejection=False)
                case Text() | Injected() if message.role == "user":
                    words = command_words(block.text, span.raw)
                    if words:
                        self._turn(words, (span,), message, rejection=False)
                case _:
                    pass

    def _hear(self, texts: Iterable[str], by: str) -> None:
        self.events.heard += [Heard(self._order, text, by) for text in texts]

    def _place(
        self, sources: tuple[Span, ...], message: Message
    ) -> tuple[tuple[Span, ...], str, datetime | None, str, int]:
        self._order += 1
        return (sources, message.id or "", message.timestamp, message.cwd, self._order)

    def _turn(self, text: str, sources: tuple[Span, ...], message: Message, *, rejection: bool) -> None:
        words = words_of(self._redact(_ends(text)))
        if words.text or words.others:
            long = len(text) > LONG_TURN
            place = self._place(sources, message)
            turn = Turn(*place, words.text, self._said, self._worked, rejection, long, words.doubtful)
            if words.others:
                self.events.others.append(replace(turn, text=words.others, doubtful=()))
            if words.text:
                self.events.turns.append(turn)
                self._hear((words.text,), PERSON)
        self._worked = False

    def _result(self, result: ToolResult, span: Span, message: Message) -> None:
        call, called_at = self._calls.pop(result.id, (None, span))
        if call is None:
            return
        self._heard.add((span.part, span.offset))
        given: object = call.args
        args = cast("Mapping[str, object]", given) if isinstance(given, dict) else {"input": given}
        reason = refusal_in(call.name, result, span.raw)
        if reason is not None:
            if reason:
                self._turn(reason, (span,), message, rejection=True)
            self._worked = self._worked or not reason
            return
        self._hear((result.text,), f"the output of {call.name}")
        sources = (called_at, span)
        line = command_in(call.name, args)
        if not result.is_error:
            for path in edited_paths(call.name, args, line):
                self._worked = True
                self.events.edits.append(Edit(*self._place(sources, message), self._redact(path)))
        if line:
            self._worked = True
            self._command(line, result, self._place(sources, message))
            return
        if (waited := waited_for(call.name, args)) in self._running and exit_code(output_of(result.text)) is not None:
            self._end(*self._running.pop(waited), result, span)
        if result.is_error:
            self._failure(call.name, result.text, self._place(sources, message))
        for question, answer, _ in answers_in(call.name, args, result, span.raw):
            place = self._place((span,), message)
            words = visible(self._redact(question.words))
            self.events.answers.append(Answer(*place, words, visible(self._redact(answer))))

    def _command(
        self, line: str, result: ToolResult, place: tuple[tuple[Span, ...], str, datetime | None, str, int]
    ) -> None:
        if session := running_as(output_of(result.text)):
            self._running[session] = len(self.events.commands), line
        self.events.commands.append(self._run(line, result, place))

    def _end(self, number: int, line: str, result: ToolResult, span: Span) -> None:
        """Put what came of a command in the place of what was known of it while it ran."""
        event = self.events.commands[number]
        place = ((*event.sources, span), event.record, event.at, event.cwd, event.order)
        self.events.commands[number] = self._run(line, result, place)

    def _run(
        self, line: str, result: ToolResult, place: tuple[tuple[Span, ...], str, datetime | None, str, int]
    ) -> Command:
        output = output_of(result.text)
        run = run_of(visible(self._redact(_start(line, LINE_CHARS))).strip(), output, is_error=result.is_error)
        # the output of what worked is not told, but for the version of a tool
        asks = run.ok and len(run.commands) == 1 and asks_version(run.commands[0].text.split())
        output = visible(self._redact(printed(_start(output, _OUTPUT_CHARS)))) if asks or not run.ok else ""
        error, setup = ("", "") if run.ok else (cause_of(output), setup_error(output))
        answer = output.strip().partition("\n")[0][:_ANSWER_CHARS] if asks else ""
        return Command(*place, run.line, run.commands, run.ok, run.code, error, setup, answer)

    def _failure(self, tool: str, text: str, place: tuple[tuple[Span, ...], str, datetime | None, str, int]) -> None:
        line = next((ln for ln in _start(text, LINE_CHARS).split("\n") if ln.strip()), "")
        self.events.failures.append(Failure(*place, tool, visible(self._redact(line)).strip()[:_ERROR_CHARS]))


def _start(text: str, most: int) -> str:
    """Return the start of a text, cut between words so that no half of a secret is left over."""
    return text if len(text) <= most else text[:most].rpartition(" ")[0]


def _ends(text: str) -> str:
    """Return a text without its middle when it is huge."""
    if len(text) <= 2 * _END_CHARS:
        return text
    return f"{_start(text, _END_CHARS)}\n\n{text[-_END_CHARS:].partition(' ')[2]}"

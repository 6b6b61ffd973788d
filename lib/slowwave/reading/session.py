"""The one function that reads a session for its meaning: messages of any client in, a :class:`Reading` out.

Read is the main conversation: no abandoned branches, no sub-agents, no summaries, nothing that a harness put in. Calls
are paired with their results; a person's words inside a result count only where the client itself marks them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from slowwave.formats.model import Injected, Message, Span, Text, ToolCall, ToolResult
from slowwave.hostile import visible
from slowwave.reading import harness
from slowwave.reading.dialogs import answers_in, is_dialog
from slowwave.reading.harness import Typed, command_typed, is_launch, slash_command_in
from slowwave.reading.items import (
    AGENT,
    PERSON,
    Channel,
    Chosen,
    Edited,
    Failed,
    Heard,
    Option,
    Part,
    Ran,
    Reading,
    Said,
)
from slowwave.reading.pastes import parts_of
from slowwave.shell.commands import cause_of, continued, run_of, running_id

Redact = Callable[[str], str]
# the fields that every item begins with
_Place = tuple[int, tuple[Span, ...], str, datetime | None, str]

_OUTPUT_CHARS = 20_000
_LINE_CHARS = 4_000
_ERROR_CHARS = 200
_REFUSED_CHARS = 200
# of a huge paste only its ends can be words of the person who pasted it
_END_CHARS = 16_000


def read(messages: Sequence[Message], redact: Redact) -> Reading:
    """Return the reading of a session.

    ``messages``: of the whole session or of a part of it, in order. ``redact``: takes secrets out of what people and
    the assistant said, of commands and of decisive lines. The texts in ``Reading.heard`` are left as they are: they are
    compared with, never kept.
    """
    reader = _Reader(redact)
    for message in messages:
        if message.active and not message.sidechain:
            reader.take(message)
    return reader.reading


class _Reader:
    """Goes through the messages once."""

    def __init__(self, redact: Redact) -> None:
        self.reading = Reading()
        self._redact = redact
        self._calls: dict[str, tuple[ToolCall, Span]] = {}
        # records of results: a dialect tells the words of a person in one a second time, where it takes them for that
        self._results: set[tuple[int, int]] = set()
        self._last: dict[str, int] = {}
        # slash commands that the assistant called, whose records have not come yet
        self._launched = 0
        # commands that have not come to an end, by what the client calls them: their item, and what it printed so far
        self._running: dict[str, tuple[int, str]] = {}

    def take(self, message: Message) -> None:
        for block, span in message.placed():
            match block:
                case ToolCall():
                    self._calls[block.id] = (block, span)
                    texts = harness.written_texts(block.name, block.args)
                    self._hear(texts, "what the assistant wrote into a file")
                case ToolResult():
                    self._result(block, span, message)
                case Text() if message.role == "assistant" and message.origin != "summary":
                    self._assistant(block.text, span, message)
                case Text() if message.role == "user" and message.origin == "typed":
                    if (span.part, span.offset) not in self._results or message.results:
                        self._typed(block.text, span, message)
                # an assistant writes the summary of a session, in whatever form it likes
                case Text() | Injected() if message.role == "user" and message.origin != "summary":
                    self._command(slash_command_in(block.text, span.raw), span, message)
                case _:
                    pass

    def _place(self, message: Message, *sources: Span) -> _Place:
        return len(self.reading.items), sources, message.id or "", message.timestamp, message.cwd

    def _hear(self, texts: Sequence[str], by: str) -> None:
        self.reading.heard += [Heard(len(self.reading.items), text, by) for text in texts]

    def _assistant(self, text: str, span: Span, message: Message) -> None:
        words = self._clean(text).strip("\n")
        if words.strip():
            self._hear((text,), AGENT)
            self._add(Said(*self._place(message, span), "assistant", (Part(words, is_pasted=False),)))

    def _person(self, text: str, span: Span, message: Message, channel: Channel, refused: str = "") -> None:
        parts = parts_of(self._clean(_ends(text)))
        if parts:
            self._hear((text,), PERSON)
            self._add(Said(*self._place(message, span), "person", parts, channel, refused=refused))

    def _typed(self, text: str, span: Span, message: Message) -> None:
        typed = command_typed(text)
        if typed is None:
            self._person(text, span, message, "typed")
        else:
            self._command(typed, span, message)

    def _command(self, typed: Typed | None, span: Span, message: Message) -> None:
        if typed is None:
            return
        if self._launched:
            self._launched -= 1
            return
        self._person(typed.words, span, message, "command")
        last = self.reading.items[-1] if self.reading.items else None
        if typed.name and isinstance(last, Said) and last.sources == (span,):
            self.reading.items[-1] = replace(last, command=typed.name, by_program=typed.by_program)

    def _add(self, said: Said) -> None:
        """Append what was said; of several messages of one speaker only the newest is the last."""
        items, other = self.reading.items, "assistant" if said.speaker == "person" else "person"
        before = self._last.get(said.speaker, -1)
        if before > self._last.get(other, -1):
            items[before] = replace(cast("Said", items[before]), is_last=False)
        self._last[said.speaker] = said.order
        items.append(said)

    def _result(self, result: ToolResult, span: Span, message: Message) -> None:
        call, called_at = self._calls.pop(result.id, (None, span))
        self._results.add((span.part, span.offset))
        if call is None:
            return
        self._launched += is_launch(call.name, result.text)
        given: object = call.args
        args = cast("Mapping[str, object]", given) if isinstance(given, dict) else {"input": given}
        line = harness.command_in(call.name, args)
        reason = harness.refusal_in(call.name, result, span.raw)
        if reason is not None:
            what = line or next(iter(harness.edited_paths(call.name, args)), "")
            refused = self._clean(f"{call.name} {_start(what, _LINE_CHARS)}".strip())[:_REFUSED_CHARS]
            self._person(reason, span, message, "refusal", refused)
            return
        if not is_dialog(call.name):  # what a dialog returns are the person's own answers
            self._hear((result.text,), f"the output of {call.name}")
        if not result.is_error:
            for one in harness.changes_of(call.name, args, line):
                place = self._place(message, called_at, span)
                self.reading.items.append(Edited(*place, self._clean(one.path), *one[1:]))
        if line:
            self._ran(line, result, self._place(message, called_at, span))
        elif (polled := harness.polled_in(call.name, args)) in self._running:
            self._goes_on(polled, result, span)
        elif result.is_error:
            self._failed(call.name, result.text, self._place(message, called_at, span))
        else:
            self._chosen(call, args, result, (called_at, span), message)

    def _chosen(
        self,
        call: ToolCall,
        args: Mapping[str, object],
        result: ToolResult,
        spans: tuple[Span, Span],
        message: Message,
    ) -> None:
        span = spans[-1]
        for asked, answer, notes in answers_in(call.name, args, result, span.raw):
            options = tuple(Option(self._clean(o.label), self._clean(o.description)) for o in asked.options or ())
            words = (self._clean(asked.words), self._clean(asked.header))
            place, is_multiple = self._place(message, *spans), asked.several or asked.multiple
            self.reading.items.append(Chosen(*place, *words, options, self._clean(answer), is_multiple))
            self._person(notes, span, message, "choice")

    def _ran(self, line: str, result: ToolResult, place: _Place) -> None:
        output = _start(harness.output_of(result.text), _OUTPUT_CHARS)
        run = run_of(self._clean(_start(line, _LINE_CHARS)).strip(), output, is_error=result.is_error)
        cause = "" if run.ok else self._clean(cause_of(output))
        if known := running_id(output):
            self._running[known] = len(self.reading.items), output
        self.reading.items.append(Ran(*place, run.line, run, cause))

    def _goes_on(self, known: str, result: ToolResult, span: Span) -> None:
        """Take what a command printed since, and how it ended: it stands where it was begun."""
        order, before = self._running.pop(known)
        output = _start(continued(before, harness.output_of(result.text)), _OUTPUT_CHARS)
        if running_id(output):
            self._running[known] = order, output
        ran = cast("Ran", self.reading.items[order])
        run = run_of(ran.line, output, is_error=result.is_error)
        cause = "" if run.ok else self._clean(cause_of(output))
        self.reading.items[order] = replace(ran, run=run, cause=cause, sources=(*ran.sources[:2], span))

    def _failed(self, tool: str, text: str, place: _Place) -> None:
        line = next((row for row in _start(text, _LINE_CHARS).split("\n") if row.strip()), "")
        self.reading.items.append(Failed(*place, self._clean(tool), self._clean(line).strip()[:_ERROR_CHARS]))

    def _clean(self, text: str) -> str:
        """Return a text as a person sees it, without secrets: what is hidden inside of one must not hide it."""
        return self._redact(visible(text))


def _start(text: str, most: int) -> str:
    """Return the start of a text, cut between words so that no half of a secret is left over."""
    return text if len(text) <= most else text[:most].rpartition(" ")[0]


def _ends(text: str) -> str:
    """Return a text without its middle when it is huge."""
    if len(text) <= 2 * _END_CHARS:
        return text
    return f"{_start(text, _END_CHARS)}\n\n{text[-_END_CHARS:].partition(' ')[2]}"

"""Calls with what came of them, in order, over all dialects: what the ledger and its proof both begin with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowwave.compaction.arguments import arguments_of
from slowwave.compaction.calls import answers
from slowwave.compaction.outcomes import code_of, has_failed
from slowwave.compaction.shell_calls import line_of
from slowwave.compaction.shell_words import working
from slowwave.formats.model import Message, Span, ToolCall, ToolResult
from slowwave.letters import visible
from slowwave.reading.harness import output_of
from slowwave.shell.commands import Proven, run_of
from slowwave.shell.reports import is_refused

Redact = Callable[[str], str]


class Exchange(NamedTuple):
    """One call and its result.

    Attributes:
        call: the call.
        result: what it answered; None when nothing did.
        sources: the records of both.
        order: which message called.
        line: the shell line, "" when the tool is no shell.
    """

    call: ToolCall
    result: ToolResult | None
    sources: tuple[Span, ...]
    order: int
    line: str

    @property
    def failed(self) -> bool:
        """It is known to have failed."""
        return self.result is not None and has_failed(self.call.name, self.result)

    @property
    def code(self) -> int | None:
        """The exit code, where the client tells."""
        return None if self.result is None else code_of(self.result)

    def ran(self, redact: Redact) -> tuple[Proven, ...]:
        """Return the commands of its line, each with what it proved; none where nothing was answered or allowed."""
        output = "" if self.result is None else output_of(self.result.text)
        if not self.line or self.result is None or is_refused(output):
            return ()
        return run_of(visible(redact(self.line)), output, is_error=self.failed).commands

    def done(self, redact: Redact) -> list[Proven]:
        """Return those of its commands that did more than look."""
        return working(self.ran(redact))

    @property
    def fields(self) -> Mapping[str, object]:
        """The arguments by their names."""
        return arguments_of(self.call)


def exchanges(messages: Sequence[Message]) -> Iterator[Exchange]:
    """Yield every call of the main conversation with the first result that answers it."""
    own = [message for message in messages if message.active and not message.sidechain]
    links = answers(([c.id for c in m.calls], [r.id for r in m.results]) for m in own)
    found: dict[tuple[int, int], tuple[ToolResult, Span]] = {}
    for message, answered in zip(own, links, strict=True):
        results = ((block, span) for block, span in message.placed() if isinstance(block, ToolResult))
        for (result, span), answer in zip(results, answered, strict=True):
            if answer is not None and not answer.is_double:
                found[answer.at, answer.number] = (result, span)
    for at, message in enumerate(own):
        calls = [(block, span) for block, span in message.placed() if isinstance(block, ToolCall)]
        for number, (call, span) in enumerate(calls):
            result, answered_at = found.get((at, number), (None, span))
            yield Exchange(call, result, tuple(dict.fromkeys((span, answered_at))), at, line_of(call))

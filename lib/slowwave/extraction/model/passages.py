"""What of a session a model is shown: a person's own words, the ends of what the assistant said, commands with outcome.

Pasted and injected text, summaries, thinking, sub-agents and abandoned branches are left out, as for the miners, and
all text is decoded, visible and free of secrets. What tools returned is not shown but for one line of an error: it is
where foreign instructions come from.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from slowwave.dialects.model import Message, Text
from slowwave.extraction.events import Answer, Command, Event, Events
from slowwave.extraction.taint import visible
from slowwave.memory.model import CandidateOrigin
from slowwave.models.tokens import estimated_tokens
from slowwave.records.model import Span
from slowwave.secrets.redactor import Redactor

Speaker = Literal["person", "assistant", "command"]
# long messages are briefs and reports, whose ends say what they are about
_MOST_CHARS: dict[Speaker, tuple[int, int]] = {"person": (3_000, 1_000), "assistant": (600, 600), "command": (240, 0)}
_ORIGINS: dict[Speaker, CandidateOrigin] = {
    "person": "user_explicit",
    "assistant": "assistant",
    "command": "command_outcome",
}


@dataclass(frozen=True, slots=True)
class Passage:
    """One thing that was said or done.

    Attributes:
        speaker: who is behind it.
        text: what the model is shown, and what a quote must occur in.
        event: its records, time and folder.
        origin: who stands behind a fact that rests on it.
    """

    speaker: Speaker
    text: str
    event: Event
    origin: CandidateOrigin

    @property
    def span(self) -> Span:
        """The record that it came with."""
        return self.event.sources[-1]

    def shown(self, number: int) -> str:
        """Return it as the model sees it; further lines are set in, so that none looks like another message."""
        at = f" {self.event.at:%Y-%m-%d %H:%M}" if self.event.at else ""
        return f"[{number}] {self.speaker}{at}: " + self.text.replace("\n", "\n    ")

    @property
    def tokens(self) -> int:
        """Its estimated size in a question."""
        return estimated_tokens(self.text)


def passages_of(
    events: Events, messages: Sequence[Message], redact: Redactor, position: Callable[[Span], tuple[int, int]]
) -> list[Passage]:
    """Return the passages of a session in the order of its records.

    Args:
        events: of the same messages.
        messages: the messages that are looked at.
        redact: takes secrets out.
        position: where a record lies: part and place within it.
    """
    found = [*_of_events(events), *_of_assistant(messages, redact)]
    return sorted((p for p in found if p.text), key=lambda p: (position(p.span), p.event.order))


def _of_events(events: Events) -> Iterable[Passage]:
    for turn in events.turns:
        yield _passage("person", turn.text, turn, "user_correction" if turn.is_rejection else "user_explicit")
    for answer in events.answers:
        yield _of_answer(answer)
    for command in events.commands:
        yield _passage("command", _outcome(command), command)


def _of_answer(answer: Answer) -> Passage:
    """The question is the assistant's: a quote from it must not count as a person's word."""
    return _passage("person", answer.answer, answer)


def _outcome(command: Command) -> str:
    if command.ok:
        return f"`{command.line}` succeeded"
    return f"`{command.line}` failed" + (f": {command.error}" if command.error else "")


def _of_assistant(messages: Sequence[Message], redact: Redactor) -> Iterable[Passage]:
    for message in messages:
        if message.role != "assistant" or not message.active or message.sidechain:
            continue
        for block, span in message.placed():
            if isinstance(block, Text) and block.text.strip():
                event = Event((span,), message.id or "", message.timestamp, message.cwd, 0)
                yield _passage("assistant", visible(redact(block.text)).strip(), event)


def _passage(speaker: Speaker, text: str, event: Event, origin: CandidateOrigin | None = None) -> Passage:
    head, tail = _MOST_CHARS[speaker]
    if len(text) > head + tail:
        start = text[:head].rpartition(" ")[0] or text[:head]
        end = text[len(text) - tail :].partition(" ")[2] if tail else ""
        text = f"{start} … {end}".rstrip()
    return Passage(speaker, text, event, origin or _ORIGINS[speaker])

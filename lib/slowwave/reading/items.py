"""The items of a reading: each with the records that show it, when it happened, and who stands behind it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from slowwave.formats.model import Span
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
    # which of slowwave's own commands the words stood behind (:mod:`slowwave.reading.harness`), or ""
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

"""What of a reading a model is shown: passages, each with its number and who is behind it, in portions that fit.

Nothing is left out for the speaker that it comes from; what was pasted says so. Long messages keep both ends, since
briefs and reports say there what they are about. Commands that only looked around, what was run again with the same
outcome, and announcements say nothing. All of it is decoded, visible and free of secrets already.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from slowwave.extraction.candidates import relative_paths
from slowwave.formats import Span
from slowwave.memory import CandidateOrigin
from slowwave.models.base import estimated_tokens
from slowwave.reading import Chosen, Edited, Failed, Meaning, Ran, Reading, Said

Speaker = Literal["person", "assistant", "command"]

# how many characters of the beginning and of the end are shown
_PERSON, _TAKEN_UP, _CONCLUSION, _REMARK = (3_000, 1_500), (1_300, 600), (300, 200), (160, 0)
# so short an answer lets stand, or turns down, what it answers
_SHORT_REPLY = 100
_LINE, _CAUSE = (100, 20), (120, 0)
# of what was pasted, as much as tells what it is
_PASTED = (300, 100)
_OPTION_CHARS = 80
# stands before what was chosen in a dialog
CHOSE = "the person chose: "
_MOST_FILES = 2
# what is settled by being done
_DOES = ("git commit", "git push", "git tag", "git revert", "git merge", "git rebase", "gh pr", "gh release")


@dataclass(frozen=True, slots=True)
class Passage:
    """One thing that was said, chosen, run or changed."""

    speaker: Speaker  # who is behind it
    label: str  # how the model sees that, for example "person (refusing: Bash git push)"
    text: str  # what the model is shown, and what a quotation must stand in
    own: str  # what of it a person typed or chose; "" of everything else
    item: Meaning  # what it was made of

    @property
    def span(self) -> Span:
        """The record that it came with."""
        return self.item.sources[-1]

    @property
    def origin(self) -> CandidateOrigin:
        """Who stands behind a fact that rests on it."""
        if isinstance(self.item, Said) and self.item.channel == "refusal":
            return "user_correction"
        if self.speaker == "person":
            return "user_explicit"
        return "assistant" if self.speaker == "assistant" else "command_outcome"

    @property
    def tokens(self) -> int:
        """Its estimated size in a question."""
        return estimated_tokens(self.label) + estimated_tokens(self.text) + 4

    def shown(self, number: int) -> str:
        """Return it as the model sees it; further lines are set in, so that none looks like another passage."""
        return f"[{number}] {self.label}: " + self.text.replace("\n", "\n    ")


def passages_of(reading: Reading) -> list[Passage]:
    """Return what is shown of a reading, in order; files that were changed one after the other stand in one passage."""
    return list(_passages(reading))


def _passages(reading: Reading) -> Iterator[Passage]:
    edited: dict[str, Edited] = {}
    ran: set[str] = set()
    for item in reading.items:
        if _says_nothing(item, reading, ran):
            continue
        if isinstance(item, Edited):
            edited.setdefault(item.path, item)
            continue
        if edited:
            yield _edits(edited)
            edited = {}
        if isinstance(item, Said) and item.speaker == "assistant":
            most = _REMARK if not item.is_last else _TAKEN_UP if _is_taken_up(item, reading) else _CONCLUSION
            yield Passage("assistant", "assistant", _ends(item.text, most), "", item)
        elif isinstance(item, Said):
            yield _said(item)
        elif isinstance(item, Chosen):
            yield _chosen(item)
        elif isinstance(item, Ran):
            ran.add(_ran(item))
            yield Passage("command", "command", _ran(item), "", item)
        else:
            yield Passage("command", "tool", _failed(item), "", item)
    if edited:
        yield _edits(edited)


def _said(item: Said) -> Passage:
    at = f" {item.at:%Y-%m-%d %H:%M}" if item.at else ""
    parts = ["(pasted:)\n" + _ends(part.text, _PASTED) if part.is_pasted else part.text for part in item.parts]
    refusing = f" (refusing: {item.refused})" if item.refused else ""
    return Passage("person", f"person{at}{refusing}", _ends("\n".join(parts), _PERSON), item.own, item)


def _says_nothing(item: Meaning, reading: Reading, ran: Collection[str]) -> bool:
    if isinstance(item, Ran):
        return not _tells(item) or _ran(item) in ran
    return isinstance(item, Said) and _announces(item, reading)


def _announces(item: Said, reading: Reading) -> bool:
    """Say whether the assistant only says what it does next: a short remark amid work where all went well."""
    if item.speaker == "person" or item.is_last:
        return False
    before = reading.items[item.order - 1] if item.order else None
    if isinstance(before, Failed) or (isinstance(before, Ran) and not before.run.ok):
        return False
    return len(item.text) <= _REMARK[0] or item.text.rstrip().endswith((":", "\uff1a"))


def _is_taken_up(item: Said, reading: Reading) -> bool:
    """Say whether a message is the last of the session, or a person answers it shortly."""
    answers = (one for one in reading.items[item.order + 1 :] if isinstance(one, Said) and one.speaker == "person")
    answer = next(answers, None)
    return answer is None or len(answer.own) <= _SHORT_REPLY


def _chosen(item: Chosen) -> Passage:
    options = "".join(f"\n- {o.label}: {_ends(o.description, (_OPTION_CHARS, 0))}" for o in item.options)
    text = f"asked: {item.question}{options}\n{CHOSE}{item.answer}"
    return Passage("person", "dialog", text, item.answer, item)


def _ran(item: Ran) -> str:
    outcome = "succeeded" if item.run.ok else "failed"
    cause = f": {_ends(item.cause, _CAUSE)}" if item.cause else ""
    return f"`{_ends(relative_paths(item.line, item.cwd), _LINE)}` {outcome}{cause}"


def _tells(item: Ran) -> bool:
    """Say whether a line shows more than that somebody looked around: it failed, or it did what such lines are for."""
    return not item.run.ok or any(command.purpose or command.text.startswith(_DOES) for command in item.run.commands)


def _failed(item: Failed) -> str:
    return f"{item.tool} failed: {_ends(item.error, _CAUSE)}"


def _edits(edited: dict[str, Edited]) -> Passage:
    last = list(edited.values())[-1]
    paths = [relative_paths(path, last.cwd) for path in edited]
    more = f" and {len(paths) - _MOST_FILES} more" if len(paths) > _MOST_FILES else ""
    return Passage("command", "edited", ", ".join(paths[:_MOST_FILES]) + more, "", last)


def _ends(text: str, most: tuple[int, int]) -> str:
    """Return a text without its middle when it is long, cut between words."""
    head, tail = most
    if len(text) <= head + tail:
        return text
    start = text[:head].rpartition(" ")[0] or text[:head]
    return f"{start} \u2026 {text[len(text) - tail :].partition(' ')[2] if tail else ''}".rstrip()


# A session's new passages in portions that fit a question, each with a little of what came before it.
#
# The smallest portion is one record: what of it was read is noted by its bytes.

Unit = tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """One portion."""

    units: tuple[Unit, ...]  # the new passages, by record, in order
    earlier: tuple[Passage, ...]  # passages right before the first of them

    @property
    def new(self) -> tuple[Passage, ...]:
        """The new passages."""
        return tuple(passage for unit in self.units for passage in unit)

    @property
    def numbered(self) -> dict[int, Passage]:
        """Every passage by the number that the model knows it by."""
        return dict(enumerate((*self.earlier, *self.new), start=1))

    def halves(self, overlap_tokens: int) -> tuple["Window", "Window"]:
        """Return the two halves; the second sees the end of the first as what came before."""
        middle = len(self.units) // 2
        first = Window(self.units[:middle], self.earlier)
        return first, Window(self.units[middle:], _last((*self.earlier, *first.new), overlap_tokens))

    def alone(self) -> "Window":
        """Return the window without what came before it."""
        return Window(self.units, ())


def windows_of(
    passages: Sequence[Passage], is_new: Sequence[bool], window_tokens: int, overlap_tokens: int
) -> list[Window]:
    """Cut the new passages into windows.

    Args:
        passages: all passages of the session, in order.
        is_new: for each, whether it is to be read.
        window_tokens: how large a window may be; a record that is larger has one for itself.
        overlap_tokens: how much of what came before is shown.
    """
    windows: list[Window] = []
    units: list[Unit] = []
    begin = size = 0
    numbered = list(enumerate(passages))
    for _, group in groupby(numbered, key=lambda pair: (pair[1].span.part, pair[1].span.offset)):
        record = list(group)
        if not is_new[record[0][0]]:
            continue
        unit = tuple(passage for _, passage in record)
        tokens = sum(passage.tokens for passage in unit)
        if units and size + tokens > window_tokens:
            windows.append(Window(tuple(units), _last(passages[:begin], overlap_tokens)))
            units, size = [], 0
        if not units:
            begin = record[0][0]
        units.append(unit)
        size += tokens
    if units:
        windows.append(Window(tuple(units), _last(passages[:begin], overlap_tokens)))
    return windows


def _last(passages: Sequence[Passage], most_tokens: int) -> tuple[Passage, ...]:
    """Return the last passages that fit."""
    size = 0
    for at in range(len(passages) - 1, -1, -1):
        size += passages[at].tokens
        if size > most_tokens:
            return tuple(passages[at + 1 :])
    return tuple(passages)

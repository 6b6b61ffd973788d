"""Statements of real sessions that readers judged: which of them are worth a line that an agent loads weeks later.

A label names its statement by the line of the record and the characters of its text, so that no word of a transcript is
kept here; the transcripts lie beside the checkout. Every statement of a session that was read and has no mark is worth
nothing.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from slowwave.extraction.classifier import Surroundings, dialog
from slowwave.extraction.offline import choice, standing
from slowwave.extraction.voice import spoken
from slowwave.formats import Text
from slowwave.memory import Category
from slowwave.reading import Chosen, Part, Said, Statement, statements
from slowwave.reading.session import read
from slowwave.secrets import NAMELESS
from tests.quality.beside import CORPUS
from tests.quality.reading import line_at, transcript_of

FOLDER = Path(__file__).parent / "labels"
_LEAST_CHARS = 12
_LEAST_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class Mark:
    """What a reader said of one statement.

    Attributes:
        line: of the record, from 1.
        start: where its text begins in the message; -1 of an answer to a dialog, of which ``end`` is the number.
        grade: 2 worth it, 1 arguable.
        alone: it can be understood without the rest.
        scope: task, project or person.
        group: statements of one session with the same number say the same.
    """

    line: int
    start: int
    end: int
    grade: int
    category: Category
    alone: bool
    scope: str
    group: int


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement as extraction sees it, with what readers said.

    Attributes:
        speaker: "p" of the person, "a" of the assistant, "c" of a choice in a dialog.
        text: as a memory would say it.
        words: as they stand in the message.
        mark: the highest mark that lies in it, or None.
        message: the rank of its message in the session.
        dialog: what tells the wording of a choice in a dialog.
        whose: features of whose words it is, of what a person typed.
        is_own: a person's words are their own, as far as somebody said.
    """

    session: str
    speaker: str
    text: str
    words: str
    features: frozenset[str]
    mark: Mark | None
    message: int = 0
    dialog: frozenset[str] = frozenset()
    whose: frozenset[str] = frozenset()
    is_own: bool = True

    @property
    def repository(self) -> str:
        """The repository that the session worked in."""
        return self.session.split("/")[1]


def marks(reader: str = "") -> dict[str, list[Mark]]:
    """Return the marks by session, of one reader or of all first readings."""
    found: dict[str, list[Mark]] = {}
    for file in sorted(FOLDER.glob(f"{reader or 'r*'}.jsonl")):
        for row in map(json.loads, file.read_text().splitlines()):
            found.setdefault(row["session"], []).extend(Mark(*mark) for mark in row["marks"])
    return found


@cache
def judged(session: str, reader: str = "") -> tuple[Judged, ...]:
    """Return the statements of a session with what readers said of them."""
    path = CORPUS / session
    transcript = transcript_of(path)
    reading = read(transcript.messages, NAMELESS)
    around = Surroundings(reading)
    wanted = _by_line(path, marks(reader).get(session, []))
    found: list[Judged] = []
    answers: dict[int, int] = defaultdict(int)
    for item in reading.items:
        if isinstance(item, Said):
            line = line_at(path, item.sources[-1].offset)
            told = statements(item)
            for one in told:
                mark = _mark_of(one.text, wanted.get(line, ()))
                if mark and item.speaker == "person" and _is_little(one.text, mark):
                    continue
                features = frozenset(around.features(one))
                whose = frozenset(spoken(one, told)) if item.speaker == "person" else frozenset[str]()
                found.append(
                    Judged(
                        *(session, item.speaker[0], standing(one), one.text, features, mark, item.order), whose=whose
                    )
                )
        elif isinstance(item, Chosen):
            line = line_at(path, item.sources[-1].offset)
            number = answers[line]
            answers[line] += 1
            mark = next((m for _, m in wanted.get(line, ()) if m.start < 0 and m.end == number), None)
            text = choice(item)
            place = (item.order, item.sources, item.record, item.at, item.cwd)
            said = Said(*place, "person", (Part(text, is_pasted=False),), "choice")
            features = frozenset(around.features(Statement(said, text, 0, 1)))
            words = f"{item.question} {item.answer}"
            names = frozenset(dialog(item))
            found.append(Judged(session, "c", text, words, features, mark, item.order, names))
    return tuple(found)


def _by_line(path: Path, given: Sequence[Mark]) -> Mapping[int, Sequence[tuple[str, Mark]]]:
    """Return the marks of each line with the words that they stand for."""
    texts: dict[int, list[str]] = defaultdict(list)
    for message in transcript_of(path).messages:
        for block, span in message.placed():
            if isinstance(block, Text):
                texts[line_at(path, span.offset)].append(block.text)
    found: dict[int, list[tuple[str, Mark]]] = defaultdict(list)
    for mark in given:
        words = (
            "" if mark.start < 0 else words_of(texts[mark.line][0][mark.start : mark.end] if texts[mark.line] else "")
        )
        found[mark.line].append((words, mark))
    return found


def _mark_of(text: str, given: Sequence[tuple[str, Mark]]) -> Mark | None:
    words = words_of(text)
    inside = [m for marked, m in given if marked and (_overlap(words, marked))]
    return max(inside, key=lambda mark: mark.grade, default=None)


def _is_little(text: str, mark: Mark) -> bool:
    """Say whether a statement is a small part of what a reader marked: which part was meant, nobody said."""
    return mark.start >= 0 and len(text) < _LEAST_SHARE * (mark.end - mark.start)


def _overlap(words: str, marked: str) -> bool:
    shorter, longer = sorted((words, marked), key=len)
    return len(shorter) >= _LEAST_CHARS and (shorter in longer or shorter[:60] in longer)


def words_of(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.casefold()).strip()


def every() -> Iterator[Judged]:
    """Yield every statement of every session that was read."""
    for session in sorted(marks()):
        yield from judged(session)

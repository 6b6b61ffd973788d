"""An earlier summary taken apart, so that the next one goes on from it: ours line by line, a client's by its sections.

What stood in the seeds' sections stays in them; lines of any other form are carried on below Critical Context. Every
line is carried once, keeps its kind where it is one of our own, and is worth less than what is new.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from slowwave.compaction.file_lists import without_tags
from slowwave.compaction.ledger.identifiers import NAMED
from slowwave.compaction.ledger.model import NOT_LISTED, NOTE, Entry, Kind, Part
from slowwave.compaction.ledger.wording import key_of, line_of
from slowwave.compaction.ledger.work import command_key, error_key

SEPARATOR = " \N{MIDDLE DOT} "
NONE = "(none)"
_HEADING = re.compile(
    r"^\s{0,3}(?:(?P<hashes>#{1,6})\s+(?P<title>.+?)|(?:\d{1,2}[.)]\s+)?\*\*(?P<bold>[^*]{2,60}?):?\*\*:?"
    r"|\d{1,2}[.)]\s+(?P<plain>[A-Z][^.:*`]{3,50}):)\s*:?\s*$"
)
_SECTIONS = re.compile(r"^##+ \S", re.MULTILINE)
_TITLES: tuple[tuple[re.Pattern[str], Part], ...] = (
    (re.compile(r"^(?:goals?|primary request.*|objective|original request|task)$", re.IGNORECASE), "goal"),
    (re.compile(r"^(?:constraints?.*|preferences?|instructions|requirements)$", re.IGNORECASE), "constraints"),
    (re.compile(r"^(?:done|completed.*|accomplished|early progress)$", re.IGNORECASE), "done"),
    (
        re.compile(r"^(?:in progress|current work|current (?:state|task|progress)|ongoing)$", re.IGNORECASE),
        "in_progress",
    ),
    (re.compile(r"^(?:blocked|blockers?|open issues)$", re.IGNORECASE), "blocked"),
    (re.compile(r"^(?:key )?decisions?(?: made)?$", re.IGNORECASE), "decisions"),
    (re.compile(r"^(?:(?:optional )?next steps?|pending tasks?|remaining.*|open todos?)$", re.IGNORECASE), "next"),
    (re.compile(r"^critical context$", re.IGNORECASE), "context"),
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[(?P<box>[ xX])\]\s+)?")
_NUMBERED_TITLE = re.compile(r"^\d+\.\s+")
_COMMAND = re.compile(r"^`(?P<line>[^`]+)`(?: \([^)]*\))?: (?:ok|failed|ran)\b")
_EARLIER_CHARS = 1_300
_PREFIXES = re.compile(r"^(?:by the agent|the person answered|found): ")
_VALUES: dict[Part, int] = {
    "goal": 72,
    "constraints": 84,
    "done": 46,
    "in_progress": 60,
    "blocked": 58,
    "decisions": 75,
    "next": 62,
    "context": 56,
}
_KINDS: dict[Part, Kind] = {
    "goal": "ask",
    "constraints": "constraint",
    "done": "task",
    "in_progress": "task",
    "decisions": "decision",
    "next": "task",
}
_FIRST = 100
# of a summary that has none of the seeds' sections the beginning tells most
_DECAY = 20
# its files still have the code
_CODE = 18
_FENCE = "```"
_CONTEXT: Part = "context"
_WORDS = re.compile(r"\w")


class _Line(NamedTuple):
    part: Part
    title: str
    text: str
    is_code: bool = False


def entries_of(summary: str) -> list[Entry]:
    """Return the lines of an earlier summary; "" has none."""
    found: list[Entry] = []
    lines = list(_lines(without_tags(summary)))
    for at, line in enumerate(lines):
        for entry in _entries(line):
            is_first = line.part == "goal" and not any(e.part == "goal" for e in found)
            less = (_DECAY * at // len(lines) if entry.kind == "earlier" else 0) + _CODE * line.is_code
            found.append(entry._replace(value=_FIRST if is_first else entry.value - less))
    return found


def lines_by_part(summary: str) -> dict[Part, list[str]]:
    """Return the lines of a summary by their section, as they are; without sections all are Critical Context."""
    found: dict[Part, list[str]] = {}
    for line in _lines(summary):
        words = f"{line.title}: {line.text}" if line.title else line.text
        found.setdefault(line.part, []).append(words)
    return found


def _lines(text: str) -> Iterator[_Line]:
    reader = _Reader(by_hashes=_SECTIONS.search(text) is not None)
    for raw in text.split("\n"):
        line = reader.read(raw)
        if line is not None:
            yield line


class _Reader:
    """Goes through a summary and knows the section that it is in; lines in bold are headings where no others are."""

    def __init__(self, *, by_hashes: bool) -> None:
        self._part: Part = _CONTEXT
        self._title = ""
        self._is_code = False
        self._by_hashes = by_hashes

    def read(self, raw: str) -> _Line | None:
        if raw.lstrip().startswith(_FENCE):
            self._is_code = not self._is_code
            return None
        if not _WORDS.search(raw):
            return None
        if self._is_code:
            return _Line(self._part, self._title, raw.strip(), is_code=True)
        if self._enters(raw):
            return None
        body = _BULLET.sub("", raw).strip()
        if not body or body in (NONE, NOTE) or body.endswith(NOT_LISTED):
            return None
        return _Line(self._part, self._title, body)

    def _enters(self, raw: str) -> bool:
        """Say whether a line is a heading, and note its section."""
        heading = _HEADING.match(raw)
        if heading is None or (self._by_hashes and not heading["hashes"]):
            return False
        name = _NUMBERED_TITLE.sub("", (heading["title"] or heading["bold"] or heading["plain"]).strip(" *:"))
        known: Part | None = next((own for pattern, own in _TITLES if pattern.match(name)), None)
        self._part = _CONTEXT if known is None else known
        self._title = "" if known or name.casefold() == "progress" else name
        return True


def _entries(line: _Line) -> Iterator[Entry]:
    text = line.text
    if line.part == "context" and text.startswith(NAMED):
        for name in text.removeprefix(NAMED).split(SEPARATOR):
            yield Entry("context", "identifier", name, name.casefold(), 48)
    elif text.startswith("error in `"):
        yield Entry(line.part, "error", text, error_key(text), 90, stays=True)
    elif command := _COMMAND.match(text):
        yield Entry(line.part, "command", text, command_key(command["line"]), 44)
    elif text.startswith("asked last: "):
        yield Entry("in_progress", "ask", text, "asked last", 70)
    elif text.startswith("the agent said last: "):
        yield Entry("in_progress", "said", text, "said last", 50)
    else:
        words = f"{line.title}: {text}" if line.title and not text.startswith(f"{line.title}: ") else text
        one = line_of(words, _EARLIER_CHARS)
        yield Entry(
            line.part, _KINDS.get(line.part, "earlier"), one, key_of(_PREFIXES.sub("", one)), _VALUES[line.part]
        )

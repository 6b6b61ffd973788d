"""Sessions drawn as trees of plain text: the conversation runs straight down, what branches off stands indented."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from slowwave.formats.messages import State, children_of, parents_of, state_of
from slowwave.formats.model import Message, Transcript

WIDTH = 100
# Deeper nesting is drawn at this depth; the words would have no room left.
_MOST_DEPTH = 16
_GLYPHS: dict[State, str] = {"active": "●", "abandoned": "○", "sub-agent": "◇"}
_COMPACTION = "◆"
# what is drawn with takes one column a character, as ASCII does
_NARROW = re.compile("[ -~●○◇◆⑂│├─]*")
_RESULT_CHARS = 200
# enough to tell messages apart; --json has whole ids
_ID_CHARS = 16


def tree_lines(
    transcript: Transcript, marks: Mapping[str, Sequence[str]], notes: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """Yield the lines of a tree, none wider than 100 columns.

    Args:
        transcript: the session.
        marks: by id of a message, what is told on its line: labels.
        notes: by number of a message, what branches off there and lies elsewhere: forks, sub-agents' sessions.
    """
    messages = transcript.messages
    roots, below = children_of(parents_of(messages))
    waiting: list[tuple[int, int, bool]] = [(root, 0, False) for root in reversed(roots)]
    while waiting:
        index, depth, is_branch = waiting.pop()
        message = messages[index]
        yield _cut(_stem(depth, begins=is_branch) + _line(message, state_of(message, transcript), marks))
        for note in notes.get(index, ()):
            yield _cut(_stem(depth + 1, begins=True) + note)
        under = below[index]
        if not under:
            continue
        goes_on = _continuation(under, message, messages)
        waiting.append((goes_on, depth, False))
        waiting += [(i, depth + 1, True) for i in reversed(under) if i != goes_on]


def _continuation(under: Sequence[int], above: Message, messages: Sequence[Message]) -> int:
    """Return which of the messages under one carries on its branch: the last that is of the same kind."""
    same = [i for i in under if (messages[i].active, messages[i].sidechain) == (above.active, above.sidechain)]
    return (same or under)[-1]


def _stem(depth: int, *, begins: bool) -> str:
    shown = min(depth, _MOST_DEPTH)
    return "│ " * (shown - 1) + ("├─" if begins else "│ ") if shown else ""


def _line(message: Message, state: State, marks: Mapping[str, Sequence[str]]) -> str:
    at = message.timestamp
    is_summary = message.origin == "summary"
    words = [
        _COMPACTION if is_summary and state == "active" else _GLYPHS[state],
        message.role,
        at.strftime("%Y-%m-%d %H:%M") if at else "",
        "" if state == "active" else state,
        "compaction" if is_summary else "",
        *(marks.get(message.id, ()) if message.id else ()),
        (message.id or "")[:_ID_CHARS],
    ]
    return " ".join(word for word in words if word) + f"  {_told(message)}"


def _told(message: Message) -> str:
    """Return the beginning of what a message says, or else what it calls or answers, on one line."""
    text = " ".join(message.text[: 4 * WIDTH].split())
    if text:
        return text
    if message.calls:
        return "-> " + ", ".join(call.name for call in message.calls)
    results = " ".join(" ".join(r.text[:_RESULT_CHARS].split()) for r in message.results[:1])
    return f"<- {results}" if message.results else ""


def _cut(line: str) -> str:
    """Return a line that takes 100 columns at most and holds nothing that a terminal would obey."""
    clean = line if line.isprintable() else "".join(c if c.isprintable() else " " for c in line)
    if _NARROW.fullmatch(clean, 0, WIDTH + 1):
        return clean.rstrip() if len(clean) <= WIDTH else clean[: WIDTH - 3] + "..."
    columns = 0
    for at, char in enumerate(clean):
        columns += _columns(char)
        if columns > WIDTH:
            return _shortened(clean[:at])
    return clean.rstrip()


def _shortened(text: str) -> str:
    """Make room for the three dots that say that something is missing."""
    freed = 0
    while text and freed < len("..."):
        freed += _columns(text[-1])
        text = text[:-1]
    return text + "..."


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1

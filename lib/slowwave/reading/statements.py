"""What was said, cut into statements: sentences that belong together, entries of lists, with what they stand under.

Markdown is told by its marks alone: code between fences and tables state nothing; a heading and the line before a list
("Decided:") say what the entries below are about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from slowwave.reading.items import Said

# sentences of one paragraph are kept together up to here
_MOST_CHARS = 260
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
        if held and (is_apart or len(held) + len(sentence) >= _MOST_CHARS):
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

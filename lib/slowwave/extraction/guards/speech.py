"""Words of others in what a person typed, without marks around them: announced, discussed, in letters and in chats.

People name whose words follow ("my colleague wrote:"), ask for something to be done with them ("translate this:"), or
talk about them afterwards ("is that true?"). Such a clause is the person's own, what it points to is not. In doubt the
words are left out: who means a rule says it again, and an instruction that was only pasted would stay for good.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slowwave.extraction.guards.announcing import announces, is_letter_head, looks_back, takes_the_rest
from slowwave.extraction.guards.talk import spoken_lines

# sentences, and what stands behind the colon that announces it
_SPLIT = re.compile(
    r"(?<=[.!?\u3002\uff01\uff1f])[\"'\u201d\u2019)\]]*\s+|(?<=[^\s:/])(?::|\s=|\s[\u2013\u2014-]+)\s+|(?=<-|\^\^)|\s(?=\((?:that|this|source|from|via|quelle)\b)"
)
_LONGEST_LEAD = 160


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence or a clause before a colon.

    Attributes:
        begin, end: where it stands.
        paragraph, line: which it stands in.
        ends_in: the mark behind it, "\\n" at the end of a line.
    """

    text: str
    begin: int
    end: int
    paragraph: int
    line: int
    mark: str


def without_others(text: str) -> str:
    """Return ``text`` without the words that others are shown to have said; everything else stays where it was."""
    pieces = list(_pieces(text))
    foreign = _foreign(pieces, text)
    if not foreign:
        return text
    kept: list[str] = []
    at = 0
    for number in sorted(foreign):
        piece = pieces[number]
        kept += (text[at : piece.begin], "\n" if piece.text.strip() else "")
        at = piece.end
    return "".join([*kept, text[at:]])


def _pieces(text: str) -> Iterator[_Piece]:
    paragraph = line = 0
    begin = 0
    for row in text.split("\n"):
        if not row.strip():
            paragraph += 1
        at = begin
        for cut in _SPLIT.finditer(row):
            stop = begin + cut.start()
            if text[at:stop].strip():
                mark = cut[0].strip() or text[stop - 1 : stop]
                yield _Piece(text[at:stop], at, stop + len(cut[0]), paragraph, line, mark)
                at = stop + len(cut[0])
        if text[at : begin + len(row)].strip():
            yield _Piece(text[at : begin + len(row)], at, begin + len(row), paragraph, line, "\n")
        begin += len(row) + 1
        line += 1


def _foreign(pieces: list[_Piece], text: str) -> set[int]:
    """Return the numbers of the pieces that are not the person's; each kind of range is joined, so one pass does."""
    foreign = spoken_lines([(p.line, p.text, p.mark) for p in pieces], text)
    spoken = frozenset(foreign)
    last_in = {piece.paragraph: number for number, piece in enumerate(pieces)}
    ahead: dict[int, int] = {}
    back: dict[int, int] = {}
    rest = len(pieces)
    for number, piece in enumerate(pieces):
        words = piece.text.strip()[:_LONGEST_LEAD]
        if number in spoken:
            continue
        if is_letter_head(words, piece.mark):
            rest = number
            break
        if announces(words, piece.mark):
            if number == last_in[piece.paragraph]:
                rest = number + 1
                break
            ahead.setdefault(piece.paragraph, number)
        if looks_back(words, piece.mark):
            begins = number == 0 or pieces[number - 1].paragraph != piece.paragraph
            back[pieces[number - 1].paragraph if begins and number else piece.paragraph] = number
        if takes_the_rest(words):
            foreign.add(number)
    for number, piece in enumerate(pieces):
        here = piece.paragraph
        if number >= rest or number > ahead.get(here, len(pieces)) or number < back.get(here, 0):
            foreign.add(number)
    return foreign

"""Words of others in what a person typed, without marks around them: announced, discussed, in letters and in chats.

People name whose words follow ("my colleague wrote:"), ask for something to be done with them ("translate this:"), or
talk about them afterwards ("is that true?"). Such a clause is the person's own, what it points to is not. In doubt the
words are left out: who means a rule says it again, and an instruction that was only pasted would stay for good.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slowwave.extraction.guards.announcing import (
    announces,
    is_letter_head,
    is_signature,
    is_title,
    looks_back,
    may_announce,
    takes_the_rest,
)
from slowwave.extraction.guards.talk import spoken_lines

# sentences, and what stands behind the colon that announces it
_SPLIT = re.compile(
    r"(?<=[.!?\u3002\uff01\uff1f])[\"'\u201d\u2019)\]]*\s+|(?<=[^\s:/])(?::|\s="
    r"|\s[\u2013\u2014-]+(?!\s+[A-Z][\w.'-]+ [A-Z][\w.'-]+(?:,|$)))\s+|(?=<-|\^\^)|\s(?=\((?:that|this|source"
    r"|from|via|quelle)\b)"
)
_LONGEST_LEAD = 160
# stands where a fenced or tagged block was taken out
BLOCK = "\ufffc"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence or a clause before a colon.

    Attributes:
        begin, end: where it stands.
        paragraph, line: which it stands in.
        ends_in: the mark behind it, a line feed at the end of a line.
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
    paragraph = begin = 0
    for line, row in enumerate(text.split("\n")):
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
            words = text[at : begin + len(row)].rstrip()
            mark = ":" if words.endswith(":") else "\n"
            yield _Piece(words.removesuffix(":"), at, begin + len(row), paragraph, line, mark)
        begin += len(row) + 1


def _is_title(pieces: list[_Piece], number: int) -> bool:
    """Say whether a line is a title: the next one begins with a capital, a list mark or a quotation."""
    if number + 1 == len(pieces) or not is_title(pieces[number].text.strip()[:_LONGEST_LEAD], pieces[number].mark):
        return False
    return not pieces[number + 1].text.lstrip()[:1].islower()


def _rest_of_line(pieces: list[_Piece], number: int) -> Iterator[int]:
    """Yield what stands behind a colon; in a line with many, the next one goes on."""
    line = pieces[number].line
    for at in range(number + 1, len(pieces)):
        if pieces[at].line != line:
            return
        yield at
        if pieces[at].mark == ":":
            return


def _foreign(pieces: list[_Piece], text: str) -> set[int]:  # noqa: C901, PLR0912 - one pass, a rule a branch
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
            if piece.line == pieces[-1].line and number and pieces[number - 1].paragraph != piece.paragraph:
                back[pieces[number - 1].paragraph] = number  # a single line below a text says where that is from
                continue
            rest = number
            break
        is_last = number == last_in[piece.paragraph]
        shown = number + 1 < len(pieces) and pieces[number + 1].text.strip() == BLOCK
        first = number == 0 or pieces[number - 1].line != piece.line
        begins = number == 0 or pieces[number - 1].paragraph != piece.paragraph
        if looks_back(words, piece.mark) or (not first and is_signature(words, piece.mark)):
            back[pieces[number - 1].paragraph if begins and number else piece.paragraph] = number
        if takes_the_rest(words):
            foreign.add(number)
        if shown:
            pass  # what was announced is the block that was taken out
        elif announces(words, piece.mark) or (begins and _is_title(pieces, number)):
            if is_last:
                rest = number + 1
                break
            ahead.setdefault(piece.paragraph, number)
        elif may_announce(words, piece.mark) and number + 1 < len(pieces):
            if is_last:
                ahead.setdefault(pieces[number + 1].paragraph, number)
            elif pieces[number + 1].line != piece.line:
                ahead.setdefault(piece.paragraph, number)
            else:
                foreign.update(_rest_of_line(pieces, number))
    for number, piece in enumerate(pieces):
        here = piece.paragraph
        if number >= rest or number > ahead.get(here, len(pieces)) or number < back.get(here, 0):
            foreign.add(number)
    return foreign

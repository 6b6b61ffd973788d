"""A typed message as clauses, each with its roles: who is named in it, what they do, and how it is written.

A clause is a sentence, what stands before or behind a colon or a dash, a quotation, a bracket, or what somebody is said
to say ("the sign says | always knock"). Time grows with the length of the message only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from slowwave.extraction.guards.roles import WORD, roles_of
from slowwave.extraction.guards.words import AFTER_LINKS, LINKS, RULES, STATED, classes_of

# every pair of marks that people quote with; a single mark inside a word is an apostrophe
_QUOTED = (
    r"\"[^\"\n]{1,600}\"|\u201c[^\u201d\n]{1,600}\u201d|\u201e[^\u201c\u201d\n]{1,600}[\u201c\u201d]"
    r"|\u00ab[^\u00bb\n]{1,600}\u00bb|\u2039[^\u203a\n]{12,600}\u203a|[\u300c\u300e][^\u300d\u300f\n]{6,600}[\u300d\u300f]"
    r"|(?<!\w)\u2018(?:[^\u2019\n]|\u2019(?=\w)){12,600}\u2019(?!\w)"
    r"|(?<![\w'])'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w)){12,600}'(?![\w'])"
    r"|(?<!`)`[A-Z][^`\n]{11,600}`(?!`)|\([^()\n]{6,600}\)"
)
_CLOCK = r"[\[(]?(?:\d{4}-\d\d-\d\d[T ,]{1,2})?\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[AaPp]\.?[Mm]\.?)?[\])]?"
_NAME = r"[^\W\d_][\w.'-]{0,24}(?: [^\W\d_][\w.'-]{0,24}){0,2}"
_CALLED = r"[A-Z\u00c0-\u00de][\w.'-]{0,24}(?: [A-Z\u00c0-\u00de][\w.'-]{0,24}){0,2}"
# who said it, in the ways in which chats are copied
_SPEAKER = re.compile(
    rf"(?:(?:{_CLOCK} {{1,3}})?<@?{_NAME}>|\*{{1,2}}{_CALLED}(?::\*{{1,2}}|\*{{1,2}}:)"
    rf"|@{_NAME} ?:|[\w.-]{{1,24}}>(?=\s)|{_CLOCK} {{1,3}}(?:[-<@]? ?{_NAME} ?>? ?:|[-@]? ?{_CALLED}$)"
    rf"|{_CALLED},? {{1,3}}{_CLOCK}$)"
)
_LISTED = re.compile(r"\s*(?:\d{1,3}[.)]|[a-zA-Z][)]|[-*+\u2022])\s+")
_CUT = re.compile(
    rf"(?P<quote>{_QUOTED})"
    r"|(?P<stop>(?<=[.!?\u2026])[\"'\u201d\u2019)\]]*\s+|(?<=[\u3002\uff01\uff1f]))"
    r"|(?P<colon>(?<=[^\s:/])(?:\s?:|\s=|\s?[=-]>)(?:\s+|$)|\uff1a)|(?P<dash>\s[\u2013\u2014~-]+\s+|\s(?=<-|\^+))"
)
# stands where a fenced or tagged block was taken out
BLOCK = "\ufffc"
_STOPS = ".!?\u2026\u3002\uff01\uff1f"
_CLOSING = "\"'\u201d\u2019)]"
# what shows its role stands at the beginning, also in a clause that never ends
_LONGEST = 240
_LONGEST_SPEAKER = 80
_SHORTEST_QUOTATION = 4


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a message.

    Attributes:
        begin, end: where it stands; what follows begins at the end.
        line, paragraph: which it stands in.
        mark: what stands behind it: ``:``, ``-``, ``said``, the end of a sentence, or a line feed; ``"`` of a quotation
            and ``(`` of a bracket.
        is_quoted: marks of quotation stand around it.
        roles: see :func:`slowwave.extraction.guards.roles.roles_of`.
    """

    begin: int
    end: int
    line: int
    paragraph: int
    mark: str
    is_quoted: bool
    roles: frozenset[str]


_FORWARDED = re.compile(
    r"^[->\s]*(?:begin )?(?:forwarded|original|weitergeleitete|urspr\u00fcngliche) (?:message|mail|nachricht)\b"
    r"|^(?:on|am|le|el) .{4,80}\b(?:wrote|schrieb|a \u00e9crit|escribi\u00f3)\b",
    re.IGNORECASE,
)


def is_speaker(line: str) -> bool:
    """Say whether a line of a chat names who speaks below or behind."""
    return bool(_SPEAKER.match(line.strip()[:80]))


def is_forwarded(line: str) -> bool:
    """Say whether a line says that a message of somebody else follows."""
    return bool(_FORWARDED.match(line[:120]))


def clauses(text: str) -> Iterator[Clause]:
    """Yield the clauses of a text in order."""
    paragraph = begin = 0
    for line, row in enumerate(text.split("\n")):
        if not row.strip():
            paragraph += 1
        for start, stop, mark in _parts(row):
            words = row[start:stop].strip()[:_LONGEST]
            if WORD.search(words) or BLOCK in words:
                yield Clause(begin + start, begin + stop, line, paragraph, mark, mark == '"', roles_of(words, mark))
        begin += len(row) + 1


def _parts(row: str) -> Iterator[tuple[int, int, str]]:
    """Yield the begin, the end and the mark of each clause of a line; see :class:`Clause` for the marks."""
    listed = _LISTED.match(row)
    at = listed.end() if listed else 0
    indent = len(row) - len(row.lstrip())
    speaker = _SPEAKER.match(row[indent : indent + _LONGEST_SPEAKER])
    if speaker:
        at = indent + speaker.end()
        yield 0, at, "speaker"
    for cut in _CUT.finditer(row, at):
        kind, end = cut.lastgroup, cut.start()
        if kind == "quote":
            is_short = len(WORD.findall(cut[0])) < _SHORTEST_QUOTATION
            if is_short and cut[0][0] not in "\u300c\u300e":
                continue
            yield from _spoken(row, at, end, "quote")
            yield end, cut.end(), "(" if cut[0][0] == "(" else '"'
            at = cut.end()
        elif row[at:end].strip():
            end += kind == "colon"
            yield from _spoken(row, at, end, ":" if kind == "colon" else "-" if kind == "dash" else _stop(row, end))
            at = end
    last = _stop(row, len(row))
    yield from _spoken(row, at, len(row), last if last and last in _STOPS else "\n")


def _stop(row: str, end: int) -> str:
    """Return the mark that ends a sentence, before any marks that close what was opened."""
    return row[max(0, end - 8) : end].rstrip().rstrip(_CLOSING)[-1:]


def _spoken(row: str, begin: int, end: int, mark: str) -> Iterator[tuple[int, int, str]]:
    """Yield a clause, cut where somebody is said to say what follows, without any mark."""
    if not row[begin:end].strip():
        return
    at = begin
    for word, behind in pairwise(WORD.finditer(row, begin, end)):
        is_first = word.start() < begin + 2
        if not is_first and row[word.end() : behind.start()] == " " and _hands_over(word[0].lower(), behind[0]):
            yield at, word.end(), "said"
            at = word.end()
            break
    yield at, end, mark


def _hands_over(word: str, behind: str) -> bool:
    """Say whether the words of somebody may begin behind a word: "the sign says | Always knock"."""
    lower = behind.lower()
    if lower not in RULES and lower not in AFTER_LINKS and "work" not in classes_of(lower):
        return False
    classes = classes_of(word)
    if "say" in classes:
        # "a tweet I liked" tells of the person
        return lower in RULES or (behind != lower and not ("text" in classes and behind == "I"))
    return word in LINKS and behind != lower and (behind != "I" or word in STATED)

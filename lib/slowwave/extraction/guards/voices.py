"""Whose words each clause of a typed message is: one additive score over the roles of the clauses around it.

Who quotes, asks for a translation, or talks about a text shows it in what stands beside that text, and hardly in the
text: "my colleague wrote:", "is that true?", a greeting above and a name below. So a clause is judged by the roles of
its neighbours, each at its place, and by what was decided about the one before. The weights say how much each role at
each place speaks for somebody else; they were fitted (``tests/quality/fit_voices.py``) and are read like any table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from slowwave.extraction.guards.clauses import Clause
from slowwave.extraction.guards.clauses import clauses as clauses_of
from slowwave.extraction.guards.weights import BIAS, PLACES

# a place, and the roles that stand there
_Around = tuple[str, frozenset[str]]
_WITH_PAIRS = frozenset({"lead", "before", "after"})
_ITS_PLACE, _ANY, _LINE, _FOREIGN, _FOREIGN_LINE, _QUOTED, _QUOTATION = (
    frozenset({role}) for role in ("", "any", "line", "foreign", "foreign line", "quoted", "quotation")
)
_CERTAIN = 9.0
# below the first a clause is the person's, from the second on somebody else's, between them nobody can say
OWN, OTHERS = -1.5, 2.0
_JOINED = frozenset({":", "-", "said", "quote", "speaker"})
_OF_ITSELF = frozenset({
    "leads", "1me", "1you", "asks", "asks_you", "low", "dash", "1ask", "1handle", "the_text", "from_text",
    "from_who", "source", "other_say", "other_send", "1this", "chat", "greeting", "signing", "ends_this",
    "ends_text", "ends_say", "theirs", "name", "judge", "head",
})  # fmt: skip
_ABOVE = frozenset({"greeting", "head", "speaker", "dated", "signing", "chat"})
_BELOW = frozenset({"signing", "name", "speaker", "head", "chat"})
_STANCE = frozenset({"asks", "judge", "this", "1this", "other_say", "the_text", "dash", "signing", "1handle"})
_PAIRED = (
    "1handle", "1work", "1me", "me", "mine", "this", "text", "who", "asks", "judge", "name", "short", "1ask",
    "leads", "say", "get", "you",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Voices:
    """A message by whose words it is made of.

    Attributes:
        own: what is the person's, with everything that is no clause.
        possible: the same with what may be theirs.
        doubtful: what may be theirs or not, each on one line.
    """

    own: str
    possible: str
    doubtful: tuple[str, ...]


def voices(text: str) -> Voices:
    """Return a typed message by whose words it is made of; blocks that were taken out are marked in it."""
    every = list(clauses_of(text))
    found = scores(every)
    doubtful = tuple(
        " ".join(text[clause.begin : clause.end].split())
        for clause, score in zip(every, found, strict=True)
        if OWN <= score < OTHERS
    )
    possible = _below(text, every, found, OTHERS)
    return Voices(_below(text, every, found, OWN) if doubtful else possible, possible, doubtful)


def _below(text: str, clauses: Sequence[Clause], scored: Sequence[float], limit: float) -> str:
    """Return a text without the clauses that score a limit or more; everything else stays where it is."""
    kept: list[str] = []
    at = 0
    for clause, score in zip(clauses, scored, strict=True):
        if score >= limit:
            kept += (text[at : clause.begin], "\n")
            at = clause.end
    return "".join([*kept, text[at:]]) if kept else text


def scores(clauses: Sequence[Clause]) -> list[float]:
    """Return for each clause how much speaks for it being somebody else's words."""
    judged: list[bool] = []
    found: list[float] = []
    for clause, around in zip(clauses, _walk(clauses, judged), strict=True):
        score = _CERTAIN if "block" in clause.roles else BIAS + sum(_weight(*one) for one in around)
        found.append(score)
        judged.append(score >= 0)
    return found


def features_at(clauses: Sequence[Clause], at: int, judged: Sequence[bool]) -> list[str]:
    """Return the features of one clause, for fitting: what is judged of those before it is given."""
    around = next(around for number, around in enumerate(_walk(clauses, judged)) if number == at)
    return [f"{place}:{role}" if role else place for place, roles in around for role in _with_pairs(place, roles)]


def _walk(clauses: Sequence[Clause], judged: Sequence[bool]) -> Iterator[list[_Around]]:
    """Yield what stands around each clause; what stands anywhere above and below is gathered once for all."""
    above: frozenset[str] = frozenset()
    below = [above]
    for clause in reversed(clauses[1:]):
        below.append(below[-1] | (clause.roles & _BELOW))
    for at, clause in enumerate(clauses):
        yield [*_beside(clauses, at, judged), ("above all", above), ("below all", below[-1 - at])]
        above |= clause.roles & _ABOVE


@lru_cache(maxsize=4096)
def _weight(place: str, roles: frozenset[str]) -> float:
    weights = PLACES.get(place)
    return sum(weights.get(role, 0.0) for role in _with_pairs(place, roles)) if weights else 0.0


def _beside(clauses: Sequence[Clause], at: int, judged: Sequence[bool]) -> Iterator[_Around]:
    """Yield the roles of a clause and of those beside it, by their places.

    Args:
        clauses: all of the message.
        at: which one.
        judged: whether each clause before it was taken for somebody else's.
    """
    clause = clauses[at]
    yield "itself", clause.roles & _OF_ITSELF
    if clause.is_quoted:
        yield "itself", frozenset({"quoted"})
    if at:
        yield from _before(clauses[at - 1], clause, is_foreign=judged[at - 1])
    else:
        yield "first", _ITS_PLACE
    if at + 1 == len(clauses):
        yield "last" if at else "alone", _ITS_PLACE
        return
    yield from _after(clause, clauses[at + 1])
    if at + 2 < len(clauses) and clauses[at + 1].paragraph == clause.paragraph:
        yield "later", clauses[at + 2].roles & _STANCE


def _before(other: Clause, clause: Clause, *, is_foreign: bool) -> Iterator[_Around]:
    goes_on = other.mark in _JOINED or (other.line != clause.line and "open" in other.roles)
    place = "above" if other.paragraph != clause.paragraph else "lead" if goes_on else "before"
    if other.line != clause.line:
        yield place, _FOREIGN_LINE if is_foreign else _LINE
    if is_foreign:
        yield ("before", _QUOTATION) if other.is_quoted else (place, _FOREIGN)
        return
    yield place, _ANY
    place = "lead" if place == "lead" else "before"
    yield place, frozenset({f"mark {other.mark}"})
    yield place, other.roles


def _after(clause: Clause, other: Clause) -> Iterator[_Around]:
    is_tail = other.line == clause.line and (
        clause.mark in _JOINED or clause.is_quoted or bool({"dash", "low"} & other.roles)
    )
    place = "below" if other.paragraph != clause.paragraph else "tail" if is_tail else "after"
    yield place, _ANY
    if other.is_quoted:
        yield place, _QUOTED
    yield "after", other.roles


def _with_pairs(place: str, roles: frozenset[str]) -> list[str]:
    """Return roles, and with them the pairs that mean more than their parts, where they are a neighbour's."""
    if place not in _WITH_PAIRS:
        return sorted(roles)
    present = [role for role in _PAIRED if role in roles]
    return [*sorted(roles), *(f"{one}+{two}" for at, one in enumerate(present) for two in present[at + 1 :])]

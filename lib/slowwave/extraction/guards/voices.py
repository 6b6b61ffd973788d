"""Whose words each clause of a typed message is: one additive score over the roles of the clauses around it.

Who quotes, asks for a translation, or talks about a text shows it in what stands beside that text, and hardly in the
text: "my colleague wrote:", "is that true?", a greeting above and a name below. So a clause is judged by the roles of
its neighbours, each at its place, and by what was decided about the one before. The weights say how much each role at
each place speaks for somebody else; they were fitted (``tests/quality/fit_voices.py``) and are read like any table.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from slowwave.extraction.guards.clauses import Clause
from slowwave.extraction.guards.clauses import clauses as clauses_of
from slowwave.extraction.guards.weights import BIAS, PLACES

# a place, and the roles that stand there
_Around = tuple[str, frozenset[str]]
_ITS_PLACE, _ANY, _LINE, _QUOTED, _THEIRS = (frozenset({role}) for role in ("", "any", "line", "quoted", "theirs"))
_CERTAIN = 9.0
# below the first a clause is the person's, from the second on somebody else's, between them nobody can say
OWN, OTHERS = -0.6, 2.5
# from here on the next clause learns that this one is taken for somebody else's
THEIRS = 0.5
# what stands behind a clause that begins and ends with a mark of its own
_MARKED = frozenset({'"', "("})
_JOINED = frozenset({":", "-", "said", "quote", "speaker"})
_OF_ITSELF = frozenset({
    "leads", "1me", "1you", "asks", "asks_you", "low", "dash", "1ask", "1handle", "the_text", "from_text",
    "from_who", "source", "other_say", "other_send", "1this", "chat", "greeting", "signing", "ends_this",
    "ends_text", "ends_say", "theirs", "name", "judge", "head", "credit", "reshapes", "judges_this",
})  # fmt: skip
_ABOVE = frozenset({"greeting", "head", "speaker", "dated", "signing", "chat"})
_BELOW = frozenset({"signing", "name", "speaker", "head", "chat", "credit"})
# roles that show words of others wherever they stand; they reach over plain clauses to the next that has one
_CUES = frozenset({
    "handles_this", "reshapes", "judges_this", "other_say", "other_send", "the_text", "from_text", "from_who", "me_get",
    "ends_say", "ends_text", "new_text", "ahead", "asks", "speaker", "credit", "theirs", "source", "head", "chat",
    "greeting", "me_say", "my_text", "1work", "handles_thing", "1me", "leads", "1lead", "block", "code",
})  # fmt: skip
_STRONG = frozenset({
    "handles_this", "reshapes", "judges_this", "other_say", "other_send", "the_text", "from_text", "from_who", "me_get",
    "ends_say", "new_text", "speaker", "credit", "theirs", "source", "head", "chat", "greeting", "ahead",
})  # fmt: skip
_STANCE = frozenset(
    {"asks", "judge", "this", "1this", "other_say", "the_text", "dash", "signing", "1handle", "credit", "judges_this"}
)


@dataclass(frozen=True, slots=True)
class Voices:
    """A message by whose words it is made of.

    Attributes:
        own: what is the person's, with everything that is no clause.
        possible: the same with what may be theirs.
        doubtful: what may be theirs or not, each on one line.
        others: what is somebody else's, each run of clauses on lines of its own.
    """

    own: str
    possible: str
    doubtful: tuple[str, ...]
    others: str


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
    own = _below(text, every, found, OWN) if doubtful else possible
    return Voices(own, possible, doubtful, _from(text, every, found))


def _below(text: str, clauses: Sequence[Clause], scored: Sequence[float], limit: float) -> str:
    """Return a text without the clauses that score a limit or more; everything else stays where it is."""
    kept: list[str] = []
    at = 0
    for clause, score in zip(clauses, scored, strict=True):
        if score >= limit:
            kept += (text[at : clause.begin], "\n")
            at = clause.end
    return "".join([*kept, text[at:]]) if kept else text


def _from(text: str, clauses: Sequence[Clause], scored: Sequence[float]) -> str:
    """Return the clauses that are somebody else's; what stood between them was the person's."""
    kept: list[str] = []
    end = 0
    for clause, score in zip(clauses, scored, strict=True):
        if score >= OTHERS:
            between, words = text[end : clause.begin], text[clause.begin : clause.end]
            kept += (
                "\n" if between.strip() else between,
                f"\n{words.strip()[1:-1]}\n" if clause.mark in _MARKED else words,
            )
            end = clause.end
    return "".join(kept)


def scores(clauses: Sequence[Clause]) -> list[float]:
    """Return for each clause how much speaks for it being somebody else's words."""
    judged: list[bool] = []
    found: list[float] = []
    for clause, around in zip(clauses, _walk(clauses, judged), strict=True):
        found.append(_CERTAIN if "block" in clause.roles else BIAS + sum(_weight(*one) for one in around))
        judged.append(found[-1] >= THEIRS)
    return found


def features(clauses: Sequence[Clause], is_theirs: Callable[[frozenset[str]], bool]) -> Iterator[frozenset[str]]:
    """Yield the features of each clause, for fitting.

    Args:
        clauses: all of a message.
        is_theirs: says by its features whether a clause is taken for somebody else's, which the next one learns.
    """
    judged: list[bool] = []
    for around in _walk(clauses, judged):
        named = frozenset(f"{place}:{role}" if role else place for place, roles in around for role in roles)
        judged.append(is_theirs(named))
        yield named


def _walk(clauses: Sequence[Clause], judged: Sequence[bool]) -> Iterator[list[_Around]]:
    """Yield what stands around each clause; what stands anywhere above and below is gathered once for all."""
    above: frozenset[str] = frozenset()
    below = [above]
    nexts: list[Clause | None] = [None]
    for clause in reversed(clauses[1:]):
        below.append(below[-1] | (clause.roles & _BELOW))
        nexts.append(clause if clause.roles & _STRONG else nexts[-1])
    last: Clause | None = None
    for at, clause in enumerate(clauses):
        around = [*_beside(clauses, at, judged), ("above all", above), ("below all", below[-1 - at])]
        if last:
            around.append((f"cue above{_distance(last, clause)}", last.roles & _CUES))
        following = nexts[-1 - at]
        if following:
            around.append((f"cue below{_distance(clause, following)}", following.roles & _CUES))
        yield around
        above |= clause.roles & _ABOVE
        last = clause if clause.roles & _STRONG else last


def _distance(one: Clause, other: Clause) -> str:
    apart = other.paragraph - one.paragraph
    return ", apart" if apart > 1 else ", next paragraph" if apart else ", line" if one.line == other.line else ""


@lru_cache(maxsize=4096)
def _weight(place: str, roles: frozenset[str]) -> float:
    weights = PLACES.get(place)
    return sum(weights.get(role, 0.0) for role in roles) if weights else 0.0


def _beside(clauses: Sequence[Clause], at: int, judged: Sequence[bool]) -> Iterator[_Around]:
    """Yield the roles of a clause and of those beside it, by their places."""
    clause = clauses[at]
    yield "itself", clause.roles & _OF_ITSELF
    if clause.is_quoted:
        yield "itself", frozenset({"quoted"})
    if at:
        other = clauses[at - 1]
        # what somebody else says shows nothing of what follows, but that it does
        yield from [(f"follows{_distance(other, clause)}", _THEIRS)] if judged[at - 1] else _before(other, clause)
    else:
        yield "first", _ITS_PLACE
    if at + 1 == len(clauses):
        yield "last" if at else "alone", _ITS_PLACE
        return
    yield from _after(clause, clauses[at + 1])
    if at + 2 < len(clauses) and clauses[at + 1].paragraph == clause.paragraph:
        yield "later", clauses[at + 2].roles & _STANCE


def _before(other: Clause, clause: Clause) -> Iterator[_Around]:
    goes_on = other.mark in _JOINED or (other.line != clause.line and "open" in other.roles)
    place = "above" if other.paragraph != clause.paragraph else "lead" if goes_on else "before"
    if other.line != clause.line:
        yield place, _LINE
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

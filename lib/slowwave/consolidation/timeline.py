"""What held when: validity intervals from what was seen, whichever order it was found in.

At any time that answer of a slot holds which was stated last. Once a person has stated one, only people change it: what
commands show then neither begins nor ends anything. So the intervals are a function of what was seen and when, and an
old session that is found late fits in where it belongs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slowwave.memory.ledger import Sighting

Span = tuple[str, str]


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """Somebody or something stated one answer of a slot; ``name`` orders answers of one moment by what they say."""

    at: str
    by_person: bool
    name: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Held:
    """When an answer held, oldest interval first, and what ended the last one ("" while it lasts)."""

    spans: tuple[Span, ...]
    ended_by: str = ""


def moments_of(answer: str, name: tuple[str, ...], sightings: Iterable[Sighting]) -> list[Moment]:
    """Return when an answer was stated."""
    return [Moment(s.observed_at, s.origin.startswith("user_"), name, answer) for s in sightings]


def timeline(moments: Iterable[Moment]) -> dict[str, Held]:
    """Return when each answer of one slot held; intervals do not overlap, the last one of all is open.

    Of answers of the same moment, that of a person counts last, else the order of what they say decides.
    """
    spans: dict[str, list[Span]] = {}
    ended: dict[str, str] = {}
    current, people_spoke = "", False
    every = sorted(moments)
    first: dict[str, str] = {}
    for moment in every:
        spans.setdefault(moment.answer, [])
        first.setdefault(moment.answer, moment.at)
        if moment.answer == current or (people_spoke and not moment.by_person):
            people_spoke |= moment.by_person
            continue
        if current:
            spans[current][-1] = (spans[current][-1][0], moment.at)
            ended[current] = moment.answer
        spans[moment.answer].append((moment.at, ""))
        ended.pop(moment.answer, None)
        current, people_spoke = moment.answer, people_spoke or moment.by_person
    for answer, held in spans.items():
        if not held:  # stated only after a person had said otherwise
            held.append((first[answer], first[answer]))
            ended[answer] = current
    return {answer: Held(tuple(held), ended.get(answer, "")) for answer, held in spans.items()}


def taken_back(held: Held, own: Sequence[Moment], against: Iterable[Moment]) -> Held:
    """Return when an answer held, given what took it back in passing: from then on, until it is stated again."""
    spans: list[Span] = []
    ended = held.ended_by
    enders, stated = sorted(against), sorted(m.at for m in own)
    for begin, end in held.spans:
        start: str | None = begin
        while start is not None:
            since = start
            ender = next((m for m in enders if m.at > since and _is_before(m.at, end)), None)
            spans.append((start, ender.at if ender else end))
            ended = ender.answer if ender else held.ended_by if end else ""
            start = next((at for at in stated if ender and at > ender.at and _is_before(at, end)), None)
    return Held(tuple(spans), ended)


def _is_before(at: str, end: str) -> bool:
    return not end or at < end

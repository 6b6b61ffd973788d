"""Supersession: is the last value believed after a change, and each value on the days on which it was true."""

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from rapidfuzz import fuzz

from slowwave.memory import Candidate, CandidateOrigin, Category
from slowwave.memory.book import Memory, read_book
from tests.quality.history_cases import History, Statement, histories
from tests.quality.intervals import counted
from tests.quality.table import Must, Section, Table
from tests.quality.taken_back import measured as taken_back
from tests.quality.unsynced import unsynced
from tests.unit.consolidation.dreams import House

CURRENT, PAST = 0.95, 0.95
_NEAR = 80


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is believed after a history.

    Attributes:
        current: only the last value is believed at the end.
        days: of how many moments, each between two changes, only the right value is told.
        moments: how many there are.
        retired: what stays true and is not believed any more.
        parked: dreams that wait for a person, so that nothing was done.
    """

    current: bool
    days: int
    moments: int
    retired: int
    parked: int = 0


Believer = Callable[[History], Outcome]


def measure(*, errors: bool = False) -> Section:
    """Measure what is believed, night by night, at once, and with the old sessions found last."""
    every = list(histories())
    orders: dict[str, Believer] = {
        "night by night": lambda h: dreamt(h, _nights(h)),
        "all in one night": lambda h: dreamt(h, [[*h.beside, *h.changes]]),
        "oldest session last": lambda h: dreamt(h, _nights(h)[::-1]),
    }
    done = {name: [believe(h) for h in every] for name, believe in orders.items()}
    total = [o for of in done.values() for o in of]
    kinds = _kinds(every, done["night by night"])
    beside = {"baseline: keep everything": [_add_only(h) for h in every]}
    beside["baseline: newest of the alike wins"] = [_newest(h) for h in every]
    rows = [_row(*item) for item in (*done.items(), *beside.items())]
    back, must = taken_back()
    section = Section(
        [
            Table(f"{len(every)} histories, by the order of sessions", _HEADER, rows),
            Table("Night by night, by what changes how", _HEADER, kinds),
            back,
        ],
        [
            Must("the last value is believed", sum(o.current for o in total) / len(total), CURRENT),
            Must("value at a date", sum(o.days for o in total) / sum(o.moments for o in total), PAST),
            Must("unrelated retired", sum(o.retired for o in total), 0, at_least=False),
            *must,
        ],
        [f"dreams parked for a person: {sum(o.parked for o in total)}"],
    )
    if errors:
        section.notes += [line for name, of in done.items() for line in _wrong(name, every, of)]
    return section


def _wrong(name: str, every: Sequence[History], outcomes: Sequence[Outcome]) -> Iterator[str]:
    for history, o in zip(every, outcomes, strict=True):
        if not o.current or o.days < o.moments or o.retired:
            last = "right" if o.current else "WRONG"
            yield f"  wrong  [{name}, {history.kind}] {history.subject}: last {last}, {o.days}/{o.moments} days"


_HEADER = ("", "histories", "last right", "95 %", "days right", "share", "95 %", "retired")


def dreamt(history: History, nights: Sequence[Sequence[Statement]]) -> Outcome:
    """Dream once after each night's sessions, and look at what the memory folder says then."""
    with TemporaryDirectory() as folder, unsynced():
        house = House(Path(folder))
        parked = 0
        for night in nights:
            house.extract(*(_candidate(house, s) for s in night))
            parked += len(house.dream(accept_confidence=0.5).parked)
        memories = list(read_book(house.memory).memories.values())
    return _judged(history, memories, parked)


def _candidate(house: House, said: Statement) -> Candidate:
    category, origin = cast("Category", said.category), cast("CandidateOrigin", said.origin)
    session = f"day{said.day}-{zlib.crc32(said.text.encode()) % 10_000}"
    at = _at(said.day)
    return house.candidate(
        said.text, session=session, category=category, origin=origin, key=said.key, value=said.value, at=at
    )


def _at(day: int, hour: int = 10) -> str:
    return f"2026-10-{day:02}T{hour:02}:00:00Z"


def _nights(history: History) -> list[list[Statement]]:
    """Return what each night finds: what stays true with the first change, then a change a night."""
    first, *others = history.changes
    return [[*history.beside, first], *([change] for change in others)]


def _said(history: History) -> list[Statement]:
    return sorted((*history.changes, *history.beside), key=lambda s: (s.day, s.text))


def _judged(history: History, memories: Sequence[Memory], parked: int) -> Outcome:
    texts = {c.text for c in history.changes}
    own = [m for m in memories if m.text in texts]
    active = {m.text for m in own if m.status == "active"}
    moments = [(c, _at(c.day + 2)) for c in history.changes]
    days = sum(_tells({m.text for m in own if m.held_at(at)}, change) for change, at in moments)
    standing = {m.text for m in memories if m.status == "active"}
    retired = sum(s.text not in standing for s in history.beside)
    return Outcome(_tells(active, history.changes[-1]), days, len(moments), retired, parked)


def _tells(texts: set[str], change: Statement) -> bool:
    """Say whether exactly the value of a change is told: other words for the same value are no other value."""
    return bool(texts) and all(_value_of(text, change) for text in texts)


def _value_of(text: str, change: Statement) -> bool:
    return text.replace("Don't", "Never") == change.text.replace("Don't", "Never")


def _add_only(history: History) -> Outcome:
    """Believe everything that was ever said."""
    return Outcome(current=False, days=1, moments=len(history.changes), retired=0)


def _newest(history: History) -> Outcome:
    """Retire whatever is alike in its words (token set ratio of 80 and more) and older."""
    held: dict[str, tuple[int, int]] = {}
    for said in _said(history):
        for text, (since, until) in held.items():
            if until > 99 and fuzz.token_set_ratio(text, said.text) >= _NEAR:
                held[text] = (since, said.day)
        held[said.text] = (said.day, 100)
    texts = {c.text for c in history.changes}
    active = {t for t, (_, until) in held.items() if t in texts and until > 99}
    days = sum(
        _tells({t for t, (since, until) in held.items() if t in texts and since <= c.day + 2 < until}, c)
        for c in history.changes
    )
    retired = sum(held[s.text][1] < 100 for s in history.beside)
    return Outcome(_tells(active, history.changes[-1]), days, len(history.changes), retired)


def _kinds(every: Sequence[History], outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for history, outcome in zip(every, outcomes, strict=True):
        groups[history.kind].append(outcome)
    for history, outcome in zip(every, outcomes, strict=True):
        groups[f"  {history.subject}"].append(outcome)
    return [_row(name, of) for name, of in groups.items()]


def _row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    last = counted(sum(o.current for o in outcomes), len(outcomes))
    days = counted(sum(o.days for o in outcomes), sum(o.moments for o in outcomes))
    return name, last[0], last[1], last[2], *days, str(sum(o.retired for o in outcomes))

"""Rules that are taken back two days later in a person's own words, from the transcript to the memory folder."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from slowwave.extraction.offline import notes
from slowwave.extraction.selection import taken
from slowwave.formats.registry import by_name
from slowwave.memory import Candidate, SessionRef
from slowwave.memory.book import Memory, read_book
from slowwave.reading.session import read
from tests.quality.blocks import blocks
from tests.quality.intervals import counted
from tests.quality.redactor import redactor_for
from tests.quality.table import Must, Table
from tests.quality.unsynced import unsynced
from tests.unit.consolidation.dreams import House
from tests.unit.extraction.talk import START, Talk

LEAST = 0.9
_REDACT = redactor_for("shop")


@dataclass(frozen=True, slots=True)
class Case:
    """A rule, what stays true beside it, and what is said two days later."""

    rule: str
    beside: str
    later: str
    takes_back: bool


@dataclass(frozen=True, slots=True)
class Belief:
    """What is remembered of a case: whether the rule still holds, held the day after it, and what stays true does."""

    holds: bool
    held_before: bool
    beside_holds: bool
    in_files: bool


def cases() -> Iterator[Case]:
    """Yield each rule with each sentence that takes it back, or only seems to."""
    for _, lines in blocks("taken_back.txt"):
        rule = lines[0]
        beside = next(line[2:] for line in lines if line.startswith("!"))
        for line in lines[1:]:
            if not line.startswith("!"):
                yield Case(rule, beside, line[2:], line.startswith("-"))


def believed(case: Case, nights: Sequence[Sequence[int]] = ((0,), (1,))) -> Belief:
    """Return what is remembered when the days of a case, 0 and 1, are found in these nights."""
    with TemporaryDirectory() as folder, unsynced():
        house = House(Path(folder))
        for night in nights:
            for day in night:
                house.extract(*(said(house, case.later, day) if day else _known(house, case)))
            house.dream(accept_confidence=0.5)
        memories = list(read_book(house.memory).memories.values())
        written = b"".join(path.read_bytes() for path in house.memory.glob("*.md")).decode()
    rule, beside = _of(memories, case.rule), _of(memories, case.beside)
    day_after = f"{START:%Y-%m-}{START.day + 1:02}T12:00:00Z"
    return Belief(
        any(m.status == "active" for m in rule),
        any(m.held_at(day_after) for m in rule),
        any(m.status == "active" for m in beside),
        any(m.line in written for m in rule),
    )


def _known(house: House, case: Case) -> list[Candidate]:
    """Return a rule and what stays true as candidates of the first day: whether they are found is not the question."""
    at = f"{START:%Y-%m-%dT%H:%M:%SZ}"
    texts = (case.rule.rstrip(".\u3002"), case.beside.rstrip(".\u3002"))
    return [house.candidate(text, session=f"day0-{number}", at=at) for number, text in enumerate(texts)]


def said(house: House, text: str, day: int) -> list[Candidate]:
    """Return the candidates of a session of one day in which a person typed a text."""
    talk = Talk(id=f"{day}{zlib.crc32(text.encode()) % 10**7:07}-0000-4000-8000-000000000001")
    talk.person("go on").bash("ls src", "ok").assistant("I looked.").person(text).assistant("All right.")
    for record in talk.records:
        record["timestamp"] = record["timestamp"].replace(f"-{START.day:02}T", f"-{START.day + 2 * day:02}T")
    session = talk.write(house.folder)
    house.sessions.append(session.files.paths[0])
    ref = SessionRef("claude", session.id, str(session.files.paths[0]))
    reading = read(by_name("claude").read(session.files).messages, _REDACT)
    return taken(notes(reading), reading, ref, session.files.paths, _REDACT, lambda _: True, 0.5).candidates


def measured() -> tuple[Table, list[Must]]:
    """Return how many rules end when they are taken back, night by night and with the old session found last."""
    every = list(cases())
    rows: list[tuple[str, ...]] = []
    right = 0
    for name, nights in (
        ("night by night", ((0,), (1,))),
        ("in one night", ((0, 1),)),
        ("old found last", ((1,), (0,))),
    ):
        beliefs = [(case, believed(case, nights)) for case in every]
        good = [
            b.holds != c.takes_back and b.held_before and b.beside_holds and b.in_files == b.holds for c, b in beliefs
        ]
        right += sum(good)
        taken = [g for g, c in zip(good, every, strict=True) if c.takes_back]
        near = [g for g, c in zip(good, every, strict=True) if not c.takes_back]
        rows.append((name, *counted(sum(taken), len(taken)), *counted(sum(near), len(near))))
    header = ("", "ended", "share", "95 %", "near, kept", "share", "95 %")
    table = Table(f"{len(every)} sentences two days after a rule", header, rows)
    return table, [Must("rules taken back", right / (3 * len(every)), LEAST)]


def _of(memories: Sequence[Memory], text: str) -> list[Memory]:
    bare = text.rstrip(".。").casefold()
    return [m for m in memories if m.text.casefold() in bare or bare in m.text.casefold()]

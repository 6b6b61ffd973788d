"""How much a memory counts today: it fades when no session shows it any more, and is doubted when one contradicts it.

Time is the project's own: it passes by what its sessions show, not by the calendar. A project that rests for a year
forgets nothing, and a night without anything new changes no rank. What counts:

- shown again: every session that shows a fact makes it surer, on another day more than on the same
  (:mod:`slowwave.consolidation.confidence`), and fresh again;
- not shown: from the last sighting on it fades by the half-life of its category;
- denied in vain: sessions that showed another answer afterwards, but could not take its place, because a person stands
  behind it and they only saw commands;
- used: sessions in which an agent read the file that it stands in;
- broken: sessions that did not keep it although it was delivered to them: it is to stand higher.

What was shown in one session only, and never used, is forgotten: after two half-lives it leaves the index for its page,
after four the page as well. What had no occasion in many sessions in a row, for a good part of its half-life, leaves
the index, too. The ledger knows it for good, and whoever says it again brings it back.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from slowwave.memory.book import Book, Memory
from slowwave.memory.effects import Effect, effects_of
from slowwave.memory.model import Category

DENIED = 0.85
_MOST_DENIALS = 4
# each doubling of the sessions that used it counts this much, for at most this many of them
USED = 0.05
# half-lives after which what was said once and never used leaves the index, and its page
AWAY = 2.0
FORGOTTEN = 4.0
_MOST_USES = 16
# each doubling of the sessions that broke it counts this much, for at most this many of them: the first one lifts a
# memory above others of its worth (:data:`slowwave.memory.index.MARGIN`)
BROKEN = 0.15
_MOST_BROKEN = 8
# so many sessions in a row without an occasion, and so many half-lives since anything showed it
NEEDLESS_SESSIONS = 40
NEEDLESS_LIVES = 0.5


@dataclass(frozen=True, slots=True)
class Standing:
    """What the worth of a memory depends on besides itself.

    Attributes:
        now: the time of the latest sighting of anything in the project, ISO.
        half_life: how long it takes to lose half of the confidence, by category; a category without one never fades.
        denials: by memory, the sessions that showed another answer afterwards.
        uses: by memory, the sessions in which its file was read.
        effects: by memory, what sessions made of it.
    """

    now: str = ""
    half_life: Mapping[Category, timedelta] = field(default_factory=dict[Category, timedelta])
    denials: Mapping[str, int] = field(default_factory=dict[str, int])
    uses: Mapping[str, int] = field(default_factory=dict[str, int])
    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])

    def confidence(self, memory: Memory) -> float:
        """Return how certain it is that a memory still holds."""
        faded = memory.confidence * self._freshness(memory)
        return round(faded * DENIED ** min(self.denials.get(memory.id, 0), _MOST_DENIALS), 4)

    def worth(self, memory: Memory) -> float:
        """Return how much a memory counts for its place in the index."""
        uses = min(self.uses.get(memory.id, 0), _MOST_USES)
        effect = self.effects.get(memory.id)
        broken = min(len(effect.broken), _MOST_BROKEN) if effect else 0
        return self.confidence(memory) * (1 + USED * math.log2(1 + uses) + BROKEN * math.log2(1 + broken))

    def is_needless(self, memory: Memory) -> bool:
        """Say whether a memory had no occasion for so long that it has to make room for others."""
        effect = self.effects.get(memory.id)
        return bool(effect) and effect.idle >= NEEDLESS_SESSIONS and self._lives(memory) >= NEEDLESS_LIVES

    def idle(self, memory: Memory) -> float:
        """Return for how many half-lives nobody has shown or used a memory that one session showed; else 0.0."""
        sessions = {(s.dialect, s.session) for s in memory.sightings}
        return self._lives(memory) if len(sessions) == 1 and not self.uses.get(memory.id) else 0.0

    def _freshness(self, memory: Memory) -> float:
        return 0.5 ** self._lives(memory)

    def _lives(self, memory: Memory) -> float:
        """Return how many half-lives passed since a memory was last seen."""
        life = self.half_life.get(memory.category)
        last, now = _parsed(memory.last_seen), _parsed(self.now)
        if not life or last is None or now is None or now <= last:
            return 0.0
        return (now - last) / life


def standing_of(book: Book, half_life: Mapping[Category, timedelta]) -> Standing:
    """Return what the worth of a book's memories depends on."""
    every = book.memories.values()
    denials: dict[str, set[str]] = {}
    for memory in every:
        winner = book.memories.get(memory.successor) if memory.status == "superseded" else None
        if winner and winner.is_from_person and not memory.is_from_person:
            late = {f"{s.dialect} {s.session}" for s in memory.sightings if s.observed_at > winner.last_seen}
            denials.setdefault(winner.id, set()).update(late)
    return Standing(
        now=max((m.last_seen for m in every), default=""),
        half_life=half_life,
        denials={name: len(sessions) for name, sessions in denials.items() if sessions},
        uses=_uses(book.uses, every),
        effects=effects_of(every, book.watched) if book.watched else {},
    )


def _uses(uses: Mapping[str, Iterable[str]], memories: Iterable[Memory]) -> dict[str, int]:
    numbers = {file: len(set(sessions)) for file, sessions in uses.items()}
    return {m.id: numbers[m.file] for m in memories if m.status == "active" and numbers.get(m.file)}


def _parsed(at: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)

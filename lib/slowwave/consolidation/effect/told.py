"""What a night's report says of the effect of memories: what was followed or broken since the last one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowwave.memory.book import Book, Memory, standing_of
from slowwave.memory.effects import Case, Effect, Watched, effects_of
from slowwave.report import Item
from slowwave.settings import ConsolidationSettings

# what becomes of the place of a broken memory, and of one that nobody needed
BROKEN, NEEDLESS = "broken", "needless"


@dataclass(frozen=True, slots=True)
class Changes:
    """What a night found out.

    Attributes:
        followed: memories that sessions kept, with these.
        broken: memories that sessions did not keep, with these.
        needless: memories that leave the index, since nothing asked for them for long.
    """

    followed: Sequence[tuple[Memory, Case]]
    broken: Sequence[tuple[Memory, Case]]
    needless: Sequence[Memory]

    @property
    def counts(self) -> dict[str, int]:
        """How often each happened, by the counter of the report; nothing of what did not."""
        numbers = {
            "memories_followed": len(self.followed),
            "memories_broken": len(self.broken),
            "memories_needless": len(self.needless),
        }
        return {name: number for name, number in numbers.items() if number}


def changes(before: Book, after: Book, new: Sequence[Watched], settings: ConsolidationSettings) -> Changes:
    """Return what a night found out.

    Args:
        before: the book that the night began with, with all that is noted of sessions.
        after: the book that it leaves: what a person had to correct again shows in it.
        new: what it noted of sessions.
        settings: how fast memories fade.
    """
    fresh = {row.name for row in new}
    effects = effects_of(after.memories.values(), before.watched)
    known = effects_of(before.memories.values(), [row for row in before.watched if row.name not in fresh])
    shown = {entry.ref for entry in before.index} - {entry.ref for entry in after.index}
    standing = standing_of(after, settings.half_lives) if shown else None
    return Changes(
        list(_new(after, effects, known, is_kept=True)),
        list(_new(after, effects, known, is_kept=False)),
        [m for m in after.active if standing is not None and m.id in shown and standing.is_needless(m)],
    )


def items_of(project: str, found: Changes) -> Iterator[Item]:
    """Yield what the report names: every memory that was broken, and where, and every one that leaves the index."""
    for memory, case in found.broken:
        how = "a person had to say it again" if case.is_said_again else "it was not kept"
        where = f"{case.session.dialect} session {case.session.session} of {case.session.began}"
        reason = f"{how} in {where}, which it was delivered to: it stands higher from now on"
        yield Item(memory.id, BROKEN, reason, project, memory.text, memory.category, memory.confidence)
    for memory in found.needless:
        reason = "no session had an occasion for it in a long time: it leaves the index for its page"
        yield Item(memory.id, NEEDLESS, reason, project, memory.text, memory.category, memory.confidence)


def _new(
    book: Book, effects: Mapping[str, Effect], known: Mapping[str, Effect], *, is_kept: bool
) -> Iterator[tuple[Memory, Case]]:
    for name, effect in effects.items():
        old = known.get(name)
        seen = {case.session.name for case in _cases(old, is_kept=is_kept)} if old else set[tuple[str, str]]()
        yield from ((book.memories[name], c) for c in _cases(effect, is_kept=is_kept) if c.session.name not in seen)


def _cases(effect: Effect, *, is_kept: bool) -> Sequence[Case]:
    return effect.followed if is_kept else effect.broken

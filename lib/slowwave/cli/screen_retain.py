"""What retention did, would do and refused, for a person: the session, its bytes, the rule, and what keeps it."""

from collections.abc import Iterable, Iterator
from typing import Any

MOST_ROWS = 20
_TITLES = {
    "remove": "Would be archived and moved into the trash",
    "removed": "Archived and moved into the trash (slowwave sessions restore ID brings it back)",
    "free": "Would be freed from the trash",
    "freed": "Freed from the trash",
    "refused": "Must stay, although a rule says that it goes",
    "wait": "Goes in a later run",
    "stay": "Stays",
}
# what has no rule of the policy: OpenClaw's index, Claude Code's own clean-up, tombstones
_MORE = {
    "tidied": "Entries of OpenClaw that led to no transcript, moved into the trash",
    "rescue": "Would be archived, since their client deletes them soon",
    "rescued": "Archived, since their client deletes them soon; they stay in their place",
    "rescue room": "What the archive of these takes",
    "gone": "Deleted by their client before they were archived",
    "purge": "Hidden for good, and would be taken out of their files",
    "purged": "Hidden for good, and taken out of their files",
}
_UNITS = ("B", "kB", "MB", "GB", "TB")


def retained(items: Iterable[dict[str, Any]], most: int | None = MOST_ROWS) -> Iterator[str]:
    """Yield what happened to sessions, grouped by it: so many of each group, or with ``None`` all of them."""
    every = list(items)
    yield from _more([item for item in every if item["action"] in _MORE], most)
    every = [item for item in every if "rule" in item]
    for action, title in _TITLES.items():
        rows = [item for item in every if item["action"] == action]
        if not rows:
            continue
        yield ""
        yield f"{title}: {len(rows)}, {readable(sum(item['bytes'] for item in rows))}"
        for item in rows[:most]:
            yield f"  {item['target']}  {readable(item['bytes'])}  {item['project']}"
            yield f"    {item['reason']}"
            if item["at"]:
                yield f"    {_when(item)}"
        if most is not None and len(rows) > most:
            yield f"  and {len(rows) - most} more (slowwave retain plan and --json show all)"


def _when(item: dict[str, Any]) -> str:
    """Return the age of a session, the limit that speaks of it, and when it reaches that."""
    due = f"; old enough at {item['due'][:16].replace('T', ' ')}" if item["due"] else ""
    limit = f"; {item['limit']}" if item["limit"] else ""
    return f"{item['age_days']:g} days old, last active {item['at'][:16].replace('T', ' ')}{limit}{due}"


def _more(items: list[dict[str, Any]], most: int | None) -> Iterator[str]:
    for action, title in _MORE.items():
        rows = [item for item in items if item["action"] == action]
        if rows:
            yield ""
            yield f"{title}: {len(rows)}"
            yield from (f"  {item['target']}  {item['reason']}" for item in rows[:most])
        if most is not None and len(rows) > most:
            yield f"  and {len(rows) - most} more (--json shows all)"


def readable(number: int) -> str:
    """Return a number of bytes in the largest decimal unit that leaves a digit before the point."""
    size = float(number)
    for unit in _UNITS[:-1]:
        if size < 999.5:  # noqa: PLR2004 - what would be rounded up to 1000
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"  # noqa: PLR2004 - one digit
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"

"""What retention and erasure did, would do and refused, for a person.

Of retention the session, its bytes, the rule, and what keeps it; of an erasure each place, in full what stays: it is
still there.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from slowwave.cli.output import bold, screen_width, short_time, wrapped
from slowwave.observability.learned import short_names
from slowwave.report import readable

MOST_ROWS = 20
_TITLES = {
    "remove": "Would be archived and moved into the trash",
    "removed": "Archived and moved into the trash (slowwave sessions restore ID brings it back)",
    "free": "Would be freed from the trash",
    "freed": "Freed from the trash",
    "refused": "Has to stay, although a rule would let it go",
    "wait": "Goes in a later run",
    "stay": "Stays",
}
# what has no rule of the policy: OpenClaw's index, Claude Code's own clean-up, tombstones
_MORE = {
    "tidied": "Entries of OpenClaw without a transcript, moved into the trash",
    "rescue": "Would be archived, since their client deletes them soon",
    "rescued": "Archived, since their client deletes them soon; they stay in their place",
    "rescue room": "Room that their archive would take",
    "gone": "Deleted by their client before they were archived",
    "purge": "Hidden for good, and would be taken out of their files",
    "purged": "Hidden for good, and taken out of their files",
}


def retained(items: Iterable[dict[str, Any]], most: int | None = MOST_ROWS) -> Iterator[str]:
    """Yield what happened to sessions, grouped by it: so many of each group, or with ``None`` all of them."""
    every = list(items)
    yield from _more([item for item in every if item["action"] in _MORE], most)
    every = [item for item in every if "rule" in item]
    names = short_names(item["project"] for item in every)
    for action, title in _TITLES.items():
        rows = [item for item in every if item["action"] == action]
        if not rows:
            continue
        yield ""
        yield bold(f"{title}: {len(rows)}, {readable(sum(item['bytes'] for item in rows))}")
        for (reason, limit), alike in _by_reason(rows[:most]).items():
            yield from wrapped(f"{reason}{f' ({limit})' if limit else ''}", first="  ", rest="  ", width=screen_width())
            for item in alike:
                yield from _session(item, names[item["project"]])
        if most is not None and len(rows) > most:
            yield f"  and {len(rows) - most} more (slowwave retain plan and --json show all)"


def _by_reason(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return sessions by why they go or stay, and by the limits that say so."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in rows:
        found.setdefault((item["reason"], item["limit"]), []).append(item)
    return found


def _session(item: dict[str, Any], project: str) -> list[str]:
    """Return a session with its age, and when it reaches the limit that speaks of it."""
    age = f"{item['age_days']:g} days old" if item["at"] else ""
    line = f"    {age:<14}  {item['target']}  {readable(item['bytes'])}  {project}"
    due = f", old enough at {short_time(item['due'])}" if item["due"] else ""
    last = f"last active {short_time(item['at'])}{due}" if item["at"] else ""
    if screen_width() and len(f"{line}  {last}") > screen_width():
        return [line, f"{'':<20}{last}"] if last else [line]
    return [f"{line}  {last}".rstrip()]


def _more(items: list[dict[str, Any]], most: int | None) -> Iterator[str]:
    for action, title in _MORE.items():
        rows = [item for item in items if item["action"] == action]
        if rows:
            yield ""
            yield bold(f"{title}: {len(rows)}")
            yield from (f"  {item['target']}  {item['reason']}" for item in rows[:most])
        if most is not None and len(rows) > most:
            yield f"  and {len(rows) - most} more (--json shows all)"


# of an erasure: what was done, what would be done, what is told in any case
_ERASED = {
    "erased": "Erased as a whole",
    "replaced": "Taken out",
    "forget": "Memories that went",
    "removed": "Removed, to be rebuilt",
}
_TO_ERASE = {
    "goes": "Would be erased as a whole",
    "found": "Found, and would be taken out",
    "forget": "Memories that would go",
}
_WHOLE = ("goes", "erased")
_ALWAYS = {
    "refused": "Left alone, and still there",
    "not searched": "Not searched",
    "certificate": "Certificate",
}


def erased(items: Iterable[dict[str, Any]], *, dry_run: bool) -> Iterator[str]:
    """Yield what happened to each place, grouped by it."""
    every = list(items)
    for action, title in ((_TO_ERASE if dry_run else _ERASED) | _ALWAYS).items():
        rows = [item for item in every if item["action"] == action]
        if not rows:
            continue
        yield ""
        yield bold(f"{title}: {len(rows)}")
        # nobody may lose a session of which they did not see the name
        most = len(rows) if action in _WHOLE else MOST_ROWS
        for item in rows[:most]:
            yield f"  {item['target']}"
            yield f"    {item['reason']}"
        if len(rows) > most:
            yield f"  and {len(rows) - MOST_ROWS} more (--json shows all)"

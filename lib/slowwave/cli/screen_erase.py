"""What an erasure found, took out and left alone, for a person; what stays is told in full, since it is still there."""

from collections.abc import Iterable, Iterator
from typing import Any

MOST_ROWS = 20
_DONE = {
    "erased": "Erased as a whole",
    "replaced": "Taken out",
    "forget": "Memories that went",
    "removed": "Removed, to be built anew",
}
_PLANNED = {
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
    for action, title in ((_PLANNED if dry_run else _DONE) | _ALWAYS).items():
        rows = [item for item in every if item["action"] == action]
        if not rows:
            continue
        yield ""
        yield f"{title}: {len(rows)}"
        # nobody may lose a session of which they did not see the name
        most = len(rows) if action in _WHOLE else MOST_ROWS
        for item in rows[:most]:
            yield f"  {item['target']}"
            yield f"    {item['reason']}"
        if len(rows) > most:
            yield f"  and {len(rows) - MOST_ROWS} more (--json shows all)"

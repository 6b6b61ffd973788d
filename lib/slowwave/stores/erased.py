"""What was erased and lies in a store again, as from a backup: neither listed nor searched, but counted and shown.

A session that was erased as a whole is one that nobody looks into. Of any other, a title or a prompt that names what
was erased shows that alone.
"""

from msgspec.structs import replace

from slowwave.secrets.blocked import ERASED, Blocked
from slowwave.stores.scan import Scanned
from slowwave.stores.summary import Summary
from slowwave.stores.walk import FoundSession

PROBLEM = "blocked: it was erased on request and is here again; slowwave run erase --session removes it"


def is_erased(found: FoundSession, blocked: Blocked | None) -> bool:
    """Say whether a session was erased as a whole, or is a sub-agent of one that was."""
    if blocked is None:
        return False
    return blocked.has_session(found.id) or bool(found.side and found.parent and blocked.has_session(found.parent))


def without_names(scanned: Scanned, blocked: Blocked | None) -> Scanned:
    """Return what was read of a session as it may be kept, also for reading on from there."""
    if blocked is None or not blocked.has_phrases:
        return scanned
    mark = replace(scanned.mark, state=_without(scanned.mark.state, blocked))
    return Scanned(mark, _without(scanned.summary, blocked))


def _without(seen: Summary, blocked: Blocked) -> Summary:
    return replace(
        seen,
        titles={kind: shown_of(title, blocked) for kind, title in seen.titles.items()},
        leaves={leaf: shown_of(title, blocked) for leaf, title in seen.leaves.items()},
        first_prompt=shown_of(seen.first_prompt, blocked),
        side_prompt=shown_of(seen.side_prompt, blocked),
    )


def shown_of(text: str, blocked: Blocked | None) -> str:
    """Return a title or a prompt as it may be shown."""
    return ERASED if blocked is not None and blocked.masked(text)[1] else text

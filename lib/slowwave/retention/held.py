"""What holds hold, session by session: those in their place, in the trash and in the archive."""

from collections.abc import Iterable, Mapping, Sequence

from slowwave.errors import SlowwaveError
from slowwave.places import home_folder
from slowwave.retention.facts import facts_of
from slowwave.retention.holds import Facts, Hold, held_reason
from slowwave.retention.job.fleet import Fleet
from slowwave.retention.sessions_gone import put_by
from slowwave.stores.model import Project


def held_sessions(
    holds: Sequence[Hold], projects: Iterable[Project], environ: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return the ids of the sessions that each hold holds, by its own id; what cannot be read is held, too.

    Sub-agents count as sessions: they are held with the session that they go with.

    Raises:
        CorruptStateError: a manifest of the trash does not parse.
        OSError: the trash or the archive cannot be read.
    """
    found: dict[str, set[str]] = {hold.id: set() for hold in holds}
    if not holds:
        return found
    home = home_folder(environ)
    every = [facts_of(member, home) for member in Fleet(projects).members.values()]
    for facts in (*every, *(facts for _, facts in put_by(environ))):
        for hold in holds:
            if _is_held(hold, facts):
                found[hold.id].update(facts.ids)
    return found


def _is_held(hold: Hold, facts: Facts) -> bool:
    try:
        return bool(held_reason(hold, facts))
    except (SlowwaveError, OSError):
        return True

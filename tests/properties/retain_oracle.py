"""Which sessions must stay in their places, told in another way than the guards tell it: by names and bytes alone."""

import json
from collections.abc import Iterable
from datetime import datetime

from slowwave.retention.holds import Hold
from tests.properties.retain_disk import File, Tree
from tests.unit.retention.homes import Home

PEOPLE = ("Erika Mustermann", "Jürgen Groß", "Ann O'Neill")
_IDLE_S = 30 * 60


def must_stay(home: Home, here: Tree, now: float, holds: Iterable[Hold], more: Iterable[str]) -> set[str]:
    """Return the names of all files that may not go.

    Args:
        home: where they lie.
        here: all files.
        now: the current time in seconds since 1970.
        holds: what is held.
        more: files that must stay for other reasons.
    """
    kept = {key_of(name) for name in more}
    kept |= {key_of(name) for name, one in here.items() if 0 <= now - one[2] / 1e9 < _IDLE_S}
    kept |= {key_of(name) for hold in holds for name, one in here.items() if _is_held(home, hold, name, one)}
    last = max((name for name in here if "crab_" in name), key=_crab_number, default="")
    return {name for name in here if key_of(name) in kept or name == last}


def key_of(name: str) -> str:
    """Return what is the same for all files that go together."""
    parts = name.split("/")
    if parts[:2] == [".claude", "projects"]:
        return parts[3].removesuffix(".jsonl").partition("_part")[0]
    if parts[0] == ".claude":
        return parts[2].partition("-agent-")[0]
    return "/".join(parts[:3]) if parts[0] == ".agent" else name


def _crab_number(name: str) -> int:
    return int(name.removesuffix(".jsonl").rpartition("_")[2])


def _is_held(home: Home, hold: Hold, name: str, one: File) -> bool:
    if hold.since:
        return one[2] / 1e9 >= datetime.fromisoformat(hold.since).timestamp()
    if hold.project:
        return hold.project in str((home.root / name).parent)
    if hold.session:
        return hold.session in key_of(name)
    return hold.person.encode() in one[0] or json.dumps(hold.person)[1:-1].encode() in one[0]

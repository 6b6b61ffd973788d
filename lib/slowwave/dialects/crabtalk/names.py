"""Names of crabtalk's files: ``{agent}_{sender_slug}_{seq}.jsonl``, and ``_{title_slug}`` for every title set.

A name alone does not tell where the agent ends: ``crab_user_1`` can be agent ``crab`` or ``crab_user``. What a file
is stands in its first line; crabtalk itself goes by names, and one odd name hides all sessions from it. A slug never
holds an underscore, so with the agent known the rest of a name can be read in one way only.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from slowwave.dialects.crabtalk.records import Meta
from slowwave.errors import UsageError

SUFFIX = ".jsonl"
_RUN = re.compile(r"-+")
# Linux allows 255 bytes for a name; a number, a temporary ending and the suffix must still fit.
_MOST_BYTES = 200


class Place(NamedTuple):
    """Where a name puts a session among those of its agent.

    Attributes:
        sender: the sender's slug.
        seq: the number of the session among those of the agent and the sender.
        titles: the slugs of the titles that it was given, the first one first.
    """

    sender: str
    seq: int
    titles: tuple[str, ...]


def sender_slug(sender: str) -> str:
    """Return a sender as it stands in a file's name: ``TG:user-123`` is ``tg-user-123``, ``:::`` is empty.

    ASCII letters become small; letters and digits of every script stay, anything else is one hyphen. Titles become
    slugs in the same way.
    """
    lowered = "".join(c.lower() if c.isascii() else c for c in sender)
    return _RUN.sub("-", "".join(c if c.isalnum() or c == "-" else "-" for c in lowered)).strip("-")


def place_of(name: str, agent: str) -> Place | None:
    """Return what a file's name says if it is one of the agent's, else None."""
    if not name.startswith(f"{agent}_") or not name.endswith(SUFFIX):
        return None
    sender, _, rest = name.removeprefix(f"{agent}_").removesuffix(SUFFIX).partition("_")
    number, *titles = rest.split("_")
    if not number.isascii() or not number.isdigit():
        return None
    return Place(sender, int(number), tuple(titles))


def sequence_of(name: str, agent: str, sender: str) -> int | None:
    """Return the number of a session's file if its name can belong to this agent and sender, else None."""
    place = place_of(name, agent)
    return place.seq if place is not None and place.sender == sender_slug(sender) else None


def session_id(agent: str, sender: str, seq: int) -> str:
    """Return what a session is known by; a title does not change it."""
    return f"{agent}_{sender_slug(sender)}_{seq}"


def id_of(name: str, meta: Meta | None) -> str:
    """Return the id of a file: agent, sender and number where name and metadata agree, else the whole name.

    Args:
        name: the file's name.
        meta: its first line; without one only the name is left.
    """
    place = place_of(name, meta.agent) if meta is not None else None
    if meta is None or place is None:
        return name.removesuffix(SUFFIX)
    return f"{meta.agent}_{place.sender}_{place.seq}"


def latest_session(files: Iterable[tuple[str, Meta | None]], agent: str, sender: str) -> str | None:
    """Return the name of the latest session of an agent and a sender.

    Args:
        files: name and metadata of each file; a file without metadata is judged by its name alone.
        agent: the agent's name.
        sender: who talks to it, as in ``created_by``.
    """
    found = [(place.seq, name) for name, meta in files if (place := _owned(name, meta, agent, sender)) is not None]
    return max(found)[1] if found else None


def _owned(name: str, meta: Meta | None, agent: str, sender: str) -> Place | None:
    """Return the place of a file that belongs to an agent and a sender."""
    slug = sender_slug(sender)
    place = place_of(name, agent)
    # crabtalk's idea of a letter is a little wider than Python's: there the metadata alone says who talks
    if place is None or (place.sender != slug and (meta is None or sender.isascii())):
        return None
    return place if meta is None or (meta.agent, sender_slug(meta.created_by)) == (agent, slug) else None


def checked_agent(agent: str) -> str:
    """Return an agent's name when it can begin a file's name: crabtalk puts it there as it is.

    Raises:
        UsageError: it is empty, too long or a hidden name, or holds a separator or a control character.
    """
    odd = not agent or agent.startswith(".") or any(c in "/\\" or not c.isprintable() for c in agent)
    if odd or len(agent.encode("utf-8", "replace")) > _MOST_BYTES // 2:
        raise UsageError(f"agent {agent[:64]!r} cannot begin a file's name; nothing was written")
    return agent


def titled_name(name: str, title: str) -> str:
    """Return a file's name once it has got this title; the same name where the title says nothing.

    As in crabtalk, every title adds its slug. What would make the name too long is cut off.
    """
    stem = name.removesuffix(SUFFIX)
    room = _MOST_BYTES - len(stem.encode("utf-8", "surrogateescape")) - 1
    slug = sender_slug(title).encode("utf-8", "replace")[: max(room, 0)].decode("utf-8", "ignore").strip("-")
    return f"{stem}_{slug}{SUFFIX}" if slug else name

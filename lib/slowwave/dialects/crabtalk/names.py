"""Names of crabtalk's files: ``{agent}_{sender_slug}_{seq}.jsonl``, with ``_{title_slug}`` once a title is set.

A name alone does not tell where the agent ends: ``crab_user_1`` can be agent ``crab`` or ``crab_user``. What a file
is stands in its first line; crabtalk itself goes by names, and one odd name hides all sessions from it.
"""

import re
from collections.abc import Iterable

from slowwave.dialects.crabtalk.records import Meta

_RUN = re.compile(r"-+")


def sender_slug(sender: str) -> str:
    """Return a sender as it stands in a file's name: ``TG:user-123`` is ``tg-user-123``, ``:::`` is empty.

    ASCII letters become small; letters and digits of every script stay, anything else is one hyphen.
    """
    lowered = "".join(c.lower() if c.isascii() else c for c in sender)
    return _RUN.sub("-", "".join(c if c.isalnum() or c == "-" else "-" for c in lowered)).strip("-")


def sequence_of(name: str, agent: str, sender: str) -> int | None:
    """Return the number of a session's file if its name can belong to this agent and sender, else None."""
    prefix = f"{agent}_{sender_slug(sender)}_"
    if not name.startswith(prefix) or not name.endswith(".jsonl"):
        return None
    number = name.removeprefix(prefix).removesuffix(".jsonl").partition("_")[0]
    return int(number) if number.isascii() and number.isdigit() and number else None


def latest_session(files: Iterable[tuple[str, Meta | None]], agent: str, sender: str) -> str | None:
    """Return the name of the latest session of an agent and a sender.

    Args:
        files: name and metadata of each file; a file without metadata is judged by its name alone.
        agent: the agent's name.
        sender: who talks to it, as in ``created_by``.
    """
    found: list[tuple[int, str]] = []
    for name, meta in files:
        number = sequence_of(name, agent, sender)
        if number is None or (meta is not None and (meta.agent, sender_slug(meta.created_by)) != _key(agent, sender)):
            continue
        found.append((number, name))
    return max(found)[1] if found else None


def _key(agent: str, sender: str) -> tuple[str, str]:
    return agent, sender_slug(sender)

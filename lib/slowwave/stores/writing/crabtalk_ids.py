"""What a new session of crabtalk may be called: agent, sender and number, the number behind all that are there."""

import re
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import UsageError
from slowwave.formats.crabtalk import checked_agent, sender_slug
from slowwave.stores.writing.crabtalk_files import next_number

# A slug holds no underscore, an agent's name may.
_ID = re.compile(r"(?P<agent>.+)_(?P<sender>[^_]*)_(?P<number>[1-9][0-9]{0,8})\Z", re.DOTALL)


class Identity(NamedTuple):
    """Whose session it is, and its number among those of the two."""

    agent: str
    sender: str
    number: int


def identity(asked: str, folder: Path) -> Identity:
    """Return what the id of a session says that is to be begun in ``folder``.

    Raises:
        UsageError: it is no such id; the message names the next one where it can.
    """
    match = _ID.match(asked)
    if match is None or sender_slug(match["sender"]) != match["sender"]:
        hint = ""
        agent, _, sender = asked.rpartition("_")
        if agent and sender == sender_slug(sender):
            hint = f"; the next one of {agent} and {sender} is {asked}_{next_number(folder, agent, sender)}"
        raise UsageError(f"session id {asked!r}: crabtalk's are called AGENT_SENDER_NUMBER{hint}")
    return Identity(checked_agent(match["agent"]), match["sender"], int(match["number"]))

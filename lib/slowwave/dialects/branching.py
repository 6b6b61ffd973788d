"""The branches of a session: under which message each one hangs, and in which order a person reads them.

Nothing here recurses: a session may be a chain of a hundred thousand messages.
"""

from collections.abc import Sequence
from typing import Literal

from slowwave.dialects.model import Message, Transcript

State = Literal["active", "abandoned", "sub-agent"]
NO_PARENT = -1


def state_of(message: Message, transcript: Transcript) -> State:
    """Say what became of a message: sent again on a resume, left behind, or said by or to a sub-agent."""
    if message.sidechain and transcript.kind != "subagent":
        return "sub-agent"
    return "active" if message.active else "abandoned"


def parents_of(messages: Sequence[Message]) -> list[int]:
    """Return for each message the index of the one it hangs under, always an earlier one, or ``NO_PARENT``.

    What is active is one line, whatever the records say: results of parallel calls hang beside each other there. A
    parent that the session does not have, or only later, is none. Messages without ids follow each other.
    """
    found: list[int] = []
    latest: dict[str, int] = {}
    main = last = NO_PARENT
    for index, message in enumerate(messages):
        own, parent = message.id, message.parent
        if message.active and not message.sidechain:
            found.append(main)
        elif parent is not None:
            found.append(latest.get(parent, NO_PARENT))
        elif own is None or (last != NO_PARENT and messages[last].id is None):
            found.append(last)
        elif message.sidechain and main != NO_PARENT:
            # the task of a sub-agent begins a chain of its own; it was given by what was said last
            found.append(main)
        else:
            found.append(NO_PARENT)
        if own is not None:
            latest[own] = index
        if not message.sidechain:
            last = index
            main = index if message.active else main
    return found


def children_of(parents: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Return the roots, and for each message those that hang under it, both in file order."""
    roots: list[int] = []
    below: list[list[int]] = [[] for _ in parents]
    for index, parent in enumerate(parents):
        (roots if parent == NO_PARENT else below[parent]).append(index)
    return roots, below

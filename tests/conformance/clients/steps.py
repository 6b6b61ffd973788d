"""What may happen to a session before its client resumes it: changes by slowwave and turns of the client."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CLAUDE = ("claude", "claude-2.0.76", "claude-1.0.128")
ALL = (*CLAUDE, "codex", "pi")
# Clawdbot takes long to start, so only for this.
COMPACTED = (*ALL, "clawdbot")
KEEPING = ("claude", "codex", "pi", "clawdbot")

Change = Callable[[Path], Path]


class Asks(NamedTuple):
    """A turn that the client itself takes, for real.

    Attributes:
        prompt: what it is asked; the scripted server has it use tools for some prompts.
    """

    prompt: str


# What has a client compact by itself: a command, or a server that reports a full window, which the next turn finds.
_COMPACTING = {
    **dict.fromkeys(CLAUDE, (Asks("/compact"),)),
    "codex": (Asks("Please give a long answer [ctx=190000]"), Asks("Please say hello again")),
    **dict.fromkeys(("pi", "clawdbot"), (Asks("Please give a long answer"), Asks("And a long answer [ctx=127000]"))),
}


class Compacts(NamedTuple):
    """The client compacts the session by itself."""

    def turns(self, client: str) -> tuple[Asks, ...]:
        """Return the turns that make a client do it."""
        return _COMPACTING[client]


class Lists(NamedTuple):
    """A change that looks, in between, at what the client itself lists of a folder."""

    change: Callable[[Path, Callable[[Path], str]], Path]


Step = Change | Asks | Compacts | Lists


class Operation(NamedTuple):
    """What is done to a session, one step after the other.

    Attributes:
        name: what it is called in the report.
        clients: whose sessions take it.
        steps: what is done; the last file is then resumed.
        shows: a text that the client must send afterwards, or "".
        sessions: of how many sessions at most; 0 for all that are asked for.
    """

    name: str
    clients: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    shows: str = ""
    sessions: int = 0

"""What happens to a session before its client resumes it: changes by slowwave, drawn turns, the client's own turns."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.conformance.clients import changes, retained
from tests.conformance.clients.changes import NOTE, PLANNED, SUMMARY
from tests.conformance.clients.grown import grow

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


Step = Change | Asks | Compacts


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


_WORK = (Asks("Please fix the bug in calc.py"), Asks("Read the files in parallel"))


def _drawn(seed: int, *compactions: Change) -> Operation:
    """Return a row in which a session grows by the turns of a seed before each compaction."""
    steps = [step for i, one in enumerate(compactions) for step in (partial(grow, seed=seed * 10 + i), one)]
    times = ("once", "twice", "three times")[len(compactions) - 1]
    return Operation(f"drawn turns {seed}, compacted {times}", COMPACTED, tuple(steps), PLANNED, 1)


OPERATIONS = (
    Operation("unchanged", ALL),
    Operation("two messages appended", ALL, (changes.append,), NOTE),
    Operation("torn tail healed by an append", ALL, (changes.tear, changes.append), NOTE),
    Operation("compaction appended", ALL, (changes.summarise,), SUMMARY),
    Operation("compaction that keeps the last turn", ("claude", "pi", "codex"), (changes.summarise_keeping,), SUMMARY),
    Operation("compacted twice, with messages between", ALL, (changes.summarise, changes.append) * 2, NOTE),
    Operation("compacted by slowwave once", COMPACTED, (changes.lengthen, changes.compact), PLANNED),
    Operation("compacted by slowwave twice", COMPACTED, (changes.lengthen, changes.compact) * 2, PLANNED),
    Operation(
        "compacted by slowwave three times",
        COMPACTED,
        (*(changes.lengthen, changes.compact) * 3, changes.append),
        PLANNED,
    ),
    Operation("turn of the client split", KEEPING, (*_WORK, changes.compact_to_the_last), PLANNED, 1),
    Operation(
        "turn of the client, compacted, turn, compacted, turn",
        COMPACTED,
        (*_WORK, changes.compact, *_WORK, changes.compact_widely, Asks("Please list the files")),
        PLANNED,
        1,
    ),
    Operation(
        "compacted by its client, then by slowwave",
        COMPACTED,
        (Compacts(), *_WORK, changes.compact),
        PLANNED,
        1,
    ),
    Operation(
        "compacted by slowwave, then by its client",
        COMPACTED,
        (*_WORK, changes.compact, *_WORK, Compacts()),
        "",
        1,
    ),
    Operation("compaction taken back", COMPACTED, (*_WORK, changes.take_back), "", 1),
    Operation(
        "compaction not taken back behind a turn of the client",
        COMPACTED,
        (*_WORK, changes.compact, Asks("Please say hello again"), changes.fail_to_take_back),
        PLANNED,
        1,
    ),
    Operation(
        "gone back, then compacted",
        (*CLAUDE, "pi", "clawdbot"),
        (changes.lengthen, changes.rewind, changes.lengthen, changes.compact),
        PLANNED,
        1,
    ),
    Operation("forked, then compacted", (*CLAUDE, "pi"), (*_WORK, changes.fork, changes.compact), PLANNED, 1),
    _drawn(1, changes.compact),
    _drawn(2, changes.compact_widely, changes.compact),
    _drawn(3, changes.compact, changes.compact_to_the_last, changes.compact_widely),
    _drawn(4, changes.compact_to_the_last, changes.compact_to_the_last),
    Operation("kept by retention while another one went", COMPACTED, (retained.keep_alone,), "", 1),
    Operation("removed by retention, back from the trash", COMPACTED, (retained.back_from_trash,), "", 1),
    Operation("removed and freed by retention, back from the archive", COMPACTED, (retained.back_from_archive,), "", 1),
    Operation("purged by retention", ALL, (retained.purge,), "", 1),
    Operation("session named", ALL, (changes.name,)),
    Operation("message labelled", ("pi",), (changes.label,)),
    Operation("gone back to an older message, with a summary", ("pi",), (changes.branch, changes.append), SUMMARY),
    Operation("forked whole", (*CLAUDE, "pi"), (changes.fork,)),
    Operation("branch extracted", (*CLAUDE, "pi"), (changes.extract,)),
)

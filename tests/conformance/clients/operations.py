"""The rows: what happens to a session of whose clients before it is resumed, one step after the other."""

from functools import partial

from slowwave.compaction.plan import CLEARED
from tests.conformance.clients import changes, retained
from tests.conformance.clients.changes import NOTE, PLANNED, SUMMARY
from tests.conformance.clients.grown import grow, grow_outputs, roll_back
from tests.conformance.clients.steps import ALL, CLAUDE, COMPACTED, KEEPING, Asks, Change, Compacts, Lists, Operation

_WORK = (Asks("Please fix the bug in calc.py"), Asks("Read the files in parallel"))


_LISTED = Lists(retained.listed_all_along)


def _drawn(seed: int, *compactions: Change) -> Operation:
    """Return a row in which a session grows by the turns of a seed before each compaction."""
    steps = [step for i, one in enumerate(compactions) for step in (partial(grow, seed=seed * 10 + i), one)]
    times = ("once", "twice", "three times")[len(compactions) - 1]
    return Operation(f"drawn turns {seed}, compacted {times}", COMPACTED, tuple(steps), PLANNED, 1)


OPERATIONS = (
    Operation("unchanged", COMPACTED),
    Operation("two messages appended", COMPACTED, (changes.append,), NOTE),
    Operation("torn tail healed by an append", COMPACTED, (changes.tear, changes.append), NOTE),
    Operation("compaction appended", COMPACTED, (changes.summarise,), SUMMARY),
    Operation("compaction that keeps the last turn", KEEPING, (changes.summarise_keeping,), SUMMARY),
    Operation("compacted twice, with messages between", COMPACTED, (changes.summarise, changes.append) * 2, NOTE),
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
    Operation(
        "gone back, then compacted",
        ("codex",),
        (changes.lengthen, *_WORK, roll_back, changes.lengthen, changes.compact),
        PLANNED,
        1,
    ),
    Operation("old outputs of tools cleared", ("codex",), (grow_outputs, changes.prune), CLEARED, 1),
    Operation(
        "old outputs of tools cleared, turn of the client, then compacted",
        ("codex",),
        (grow_outputs, changes.prune, *_WORK, changes.compact_widely),
        PLANNED,
        1,
    ),
    Operation("forked, then compacted", (*CLAUDE, "pi"), (*_WORK, changes.fork, changes.compact), PLANNED, 1),
    _drawn(1, changes.compact),
    _drawn(2, changes.compact_widely, changes.compact),
    _drawn(3, changes.compact, changes.compact_to_the_last, changes.compact_lengthened),
    _drawn(4, changes.compact_to_the_last, changes.compact_to_the_last),
    Operation("kept by retention while another one went", COMPACTED, (retained.keep_alone,), "", 1),
    Operation("removed by retention, back from the trash", COMPACTED, (retained.back_from_trash,), "", 1),
    Operation("removed and freed by retention, back from the archive", COMPACTED, (retained.back_from_archive,), "", 1),
    Operation(
        "listed by its client: what was kept, not what went, what came back", ALL, (_LISTED,), "conformance-old", 1
    ),
    Operation("purged by retention", ALL, (retained.purge,), "", 1),
    Operation("session named", ALL, (changes.name,)),
    Operation("message labelled", ("pi",), (changes.label,)),
    Operation("gone back to an older message, with a summary", ("pi",), (changes.branch, changes.append), SUMMARY),
    Operation("forked whole", (*CLAUDE, "pi"), (changes.fork,)),
    Operation("branch extracted", (*CLAUDE, "pi"), (changes.extract,)),
)

"""What a client has to go on from after a compaction, noted before it is appended, and whether it does.

The note can be kept: after a kill between the append and its check the next run looks with other eyes, and must not
need the plan for it.
"""

import hashlib
from collections.abc import Sequence

from slowwave.compaction.items import Item
from slowwave.compaction.job.book import Expected
from slowwave.compaction.job.planning import tokens_after
from slowwave.compaction.job.reading import Reading, read_session
from slowwave.compaction.plan import Plan
from slowwave.formats.model import Block, SessionFiles, ToolResult


def expected_of(reading: Reading, plan: Plan, summary: str) -> Expected:
    """Return what a client goes on from once a plan is carried out."""
    stays = [item for item in plan.kept if item.speaks]
    after = tokens_after(reading, plan, summary)
    return Expected(summary.strip(), digest_of(stays), len(stays), reading.guess, after)


def difference(dialect: str, files: SessionFiles, expected: Expected) -> str:
    """Read a session again and say what its client would do other than expected; "" where it does exactly that.

    Raises:
        UnreadableError, UsageError: as :func:`slowwave.compaction.job.reading.read_session`.
    """
    after = read_session(dialect, files)
    at = -1
    if not expected.is_whole:
        at = next((i for i in range(len(after.items) - 1, -1, -1) if after.items[i].kind == "compaction"), -1)
        message = after.items[at].message if at >= 0 else None
        if message is None or expected.summary not in message.text:
            return "the client would not send the summary"
    # Codex shows what a person asked in front of the summary
    stays = [item for item in after.items[at + 1 :] if item.speaks]
    if digest_of(stays) != expected.stays:
        return (
            f"the client would send {len(stays)} messages{'' if expected.is_whole else ' behind the summary'},"
            f" not the {expected.messages} of the plan"
        )
    if after.guess >= expected.guess:
        return f"{expected.guess:,} tokens would become {after.guess:,}, {expected.planned:,} were planned"
    return ""


def digest_of(items: Sequence[Item]) -> str:
    """Return what is the same for two ranges that show the model the same."""
    digest = hashlib.sha256()
    for item in items:
        if item.message is not None:
            shown = (item.message.role, tuple(map(_shown, item.message.blocks)))
            digest.update(repr(shown).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _shown(block: Block) -> object:
    """Return what the model sees of a block: whether a tool failed, some dialects tell by the text alone."""
    return ("result", block.id, block.text) if isinstance(block, ToolResult) else block

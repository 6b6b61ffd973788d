"""The summary that is appended: the ledger of what goes away and, for clients that keep no message, the last ones.

A client that hides every message before a compaction would forget what was said a minute ago; there the newest
messages, up to what other clients would keep, stand in the summary word for word. The next compaction takes them out
again, since it gets the ledger of everything that they said.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from slowwave.compaction.cuts import find_cut
from slowwave.compaction.file_operations import NO_FILES, FileOperations, without_tags
from slowwave.compaction.job.reading import Reading
from slowwave.compaction.plan import Plan
from slowwave.compaction.serialise import flat
from slowwave.compaction.triggers import Budget
from slowwave.dialects.model import Message

_RECENT = re.compile(r"\n*<recent-messages>\n.*?\n</recent-messages>", re.DOTALL)
# Of the tokens that other clients keep: here they are sent as text, without what thinking and images need.
_RECENT_SHARE = 2
# A summary takes at most this share of what it stands for, and never more than the ledger's own limit.
_SHARE = 3
_LEAST_BYTES = 1_500

Redact = Callable[[str], str]


class Gone(NamedTuple):
    """What a summary stands for.

    Attributes:
        messages: in order.
        previous: the earlier summary, "" for the first one.
        cwd: the folder that paths are seen from.
        files: the lists that the earlier compaction carries.
        most_bytes: about how long the summary may become.
        redact: takes secrets out.
    """

    messages: list[Message]
    previous: str
    cwd: str
    files: FileOperations
    most_bytes: int
    redact: Redact


class Summary(NamedTuple):
    """What stands in the place of what goes away.

    Attributes:
        text: the summary with its lists of files.
        files: all files, also those that the text has no room for.
        source: ``ledger``, or ``model`` where a model told the narrative.
        score: share of the probes that it answers; None where nothing was probed.
        lost: what it does not tell.
    """

    text: str
    files: FileOperations
    source: str = "ledger"
    score: float | None = None
    lost: tuple[str, ...] = ()


Summarise = Callable[[Gone], Summary]


def summary_of(reading: Reading, plan: Plan, budget: Budget, summarise: Summarise, redact: Redact) -> Summary:
    """Return the summary of a plan.

    Args:
        reading: the session.
        plan: what goes away.
        budget: how many tokens of the newest messages are kept.
        summarise: makes the summary of what goes away.
        redact: takes secrets out: what is summarised is written again.
    """
    messages = [item.message for item in plan.history + plan.prefix if item.message is not None]
    carried = next((item.files for item in reversed(reading.items) if item.kind == "compaction"), NO_FILES)
    room = max(_LEAST_BYTES, int(plan.tokens_summarised * reading.rule.per_token / _SHARE))
    made = summarise(Gone(messages, _RECENT.sub("", plan.previous_summary), reading.cwd, carried, room, redact))
    text = made.text
    if not plan.kept and (recent := _recent(plan, budget)):
        bare = without_tags(text)
        text = bare.rstrip() + recent + text[len(bare) :]
    return made._replace(text=_sound(redact(text)), lost=tuple(map(redact, made.lost)))


def by_ledger(gone: Gone) -> Summary:
    """Return the summary that needs no model."""
    from slowwave.compaction.ledger import LedgerSettings, ledger_of, render  # noqa: PLC0415 - few sessions are due

    settings = LedgerSettings(most_bytes=min(LedgerSettings().most_bytes, gone.most_bytes))
    ledger = ledger_of(gone.messages, gone.previous, gone.cwd, files=gone.files, redact=gone.redact, settings=settings)
    made = render(ledger, redact=gone.redact)
    lost = [f"{entry.kind}: {entry.text}" for entry in made.dropped] + [f"read: {path}" for path in made.read_left_out]
    return Summary(made.text, ledger.files, lost=tuple(lost))


def _recent(plan: Plan, budget: Budget) -> str:
    items = [*plan.history, *plan.prefix]
    cut = find_cut(items, budget.keep_recent_tokens // _RECENT_SHARE)
    if cut.first_kept == 0:
        return ""  # a summary that repeats all of it would be longer than what it stands for
    text = flat(item.message for item in items[cut.first_kept :] if item.message is not None)
    return f"\n\n<recent-messages>\n{text}\n</recent-messages>" if text.strip() else ""


def _sound(text: str) -> str:
    """Return text that can be written: half a surrogate pair, as damaged files have them, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()

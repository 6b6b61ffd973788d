"""The summary of a branch that somebody leaves: what was said behind the message that they go on from.

Source: ``branchWithSummary`` and ``generateBranchSummary`` of pi. As there the model is asked where one is set; else,
and where its words do not pass the proof, the ledger tells what was done.
"""

from typing import cast

from slowwave.compaction.estimates import PI
from slowwave.compaction.job.due import budget_of
from slowwave.compaction.job.reading import Reading
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.summary import Gone
from slowwave.compaction.named_files import of_calls
from slowwave.compaction.pi_entries import pi_items
from slowwave.compaction.plan import Plan
from slowwave.compaction.usage import context_tokens
from slowwave.errors import UsageError
from slowwave.formats.pi.dialect import PiTranscript
from slowwave.formats.registry import by_name
from slowwave.stores.model import StoredSession
from slowwave.stores.writing.lookup import first_record, unknown

_LEAD = "Before going on from here, another way was tried and left. This was done there:\n\n"


def branch_summary(session: StoredSession, message_id: str, run: Compacting) -> str:
    """Return what is left behind when a session goes on from an older message.

    Raises:
        NotFoundError: the message is not on the path that its client goes on from.
        UsageError: its client has no branches, or nothing was said behind the message.
    """
    if session.dialect not in ("pi", "openclaw"):
        raise UsageError(f"{session.id}: {session.dialect} has no summaries of branches; nothing was written")
    read = cast("PiTranscript", by_name(session.dialect).read(session.files))
    cwd = first_record(session.files.paths[0]).get("cwd")
    items = pi_items(read.path, read.loaded, cwd if isinstance(cwd, str) else "")
    at = next((number for number, item in enumerate(items) if item.id == message_id), None)
    if at is None:
        raise unknown(message_id, session.id)
    left = tuple(item for item in items[at + 1 :] if item.speaks and item.kind != "compaction")
    if not left:
        raise UsageError(f"{session.id}: nothing was said behind {message_id}; leave --summarise out")
    calls = (call for item in left if item.message is not None for call in item.message.calls)
    plan = Plan(left, (), (), "", of_calls(calls), context_tokens(left))
    reading = Reading(session.dialect, list(left), PI, cwd=cwd if isinstance(cwd, str) else "")
    made = run.summarise(Gone(reading, plan, budget_of(reading, run.settings.compaction), run.redact))
    return _LEAD + run.redact(made.text)

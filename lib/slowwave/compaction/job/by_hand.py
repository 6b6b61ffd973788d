"""A compaction that a person asked for: of any session, also one that was stopped or that a person went back to."""

from slowwave.compaction.job.book import Appended
from slowwave.compaction.job.derived import content_stamp
from slowwave.compaction.job.drafting import Draft, drafted, settled_book, write
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.story import refusal
from slowwave.errors import UsageError
from slowwave.stores.model import StoredSession

_REFUSED = {
    "subagents": "a sub-agent's session belongs to the session it works for",
    "put_aside": "its client has put it aside",
    "read_only": "slowwave writes nothing to sessions of this kind",
}


def compact_one(session: StoredSession, run: Compacting) -> tuple[Draft, Appended | None]:
    """Compact one session now; with ``run.dry_run`` only plan it.

    Raises:
        UsageError: nothing would be gained, or its client takes no compaction; the message says why.
        RefusedError: a client has it open.
        SlowwaveError: it cannot be read.
    """
    if reason := refusal(session):
        raise UsageError(f"{session.id}: {_REFUSED[reason]}; nothing was written")
    book = settled_book(session, run)
    draft = drafted(session, content_stamp(session.files.paths), run, by_hand=True)
    if draft is None:
        raise UsageError(f"{session.id}: {run.report.items[-1].reason}; nothing was written")
    return draft, None if run.dry_run else write(draft, book, run, by_hand=True)

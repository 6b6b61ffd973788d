"""Files whose form has no place for a compaction: told before memories are saved and a summary is made of them.

Their writers refuse them as well; a dry run asks no writer and has to say the same.
"""

from slowwave.errors import UsageError
from slowwave.stores.model import StoredSession
from slowwave.stores.writing.lookup import first_record
from slowwave.stores.writing.pi_tail import on_disk


def check_form(session: StoredSession) -> None:
    """Do nothing where the session's file can take a compaction.

    Raises:
        UsageError: it cannot; the message says why, and what to do.
        UnreadableError: its client would not take it for a session.
    """
    path = session.files.paths[0]
    if session.dialect in ("pi", "openclaw"):
        on_disk(path)
    elif session.dialect == "codex" and "payload" not in first_record(path):
        raise UsageError(
            f"{session.id}: is of Codex's first form, which has no record for compactions: go on in a new session"
        )

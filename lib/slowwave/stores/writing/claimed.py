"""Refusing a session that a running Claude Code has open; its folders are Cersei's, too."""

from slowwave.dialects.model import SessionFiles
from slowwave.errors import RefusedError
from slowwave.stores.live import claimed_by
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import SIDE_FOLDER
from slowwave.stores.writing.base import Means, Target


def refuse_claimed(dialect: str, target: Target, means: Means) -> None:
    """Refuse a session that a running client says to have open.

    Raises:
        RefusedError: one does; the message names its process.
    """
    folder = target.path.parent
    inside = next((above for above in target.path.parents if above.name == SIDE_FOLDER), None)
    if target.side and inside is not None:
        folder = inside.parent.parent  # PROJECT/SESSION/subagents
    kind = "subagent" if target.side else "main"
    files = SessionFiles(target.id, target.files or (target.path,))
    reason = claimed_by(StoredSession(dialect, files, kind, folder, 0, 0), means.home, means.clock.now())
    if reason:
        raise RefusedError(f"session {target.id} is {reason}; close it there first")

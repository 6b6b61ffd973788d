"""What the writers of ``ID.jsonl`` share: a session that a running Claude Code has open is refused.

Its folders are Cersei's, too, whichever of the two wrote a session.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import RefusedError
from slowwave.formats.model import SessionFiles
from slowwave.stores.ids import base_path
from slowwave.stores.live import claimed_by
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import SIDE_FOLDER
from slowwave.stores.writing.base import Means, Target, Writer


class ClaimedWriter(Writer):
    """Writes to files called after their session's id, which no client locks."""

    def path(self, folder: Path, session_id: str) -> Path:
        """Return ``ID.jsonl``."""
        return base_path(folder, session_id)

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Look whether a running client notes the session as open (clients.md 4.1)."""
        _refuse_claimed(self.dialect, target, self.means)
        yield


def _refuse_claimed(dialect: str, target: Target, means: Means) -> None:
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

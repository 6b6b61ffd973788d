"""Sessions that kill the process that reads them: found, set aside as failed, and the rest of the piece is read.

A decoder that runs out of memory leaves no exception, only a process that is gone. Before it reads a session a worker
notes which, so that whoever misses it can tell what it was at. What two processes died of is not tried a third time.
"""

from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from slowwave.files import atomic_write, file_bytes
from slowwave.memory.names import name_to_json
from slowwave.stores.model import StoredSession

MOST = 2
_decoder = msgspec.json.Decoder(dict[str, int])


class Deaths:
    """Who died of what in one piece.

    Args:
        path: a file of the piece; beside it, ending in ``.at``, stands which session is being read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.with_suffix(".at")
        self._died = _decoder.decode(file_bytes(path)) if path.exists() else {}

    def __enter__(self) -> Self:
        """Begin to read."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Note that nothing is being read any more, however it ended: this process lives."""
        self._at.unlink(missing_ok=True)

    def of(self, session: StoredSession) -> int:
        """Return how many processes died while they read a session; 0 for one that may be read."""
        died = self._died.get(_name_of(session), 0)
        return died if died >= MOST else 0

    def expect(self, session: StoredSession) -> None:
        """Note which session is read now; it needs to survive this process, not this machine."""
        if not self._at.exists():
            self._at.touch(mode=0o600)
        self._at.write_bytes(_name_of(session).encode())

    def count(self) -> bool:
        """Note that the process that read this piece is gone; say whether it was reading a session."""
        if not self._at.exists():
            return False
        name = file_bytes(self._at).decode()
        self._at.unlink()
        self._died[name] = self._died.get(name, 0) + 1
        atomic_write(self._path, msgspec.json.encode(self._died))
        return True


def _name_of(session: StoredSession) -> str:
    """Return what tells a session from its copies, and from others in its file."""
    return f"{name_to_json(session.id)} {name_to_json(session.files.paths[0])}"

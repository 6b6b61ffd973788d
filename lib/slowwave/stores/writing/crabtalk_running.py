"""Whether crabtalk runs: it answers on a socket in its home, which it makes when it starts."""

import os
import socket
from pathlib import Path

HOME = ".crabtalk"
SOCKET = "run/crabtalk.sock"


def running_since(home: Path, session: Path) -> int | None:
    """Return when the crabtalk of this home started (in nanoseconds); None when it does not run or has not the file.

    Args:
        home: the user's home.
        session: the file of a session.
    """
    own = home / HOME
    if own.resolve() not in session.resolve().parents or not _answers(own / SOCKET):
        return None
    return (own / SOCKET).stat().st_mtime_ns


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(os.fspath(path))
        except OSError:
            return False  # no such socket, a leftover of one that ended, or a path longer than a socket's may be
    return True

"""A note that a client keeps of a session in an index of its own; :mod:`client_index` takes notes out and back in."""

from typing import Literal

import msgspec


class Note(msgspec.Struct, frozen=True):
    """An entry of an index.

    Attributes:
        path: the index.
        kind: entry (an object of ``sessions.json``) or line (lines of ``session_index.jsonl``).
        key: the session key, or the id of the thread.
        text: what stands there, byte for byte; bytes that are no UTF-8 stand as surrogates.
    """

    path: str
    kind: Literal["entry", "line"]
    key: str
    text: str

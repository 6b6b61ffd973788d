"""Records of Claude Code as they are decoded at load: a small envelope, everything else left as bytes.

Rare record types are decoded a second time, from the bytes that their span keeps.
"""

from typing import Any

import msgspec

from slowwave.records.lenient import decoded, whole
from slowwave.records.model import Span


class Head(msgspec.Struct, gc=False):
    """The part of ``message`` that loading needs; ``content`` stays undecoded."""

    id: str | None = None
    content: msgspec.Raw = msgspec.Raw()


class Envelope(msgspec.Struct, gc=False):
    """What loading needs of every record (client: every version from 1.0 to 2.1 uses these names)."""

    type: str | None = None
    uuid: str | None = None
    parent: str | None = msgspec.field(default=None, name="parentUuid")
    sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    timestamp: str | None = None
    cwd: str | None = None
    branch: str | None = msgspec.field(default=None, name="gitBranch")
    version: str | None = None
    is_meta: bool | None = msgspec.field(default=None, name="isMeta")
    is_summary: bool | None = msgspec.field(default=None, name="isCompactSummary")
    is_error: bool | None = msgspec.field(default=None, name="isApiErrorMessage")
    message: Head | None = None


DECODER = msgspec.json.Decoder(Envelope)


class Node(msgspec.Struct, gc=False):
    """A record with its place in the file; ``index`` is its rank among all records of the session."""

    env: Envelope
    span: Span
    index: int

    def fields(self) -> dict[str, Any]:
        """Return the whole record, decoded anew from its bytes."""
        return whole(self.span.raw)


def start_of(head: Head | None) -> bytes:
    """Return the first bytes of the undecoded content: enough to see what its first block is."""
    return b"" if head is None else bytes(memoryview(head.content)[:256])


def content_of(head: Head | None) -> object:
    """Return the decoded ``message.content`` (a string, a list, or None)."""
    return None if head is None else decoded(head.content)

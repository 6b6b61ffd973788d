"""The message whose content is known when it is made: summaries, words found beside records, contexts."""

# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false
# (fields in the place of read-only properties: both are only read)

from datetime import datetime

import msgspec

from slowwave.dialects.model import Block, Message, Origin, Role
from slowwave.records.model import Span


class PlainMessage(Message, msgspec.Struct, frozen=True, gc=False, eq=False):
    """A message that was decoded already; the fields are those of :class:`Message`."""

    role: Role
    blocks: tuple[Block, ...]
    sources: tuple[Span, ...]
    origin: Origin
    id: str | None = None
    timestamp: datetime | None = None
    cwd: str = ""
    active: bool = True
    sidechain: bool = False
    branch: str = ""
    parent: str | None = None

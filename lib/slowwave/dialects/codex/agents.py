"""What one agent of Codex tells another: a line of its own in a rollout, or JSON as the only text of a message.

Source: tried on client 0.169. A rollback counts it as the start of a turn; to the model it is sent under a name of
its own, not as a message.
"""

import re
from typing import Annotated

import msgspec

from slowwave.records.model import REFUSALS

# The root, one with a name of its own, and those below the root.
_Path = Annotated[str, msgspec.Meta(pattern=r"^(/morpheus|/root(/(?!root(/|$))[a-z0-9_]+)*)$")]
_MARK = re.compile(rb'trigger_turn\\*"')


class _Told(msgspec.Struct, gc=False):
    author: _Path
    recipient: _Path
    content: str
    trigger_turn: bool
    other_recipients: list[_Path] = []


_DECODER = msgspec.json.Decoder(_Told)


def may_instruct(raw: bytes | msgspec.Raw) -> bool:
    """Say whether bytes could hold such a thing; a cheap look before they are decoded."""
    return _MARK.search(raw) is not None


def is_instruction(raw: bytes | msgspec.Raw) -> bool:
    """Say whether JSON is what one agent tells another, as the client parses it."""
    try:
        _DECODER.decode(raw)
    except REFUSALS:
        return False
    return True

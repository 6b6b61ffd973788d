"""The last record of a session, read from its end: what a new record is chained to."""

from typing import NamedTuple

import msgspec

from slowwave.dialects.model import SessionFiles
from slowwave.records.tail import lines_backward


class LastRecord(NamedTuple):
    """Id of the last record of the main conversation, its working folder and git branch, where they are known."""

    uuid: str | None
    cwd: str
    branch: str


class _Line(msgspec.Struct, gc=False):
    type: object = None
    uuid: object = None
    cwd: object = None
    gitBranch: object = None  # noqa: N815 - the client's spelling
    isSidechain: object = None  # noqa: N815
    is_sidechain: object = None


_decoder = msgspec.json.Decoder(_Line)
_CHAINED = ("user", "assistant", "system", "attachment")


def last_record(files: SessionFiles) -> LastRecord:
    """Return the record that was appended last to the main conversation; damaged lines are passed over.

    The file order is the append order: after a rewind the newest line is on the branch that goes on.
    """
    for path in reversed(files.paths):
        for _, raw in lines_backward(path):
            try:
                line = _decoder.decode(raw.strip(b" \t\r\n\0"))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            is_main = line.isSidechain is not True and line.is_sidechain is not True
            if line.type in _CHAINED and isinstance(line.uuid, str) and is_main:
                return LastRecord(line.uuid, _text(line.cwd), _text(line.gitBranch))
    return LastRecord(None, "", "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

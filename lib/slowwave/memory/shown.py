"""Which lines ``extracted.md`` was given: a waiting line that is missing all the same was taken out by a person.

A line that a kill kept from being written was never noted here, so it is told apart and written again. The note comes
after the file: a kill between the two costs only that one removal right after it is not understood as such.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from slowwave.files import atomic_write
from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem
from slowwave.memory.guard import OWN_FOLDER

FILE = "shown.jsonl"


class _Shown(msgspec.Struct, frozen=True):
    """A line of the file: ids of candidates with the line that shows each."""

    shown: dict[str, str]


_decoder = msgspec.json.Decoder(_Shown)
_encode = msgspec.json.Encoder().encode


def read_shown(memory: Path) -> dict[str, str]:
    """Return for each candidate the line that showed it last.

    A note that a kill left torn counts as not written: its lines are given again, and noted again.

    Raises:
        UnreadableError: the file exists and cannot be opened.
    """
    path = memory / OWN_FOLDER / FILE
    torn: list[Problem] = []
    shown: dict[str, str] = {}
    if path.exists():
        for _, note in read_records(path, _decoder, torn):
            shown.update(note.shown)
    return shown


def note_shown(memory: Path, shown: Mapping[str, str]) -> None:
    """Note what is shown now and was not noted yet; the caller holds the guard.

    Raises:
        OSError: the file cannot be written.
    """
    known = read_shown(memory)
    whole = known | dict(shown)
    if whole != known:
        # in the order of ids: a night in portions leaves the same bytes as one that went in one go
        lines = [_encode(_Shown({name: whole[name]})) + b"\n" for name in sorted(whole)]
        atomic_write(memory / OWN_FOLDER / FILE, lines)


def without_shown(data: bytes, candidates: Collection[str]) -> bytes:
    """Return the content of the file without the lines of some candidates; torn notes stay as they are."""
    left: list[bytes] = []
    for line in data.splitlines(keepends=True):
        try:
            note = _decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            left.append(line)
            continue
        shown = {name: text for name, text in note.shown.items() if name not in candidates}
        if shown == note.shown:
            left.append(line)
        elif shown:
            left.append(_encode(_Shown(shown)) + b"\n")
    return b"".join(left)

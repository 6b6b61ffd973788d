"""Files of a memory folder without the memories, candidates and sessions that go.

What does not change keeps its bytes. The ledger and the list of candidates lose lines, texts lose the lines that were
rendered from what goes, and a parked dream that names any of it goes as a whole.
"""

from collections.abc import Collection
from pathlib import Path

import msgspec

from slowwave.memory.authors import FILE as WRITES
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.extracted import remove_lines
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.ledger import FILE as LEDGER
from slowwave.memory.ledger import encode_events, line_hash, parse_ledger
from slowwave.memory.shown import FILE as SHOWN
from slowwave.retention.forgetting import Gone, filtered

_PARKED = "parked"


def without(gone: Gone, folder: Path, path: Path, data: bytes) -> bytes | None:
    """Return what a file of a memory folder is without what goes; None when the whole file goes.

    Raises:
        CorruptStateError: the ledger is damaged.
    """
    parts = path.relative_to(folder).parts
    if not gone or (path.suffix != ".md" and OWN_FOLDER not in parts):
        return data
    if path.suffix == ".md":
        return _text_without(gone, path.name, data)
    match path.name:
        case ledger if ledger == LEDGER:
            left = _ledger_without(gone, path, data)
        case candidates if candidates == CANDIDATES:
            left = _candidates_without(gone, data)
        case shown if shown == SHOWN:
            left = _shown_without(gone, data)
        case writes if writes == WRITES:
            # its notes may be deleted: sessions are then read again
            left = None if any(one.encode() in data for one in gone.sessions) else data
        case _ if _PARKED in parts:
            ids = gone.sessions | gone.memories | gone.candidates
            left = None if any(one.encode() in data for one in ids) else data
        case _:
            left = _lines_without(gone.sessions, data) if path.suffix == ".jsonl" else data
    return left


def _lines_without(ids: Collection[str], data: bytes) -> bytes:
    marks = [one.encode() for one in ids]
    return b"".join(line for line in data.splitlines(keepends=True) if not any(one in line for one in marks))


def _text_without(gone: Gone, name: str, data: bytes) -> bytes:
    if name == EXTRACTED:
        text = data.decode("utf-8", "surrogateescape")
        return remove_lines(text, sorted(gone.lines)).encode("utf-8", "surrogateescape")
    hashes = gone.hashes
    return b"\n".join(line for line in data.split(b"\n") if line_hash(line) not in hashes)


def _ledger_without(gone: Gone, path: Path, data: bytes) -> bytes:
    out: list[bytes] = []
    for raw in data.splitlines(keepends=True):
        events = parse_ledger(raw, path)
        if any(not gone.memories.isdisjoint((event.memory, *event.memories)) for event in events):
            continue
        left = [filtered(event, gone) for event in events]
        # what does not change keeps its bytes
        out.append(raw if left == events else encode_events(left))
    return b"".join(out)


def _candidates_without(gone: Gone, data: bytes) -> bytes:
    out: list[bytes] = []
    for raw in data.splitlines(keepends=True):
        try:
            line = msgspec.json.decode(raw, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            out.append(raw)  # torn by a kill: extraction reads past it
            continue
        session = line.extracted.session if line.extracted is not None else line.session
        if line.id not in gone.candidates and (session is None or session.id not in gone.sessions):
            out.append(raw)
    return b"".join(out)


class _Session(msgspec.Struct, frozen=True):
    id: str = ""


class _Range(msgspec.Struct, frozen=True):
    session: _Session


class _Line(msgspec.Struct, frozen=True):
    """What of a line of ``candidates.jsonl`` says whether it goes."""

    id: str = ""
    session: _Session | None = None
    extracted: _Range | None = None


def _shown_without(gone: Gone, data: bytes) -> bytes:
    """Forget that lines were shown: else a candidate that waits again would look as if a person had taken it out."""
    return _lines_without([f'"{one}"' for one in gone.candidates | gone.released], data)

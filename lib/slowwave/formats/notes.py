"""What clients note of a session in an index of theirs: taken out together with the session, put back with it.

OpenClaw and Clawdbot name the transcript of each conversation in ``sessions.json``, Codex the names of threads in
``session_index.jsonl``. A note holds what stood there as it was written, so that it comes back byte for byte.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from slowwave.errors import MovedError
from slowwave.formats import whole
from slowwave.formats.changes import file_state, rewrite_without
from slowwave.formats.openclaw.store import SessionEntry, SessionStore, entry_of, read_store, update_store, values_of


class Note(msgspec.Struct, frozen=True):
    """An entry of an index."""

    path: str  # the index
    kind: Literal["entry", "line"]  # entry (an object of ``sessions.json``) or line (lines of ``session_index.jsonl``)
    key: str  # the session key, or the id of the thread
    text: str  # what stands there, byte for byte; bytes that are no UTF-8 stand as surrogates


def entry_note(path: Path, key: str, entry: SessionEntry) -> Note:
    """Return the note of an entry of ``sessions.json``."""
    return Note(str(path), "entry", key, _text(msgspec.json.encode(entry.fields)))


def thread_notes(path: Path, thread: str) -> tuple[Note, ...]:
    """Return the note of a thread in the index of a Codex home, none when nobody named it."""
    lines = [line for _, line, own in _lines(path) if own == thread] if path.is_file() else []
    return (Note(str(path), "line", thread, _text(b"\n".join(lines))),) if lines else ()


def take_out(notes: Iterable[Note]) -> None:
    """Take notes out of their indexes; one that is gone already counts as taken out.

    Raises MovedError: the client has changed one since it was looked at; nothing of that index was taken out;
    LockHeldError: a client held the lock of its index all the time; UnreadableError: an index cannot be read; it is
    left as it is; OSError: an index cannot be written; it is left as it is.
    """
    for path, mine in _by_index(notes):
        if not path.exists():
            continue
        if mine[0].kind == "entry":
            update_store(path, lambda store, mine=mine: _take_entries(store, mine))
        else:
            _take_lines(path, {note.key: note for note in mine})


def any_stands(notes: Iterable[Note]) -> bool:
    """Say whether one of the notes still stands in its index, as it is or changed."""
    return any(_stands(path, {note.key for note in mine}, mine[0].kind) for path, mine in _by_index(notes))


def _stands(path: Path, keys: Collection[str], kind: str) -> bool:
    if not path.exists():
        return False
    there = read_store(path) if kind == "entry" else (thread for _, _, thread in _lines(path))
    return any(key in keys for key in there)


def put_back(notes: Iterable[Note]) -> list[str]:
    """Put notes back where they were, and return warnings: what the client noted meanwhile stays.

    Raises LockHeldError, MovedError, UnreadableError, OSError: an index cannot be written; call it again.
    """
    warnings: list[str] = []
    for path, mine in _by_index(notes):
        if mine[0].kind == "entry":
            update_store(path, lambda store, mine=mine: _put_entries(store, mine, warnings))
        else:
            _put_lines(path, mine, warnings)
    return warnings


def _by_index(notes: Iterable[Note]) -> Iterator[tuple[Path, list[Note]]]:
    found: dict[str, list[Note]] = defaultdict(list)
    for note in notes:
        found[note.path].append(note)
    for path, mine in found.items():
        yield Path(path), mine


def _take_entries(store: SessionStore, notes: list[Note]) -> None:
    for note in notes:
        entry = store.get(note.key)
        if entry is not None and entry.fields != _fields(note):
            raise MovedError(f"{store.path}: {note.key} changed since it was looked at, so nothing was removed")
    for note in notes:
        store.remove(note.key)


def _put_entries(store: SessionStore, notes: list[Note], warnings: list[str]) -> None:
    for note in notes:
        entry = store.get(note.key)
        if entry is None:
            store.put(note.key, entry_of(dict(_fields(note))))
        elif entry.fields != _fields(note):
            warnings.append(f"{store.path}: {note.key} goes on in another session by now; that stays so")


def _fields(note: Note) -> Mapping[str, msgspec.Raw]:
    return values_of(_bytes(note.text)) or {}


def _take_lines(path: Path, notes: Mapping[str, Note]) -> None:
    state = file_state(path)
    found: dict[str, list[bytes]] = defaultdict(list)
    drop: list[tuple[int, int]] = []
    for offset, line, thread in _lines(path):
        if thread in notes:
            found[thread].append(line)
            drop.append((offset, len(line)))
    for thread, lines in found.items():
        if _text(b"\n".join(lines)) != notes[thread].text:
            raise MovedError(f"{path}: {thread} was named again since it was looked at, so nothing was removed")
    if drop:
        rewrite_without(path, drop, expect=state)


def _put_lines(path: Path, notes: list[Note], warnings: list[str]) -> None:
    if not path.exists():
        warnings.append(f"{path}: is gone, so {len(notes)} names of threads could not be put back")
        return
    state = file_state(path)
    lines = [(offset, line, thread) for offset, line, thread in _lines(path)]
    named = {thread for _, _, thread in lines}
    insert: list[tuple[int, bytes]] = []
    for note in notes:
        if note.key in named:
            if _text(b"\n".join(line for _, line, thread in lines if thread == note.key)) != note.text:
                warnings.append(f"{path}: {note.key} was named again meanwhile; that name stays")
            continue
        insert += [(_place(lines, line, state.size), line) for line in _bytes(note.text).split(b"\n")]
    if insert:
        rewrite_without(path, (), insert, expect=state)


def _place(lines: list[tuple[int, bytes, str]], line: bytes, end: int) -> int:
    """Return where a line belongs: a name counts as given when its line was written, and the last one wins."""
    own = str(whole(line).get("updated_at", ""))
    return next((offset for offset, other, _ in lines if str(whole(other).get("updated_at", "")) > own), end)


def _lines(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """Yield offset, bytes and thread of every line of an index of Codex."""
    offset = 0
    for raw in path.read_bytes().split(b"\n"):
        if raw.strip():
            yield offset, raw, str(whole(raw).get("id", ""))
        offset += len(raw) + 1


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")

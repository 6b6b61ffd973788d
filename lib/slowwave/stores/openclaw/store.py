"""``sessions.json``: which session each conversation of an agent goes on in, and what the client notes of it.

Read as JSON5, as the client reads it, though it writes JSON. Written in the client's form: under ``<store>.lock``, a
temporary file and a rename, mode 0600. Beyond the client: what nobody changed stays byte for byte, the file is synced,
and a store that cannot be read is an error and never overwritten (the client takes it for empty and wipes it).
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from slowwave.errors import MovedError, UnreadableError
from slowwave.files import replacement, write_all
from slowwave.stores.openclaw.entries import SessionEntry, encoded, entry_of, merged
from slowwave.stores.openclaw.lock import STORE_LOCK, held_lock
from slowwave.stores.openclaw.values import Fields, values_of

NAME = "sessions.json"
_PRIVATE = 0o600
_REMEDY = "repair or move it away by hand; nothing is written over it"


class SessionStore(Mapping[str, SessionEntry]):
    """The entries of a store by session key; values that are no entries stay in the file and are not seen here.

    Attributes:
        path: the file.
        raw: its bytes as they were read, b"" when there is no file.
        odd: keys whose values are no objects.
    """

    def __init__(self, path: Path, raw: bytes, values: Fields) -> None:
        self.path = path
        self.raw = raw
        self._values = values
        self._entries: dict[str, SessionEntry] = {}
        self._changed: set[str] = set()
        self.odd: list[str] = []
        for key, value in values.items():
            fields = values_of(value)
            if fields is None:
                self.odd.append(key)
            else:
                self._entries[key] = entry_of(fields)

    def __getitem__(self, key: str) -> SessionEntry:
        """Return the entry of a session key."""
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        """Yield the session keys in the order of the file."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._changed)

    def put(self, key: str, entry: SessionEntry) -> None:
        """Set an entry."""
        old = self._entries.get(key)
        if old is None or old.fields != entry.fields:
            self._entries[key] = entry
            self._values[key] = msgspec.Raw(b"")
            self._changed.add(key)
            self.odd = [name for name in self.odd if name != key]

    def remove(self, key: str) -> None:
        """Take an entry out; nothing happens when there is none."""
        if self._entries.pop(key, None) is not None:
            del self._values[key]
            self._changed.add(key)

    def encoded(self) -> bytes:
        """Return the file as the client writes it, two spaces a level; what was not changed keeps its bytes."""
        lines = [b"  %b: %b" % (msgspec.json.encode(key), self._written(key)) for key in self._values]
        return b"{\n" + b",\n".join(lines) + b"\n}" if lines else b"{}"

    def _written(self, key: str) -> bytes:
        if key not in self._changed:
            return bytes(self._values[key])
        fields = self._entries[key].fields
        pairs = [b"    %b: %b" % (msgspec.json.encode(name), _indented(raw)) for name, raw in fields.items()]
        return b"{\n" + b",\n".join(pairs) + b"\n  }" if pairs else b"{}"


def _indented(raw: msgspec.Raw) -> bytes:
    """Indent a value that was made here; one from the file stands where it stood."""
    value = bytes(raw)
    return value.replace(b"\n", b"\n    ") if b"\n" in value and value[-2:] in (b"\n}", b"\n]") else value


def read_store(path: Path) -> SessionStore:
    """Read a store; a missing file is an empty one, and so is an empty list, as in the client's own test.

    Raises:
        UnreadableError: it cannot be opened, or is neither JSON nor JSON5, or not an object.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return SessionStore(path, b"", {})
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    values = values_of(raw)
    return SessionStore(path, raw, values if values is not None else _values_of_json5(path, raw))


def _values_of_json5(path: Path, raw: bytes) -> Fields:
    value = json5_of(path, raw)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {str(key): msgspec.Raw(bytes(encoded(item)).replace(b"\n", b"\n  ")) for key, item in items}
    if value == []:
        return {}
    raise UnreadableError(path, f"holds a {type(value).__name__} where session keys are expected", _REMEDY)


def json5_of(path: Path, raw: bytes) -> object:
    """Return what a file holds that a person may have written.

    Raises:
        UnreadableError: it is neither JSON nor JSON5.
    """
    import pyjson5  # noqa: PLC0415 - clients write plain JSON; only people write JSON5

    try:
        return pyjson5.decode_utf8(raw)
    except (pyjson5.Json5Exception, ValueError, RecursionError) as error:
        reason = error.args[0] if error.args else type(error).__name__
        raise UnreadableError(path, f"is neither JSON nor JSON5: {reason}", _REMEDY) from error


def update_store(
    path: Path, change: Callable[[SessionStore], None], *, timeout_s: float = STORE_LOCK.timeout_s
) -> SessionStore:
    """Change a store under its lock: read, change, write; nothing is written when nothing changed.

    Raises:
        UnreadableError: the store cannot be read; it is left as it is.
        LockHeldError: another process held the lock all the time.
        LockLostError: the lock was taken over meanwhile; the store is left as it was.
        MovedError: somebody wrote without the lock meanwhile; the store is left as they wrote it.
    """
    with held_lock(path, STORE_LOCK, timeout_s=timeout_s) as lock:
        store = read_store(path)
        change(store)
        if not store.is_changed:
            return store

        def check() -> None:
            lock.check()
            if (path.read_bytes() if path.exists() else b"") != store.raw:
                raise MovedError(f"{path}: its client wrote to it meanwhile; try again")

        with replacement(path, mode=_PRIVATE, check=check) as fd:
            write_all(fd, store.encoded())
    return store


def update_entry(
    path: Path,
    key: str,
    patch: Callable[[SessionEntry], Mapping[str, object] | None],
    now_ms: int,
    *,
    timeout_s: float = STORE_LOCK.timeout_s,
) -> SessionEntry | None:
    """Lay a patch over one entry under the store's lock; return the entry, None when there is none.

    Args:
        path: the store.
        key: the session key.
        patch: makes the fields to set from the entry as it is now; None leaves it.
        now_ms: the current time in milliseconds.
        timeout_s: how long to wait for the lock.

    Raises:
        UnreadableError, LockHeldError, LockLostError, MovedError: as :func:`update_store`.
    """

    def change(store: SessionStore) -> None:
        entry = store.get(key)
        fields = patch(entry) if entry is not None else None
        if fields:
            store.put(key, merged(entry, fields, now_ms, ""))

    return update_store(path, change, timeout_s=timeout_s).get(key)

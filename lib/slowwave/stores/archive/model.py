"""What a pack holds, in the words of its table.

A pack is one file: a magic number, compressed frames, a table of what they are, and a trailer that says where the table
lies. It needs no other file to be read. A file of a session is cut into chunks, each a zstd frame of its own, so that a
few bytes of it are read without the rest; small files share a dictionary that was trained on them (perf.md J8).
"""

import hashlib
import json
import struct
from typing import Any, Literal, cast

import msgspec

from slowwave.stores.client_notes import Note

MAGIC = b"SWPACK1\n"
SUFFIX = ".swpack"
VERSION = 1
# offset and length of the table, its hash, and the magic number again
TRAILER = struct.Struct("<QQ32s8s")
CHUNK = 8 << 20
# files up to this size gain from a dictionary; above it they have learnt enough by themselves
SMALL = 128 << 10
# The fast strategy with long matches over a whole chunk: nearly as small as level 3 on transcripts, at half its time. A
# table of 256 KiB stays in the cache of a core; one of 512 KiB takes a fifth more time for 1 % of real ones.
LEVEL, WINDOW_LOG, HASH_LOG, MIN_MATCH = 2, 23, 16, 7
# small files are few bytes in all, and gain by a closer look
LEVEL_OF_SMALL = 12


class PackedFile(msgspec.Struct, frozen=True):
    """A file, folder or link of a session as it was in its place.

    Attributes:
        path: its absolute path; bytes that are no UTF-8 stand as surrogates.
        kind: what it is.
        mode: permission bits.
        mtime_ns: time of its last change.
        size: bytes; of a link and a folder 0.
        hash: blake2b of its bytes, in hex; of a link its target.
        start: where its first frame begins in the pack.
        chunks: of every frame the bytes it takes and the bytes it stands for.
        shared: its frames need the dictionary of the pack.
    """

    path: str
    kind: Literal["file", "folder", "link"]
    mode: int
    mtime_ns: int
    size: int = 0
    hash: str = ""
    start: int = 0
    chunks: tuple[tuple[int, int], ...] = ()
    shared: bool = False


class PackedSession(msgspec.Struct, frozen=True):
    """A session in a pack.

    Attributes:
        id: its id.
        dialect: of its files.
        project: key of the project that it worked in.
        root: the working folder of that project.
        at: when it was archived.
        last: its last activity, in seconds since 1970.
        files: everything of it, folders before what is in them.
        row: what a listing shows of it.
        inside: what a listing shows of the sub-agents whose files are among its own.
        notes: what its client noted of it in indexes, which a restore puts back.
    """

    id: str
    dialect: str
    project: str
    root: str
    at: str
    last: float
    files: tuple[PackedFile, ...]
    row: dict[str, Any] = {}
    inside: tuple[dict[str, Any], ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of its files as they were in their place."""
        return sum(file.size for file in self.files)


class Table(msgspec.Struct, frozen=True):
    """All that a pack holds.

    Attributes:
        v: version of the form.
        sessions: what was packed.
        dictionary: where the dictionary lies, compressed, as offset and length; (0, 0) without one.
    """

    v: int
    sessions: tuple[PackedSession, ...]
    dictionary: tuple[int, int] = (0, 0)


# what only a table of this form begins with
_BEGIN = b'{"v":%d,' % VERSION


def digest() -> hashlib.blake2b:
    """Return a new hash of the kind that packs use: as strong as SHA-256, and twice as fast."""
    return hashlib.blake2b(digest_size=32)


class NewerError(ValueError):
    """A table has a form that this version does not know."""


def encoded(table: Table) -> bytes:
    """Return a table as JSON; the standard library writes names that are not UTF-8 as escapes and reads them back."""
    return json.dumps(msgspec.to_builtins(table), separators=(",", ":")).encode("ascii")


def may_name(data: bytes, text: str) -> bool:
    """Say whether what ``encoded`` wrote may have a text in it, which takes a fraction of decoding all of it."""
    return not data.startswith(_BEGIN) or json.dumps(text)[1:-1].encode("ascii") in data


def decoded(data: bytes) -> Table:
    """Return the table that ``encoded`` wrote.

    Raises:
        NewerError: a newer version wrote it.
        ValueError: it is none.
    """
    try:
        # many times as fast; names that are not UTF-8, and what a newer version wrote, it leaves to the other reader
        table = msgspec.json.decode(data, type=Table)
        if table.v == VERSION:
            return table
    except msgspec.DecodeError:
        pass
    tree = cast("dict[str, Any]", json.loads(data))
    if tree.get("v") != VERSION:
        raise NewerError(f"has the form {tree.get('v')}, which a newer version of slowwave wrote")
    return msgspec.convert(tree, Table)

"""Where the bytes of evidence lie now: at their place, elsewhere in their file, or in another file.

Every file is read at most twice, however many pieces are looked for: once at the recorded places, once from beginning
to end for all pieces that were not there. A record is one line, or one of several objects that stand on one line.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Self

from slowwave.errors import UnreadableError
from slowwave.formats.codex.home import find_rollout, sibling, thread_in_name
from slowwave.formats.lines import MOST_BYTES, SUFFIX, open_plain, plain_of
from slowwave.memory.model import Evidence
from slowwave.stores.archive.shelf import PackedPlaces, is_inside

_BLANK = b" \t\r\n\0"
_TRANSCRIPTS = (".jsonl", f".jsonl{SUFFIX}")

Found = dict[str, tuple[Path, int]]


class PlainFiles:
    """Opens plain and packed files for reading; the last one stays open, since its pieces come one after the other.

    Args:
        folders: where archives of sessions may lie.

    Attributes:
        packs: the files in these archives.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.packs = PackedPlaces(folders)
        self._opened: tuple[Path, int, BinaryIO] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, path: Path, most: int = MOST_BYTES) -> BinaryIO:
        """Return the file; of its plain bytes only the first ``most`` are needed.

        Raises:
            UnreadableError: it cannot be opened.
        """
        if self._opened is None or self._opened[0] != path or self._opened[1] < most:
            self._opened = None
            self._stack.close()
            self._opened = path, most, self._stack.enter_context(self._plain(path, most))
        return self._opened[2]

    def has(self, path: Path) -> bool:
        """Say whether there is such a file."""
        return path in self.packs if is_inside(path) else path.is_file()

    def _plain(self, path: Path, most: int) -> BinaryIO:
        return plain_of(path, self.packs.open(path), most=most) if is_inside(path) else open_plain(path, most=most)

    def is_at(self, path: Path, evidence: Evidence) -> bool:
        """Say whether the recorded bytes lie at the recorded place of a file."""
        try:
            file = self.open(path, most=evidence.offset + evidence.length)
            file.seek(evidence.offset)
            return hashlib.sha256(file.read(evidence.length)).hexdigest() == evidence.sha256
        except (OSError, UnreadableError):
            return False

    def search(self, path: Path, pieces: Iterable[Evidence]) -> dict[str, int]:
        """Return where pieces lie in a file, by their hash: one reading for all of them."""
        wanted: dict[int, set[str]] = {}
        for piece in pieces:
            wanted.setdefault(piece.length, set()).add(piece.sha256)
        found: dict[str, int] = {}
        try:
            file = self.open(path)
            offset = file.seek(0)
            for line in file:
                _search_line(line, offset, wanted, found)
                offset += len(line)
        except (OSError, UnreadableError):
            return found
        return found


def _search_line(line: bytes, offset: int, wanted: dict[int, set[str]], found: dict[str, int]) -> None:
    raw = line.strip(_BLANK)
    begin = offset + len(line) - len(line.lstrip(_BLANK))
    hashes = wanted.get(len(raw))
    if hashes and (digest := hashlib.sha256(raw).hexdigest()) in hashes:
        found.setdefault(digest, begin)
    start = 0
    # two objects on one line: each of them may be a record
    while start >= 0 and b"}{" in raw:
        for length, those in wanted.items():
            end = start + length
            if raw[end - 1 : end] == b"}" and end <= len(raw):
                digest = hashlib.sha256(raw[start:end]).hexdigest()
                if digest in those:
                    found.setdefault(digest, begin + start)
        start = raw.find(b"}{", start) + 1 or -1


def places(path: Path, folders: Sequence[Path], packs: PackedPlaces) -> Iterator[Path]:
    """Yield the file itself, then where else its client may have put it, then files of its name in the folders.

    What was archived comes before files that have no more than its name.
    """
    yield path
    if path.name.endswith(_TRANSCRIPTS):
        yield sibling(path)
        if (thread := thread_in_name(path)) and (rollout := find_rollout(path, thread)) is not None:
            yield rollout
        yield from packs.named(path)
        yield from packs.named(sibling(path))
        yield from named(sibling(path).name, folders)
    yield from named(path.name, folders)


def named(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of a name below the folders."""
    for folder in folders:
        if folder.is_dir():
            yield from sorted(folder.rglob(_literal(name)))


def all_transcripts(folders: Sequence[Path], packs: PackedPlaces) -> Iterator[Path]:
    """Yield every transcript below the folders once: a session may have been renamed, forked in parts or copied."""
    yield from (place for place in packs.every() if place.name.endswith(_TRANSCRIPTS))
    seen: set[Path] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*.jsonl*")) if folder.is_dir() else ():
            if path.name.endswith(_TRANSCRIPTS) and path not in seen and path.is_file():
                seen.add(path)
                yield path


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)

"""What a hold is asked about a session: in its place, in the trash, or in a pack of the archive."""

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.lines import open_regular, plain_of, read_records
from slowwave.formats.model import Problem
from slowwave.formats.tail import lines_backward
from slowwave.formats.times import parse_time
from slowwave.retention.beside import named_after, session_files
from slowwave.retention.holds import Facts
from slowwave.retention.job.fleet import Member, paths_of
from slowwave.stores.archive.model import PackedSession
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.shelf import Shelved, ids_of
from slowwave.stores.belongings import belongings_of
from slowwave.stores.model import StoredSession
from slowwave.stores.trash import TrashItem, ids_in

# so many records at each end of a file tell when something happened in it
_LOOKED_AT = 60
_BLOCK = 16 << 20
_Times = tuple[float, float]


class _Line(msgspec.Struct, gc=False):
    timestamp: object = None
    created_at: object = None


_decoder = msgspec.json.Decoder(_Line)


def facts_of(member: Member, home: Path) -> Facts:
    """Return what a hold is asked about a session that lies in its place, with all that goes where it goes."""
    project, paths = member.project, paths_of(member)
    places = [project.key, project.root, *dict.fromkeys(os.fspath(path.parent) for path in paths)]
    return Facts({one.id for one in member.sessions}, places, lambda: _times(member), lambda: _texts(member, home))


def facts_of_item(item: TrashItem, trash: Path, known: PackedSession | None) -> Facts:
    """Return what a hold is asked about an item of the trash.

    Args:
        item: the item.
        trash: the folder of the trash.
        known: its session as it was archived: nothing else tells its project for sure.
    """
    stored = {Path(file.path): trash / item.id / file.stored for file in item.files if file.kind == "file"}
    newest = max((file.mtime_ns for file in item.files if file.kind == "file"), default=0) / 1e9
    places = None if known is None else _places(known, (file.path for file in item.files))
    return Facts(
        ids_in(item),
        places,
        lambda: _until(newest, times_of(stored.values())),
        lambda: (text for name, path in stored.items() for text in _blocks(name, open_regular(path))),
    )


def facts_of_shelved(one: Shelved) -> Facts:
    """Return what a hold is asked about a session in the archive."""
    session = one.session
    return Facts(
        ids_of(session),
        _places(session, (file.path for file in session.files)),
        lambda: _times_in(session),
        lambda: _texts_in(one),
    )


def texts_in(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the names of files and their plain bytes, in blocks of whole lines.

    Raises:
        UnreadableError: one of them cannot be read to its end.
    """
    for path in paths:
        yield from _blocks(path, open_regular(path))


def times_of(paths: Iterable[Path]) -> _Times | None:
    """Return the earliest and latest time that the first and last records of files tell, None when none does."""
    found: list[float] = []
    for path in paths:
        problems: list[Problem] = []
        first = (raw for _, raw in islice(read_records(path, _decoder, problems), _LOOKED_AT))
        found += _seconds(first)
        found += _seconds(line for line in map(_decoded, islice(lines_backward(path), _LOOKED_AT)) if line)
    return (min(found), max(found)) if found else None


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files among some paths, and those in their folders; no link is followed."""
    for path in paths:
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from files_below(sorted(path.iterdir()))
        elif path.is_file():
            yield path


def _blocks(name: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield the name of a file and its plain bytes; the name tells whether it is packed, wherever it lies now."""
    yield os.fsencode(name)
    problems: list[Problem] = []
    with plain_of(name, file, problems) as plain:
        if problems:
            raise UnreadableError(name, problems[0].detail)  # nobody knows who is in the rest
        while block := plain.read(_BLOCK):
            yield block + plain.readline()


def _places(session: PackedSession, paths: Iterable[str]) -> Sequence[str]:
    return [session.project, session.root, *dict.fromkeys(os.path.dirname(path) for path in paths)]  # noqa: PTH120


def _times(member: Member) -> _Times | None:
    return _until(max(one.mtime_ns for one in member.sessions) / 1e9, times_of(paths_of(member)))


def _until(newest: float, found: _Times | None) -> _Times | None:
    return (found[0], max(found[1], newest)) if found else None


def _times_in(session: PackedSession) -> _Times | None:
    """Return the times that are listed of an archived session and of what went with it, None when one is missing."""
    rows = (session.row, *session.inside)
    times = [parse_time(str(row.get(name))) for row in rows for name in ("created", "last_activity")]
    known = [at.timestamp() for at in times if at is not None]
    return (min(known), max(*known, session.last)) if len(known) == len(times) else None


def files_of(session: StoredSession, home: Path) -> Iterator[Path]:
    """Yield every file that a client keeps of a session alone: what is held, or left alone, with it.

    Raises:
        UnreadableError: the index of its client cannot be read.
        OSError: a folder cannot be listed.
    """
    yield from session_files(session)
    yield from files_below(belongings_of(session, home).paths)
    if not session.in_database:
        yield from files_below(named_after(session, home))


def _texts(member: Member, home: Path) -> Iterator[bytes]:
    notes = belongings_of(member.session, home).notes
    yield "\n".join((member.session.id, *(note.text for note in notes))).encode("utf-8", "surrogateescape")
    yield from texts_in(dict.fromkeys(path for one in member.sessions for path in files_of(one, home)))


def _texts_in(one: Shelved) -> Iterator[bytes]:
    with Pack(one.pack) as pack:
        for file in one.session.files:
            if file.kind == "file":
                yield from _blocks(Path(file.path), io.BytesIO(pack.read(file)))


def _decoded(line: tuple[int, bytes]) -> _Line | None:
    try:
        return _decoder.decode(line[1].strip(b" \t\r\n\0"))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _seconds(lines: Iterable[_Line]) -> list[float]:
    texts = (text for line in lines for text in (line.timestamp, line.created_at) if isinstance(text, str))
    return [at.timestamp() for at in map(parse_time, texts) if at is not None]

"""A week of sample sessions of an invented team, so that a first night has something to read.

Two projects, five agents (Claude Code in three layouts, Cersei, pi, Codex, opencode), and one of everything that a
night has to get right: preferences, also one that is said to two agents, corrections, decisions that are superseded, a
command that fails and then succeeds, fake secrets, a hostile README.

``week/`` holds the files as they would have been left in the first week of 2001, and ``files.json`` where each lies and
when it was changed last. When the week is built, every date, time and id that is made of a time moves on by whole days.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import orjson

from slowwave.errors import UnreadableError
from slowwave.files import atomic_write, private_folder

MARKER = ".slowwave-sample.json"
_FORMAT = 2
# the midnight that the week in the files begins with; nothing else in them falls into it
BASE = datetime(2001, 1, 1, tzinfo=UTC)
DAYS = 7
FOLDER = resources.files("slowwave.samples").joinpath("week")
LIST = "files.json"
# the database of opencode is kept as SQL
DATABASE = "opencode.sql"

_DAY_S = 86_400
_DATE = re.compile(rb"2001([-/])01\1(0[1-8])")
# seconds or milliseconds
_TIME = re.compile(rb"(?<![\w.])978[3-9]\d{5}(\d{3})?(?!\w)")
# version 7 of UUID begins with milliseconds; an id of opencode holds 36 bits of them, and a counter of 12 bits behind
_UUID7 = re.compile(rb"00e3([0-9a-f]{4})-([0-9a-f]{4})(?=-7)")
_SORTED = re.compile(rb"(?<=(ses|msg|prt)_)[0-9a-f]{12}")

# Fake secrets, shaped like real ones and good for nothing: they prove that redaction works. Each is joined when the
# week is built, so that the scanners of code hosts, which look for these shapes, find nothing in it.
_PIECES: dict[str, tuple[str, ...]] = {
    # the access key id and secret of a cloud, which spell out that they are none
    "aws_key": ("AK", "IA", "SAMPLE", "FAKE", "KEY", "234"),
    "aws_secret": ("fakeFAKE", "fake/", "notAReal", "Key+", "tern0", "Week7", "Story"),
    # a password inside a connection URL
    "db_url": ("postgres", "://", "tern_app", ":", "fake-", "Horse9", "-staple", "@", "db.staging.invalid", "/tern"),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample week on disk."""

    # the folder that plays a person's home, for ``--store``; every client's sessions lie where it keeps them
    home: Path
    # the ``now`` that its week was laid out before; it stays what it was when the week was built first
    built_at: datetime
    files: tuple[str, ...]  # paths of all files of the clients, relative to the home
    is_new: bool  # True when this call wrote it, False when it was there already


def build(target: Path, now: datetime) -> Sample:
    """Write the sample week below ``target``, as if its last session had ended the evening before ``now``.

    A target that holds a finished sample is left exactly as it is, also what jobs have done to it since, so that a
    second night sees the same world. A sample that was begun and not finished is written again.

    Raises:
        UnreadableError: ``target`` is not a folder, or holds something that is not a sample.
        OSError: ``target`` is not writable.
    """
    if target.exists() and not target.is_dir():
        raise UnreadableError(target, "is not a folder", "name a new or empty folder for the sample")
    marker = target / MARKER
    if marker.is_file():
        known = _read_marker(marker)
        if known is not None:
            return known
    elif target.is_dir() and any(target.iterdir()):
        raise UnreadableError(
            target, "exists and is not a sample of slowwave", "name a new or empty folder for the sample"
        )
    private_folder(target)
    _mark(marker, now, (), finished=False)
    names: list[str] = []
    for name, modified, data in files_of(now):
        path = target / name
        private_folder(path.parent)
        atomic_write(path, data)
        os.utime(path, (modified.timestamp(), modified.timestamp()))
        names.append(name)
    _mark(marker, now, tuple(names), finished=True)
    return Sample(target, now, tuple(names), is_new=True)


def _mark(marker: Path, now: datetime, names: tuple[str, ...], *, finished: bool) -> None:
    state = {"format": _FORMAT, "built_at": now.astimezone(UTC).isoformat(), "files": names, "finished": finished}
    atomic_write(marker, orjson.dumps(state, option=orjson.OPT_INDENT_2) + b"\n")


def _read_marker(marker: Path) -> Sample | None:
    try:
        state = orjson.loads(marker.read_bytes())
        if not state["finished"]:
            return None
        built_at = datetime.fromisoformat(state["built_at"])
        names = tuple(str(name) for name in state["files"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        remedy = "delete the sample's folder to have it built again"
        raise UnreadableError(marker, f"is not the marker of a sample: {error}", remedy) from error
    return Sample(marker.parent, built_at, names, is_new=False)


def files_of(now: datetime) -> Iterator[tuple[str, datetime, bytes]]:
    """Yield every file of the week that ended the evening before ``now``: its path below the home, its time, its bytes.

    The same ``now`` gives the same bytes.
    """
    days = (now.astimezone(UTC).date() - BASE.date()).days - DAYS
    for name, kept, modified in orjson.loads(_moved(FOLDER.joinpath(LIST).read_bytes(), days)):
        data = _moved(FOLDER.joinpath(kept).read_bytes(), days)
        for mark, secret in secrets().items():
            data = data.replace(f"{{{{{mark}}}}}".encode(), secret.encode())
        yield name, datetime.fromisoformat(modified), _database(data) if kept == DATABASE else data


def _moved(data: bytes, days: int) -> bytes:
    """Return what a file says when its week begins so many days later."""
    seconds, milliseconds = days * _DAY_S, days * _DAY_S * 1000

    def date(found: re.Match[bytes]) -> bytes:
        day = BASE + timedelta(days=days + int(found[2]) - 1)
        return f"{day:%Y-%m-%d}".encode().replace(b"-", found[1])

    def sorted_id(found: re.Match[bytes]) -> bytes:
        # a newer session sorts before an older one
        shift = -milliseconds if found[1] == b"ses" else milliseconds
        return b"%012x" % ((int(found[0], 16) + (shift << 12)) % (1 << 48))

    def uuid(found: re.Match[bytes]) -> bytes:
        moved = b"%012x" % (int(b"00e3" + found[1] + found[2], 16) + milliseconds)
        return moved[:8] + b"-" + moved[8:]

    data = _TIME.sub(lambda found: b"%d" % (int(found[0]) + (milliseconds if found[1] else seconds)), data)
    data = _UUID7.sub(uuid, _DATE.sub(date, data))
    return _SORTED.sub(sorted_id, data) if data.startswith(b"CREATE TABLE") else data


def _database(script: bytes) -> bytes:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(script.decode())
        return database.serialize()


def secrets() -> dict[str, str]:
    """Return the planted fake secrets by name, each as it stands in the transcripts."""
    return {name: "".join(pieces) for name, pieces in _PIECES.items()}

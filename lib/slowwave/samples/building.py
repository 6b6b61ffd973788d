"""Writing the sample week into a folder: once, whole, and never over anything that is not ours."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from slowwave.errors import UnreadableError
from slowwave.files import atomic_write, private_folder
from slowwave.samples.week_plan import plan

MARKER = ".slowwave-sample.json"
_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample week on disk.

    Attributes:
        home: the folder that plays a person's home, for ``--store``; every client's sessions lie where it keeps them.
        built_at: the ``now`` that its week was laid out before; it stays what it was when the week was built first.
        files: paths of all files of the clients, relative to the home.
        is_new: True when this call wrote it, False when it was there already.
    """

    home: Path
    built_at: datetime
    files: tuple[str, ...]
    is_new: bool


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
    for file in plan(now):
        path = target / file.path
        private_folder(path.parent)
        atomic_write(path, file.data)
        moment = file.modified.timestamp()
        os.utime(path, (moment, moment))
        names.append(file.path)
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

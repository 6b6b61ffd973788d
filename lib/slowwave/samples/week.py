"""Writing the sample week into a folder: once, whole, and never over anything that is not ours."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from importlib import resources
from pathlib import Path

import orjson

from slowwave.errors import UnreadableError
from slowwave.files import atomic_write, private_folder
from slowwave.samples.cersei import CLIENT as CERSEI
from slowwave.samples.cersei import write_cersei
from slowwave.samples.claude import Written, write_claude
from slowwave.samples.codex import CLIENT as CODEX
from slowwave.samples.codex import write_codex
from slowwave.samples.opencode import CLIENT as OPENCODE
from slowwave.samples.opencode import Begun, write_opencode
from slowwave.samples.pi import CLIENT as PI
from slowwave.samples.pi import write_pi
from slowwave.samples.script import SampleFile, Script, parse

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


# Where the sessions of the sample week go: which folder, which time, which bytes.

HOME = "/home/ana"
DAYS = 7
_PROJECTS = ".claude/projects"
# clients whose session is one file of its own
_ALONE = {PI: write_pi, CODEX: write_codex}


def scripts() -> tuple[Script, ...]:
    """Return the bundled scripts in the order of their names.

    Raises:
        ScriptError: a script does not follow the format.
    """
    folder = resources.files("slowwave.samples").joinpath("week")
    found = sorted((item for item in folder.iterdir() if item.name.endswith(".txt")), key=lambda item: item.name)
    return tuple(parse(item.name.removesuffix(".txt"), item.read_text(encoding="utf-8")) for item in found)


def first_day(now: datetime) -> datetime:
    """Return midnight UTC of the first day of the week that ended the evening before ``now``."""
    today = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    return today - timedelta(days=DAYS)


def plan(now: datetime) -> Iterator[SampleFile]:
    """Yield every file of the sample week, always the same for the same ``now``."""
    in_database: list[Begun] = []
    for script in scripts():
        began = first_day(now) + timedelta(days=script.day - 1, minutes=script.minute)
        cwd = f"{HOME}/{script.project}"
        if script.client == OPENCODE:
            in_database.append(Begun(script, began, cwd))
        elif script.client in _ALONE:
            yield _ALONE[script.client](script, began, cwd)
        else:
            write = write_cersei if script.client == CERSEI else write_claude
            yield from _files(folder_of(script), write(script, began, cwd))
    database = write_opencode(in_database)
    if database:
        yield database


def folder_of(script: Script) -> str:
    """Return the name of a project folder of Claude Code or Cersei: each spells the same path in its own way."""
    path = f"{HOME}/{script.project}"
    # one project has its Cersei sessions among the others (the seed's spelling), one in the library's spelling
    separator = "_" if script.client == CERSEI and script.project == "quill" else "-"
    return path.replace("/", separator)


def _files(folder: str, written: Written) -> Iterator[SampleFile]:
    for name, lines in written.lines.items():
        data = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        yield SampleFile(f"{_PROJECTS}/{folder}/{name}", data, _last_time(lines))
    for name, note in written.notes.items():
        yield SampleFile(f"{_PROJECTS}/{folder}/{name}", orjson.dumps(note), written.ended)


def _last_time(lines: list[dict[str, object]]) -> datetime:
    stamps = [str(line["timestamp"]) for line in lines if "timestamp" in line]
    return max(datetime.fromisoformat(_to_micros(stamp)) for stamp in stamps)


def _to_micros(stamp: str) -> str:
    # nanoseconds are more than Python reads
    return f"{stamp[:26]}{stamp[29:]}" if stamp.endswith("+00:00") else stamp

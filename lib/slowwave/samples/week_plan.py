"""Where the sessions of the sample week go: which folder, which time, which bytes."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from importlib import resources

import orjson

from slowwave.samples.cersei import write_cersei
from slowwave.samples.claude import Written, write_claude
from slowwave.samples.codex import write_codex
from slowwave.samples.opencode import Begun, write_opencode
from slowwave.samples.pi import write_pi
from slowwave.samples.sample_file import SampleFile
from slowwave.samples.script import Script, parse

HOME = "/home/ana"
DAYS = 7
_PROJECTS = ".claude/projects"


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
        match script.client:
            case "pi":
                yield write_pi(script, began, cwd)
            case "codex":
                yield write_codex(script, began, cwd)
            case "opencode":
                in_database.append(Begun(script, began, cwd))
            case "cersei":
                yield from _files(folder_of(script), write_cersei(script, began, cwd))
            case _:
                yield from _files(folder_of(script), write_claude(script, began, cwd))
    database = write_opencode(in_database)
    if database:
        yield database


def folder_of(script: Script) -> str:
    """Return the name of a project folder of Claude Code or Cersei: each spells the same path in its own way."""
    path = f"{HOME}/{script.project}"
    # one project has its Cersei sessions among the others (the seed's spelling), one in the library's spelling
    separator = "_" if script.client == "cersei" and script.project == "quill" else "-"
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

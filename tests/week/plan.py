"""The sample week as its clients would have left it: which folder, which time, which bytes.

The library holds it as files, which ``python -m tests.week.plan`` writes anew from the scripts beside this module.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import orjson

from slowwave.samples import BASE, DATABASE, DAYS, FOLDER, LIST, secrets
from tests.week.cersei import CLIENT as CERSEI
from tests.week.cersei import write_cersei
from tests.week.claude import Written, write_claude
from tests.week.codex import CLIENT as CODEX
from tests.week.codex import write_codex
from tests.week.opencode import CLIENT as OPENCODE
from tests.week.opencode import TABLES, Begun, write_opencode
from tests.week.pi import CLIENT as PI
from tests.week.pi import write_pi
from tests.week.script import SampleFile, Script, parse

HOME = "/home/ana"
_PROJECTS = ".claude/projects"
# clients whose session is one file of its own
_ALONE = {PI: write_pi, CODEX: write_codex}


def scripts() -> tuple[Script, ...]:
    """Return the scripts in the order of their names.

    Raises:
        ScriptError: a script does not follow the format.
    """
    found = sorted((Path(__file__).parent / "scripts").glob("*.txt"))
    return tuple(parse(path.stem, path.read_text(encoding="utf-8")) for path in found)


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


# Writing the files of the library.


def record(folder: Path) -> None:
    """Write the week that begins at ``BASE`` as the library keeps it: marks for secrets, a database as SQL."""
    listed: list[tuple[str, str, str]] = []
    for number, file in enumerate(plan(BASE + timedelta(days=DAYS, hours=12)), start=1):
        path = Path(file.path)
        kept = DATABASE if path.suffix == ".db" else f"{number:02}-{path.parts[0][1:]}{path.suffix}"
        data = _sql(file.data) if path.suffix == ".db" else file.data
        for name, secret in secrets().items():
            data = data.replace(secret.encode(), f"{{{{{name}}}}}".encode())
        (folder / kept).write_bytes(data)
        listed.append((file.path, kept, file.modified.isoformat()))
    (folder / LIST).write_bytes(orjson.dumps(listed, option=orjson.OPT_INDENT_2) + b"\n")


def _sql(data: bytes) -> bytes:
    """Return a database as SQL: tables with their indexes first, then the rows in their order."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(data)
        rows = [line for line in database.iterdump() if line.startswith("INSERT")]
        return "\n".join([TABLES.strip(), "BEGIN;", *rows, "COMMIT;", ""]).encode()


if __name__ == "__main__":
    record(Path(str(FOLDER)))

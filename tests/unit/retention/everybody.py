"""A hundred people in every form in the homes of all clients, and a search that shares nothing with the product."""

import base64
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, quote_plus

import ahocorasick_rs
import zstandard

from slowwave.stores.archive.pack import Pack
from tests.unit.retention import planted
from tests.unit.stores import families

FIRST = ("Ottilie", "Wendeline", "Zoë", "Björn", "Šárka", "Nguyễn", "小龙", "Ægir", "Quirin", "Malvina")
LAST = (
    *("Kreuzbaum", "Täufer", "O'Dunnell", "Vandersteen", "Łukasz", "Hafþór", "Брежнев", "Xanthopoulos", "Ünal"),
    "Ferrante",
)
EVERYBODY = tuple(f"{first} {last}" for first in FIRST for last in LAST)
# the drills look for all of them; the usual tests for some in every script
PEOPLE = EVERYBODY if os.environ.get("DRILLS") == "all" else EVERYBODY[::9]
ZSTD = b"\x28\xb5\x2f\xfd"
KINDS = ("plain", "json", "json in json", "escaped", "url", "base64 at 0", "base64 at 1", "base64 at 2")


def all_escaped(name: str) -> str:
    """Return a name with every character as ``\\uXXXX``."""
    units = name.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def coded(data: bytes, shift: int) -> bytes:
    """Return the signs that data surely leaves in base64 when it begins at this byte of a group of three."""
    signs = base64.b64encode(b"x" * shift + data + b"xx")
    return signs[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]


def forms(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield every form in which a name could stand somewhere, with its kind."""
    data = name.encode()
    yield "plain", data
    yield "json", json.dumps(name)[1:-1].encode()
    yield "json in json", json.dumps(json.dumps(name))[3:-3].encode()
    yield "escaped", all_escaped(name).encode()
    yield "escaped", all_escaped(name).upper().replace("\\U", "\\u").encode()
    yield "url", quote(name, safe="").encode()
    yield "url", quote_plus(name).encode()
    yield "url", quote(name, safe="'").encode()
    for shift in range(3):
        for inner in (data, json.dumps(name)[1:-1].encode()):
            yield f"base64 at {shift}", coded(inner, shift)
            yield f"base64 at {shift}", coded(inner, shift).translate(bytes.maketrans(b"+/", b"-_"))


_EVERY = [(name, kind, form) for name in PEOPLE for kind, form in forms(name)]
_SEARCH = ahocorasick_rs.BytesAhoCorasick([form for *_, form in _EVERY])


def pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file as they lie, and whatever is packed anywhere in them."""
    data = path.read_bytes()
    yield data
    yield from _frames(data)
    if data.startswith(b"SQLite format 3\0"):
        yield from _values(path)
    if path.suffix == ".swpack":
        with Pack(path) as pack:
            yield repr(pack.table).encode("utf-8", "surrogateescape")
            if pack.table.dictionary != (0, 0):
                yield pack.dictionary()
            for session in pack.table.sessions:
                yield from (pack.read(file) for file in session.files if file.kind == "file")


def _frames(data: bytes) -> Iterator[bytes]:
    for match in re.finditer(re.escape(ZSTD), data):
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(data[match.start() :])
        except zstandard.ZstdError:
            continue  # no frame, or one that needs the dictionary of its pack, which is read as such


def _values(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.text_factory = bytes
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            for row in database.execute(f'SELECT * FROM "{name.decode()}"'):
                for value in row:
                    if isinstance(value, bytes):
                        yield value
                        yield from _frames(value)


def found_in(home: Path) -> dict[tuple[str, str], set[str]]:
    """Return which names stand in which form, and in which files; names of files count, too."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in sorted(home.rglob("*")):
        for data in (os.fsencode(path.relative_to(home)), *(pieces(path) if path.is_file() else ())):
            for number, _, _ in _SEARCH.find_matches_as_indexes(data, overlapping=True):
                name, kind, _ = _EVERY[number]
                found.setdefault((name, kind), set()).add(str(path))
    return found


def left_in(home: Path) -> list[str]:
    """Return the files in which anybody stands in any form."""
    return sorted({path for paths in found_in(home).values() for path in paths})


def said(number: int) -> str:
    """Return a text that names a few people in every form."""
    some = [PEOPLE[(number * 7 + i) % len(PEOPLE)] for i in range(7)]
    return " ; ".join(
        (
            f"always ask {some[0]} before a release",
            json.dumps({"who": some[1]}),
            json.dumps(json.dumps({"who": some[2]})),
            f"https://x.test/?who={quote(some[3])}&n=1",
            *(base64.b64encode(b"1" * shift + some[4].encode() + b"\n").decode() for shift in range(3)),
            base64.encodebytes(f"{'-' * 50} {some[5]} and more".encode()).decode(),
            all_escaped(some[6]),
            some[6],
        )
    )


def about(name: str) -> str:
    """Return a text that names one person in every form."""
    plain, *_ = (form for kind, form in forms(name) if kind == "plain")
    written = [json.dumps(name), json.dumps(json.dumps(name)), quote(name, safe=""), all_escaped(name)]
    return " ; ".join([name, *written, *(base64.b64encode(b"1" * n + plain + b"\n").decode() for n in range(3))])


def plant(root: Path) -> None:
    """Let people and agents name the subjects in every file of a store."""
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix in (".jsonl", ".json", "")]
    files += list(root.rglob("*.jsonl.*Z"))
    for number, file in enumerate(sorted(set(files))):
        for old in (b"mend it", b"look", b"go on", b"and this", b"done"):
            number += 11  # noqa: PLW2901 - others for each place
            # what is escaped already stays so: such an escape then stands in the file as it is
            text = json.dumps(said(number), ensure_ascii=number % 2 == 0)[1:-1].replace("\\\\u", "\\u").encode()
            file.write_bytes(file.read_bytes().replace(old, text, 1))


def openclaw(home: Path) -> Path:
    """Return a home of OpenClaw whose database names people: plain and packed, in titles, and in deleted rows."""
    family = families.openclaw(home)
    with closing(sqlite3.connect(family.path)) as rows:
        known = rows.execute("SELECT rowid, event_json FROM transcript_events").fetchall()
        for number, (row, line) in enumerate(known):
            for old in ("mend it", "done"):
                number += 17  # noqa: PLW2901 - others for each place
                line = line.replace(old, json.dumps(said(number))[1:-1])  # noqa: PLW2901 - its new form
            packed = zstandard.ZstdCompressor().compress(line.encode()) if number % 2 else None
            values = (None if packed else line, packed, len(line.encode()), row)
            rows.execute(
                "UPDATE transcript_events SET event_json = ?, event_zstd = ?, event_utf8_bytes = ? WHERE rowid = ?",
                values,
            )
        rows.execute("UPDATE session_nodes SET display_name = ?", (f"Ask {PEOPLE[0]}",))
        rows.commit()
    return family.root


def opencode(home: Path) -> Path:
    """Return a data folder of opencode with its database: a search, a table without numbers, what was deleted."""
    family = families.opencode_rows(home)
    with closing(sqlite3.connect(family.path)) as rows:
        rows.execute("PRAGMA journal_mode = WAL")
        for table in ("part", "message"):
            known = rows.execute(f"SELECT rowid, data FROM {table}").fetchall()
            for number, (row, data) in enumerate(known):
                new = data.replace("mend it", json.dumps(said(number + 23))[1:-1])
                rows.execute(f"UPDATE {table} SET data = ? WHERE rowid = ?", (new, row))
        rows.execute("UPDATE session SET title = ?", (f"Mail to {PEOPLE[-1]}",))
        rows.executescript(
            "CREATE TABLE event (aggregate TEXT, seq INTEGER, data TEXT, PRIMARY KEY (aggregate, seq)) WITHOUT ROWID;"
            "CREATE VIRTUAL TABLE search USING fts5(said);"
            "CREATE TABLE gone (said TEXT);"
        )
        for number in range(60):
            rows.execute("INSERT INTO event VALUES ('ses_main', ?, ?)", (number, json.dumps({"v": said(number)})))
            rows.execute("INSERT INTO search VALUES (?)", (said(number + 3),))
            rows.execute("INSERT INTO gone VALUES (?)", (said(number + 5) * 4,))
        rows.executemany("INSERT INTO search VALUES (?)", [(about(name),) for name in PEOPLE])
        rows.execute("PRAGMA secure_delete = OFF")
        rows.execute("DELETE FROM gone")
        rows.commit()
    (family.root / "auth.json").write_text('{"key": "nobody"}\n')
    return family.root


def planted_in(build: Callable[[Path], Path], home: Path) -> Path:
    """Return a store of a client that names people in every form in all its files."""
    root = build(home)
    if build is planted.opencode:
        (root / "tool-output").mkdir()
        (root / "tool-output" / "tool_1").write_text(said(71))
    if build is planted.claude:
        lines = [json.dumps({"display": about(name)}).replace("\\\\u", "\\u") for name in PEOPLE]
        (root / "history.jsonl").write_text("\n".join(lines) + "\n")
    if build not in (openclaw, opencode):
        plant(root)
    return root


STORES = (*planted.WRITTEN, openclaw, opencode)
# two clients that would share a folder
_ELSEWHERE: dict[Callable[[Path], Path], str] = {planted.cersei: "cersei", planted.opencode: "former"}


def every_store(home: Path) -> list[Path]:
    """Return one store of each client, all in one home."""
    return [planted_in(build, home / _ELSEWHERE.get(build, "")) for build in STORES]

"""A home in which every kind of secret stands in every place of a session, and what slowwave wrote beside it."""

import base64
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import zstandard

from slowwave.context import FixedClock, Run
from slowwave.jobs.story import run_job
from slowwave.settings import Settings, load_settings
from slowwave.stores.catalogue import Catalogue, catalogue_path
from slowwave.stores.discovery import list_sessions
from slowwave.stores.search.index import SearchIndex, index_path
from tests.quality.secret_fresh import (
    SPLIT_INTO,
    SPLITS_FRESH,
    SPLITS_FRESH_FOURTH,
    SPLITS_FRESH_SECOND,
    SPLITS_FRESH_THIRD,
)
from tests.quality.secret_told import SPLITS, split, told
from tests.quality.secret_values import Planted, planted
from tests.unit.secrets.keys import give_key

NOW = datetime(2026, 3, 2, 3, 30, tzinfo=UTC)
CWD = "/home/ann/shop"
# in the first seven a record of a session says it, in the last its title
PLACES = (
    "typed",
    "answered",
    "command",
    "output of a failure",
    "failure of a tool",
    "answer to a question",
    "summary",
    "title",
)
_EACH_SESSION = 12
# something to remember, in few of many sessions
_WISHES = 20


def kinds(seed: int = 43) -> list[Planted]:
    """Return one secret of every kind: of every family, told in every manner, split in every way."""
    every = [*planted(1, seed), *(one for name in _TOLD for one in told(1, seed, name)), *split(1, seed, SPLITS)]
    for ways in (SPLITS_FRESH, SPLITS_FRESH_SECOND, SPLITS_FRESH_THIRD, SPLITS_FRESH_FOURTH):
        every += split(1, seed, ways, {"S": SPLIT_INTO["S"][:1]})
    # three digits stand in every number
    return [one for one in every if any(len(needle) > _SHORT for needle in needles(one))]


_TOLD = (
    "secret_told.txt",
    "secret_told_held_back.txt",
    "secret_told_fresh.txt",
    "secret_told_fresh_second.txt",
    "secret_told_fresh_third.txt",
    "secret_told_fresh_fourth.txt",
)
_SHORT = 3


def needles(one: Planted) -> list[str]:
    """Return what of a secret may stand nowhere: the value, and pieces of it that nobody could guess."""
    return [one.value, *(body for body in one.bodies if len(body) >= _GUESSED)]


_GUESSED = 8


class SecretHome:
    """Sessions of Claude Code in a home of their own, with secrets in one of the places."""

    def __init__(self, root: Path, place: str, secrets: Sequence[Planted]) -> None:
        self.root = root
        self.place = place
        self.environ = {
            "HOME": str(root),
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_DATA_HOME": str(root / "data"),
            "XDG_CONFIG_HOME": str(root / "config"),
        }
        give_key(root / "config")
        self.folder = root / ".claude" / "projects" / "-home-ann-shop"
        self.folder.mkdir(parents=True)
        # of several titles the last one counts
        each = 1 if place == "title" else _EACH_SESSION
        for number in range(0, len(secrets), each):
            self._session(number // each, [one.text for one in secrets[number : number + each]])
        self.own = set(self._files())

    def night(self) -> dict[str, Any]:
        """Run a night, list and index all sessions, and return the report as anybody may read it."""
        settings = self.settings()
        report = run_job("nightly", Run("r1", settings, FixedClock(NOW), self.environ))
        with Catalogue(catalogue_path(self.environ)) as catalogue, SearchIndex(index_path(self.environ)) as index:
            rows = list_sessions(settings, self.environ, catalogue).rows
            index.refresh(rows)
        return {"counts": report.counts, "report": json.dumps(report.to_builtins(), ensure_ascii=False)}

    def settings(self) -> Settings:
        return load_settings(self.environ, cwd=self.root)

    def written(self) -> Iterator[tuple[Path, str]]:
        """Yield every file that slowwave wrote, unpacked, as text."""
        for path in self._files():
            if path not in self.own:
                yield path, "\n".join(_plain(path))

    def _files(self) -> Iterator[Path]:
        return (path for path in sorted(self.root.rglob("*")) if path.is_file())

    def _session(self, number: int, texts: list[str]) -> None:
        name = f"00000000-0000-4000-8000-{number:012}"
        rows: list[dict[str, Any]] = []
        wish = f"the api of module{number} is frozen until version {number}" if number < _WISHES else "go on"
        # a session that is shorter is not read
        for text in [wish, *texts, *["go on"] * (_EACH_SESSION - len(texts))]:
            place = self.place if rows else "typed"
            for kind, message in _messages(place, text, len(rows)):
                at = NOW - timedelta(hours=8) + timedelta(seconds=len(rows))
                rows.append(
                    {
                        "type": kind,
                        "uuid": f"{name}-{len(rows)}",
                        "parentUuid": f"{name}-{len(rows) - 1}" if rows else None,
                        "sessionId": name,
                        "cwd": CWD,
                        "version": "2.1.0",
                        "timestamp": at.isoformat().replace("+00:00", "Z"),
                        "message": message,
                        **({"isCompactSummary": True} if self.place == "summary" and kind == "user" and rows else {}),
                    }
                )
        titles = [{"type": "custom-title", "customTitle": text, "sessionId": name} for text in texts]
        rows += titles if self.place == "title" else []
        (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _messages(place: str, text: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the messages by which a text is said in a place."""
    call = f"toolu_{number}"
    user = {"role": "user", "content": text if place in ("typed", "summary") else "go on"}
    yield "user", user
    if place == "answered":
        yield "assistant", _answer([{"type": "text", "text": text}])
    tools: dict[str, tuple[str, dict[str, Any], str, bool]] = {
        "command": ("Bash", {"command": text}, "Exit code 1\nerror: it failed", True),
        "output of a failure": ("Bash", {"command": "make deploy"}, f"Exit code 1\nerror: {text}", True),
        "failure of a tool": ("WebFetch", {"url": "https://x.test"}, f"error: {text}", True),
        "answer to a question": (
            "AskUserQuestion",
            {"questions": [{"question": "Which one?", "options": []}]},
            f'User has answered your questions: "Which one?"="{text}". You can now continue.',
            False,
        ),
    }
    if place in tools:
        name, args, result, failed = tools[place]
        yield "assistant", _answer([{"type": "tool_use", "id": call, "name": name, "input": args}])
        block = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}
        yield "user", {"role": "user", "content": [block]}
    yield "assistant", _answer([{"type": "text", "text": "Done."}])


def _answer(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "assistant", "content": blocks}


def _plain(path: Path) -> Iterator[str]:
    """Yield the text of a file, of every cell where it is a database, and of what is packed in them."""
    data = path.read_bytes()
    yield from _unpacked(data)
    if data.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as db:
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                for row in db.execute(f'SELECT * FROM "{table}"'):
                    for cell in row:
                        yield from _unpacked(cell if isinstance(cell, bytes) else str(cell).encode())


def _unpacked(data: bytes) -> Iterator[str]:
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    yield data.decode("utf-8", "replace")
    with suppress(zlib.error):
        yield zlib.decompress(data).decode("utf-8", "replace")


def forms(needle: str) -> list[str]:
    """Return how a text may stand in a file."""
    return [needle, json.dumps(needle)[1:-1], base64.b64encode(needle.encode()).decode()[:-4], needle.casefold()]

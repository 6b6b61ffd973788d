"""Search 100,000 messages in 2,000 sessions: make the index, ask it, and bring it up to date.

The comparator is the published budget of crabtalk's search (RFC 0185): p99 of 50 ms at 100,000 messages, 20 s at most
to build the index anew, 1 ms for each message that is added.
"""

import itertools
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

from measure import Row, cpu_of_call, seconds

from slowwave.settings import load_settings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.search import search
from slowwave.stores.search.index import SearchIndex
from slowwave.stores.search.words import terms_of
from slowwave.stores.summary import SessionRow

SESSIONS, MESSAGES, WORDS = 2_000, 50, 40
QUERIES = 400
P99_S, BUILD_S, ADD_S = 0.050, 20.0, 0.001
_LETTERS = "aeioubdfgklmnprst"


class Speech:
    """Words drawn as people use them: the n-th most frequent one falls n times less often than the first."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        chance = random.Random(7)
        self.words = ["".join(chance.choices(_LETTERS, k=chance.randint(2, 9))) for _ in range(30_000)]
        self.weights = list(itertools.accumulate(1 / (n + 2) for n in range(len(self.words))))

    def text(self, words: int) -> str:
        """Return so many words."""
        return " ".join(self.chance.choices(self.words, cum_weights=self.weights, k=words))


def _line(session: int, number: int, text: str) -> bytes:
    role = ("user", "assistant")[number % 2]
    message: dict[str, object] = {"role": role, "content": text}
    if role == "assistant":
        message = {"id": f"msg_{session}_{number}", "role": role, "content": [{"type": "text", "text": text}]}
    above = f"{session:06x}-{number - 1:04x}" if number else None
    place = {"sessionId": f"{session:06x}", "cwd": f"/home/ann/p{session % 20}", "isSidechain": False}
    at = f"2026-{session % 11 + 1:02d}-{number % 28 + 1:02d}T10:00:00.000Z"
    own = {"type": role, "uuid": f"{session:06x}-{number:04x}", "parentUuid": above, "timestamp": at}
    return json.dumps(own | place | {"message": message}).encode() + b"\n"


def _store(folder: Path) -> Path:
    """Make the sessions, once."""
    if not folder.exists():
        speech = Speech(1)
        making = folder.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        for session in range(SESSIONS):
            home = making / f"-home-ann-p{session % 20}"
            home.mkdir(parents=True, exist_ok=True)
            lines = (_line(session, number, speech.text(WORDS)) for number in range(MESSAGES))
            (home / f"{session:06x}.jsonl").write_bytes(b"".join(lines))
        making.rename(folder)
    return folder


def _rows(root: Path, state: Path) -> list[SessionRow]:
    settings = load_settings({}, overrides=[f"store.roots={root}"], cwd=root)
    with Catalogue(state / "catalogue.sqlite") as catalogue:
        return list_sessions(settings, {"HOME": str(root)}, catalogue).rows


def _queries() -> Iterator[str]:
    """Yield queries of one to four words, as frequent and as rare as in the texts, some of them beginnings."""
    speech = Speech(2)
    for number in range(QUERIES):
        words = speech.text(1 + number % 4).split()
        yield " ".join(words[:-1] + ([words[-1][:3] + "*"] if number % 5 == 0 else words[-1:]))


def searching(build: Path, rounds: int) -> list[Row]:
    """Return the rows: build, ask, update."""
    folder = _store(build / "search" / "projects")
    state = build / "search" / "state"
    rows = _rows(folder, state)
    assert len(rows) == SESSIONS
    builds: list[float] = []
    for _ in range(max(1, rounds // 3)):
        (state / "search.sqlite").unlink(missing_ok=True)
        with SearchIndex(state / "search.sqlite") as index:
            builds.append(cpu_of_call(lambda i=index: i.refresh(rows)))
    with SearchIndex(state / "search.sqlite") as index:
        index.refresh(rows)
        among = index.numbers(rows)
        asked = [cpu_of_call(lambda q=q: search(index, terms_of(q)[0], among, limit=10)) for q in _queries()]
        added = _added(index, folder, state)
    size = sum(row.bytes for row in rows) / 1e6
    built, p99, middle = min(builds), quantiles(asked, n=100)[98], quantiles(asked, n=2)[0]
    rate = f"{seconds(built)} ({size / built:.0f} MB/s, index {(state / 'search.sqlite').stat().st_size / 1e6:.0f} MB)"
    return [
        Row("search, index 100,000 messages", rate, "RFC 0185 budget", seconds(BUILD_S), built / BUILD_S, 1.0),
        Row(
            "search, p99",
            f"{seconds(p99)} (p50 {seconds(middle)})",
            "RFC 0185 budget",
            seconds(P99_S),
            p99 / P99_S,
            1.0,
        ),
        Row("search, a session that grew", seconds(added), "RFC 0185 budget", seconds(ADD_S), added / ADD_S, None),
    ]


def _added(index: SearchIndex, folder: Path, state: Path) -> float:
    """Return what a session costs that has one message more; the files are as before afterwards.

    Ten of all sessions have grown, so that a tenth of the look at those that have not is part of it.
    """
    paths = sorted(folder.glob("*/*.jsonl"))[:10]
    sizes = [path.stat().st_size for path in paths]
    for number, path in enumerate(paths):
        with path.open("ab") as file:
            file.write(_line(number, MESSAGES, "one message more"))
    rows = _rows(folder, state)
    spent = cpu_of_call(lambda: index.refresh(rows))
    for path, size in zip(paths, sizes, strict=True):
        with path.open("r+b") as file:
            file.truncate(size)
    return spent / len(paths)

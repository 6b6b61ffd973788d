"""Archive sessions, and decide what is to go."""

import random
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from measure import Row, compared, cpu_of
from rows_store import SHORT, bare_walk
from sessions_data import VERSION, Maker, claude_lines, fleet

from slowwave.formats import SessionFiles, SessionOrigin
from slowwave.formats.sessions import StoredSession
from slowwave.quantities import ByteCount, Count, Period
from slowwave.retention.holds import Fleet
from slowwave.retention.policy import decide
from slowwave.settings import Policy
from slowwave.stores.archive.pack import PackedSession, Wanted, write_pack
from slowwave.stores.projects import Project

_LARGE, _LARGE_BYTES = 6, 20_000_000
_TINY, _TINY_LINE = 4000, 1200
_NOW = datetime(2026, 11, 22, 3, 30, tzinfo=UTC)


def archive(build: Path, rounds: int) -> list[Row]:
    """Pack large and tiny sessions, read back and compared, against ``gzip -6`` and ``gzip -t`` of the same files."""
    large = _large(build / f"data-{VERSION}" / "archive-large")
    tiny = _tiny(build / f"data-{VERSION}" / "archive-tiny")
    pack, packed = build / "archive" / "one.swpack", build / "archive" / "one.gz"

    def ours() -> None:
        pack.unlink(missing_ok=True)
        write_pack(pack, [_wanted(path) for path in large])

    script = 'out=$1; shift; gzip -6 -c "$@" > "$out" && gzip -t "$out"'
    theirs = ["sh", "-c", script, "gzip", packed, *large]
    pack.parent.mkdir(parents=True, exist_ok=True)
    times = cpu_of({"pack": ours, "gzip -6, gzip -t": theirs}, max(3, rounds // 2))
    sizes = {"pack": pack.stat().st_size, "gzip -6": packed.stat().st_size}
    pack.unlink()
    # of a pack of small sessions its table and its dictionary count, of gzip every file by itself
    write_pack(pack, [_wanted(path) for path in tiny])
    alone = sum(len(_gzipped(path)) for path in tiny)
    return [
        compared("archive 120 MB, read back", times, "pack", "gzip -6, gzip -t", 1 / 4),
        _by_size("archive 120 MB, bytes", sizes["pack"], sizes["gzip -6"], 1 / 1.15),
        _by_size(f"archive {_TINY} of 1 to 5 KB, bytes", pack.stat().st_size, alone, 1 / 2),
    ]


def deciding(build: Path, rounds: int, files: int = 100_000) -> list[Row]:
    """Sort out a fleet of 100,000 sessions and decide by every kind of rule, against a bare stat walk of them.

    Discovery, which makes the sessions, is a row of its own; no guard is asked, since these keep what the rules take.
    """
    folder = fleet(build / f"data-{VERSION}" / f"tiny{files}" / "projects", files, 1, projects=100)
    projects = _projects(folder)
    policy = Policy(
        max_age=Period("180d"), max_count=Count(500), max_bytes=ByteCount("20MB"), keep_within=Period("7d"),
        keep_last=Count(3), keep_daily=Count(7), keep_weekly=Count(4), keep_monthly=Count(12),
    )  # fmt: skip

    def ours() -> None:
        decision = decide(Fleet(projects).subjects(), policy, _NOW)
        assert len(decision.verdicts) == files

    times = cpu_of({"decide": ours, "bare stat walk": lambda: bare_walk(folder)}, rounds * SHORT)
    return [compared("decide over 100,000", times, "decide", "bare stat walk", 1.5)]


def _projects(folder: Path) -> list[Project]:
    """Return the sessions as discovery finds them, of any age and of two kinds."""
    chance, now = random.Random(4), _NOW.timestamp()
    origins: list[SessionOrigin] = ["interactive", "cron"]
    found: list[Project] = []
    for place in sorted(folder.iterdir()):
        sessions = tuple(
            StoredSession(
                "claude", SessionFiles(path.stem, (path,)), "main", place, path.stat().st_size,
                int((now - chance.random() * 3e7) * 1e9), origin=chance.choice(origins),
            )
            for path in place.glob("*.jsonl")
        )  # fmt: skip
        found.append(Project(place.name, f"/home/dev/{place.name}", (place,), place / "memory", sessions))
    return found


def _wanted(path: Path) -> Wanted:
    return Wanted(PackedSession(path.stem, "claude", "app", "/home/dev/app", _NOW.isoformat(), 0, ()), [path])


def _by_size(job: str, ours: int, theirs: int, must: float) -> Row:
    return Row(job, f"{ours / 1e6:.2f} MB", "gzip -6", f"{theirs / 1e6:.2f} MB", ours / theirs, must)


def _gzipped(path: Path) -> bytes:
    return subprocess.run(["gzip", "-6", "-c", path], check=True, capture_output=True).stdout


def _large(folder: Path) -> list[Path]:
    """Make a few sessions that are worked in for weeks."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number}.jsonl" for number in range(_LARGE)]
    for number, path in enumerate(paths):
        if not path.exists():
            path.write_bytes(b"".join(claude_lines(Maker(50 + number), _LARGE_BYTES)))
    return paths


def _tiny(folder: Path) -> list[Path]:
    """Make sessions of one question and its answer, of 1 to 5 KB."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(7)
    # a question, its answer, a call or two: no long outputs of tools fit into so small a session
    pool = [line for line in claude_lines(Maker(60), 8_000_000) if len(line) <= _TINY_LINE]
    paths = [folder / f"{number}.jsonl" for number in range(_TINY)]
    for path in paths:
        size, at = chance.randrange(1000, 4000), chance.randrange(len(pool))
        lines = [pool[at]]
        while sum(map(len, lines)) < size:
            at = (at + 1) % len(pool)
            lines.append(pool[at])
        data = b"".join(lines)[:5000]
        if not path.exists():
            path.write_bytes(data[: data.rfind(b"\n") + 1])
    return paths

"""An erasure of a person and a session that breaks off anywhere is completed by the next one, as if nothing happened.

It is killed, or the disk is full, or a folder may not be written, at any change to a file or a database.
"""

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pytest
import zstandard

from slowwave import files
from slowwave.cli import main
from slowwave.memory.book import read_book
from slowwave.memory.evidence import totals, verify
from slowwave.retention.erase import digest_of
from slowwave.stores.archive.pack import PackedSession, Wanted, write_pack
from tests.faults import calls
from tests.faults.killed import killed_at
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.extraction.talk import CWD, RULES, Talk
from tests.unit.retention.planted import aged, contents
from tests.unit.retention.test_subjects_erased import GATES, NAME, home_of, left_in
from tests.unit.retention.test_what_stays import openclaw_with_a_rule, opencode_with_a_rule

STRIDE = 1 if os.environ.get("DRILLS") == "all" else 43
MOST_POINTS = 2_000
GONE = "bbbbbbbb-1111-4222-8333-444444444444"
ERASE = ["run", "erase", "--person", NAME, "--session", GONE, "--apply", "--json"]
# what says when and how often it was run, and what is built anew
_OWN = (".local/state", "share/slowwave/certificates", "audit.jsonl", ".lock")


def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home in which a person stands in files, rows, a pack, the trash and memories, and a session is to go."""
    home = home_of(tmp_path, monkeypatch)
    talk = Talk(GONE).person(RULES[1]).assistant("ok")
    for number in range(4):
        talk.bash("make test", "ok").person(f"go on with part {number}").assistant("Done.")
    place = home / ".claude" / "projects" / CWD.replace("/", "-")
    talk.write(place)
    (place / GONE / "tool-results").mkdir(parents=True)
    (place / GONE / "tool-results" / "b1.txt").write_text(f"a long result of {NAME}\n")
    opencode_with_a_rule(home)
    openclaw_with_a_rule(home)
    aged(home)
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    data = home / ".local/share/slowwave"
    # the archive has the transcript that a memory rests on
    (known,) = (path for path in place.glob("*.jsonl") if GONE not in path.name)
    old = [PackedSession(path.stem, "claude", "p", "/work", "", 0.0, ()) for path in (known, place / f"{GONE}.jsonl")]
    write_pack(data / "archive" / "a.swpack", [Wanted(old[0], [known]), Wanted(old[1], [place / f"{GONE}.jsonl"])])
    known.unlink()
    packed = data / "trash" / "20250101T000000-aaaa" / "00000"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(zstandard.ZstdCompressor().compress(f"{NAME}\n".encode() * 9))
    (home / ".claude" / "history.jsonl").write_text(json.dumps({"display": NAME, "sessionId": GONE}) + "\n")
    aged(home)
    return home


def state_of(home: Path) -> dict[str, object]:
    """Return all that an erasure leaves, of databases their rows."""
    found: dict[str, object] = {}
    for name, data in contents(home).items():
        if any(part in name for part in _OWN):
            continue
        if data.startswith(b"SQLite"):
            with closing(sqlite3.connect(home / name)) as rows:
                found[name] = list(rows.iterdump())
        else:
            found[name] = [line for line in data.split(b"\n") if b'"event":"erase"' not in line]
    return found


def certified(home: Path) -> set[tuple[str, str]]:
    """Return every file that some certificate says was written, with its hash before; not what runs keep themselves."""
    found: set[tuple[str, str]] = set()
    for path in sorted((home / ".local/share/slowwave/certificates").glob("*.json")):
        for name, before, _after in json.loads(path.read_bytes())["files"]:
            if not any(part in name for part in _OWN):
                found.add((name, before))
    return found


def refused_at(number: int) -> Callable[[int, Callable[[], object]], bool]:
    """Return how to run something whose ``n``-th change is refused by the system; it says whether it came so far."""

    def run(point: int, work: Callable[[], object]) -> bool:
        seen = count(1)
        met = False

        def refuse(_event: str, path: str) -> None:
            nonlocal met
            if next(seen) == point:
                met = True
                raise OSError(number, os.strerror(number), path)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "fault_hook", refuse)
            work()
        return met

    return run


def killed_at_call(point: int, work: Callable[[], object]) -> bool:
    """As :func:`killed_at`, but at any call of the system that changes something in the home, announced or not."""
    return calls.killed_at(point, Path(os.environ["HOME"]), work)


def refused_at_call(fault: calls.Fault) -> Callable[[int, Callable[[], object]], bool]:
    """As :func:`refused_at`, but at any call of the system that changes something in the home."""

    def run(point: int, work: Callable[[], object]) -> bool:
        met = False

        def refuse(call: str, path: str) -> None:
            nonlocal met
            met = True
            fault(call, path)

        # a broken device ends the command as it is
        with suppress(OSError), calls.faulty(Path(os.environ["HOME"]), calls.once(point, refuse)):
            work()
        return met

    return run


BROKEN = {
    "killed": killed_at,
    "full": refused_at(errno.ENOSPC),
    "denied": refused_at(errno.EACCES),
    "killed at a call": killed_at_call,
    "full at a call": refused_at_call(calls.refused(errno.ENOSPC)),
    "denied at a call": refused_at_call(calls.denied),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_broke_off_is_completed_by_the_next_run(
    broken: Callable[[int, Callable[[], object]], bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    home, kept = built(tmp_path, monkeypatch), tmp_path / "kept"
    memories = {path.parent.parent for path in home.rglob("candidates.jsonl")}
    assert len(memories) == 3
    shutil.copytree(home, kept, symlinks=True)
    assert main(ERASE) == 0
    # some are written twice, and what they were in between depends on the run
    whole, names = state_of(home), {name for name, _ in certified(home)}
    written = {(name, digest_of(kept / Path(name).relative_to(home))) for name in names}
    assert len(written) > 10
    gone = NAME, RULES[1]
    assert left_in(home, *gone) == []
    for point in range(1, MOST_POINTS, STRIDE):
        shutil.rmtree(home)
        shutil.copytree(kept, home, symlinks=True)
        ended: list[int] = []
        was_reached = broken(point, lambda: ended.append(main(ERASE)))  # noqa: B023 - called before the next round
        assert ended != [0] or left_in(home, *gone) == [], point
        assert main(ERASE) == 0, point
        assert left_in(home, *gone) == [], point
        proven = certified(home)
        assert proven >= written, (point, written - proven)
        assert not list((home / ".local/state").rglob("*.written"))
        found = state_of(home)
        assert found == whole, (point, {name for name in found | whole if found.get(name) != whole.get(name)})
        if not was_reached:
            break
    else:
        pytest.fail("more changes than there should be")
    for memory in memories:
        roots = [home / ".claude", home / ".openclaw", home / ".local/share/opencode"]
        checked = totals(verify(read_book(memory).memories.values(), roots))
        assert checked["changed"] == 0
    capsys.readouterr()
    assert point > STRIDE * 3

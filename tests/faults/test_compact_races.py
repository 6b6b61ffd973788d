"""Others change a session, or the disk refuses, at every moment of a compaction: nothing said is lost, all is told."""

import errno
import json
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from slowwave import files
from slowwave.compaction.append import undo
from slowwave.compaction.book import read_book
from slowwave.formats.sessions import StoredSession
from slowwave.report import Report
from tests.faults.measured import slowwave
from tests.unit.compaction.job.talks import IDS, Talk, compacted, job

MOST_STEPS = 60
_ID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# One of each kind: parts, a replaced history, a tree. The others run with the drills.
every_client = pytest.mark.parametrize(
    "dialect", sorted(IDS) if os.environ.get("DRILLS") == "all" else ("cersei", "codex", "claude")
)


def undisturbed(_event: str, _path: str) -> None:
    """Let a change happen."""


@contextmanager
def at_step(step: int, act: Callable[[str], None]) -> Generator[list[str]]:
    """Let something happen right before the ``step``-th change of a file; yield what changes there were so far."""
    seen: list[str] = []
    number = count(1)

    def hook(event: str, path: str) -> None:
        seen.append(event)
        if next(number) == step:
            act(path)

    files.fault_hook, before = hook, files.fault_hook
    try:
        yield seen
    finally:
        files.fault_hook = before


def rounds(folder: Path, dialect: str, act: Callable[[Talk, str], None]) -> Iterator[tuple[Talk, Path, Report]]:
    """Compact a session once for every change that this makes, and let something happen right before that change."""
    for step in range(1, MOST_STEPS):
        own = folder / str(step)
        talk = Talk(own / "store", dialect).grow(6)
        with at_step(step, lambda path, talk=talk: act(talk, path)) as seen:
            report = compacted(talk, job(own))
        yield talk, own, report
        if len(seen) < step:
            return
    pytest.fail("more changes than there should be")


def said(talk: Talk) -> str:
    return "\n".join(message.text for message in talk.context())


def untold(talk: Talk) -> list[int]:
    """Return the turns whose files are in no summary and in no call of the context."""
    named = said(talk) + json.dumps([str(call.args) for m in talk.context() for call in m.calls])
    return [number for number in range(1, talk.turns + 1) if f"src/step{number}" not in named]


def parted(talk: Talk) -> bool:
    calls = [call.id for m in talk.context() for call in m.calls]
    return calls != [result.id for m in talk.context() for result in m.results]


def with_ids_of_its_own(later: bytes, known: bytes) -> bytes:
    """Return records with other ids than the next turns of a session will have."""
    for found in set(_ID.findall(later)) - set(_ID.findall(known)):
        later = later.replace(found, b"9" + found[1:])
    return later


@every_client
def test_what_a_client_says_meanwhile_stays_and_is_heard(tmp_path: Path, dialect: str):
    def client_speaks(talk: Talk, _path: str) -> None:
        with talk.path.open("ab") as file:  # the client knows of no lock of slowwave's
            file.write(later)
        talk.turns += 1

    twin = Talk(tmp_path / "twin" / "store", dialect).grow(6)
    known = twin.path.read_bytes()
    later = with_ids_of_its_own(twin.grow().path.read_bytes().removeprefix(known), known)
    outcomes = set[tuple[str, ...]]()
    for talk, own, report in rounds(tmp_path, dialect, client_speaks):
        outcomes.add(tuple(sorted(report.counts)))
        assert f"step {talk.turns} is done" in said(talk)
        assert untold(talk) == []
        assert not parted(talk)
        told = bool(report.counts.get("compacted") or report.failures or report.gates)
        assert told
        again = compacted(talk.grow(5), job(own))
        assert (again.failures, again.counts.get("compacted")) == ([], 1)
        assert untold(talk) == []
        assert not parted(talk)
    assert len(outcomes) > 1


@every_client
def test_of_two_runs_at_once_one_compacts_and_it_can_be_taken_back(tmp_path: Path, dialect: str):
    def other_runs(talk: Talk, _path: str) -> None:
        hook, files.fault_hook = files.fault_hook, undisturbed
        compacted(talk, job(talk.folder.parent, force=True))
        files.fault_hook = hook

    before = Talk(tmp_path / "before" / "store", dialect).grow(6).path.read_bytes()
    for talk, own, report in rounds(tmp_path, dialect, other_runs):
        assert report.failures == []
        run = job(own)
        book = read_book(run.folder, talk.id, talk.dialect, talk.path)
        assert len(book.compactions) == 1
        assert said(talk).count("## Goal") == 1
        undo(talk.stored(), run.folder, run.home)
        assert talk.path.read_bytes() == before


@every_client
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_a_disk_that_refuses_at_any_moment_costs_nothing_and_is_told(tmp_path: Path, dialect: str, code: int):
    whole = Talk(tmp_path / "whole" / "store", dialect).grow(6)
    old = said(whole)
    compacted(whole, job(tmp_path / "whole"))
    new = said(whole)

    def refuses(_talk: Talk, _path: str) -> None:
        raise OSError(code, os.strerror(code))

    refused = 0
    for talk, own, report in rounds(tmp_path, dialect, refuses):
        assert said(talk) in (old, new)
        if not report.counts.get("compacted"):
            refused += 1
            assert os.strerror(code) in "".join(report.failures)
        again = compacted(talk, job(own))
        assert again.failures == []
        assert said(talk) == new
        run = job(own)
        assert len(read_book(run.folder, talk.id, talk.dialect, talk.path).compactions) == 1
        undo(talk.stored(), run.folder, run.home)
        assert said(talk) == old
    assert refused


def test_a_session_that_may_not_be_written_is_left_and_told(tmp_path: Path):
    home = tmp_path / "home"
    talk = Talk(home / ".claude" / "projects" / "-home-ann-shop", "claude").grow(6)
    before = talk.path.read_bytes()
    small = [f"compaction.{name}" for name in ("context_window=3000", "reserve_tokens=500", "keep_recent_tokens=1200")]
    command = ["run", "compact", "--direct", "--json", *(word for one in small for word in ("--set", one))]
    talk.path.chmod(0o400)
    ran = slowwave(home, *command, may_read_all=False)
    assert ran.code == 6, ran.err
    assert b"Permission denied" in ran.out
    assert talk.path.read_bytes() == before
    talk.path.chmod(0o600)
    assert slowwave(home, *command, may_read_all=False).code == 0
    assert "## Goal" in said(talk)


@every_client
def test_a_session_that_somebody_opens_meanwhile_is_left(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    before = talk.path.read_bytes()

    def flush(_session: StoredSession) -> Report:
        talk.path.open("ab").close()
        os.utime(talk.path)
        talk.path.write_bytes(before + b"\n")
        return Report("extract")

    report = compacted(talk, job(tmp_path, flush=flush))
    assert [gate.gate for gate in report.gates] == ["moved"]
    assert talk.path.read_bytes() == before + b"\n"

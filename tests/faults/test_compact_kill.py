"""A compaction, a pruning or an undo that is killed before any change to a file: the next look finishes it, or finds
nothing.

Whatever was reached, the session has its old or its new context, its book agrees with the file, and taking back
restores the bytes from before.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowwave import files
from slowwave.compaction import append
from slowwave.compaction.append import as_it_stands, is_open, undo
from slowwave.compaction.book import Book, read_book, write_book
from slowwave.compaction.story import prune_one
from slowwave.errors import NotFoundError, UsageError
from tests.faults.killed import killed_at
from tests.unit.compaction.job.talks import IDS, Talk, compacted, job
from tests.unit.compaction.job.test_clearing import WIDE, long_talk

MOST_STEPS = 60
# One of each kind: parts, a replaced history, a tree. The others run with the drills.
every_client = pytest.mark.parametrize(
    "dialect", sorted(IDS) if os.environ.get("DRILLS") == "all" else ("cersei", "codex", "pi")
)


def content(talk: Talk) -> dict[str, bytes]:
    """Return what a client sees; the temporary file of a killed process is none of it."""
    found = [p for p in talk.folder.rglob("*") if p.is_file() and not files.is_leftover(p.name)]
    return {str(p.relative_to(talk.folder)): p.read_bytes() for p in found}


def texts(talk: Talk) -> list[str]:
    return [message.text for message in talk.context()]


def book_of(talk: Talk, folder: Path) -> Book:
    return read_book(job(folder).folder, talk.id, talk.dialect, talk.path)


Work = Callable[[Talk, Path], object]


def short_talk(folder: Path, dialect: str) -> Talk:
    return Talk(folder / "store", dialect).grow(6)


def steps(
    dialect: str, folder: Path, work: Work, ready: Work, begun: Callable[[Path, str], Talk] = short_talk
) -> Iterator[tuple[Talk, Path]]:
    """Yield a session for every change that a piece of work makes, killed right before it."""
    first = begun(folder / "0", dialect)
    ready(first, folder / "0")
    for step in range(1, MOST_STEPS):
        own = folder / str(step)
        talk = copy_of(first, folder / "0", own)
        was_killed = killed_at(step, partial(work, talk, own))
        yield talk, own
        if not was_killed:
            return
    pytest.fail("more changes than there should be")


def copy_of(talk: Talk, folder: Path, own: Path) -> Talk:
    """Return a session in a folder of its own, with what slowwave notes of it."""
    shutil.copytree(folder, own)
    copy = Talk(own / "store", talk.dialect)
    copy.turns = talk.turns
    run = job(own)
    if run.folder.exists():
        book = read_book(job(folder).folder, talk.id, talk.dialect, talk.path)
        shutil.rmtree(run.folder)
        book.path = str(copy.path.resolve())
        book.compactions = [
            replace(done, path=str(own / Path(done.path).relative_to(folder))) for done in book.compactions
        ]
        write_book(run.folder, book)
    return copy


def compact(talk: Talk, folder: Path) -> None:
    compacted(talk, job(folder))


def take_back(talk: Talk, folder: Path) -> None:
    run = job(folder)
    undo(talk.stored(), run.folder, run.home)


def prune(talk: Talk, folder: Path) -> None:
    prune_one(talk.stored(), job(folder, *WIDE))


def talk_with_outputs(folder: Path, _dialect: str) -> Talk:
    return long_talk(folder)


def nothing(_talk: Talk, _folder: Path) -> None:
    pass


@every_client
def test_a_killed_compaction_is_noted_by_the_next_run_or_done_by_it(tmp_path: Path, dialect: str):
    whole = Talk(tmp_path / "whole" / "store", dialect).grow(6)
    old = texts(whole)
    compact(whole, tmp_path / "whole")
    new, expected = texts(whole), content(whole)
    (known,) = book_of(whole, tmp_path / "whole").compactions
    reached = set[bool]()
    for talk, folder in steps(dialect, tmp_path, compact, nothing):
        assert texts(talk) in (old, new)
        is_new = texts(talk) == new
        reached.add(is_new and is_open(book_of(talk, folder)))
        report = compacted(talk, job(folder))
        assert report.failures == []
        assert content(talk) == expected
        assert talk.path.stat().st_mtime_ns == whole.path.stat().st_mtime_ns
        book = book_of(talk, folder)
        assert not is_open(book)
        (done,) = book.compactions
        assert done.sha256 == known.sha256
        assert (done.message, done.dropped, done.proof) == (known.message, known.dropped, known.proof)
    # the moment that used to leave a compaction of which nothing was known
    assert reached == {True, False}


@every_client
def test_a_killed_compaction_is_shown_and_can_be_taken_back(tmp_path: Path, dialect: str):
    before = content(Talk(tmp_path / "whole" / "store", dialect).grow(6))
    for talk, folder in steps(dialect, tmp_path, compact, nothing):
        is_there = len(talk.path.read_bytes()) > max(len(d) for name, d in before.items() if name.endswith(".jsonl"))
        book = book_of(talk, folder)
        if is_open(book):
            as_it_stands(book, talk.stored())
        assert len(book.compactions) == is_there
        if is_there:
            take_back(talk, folder)
        else:
            with pytest.raises(NotFoundError):
                take_back(talk, folder)
        assert content(talk) == before


@every_client
def test_a_killed_undo_is_finished_or_was_never_begun(tmp_path: Path, dialect: str):
    before = content(Talk(tmp_path / "whole" / "store", dialect).grow(6))
    for talk, folder in steps(dialect, tmp_path, take_back, compact):
        is_gone = content(talk) == before
        report = compacted(talk, job(folder))
        assert report.failures == []
        assert not is_open(book_of(talk, folder))
        if is_gone:
            # a person went back, so it stays so
            assert [gate.gate for gate in report.gates] == ["undone"]
            assert content(talk) == before
        else:
            take_back(talk, folder)
            assert content(talk) == before


def something_else(*_what: object) -> str:
    return "the client would send something else"


def test_a_compaction_that_its_client_would_not_go_on_from_is_taken_back_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = content(Talk(tmp_path / "whole" / "store", "pi").grow(6))
    found = [
        (t, f) for t, f in steps("pi", tmp_path, compact, nothing) if is_open(book_of(t, f)) and content(t) != before
    ]
    monkeypatch.setattr(append, "difference", something_else)
    for talk, folder in found:
        report = compacted(talk, job(folder, dry_run=True))
        assert not report.warnings
        with pytest.raises(NotFoundError):
            take_back(talk, folder)
        assert content(talk) == before
        assert not is_open(book_of(talk, folder))
    assert found


def test_a_compaction_that_the_client_has_gone_on_from_stands(tmp_path: Path):
    for talk, folder in steps("pi", tmp_path, compact, nothing):
        talk.grow()
        compacted(talk, job(folder, "compaction.context_window=50000"))
        told = "\n".join(texts(talk))
        assert len(book_of(talk, folder).compactions) == ("## Goal" in told)


def test_a_killed_pruning_is_noted_by_the_next_look_or_done_by_it(tmp_path: Path):
    whole = long_talk(tmp_path / "whole")
    old = content(whole)
    prune(whole, tmp_path / "whole")
    new = content(whole)
    (known,) = book_of(whole, tmp_path / "whole").compactions
    reached = set[bool]()
    for talk, folder in steps("codex", tmp_path, prune, nothing, talk_with_outputs):
        assert content(talk) in (old, new)
        is_new = content(talk) == new
        reached.add(is_new and is_open(book_of(talk, folder)))
        if is_new:
            with pytest.raises(UsageError, match="no more than 20,000"):
                prune(talk, folder)
        else:
            prune(talk, folder)
        assert content(talk) == new
        book = book_of(talk, folder)
        assert not is_open(book)
        (done,) = book.compactions
        assert (done.sha256, done.source, done.dropped) == (known.sha256, "prune", known.dropped)
        take_back(talk, folder)
        assert content(talk) == old
    # the moment between the append and its note
    assert reached == {True, False}


def test_a_killed_undo_of_a_pruning_is_finished_or_was_never_begun(tmp_path: Path):
    old = content(long_talk(tmp_path / "whole"))
    for talk, folder in steps("codex", tmp_path, take_back, prune, talk_with_outputs):
        is_gone = content(talk) == old
        report = compacted(talk, job(folder, *WIDE))
        assert report.failures == []
        assert not is_open(book_of(talk, folder))
        if is_gone:
            assert [gate.gate for gate in report.gates] == ["undone"]
        else:
            take_back(talk, folder)
        assert content(talk) == old

"""Pruning as a step of its own: which outputs go, that every word stays, and that it can be taken back."""

import json
from pathlib import Path

import pytest

from slowwave.compaction.append import undo
from slowwave.compaction.book import read_book
from slowwave.compaction.plan import CLEARED
from slowwave.compaction.story import prune_one
from slowwave.errors import UsageError
from tests.unit.compaction.job.talks import IDS, Talk, compacted, job

# Opencode's numbers are what they are: turns of 15,000 tokens, 6,000 of them outputs, which Codex cuts at 12,000 bytes.
SIZE = 11_900
WIDE = ("compaction.context_window=235000", "compaction.reserve_tokens=500", "compaction.keep_recent_tokens=20000")


def results(talk: Talk) -> list[str]:
    return [result.text for message in talk.context() for result in message.results]


def words(talk: Talk) -> list[tuple[str, str, int]]:
    return [(m.role, m.text, len(m.calls)) for m in talk.context()]


def long_talk(folder: Path, turns: int = 14) -> Talk:
    return Talk(folder / "store", "codex", SIZE).grow(turns)


def test_where_clearing_old_outputs_is_enough_nothing_is_summarised(tmp_path: Path):
    talk = long_talk(tmp_path)
    before, said, outputs = talk.path.read_bytes(), words(talk), results(talk)

    report = compacted(talk, job(tmp_path, *WIDE))

    assert report.failures == []
    assert (report.counts["pruned"], report.counts.get("compacted", 0)) == (1, 0)
    assert talk.path.read_bytes().startswith(before)
    assert words(talk) == said
    after = results(talk)
    cleared = after.index(outputs[-1])
    assert 0 < cleared == after.count(CLEARED)
    assert after[cleared:] == outputs[cleared:]
    (done,) = read_book(job(tmp_path).folder, talk.id, "codex", talk.path).compactions
    assert done.source == "prune"
    assert done.tokens_after < done.tokens_before - 20_000
    # what was cleared is read again where the book says
    part, offset, length, _ = done.dropped[0]
    assert (part, b"r" * SIZE in before[offset : offset + length]) == (0, True)
    record = json.loads(talk.path.read_bytes().splitlines()[-1])
    assert (record["type"], record["payload"]["message"]) == ("compacted", "")


def test_a_second_run_changes_nothing(tmp_path: Path):
    talk = long_talk(tmp_path)
    compacted(talk, job(tmp_path, *WIDE))
    once = talk.path.read_bytes()
    report = compacted(talk, job(tmp_path, *WIDE))
    assert talk.path.read_bytes() == once
    assert report.counts["not_due"] == 1


def test_where_clearing_is_not_enough_the_session_is_summarised_and_nothing_else_appended(tmp_path: Path):
    talk = long_talk(tmp_path)
    report = compacted(talk, job(tmp_path, "compaction.context_window=30000", "compaction.keep_recent_tokens=20000"))
    assert (report.counts["compacted"], report.counts.get("pruned", 0)) == (1, 0)
    assert CLEARED not in results(talk)


def test_off_never_clears_and_only_never_summarises(tmp_path: Path):
    off, only = long_talk(tmp_path / "a"), long_talk(tmp_path / "b")
    report = compacted(off, job(tmp_path / "a", *WIDE, "compaction.prune=off"))
    assert (report.counts["compacted"], report.counts.get("pruned", 0)) == (1, 0)
    small = ("compaction.context_window=30000", "compaction.prune=only")
    assert compacted(only, job(tmp_path / "b", *small)).counts["pruned"] == 1
    report = compacted(only, job(tmp_path / "b", *small))
    assert report.counts.get("compacted", 0) == 0
    assert "no more than 20,000 tokens of outputs" in report.gates[0].reason


def test_it_is_taken_back_byte_for_byte_and_a_summary_may_follow_it(tmp_path: Path):
    talk = long_talk(tmp_path)
    before = talk.path.read_bytes()
    run = job(tmp_path, *WIDE)
    compacted(talk, run)
    undo(talk.stored(), run.folder, run.home)
    assert talk.path.read_bytes() == before
    compacted(talk, job(tmp_path, *WIDE, force=True))
    talk.grow(2)
    report = compacted(talk, job(tmp_path, "compaction.context_window=30000", "compaction.keep_recent_tokens=20000"))
    assert (report.failures, report.counts["compacted"]) == ([], 1)


def test_a_dry_run_plans_what_the_run_does(tmp_path: Path):
    talk = long_talk(tmp_path)
    before = talk.path.read_bytes()
    planned = compacted(talk, job(tmp_path, *WIDE, dry_run=True))
    assert talk.path.read_bytes() == before
    assert planned.items == compacted(talk, job(tmp_path, *WIDE)).items
    assert [item.action for item in planned.items] == ["prune"]


@pytest.mark.parametrize("dialect", sorted(set(IDS) - {"codex"}))
def test_where_no_record_clears_an_output_it_is_refused_with_the_reason(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(2)
    before = talk.path.read_bytes()
    with pytest.raises(UsageError, match="a compaction clears them"):
        prune_one(talk.stored(), job(tmp_path))
    assert talk.path.read_bytes() == before


def test_what_gains_too_little_is_refused_by_hand(tmp_path: Path):
    talk = Talk(tmp_path / "store", "codex").grow(3)
    with pytest.raises(UsageError, match="no more than 20,000"):
        prune_one(talk.stored(), job(tmp_path))

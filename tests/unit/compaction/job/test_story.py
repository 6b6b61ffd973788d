"""The job over sessions of every client: what is appended, what is left alone, and what a second run does."""

from datetime import timedelta
from pathlib import Path

import pytest

from slowwave.compaction import append
from slowwave.compaction.book import file_of, read_book
from slowwave.compaction.calls import answers
from slowwave.compaction.files import NO_FILES, of_lists
from slowwave.compaction.story import compact_one
from slowwave.compaction.summary import Gone, Summary, by_ledger
from slowwave.errors import UsageError
from slowwave.formats import Message
from slowwave.formats.sessions import StoredSession
from slowwave.report import Item, Report
from tests.unit.compaction.job.talks import IDS, KEEPING, NOW, WRITTEN, Talk, compacted, job

ALL = sorted(IDS)
every_client = pytest.mark.parametrize("dialect", ALL)


def texts(messages: list[Message]) -> str:
    return "\n".join(message.text for message in messages)


def whole(messages: list[Message]) -> bool:
    """Say whether every result has its call before it and every call its result."""
    links = answers(([c.id for c in m.calls], [r.id for r in m.results]) for m in messages)
    answered = [answer for own in links for answer in own]
    called = sum(len(m.calls) for m in messages)
    return all(answer is not None and not answer.is_double for answer in answered) and len(answered) == called


@every_client
def test_a_session_that_is_due_goes_on_from_a_summary_and_its_newest_messages(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    before, context = talk.path.read_bytes(), list(talk.context())

    report = compacted(talk, job(tmp_path))

    assert report.failures == []
    assert (report.counts["compacted"], report.gates) == (1, [])
    assert report.counts["tokens_after"] < report.counts["tokens_before"]
    assert talk.path.read_bytes().startswith(before)
    after = list(talk.context())
    (summary,) = [m for m in after if m.origin == "summary" or "## Goal" in m.text]
    assert "please do step 1" in summary.text
    assert "src/step1" in summary.text
    assert whole(after)
    assert "step 6 is done" in texts(after)
    kept = sum("step 6 is done" in m.text and m.role == "assistant" for m in after)
    assert kept == (dialect in KEEPING)
    assert len(after) < len(context)


@every_client
def test_a_second_run_appends_nothing_and_says_why(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    compacted(talk, job(tmp_path))
    once = talk.path.read_bytes()
    # the threshold is so low that the kept messages alone are over it
    report = compacted(talk, job(tmp_path, "compaction.context_window=600"))
    assert talk.path.read_bytes() == once
    assert report.counts.get("compacted", 0) == 0
    assert [gate.gate for gate in report.gates] == ["plan"]
    assert "no messages" in report.gates[0].reason


@every_client
def test_a_run_leaves_no_lock_behind_nor_that_of_a_killed_one(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    run = job(tmp_path)
    run.folder.mkdir(parents=True)
    left = file_of(run.folder, talk.path).with_suffix(".lock")
    left.touch()
    assert compacted(talk, run).counts["compacted"] == 1
    assert [p.name for p in tmp_path.rglob("*.lock")] == []
    assert file_of(run.folder, talk.path).exists()


@every_client
def test_the_same_session_becomes_the_same_bytes(tmp_path: Path, dialect: str):
    one, other = (Talk(tmp_path / name, dialect).grow(6) for name in ("one", "other"))
    compacted(one, job(tmp_path / "a"))
    compacted(other, job(tmp_path / "b", now=NOW + timedelta(days=3)))
    assert one.path.read_bytes() == other.path.read_bytes()


@every_client
def test_a_dry_run_shows_what_the_run_does_and_changes_nothing(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    before = talk.path.read_bytes()
    planned = compacted(talk, job(tmp_path, dry_run=True))
    assert talk.path.read_bytes() == before
    assert not (tmp_path / "state").exists()
    done = compacted(talk, job(tmp_path))
    assert planned.items == done.items
    assert [item.action for item in done.items] == ["compact"]


@every_client
def test_the_file_keeps_its_time(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    compacted(talk, job(tmp_path))
    assert talk.path.stat().st_mtime == WRITTEN.timestamp()


@every_client
def test_what_was_not_due_is_not_read_again(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(5)
    wide = "compaction.context_window=20000"
    assert compacted(talk, job(tmp_path, wide)).counts["not_due"] == 1
    assert compacted(talk, job(tmp_path, wide)).counts["unchanged"] == 1
    # by other settings it is due
    assert compacted(talk, job(tmp_path)).counts["compacted"] == 1


def test_a_session_that_somebody_works_in_is_left_alone(tmp_path: Path):
    talk = Talk(tmp_path / "store", "claude").grow(6)
    before = talk.path.read_bytes()
    report = compacted(talk, job(tmp_path, now=WRITTEN + timedelta(minutes=29), force=True))
    assert [gate.gate for gate in report.gates] == ["idle"]
    assert talk.path.read_bytes() == before


def test_sub_agents_databases_and_what_a_client_put_aside_are_left_alone(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    run = job(tmp_path)
    from msgspec.structs import replace  # noqa: PLC0415 - only here

    from slowwave.compaction.story import refusal  # noqa: PLC0415 - only here

    session = talk.stored()
    assert refusal(session) == ""
    assert refusal(replace(session, kind="subagent")) == "subagents"
    assert refusal(replace(session, source="reset")) == "put_aside"
    assert refusal(replace(session, in_database=True)) == "read_only"
    assert refusal(replace(session, dialect="opencode")) == "read_only"
    assert run.report.items == []


def test_memories_are_saved_first_and_once_for_one_content(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    saved: list[bytes] = []

    def flush(session: StoredSession) -> Report:
        saved.append(session.files.paths[0].read_bytes())
        return Report("extract", counts={"candidates": 2}, items=[Item("c1", "candidate", "said", "shop", "Use uv")])

    before = talk.path.read_bytes()
    report = compacted(talk, job(tmp_path, flush=flush))
    assert saved == [before]
    assert report.counts["candidates"] == 2
    assert [item.action for item in report.items] == ["candidate", "compact"]


def test_within_the_soft_threshold_memories_are_saved_already(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(3)
    saved: list[str] = []

    def flush(session: StoredSession) -> Report:
        saved.append(session.id)
        return Report("extract")

    before = talk.path.read_bytes()
    for _ in range(2):
        report = compacted(talk, job(tmp_path, "compaction.context_window=4500", flush=flush))
        assert (report.counts.get("near"), report.counts.get("compacted")) == (1, None)
    assert saved == [talk.id]
    assert talk.path.read_bytes() == before


def test_a_session_that_moves_between_plan_and_append_is_left_as_it_moved(tmp_path: Path):
    talk = Talk(tmp_path / "store", "claude").grow(6)

    def flush(_session: StoredSession) -> Report:
        talk.grow()
        return Report("extract")

    report = compacted(talk, job(tmp_path, flush=flush))
    assert [(gate.gate, report.failures) for gate in report.gates] == [("moved", [])]
    assert b"## Goal" not in talk.path.read_bytes()
    assert "step 7 is done" in texts(list(talk.context()))


def test_a_summary_that_is_longer_than_what_it_stands_for_is_not_written(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    before = talk.path.read_bytes()
    report = compacted(talk, job(tmp_path, summarise=lambda _gone: Summary("long " * 20_000, NO_FILES)))
    assert "would not shrink" in report.gates[0].reason
    assert talk.path.read_bytes() == before


def unlike(*_what: object) -> str:
    return "the client would send something else"


@every_client
def test_what_does_not_come_out_as_planned_is_taken_away_again(
    tmp_path: Path, dialect: str, monkeypatch: pytest.MonkeyPatch
):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    beside = {p: p.read_bytes() for p in (tmp_path / "store").rglob("*") if p.is_file()}
    monkeypatch.setattr(append, "difference", unlike)
    report = compacted(talk, job(tmp_path))
    assert "nothing was changed" in report.failures[0]
    assert {p: p.read_bytes() for p in (tmp_path / "store").rglob("*") if p.is_file()} == beside
    assert talk.path.stat().st_mtime == WRITTEN.timestamp()


def test_three_failures_in_a_row_stop_it_until_the_content_changes(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    tries: list[int] = []

    def broken(_gone: Gone) -> Summary:
        tries.append(1)
        raise ZeroDivisionError("a bug")

    for _ in range(4):
        compacted(talk, job(tmp_path, summarise=broken))
    report = compacted(talk, job(tmp_path, summarise=broken))
    assert len(tries) == 3
    assert [gate.gate for gate in report.gates] == ["breaker"]
    assert "3 failures in a row: ZeroDivisionError: a bug" in report.gates[0].reason
    talk.grow()
    compacted(talk, job(tmp_path, summarise=broken))
    assert len(tries) == 4
    assert compacted(talk, job(tmp_path)).counts["compacted"] == 1
    assert read_book(job(tmp_path).folder, talk.id, "pi", talk.path).failures == 0


def test_a_person_may_compact_by_hand_what_was_stopped(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)

    def broken(_gone: Gone) -> Summary:
        raise ZeroDivisionError

    for _ in range(3):
        compacted(talk, job(tmp_path, summarise=broken))
    run = job(tmp_path)
    assert compacted(talk, run).gates[0].gate == "breaker"
    _, done = compact_one(talk.stored(), run)
    assert done is not None
    assert not read_book(run.folder, talk.id, "pi", talk.path).is_stopped


def test_by_hand_it_says_why_nothing_is_done(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(1)
    before = talk.path.read_bytes()
    with pytest.raises(UsageError, match="fits into the 1,200 kept"):
        compact_one(talk.stored(), job(tmp_path))
    assert talk.path.read_bytes() == before


def test_no_more_sessions_than_the_settings_say(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    report = compacted(talk, job(tmp_path, "compaction.max_sessions=1"))
    assert report.counts["compacted"] == 1
    talks = [Talk(tmp_path / f"store{n}", "pi").grow(6) for n in range(2)]
    run = job(tmp_path, "compaction.max_sessions=1")
    from slowwave.compaction.story import compact_sessions  # noqa: PLC0415 - only here
    from slowwave.stores.projects import Project  # noqa: PLC0415 - only here

    sessions = tuple(t.stored() for t in talks)
    report = compact_sessions(Project("shop", "", (), tmp_path, sessions), sessions, run)
    assert report.counts["compacted"] == 1
    assert report.gates[-1].gate == "limit"


def test_a_second_compaction_carries_on_the_first_and_every_file(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    for _ in range(3):
        assert compacted(talk, job(tmp_path)).counts["compacted"] == 1
        talk.grow(5)
    (summary,) = [m for m in talk.context() if m.origin == "summary"]
    files = of_lists(summary.text)
    kept = {c.args["path"] for m in talk.context() for c in m.calls if c.name == "write"}  # type: ignore[index]
    assert set(files.modified_files) | kept >= {f"src/step{n}.py" for n in range(1, 22)}
    assert "please do step 1" in summary.text
    book = read_book(job(tmp_path).folder, talk.id, "pi", talk.path)
    assert len(book.compactions) == 3


def test_a_client_that_keeps_nothing_gets_its_newest_messages_word_for_word_once(tmp_path: Path):
    talk = Talk(tmp_path / "store", "crabtalk").grow(6)
    compacted(talk, job(tmp_path))
    talk.grow(5)
    compacted(talk, job(tmp_path))
    (summary,) = talk.context()
    assert summary.text.count("<recent-messages>") == 1
    recent = summary.text.partition("<recent-messages>")[2]
    assert "step 11 is done" in recent
    assert "step 6 is done" not in recent


def test_no_secret_is_written_again(tmp_path: Path):
    secret = "ghp_" + "a1B2" * 9
    talk = Talk(tmp_path / "store", "crabtalk").grow(6)

    def redact(text: str) -> str:
        return text.replace(secret, "[secret]")

    run = job(tmp_path, redact=redact)
    before = talk.path.stat().st_size

    def leaking(gone: Gone) -> Summary:
        made = by_ledger(gone)
        return made._replace(text=f"{made.text}\n{secret}")

    run.summarise = leaking
    assert compacted(talk, run).counts["compacted"] == 1
    appended = talk.path.read_bytes()[before:]
    assert b"[secret]" in appended
    assert secret.encode() not in appended


def test_what_was_summarised_can_be_read_back_by_its_bytes(tmp_path: Path):
    talk = Talk(tmp_path / "store", "claude").grow(6)
    before = talk.path.read_bytes()
    compacted(talk, job(tmp_path))
    (done,) = read_book(job(tmp_path).folder, talk.id, "claude", talk.path).compactions
    spans = b"".join(before[offset : offset + length] for _, offset, length, _ in done.dropped)
    assert b"please do step 1 " in spans
    assert b"step 6 is done" not in spans
    assert talk.path.samefile(done.path)
    assert done.proof["score"] > 0.5

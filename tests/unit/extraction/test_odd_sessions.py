"""Sessions out of the ordinary: names that are not UTF-8, copies and forks, and sessions that a gate keeps refusing."""

import os
from pathlib import Path

import pytest

from slowwave.consolidation.job import consolidate_project
from slowwave.extraction import job
from slowwave.extraction.gates import read_failures
from slowwave.extraction.job import extract_sessions
from slowwave.extraction.selection import CONFIDENCE
from slowwave.formats.sessions import StoredSession
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.evidence import totals, verify
from slowwave.report import Report
from slowwave.settings import ExtractionSettings, Settings
from tests.unit.extraction.talk import RULES, Talk, clock, open_gates, project, stored


def run(tmp_path: Path, *sessions: StoredSession, settings: Settings | None = None) -> Report:
    where = project(tmp_path / "store", *sessions)
    return extract_sessions(where, sessions, settings or open_gates(), clock(), home=tmp_path / "home")


def memory(tmp_path: Path) -> Path:
    return tmp_path / "store" / "memory"


def rule_talk(number: int = 1) -> Talk:
    talk = Talk(f"{number}d0c6a1e-0000-4000-8000-00000000000{number}")
    return talk.person("go on").bash("make test").assistant("Done.").person(RULES[number % 2])


def odd_session(tmp_path: Path) -> StoredSession:
    """Return a session whose file has a name that is not UTF-8."""
    folder = tmp_path / "store"
    folder.mkdir(exist_ok=True)
    path = Path(os.fsdecode(os.fsencode(folder) + b"/x\xff.jsonl"))
    path.write_bytes(rule_talk(8).assistant("ok").data())
    return stored(path)


def test_a_name_that_is_not_utf8_survives_from_extraction_to_verification(tmp_path: Path):
    odd, plain = odd_session(tmp_path), rule_talk().assistant("ok").write(tmp_path / "store")
    report = run(tmp_path, odd, plain)
    assert report.failures == []
    assert report.counts["candidates"] == 2
    assert run(tmp_path, odd, plain).counts == {"sessions": 2, "unchanged": 2}
    where = project(tmp_path / "store", odd, plain)
    consolidate_project(where, open_gates(), clock(), force=True, home=tmp_path / "home")
    memories = read_book(memory(tmp_path)).active
    assert len(memories) == 2
    assert totals(verify(memories, where.folders))["ok"] == 2


def test_a_failing_session_with_such_a_name_costs_the_others_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    odd, plain = odd_session(tmp_path), rule_talk().assistant("ok").write(tmp_path / "store")
    read = job.read_session

    def broken(session: StoredSession, *args: object) -> object:
        if session.id == odd.id:
            raise RecursionError(f"too deep in {session.files.paths[0]}")
        return read(session, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(job, "read_session", broken)
    reports = [run(tmp_path, odd, plain) for _ in range(4)]
    assert [len(r.failures) for r in reports] == [1, 1, 1, 0]
    assert reports[0].counts["candidates"] == 1
    assert next(iter(read_failures(memory(tmp_path))[0].values())).attempts == 3


def many_records(calls: int = 9) -> Talk:
    """Return a session with many records and few messages: results of tools share a message's turn."""
    talk = rule_talk()
    for number in range(calls):
        talk.bash(f"make part{number}")
    for record in talk.records[5:]:
        record["isSidechain"] = True
    return talk


def test_a_session_that_a_gate_refuses_is_not_decoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    session = many_records().write(tmp_path / "store")
    first = run(tmp_path, session, settings=Settings())
    assert first.counts["bytes_read"] == session.size
    monkeypatch.setattr(job, "read_session", None)
    second = run(tmp_path, session, settings=Settings())
    assert second.failures == []
    assert "bytes_read" not in second.counts
    assert [(g.gate, g.passed) for g in second.gates] == [("messages", False)]
    assert [i.reason for i in second.items] == [i.reason for i in first.items]


def test_a_refused_session_is_read_when_other_settings_let_it_pass(tmp_path: Path):
    talk = many_records()
    session = talk.write(tmp_path / "store")
    run(tmp_path, session, settings=Settings())
    loose = Settings(extraction=ExtractionSettings(min_messages=3))
    assert run(tmp_path, session, settings=loose).counts["candidates"] == 1


def test_a_refused_session_is_read_again_when_it_has_grown(tmp_path: Path):
    talk = many_records()
    run(tmp_path, talk.write(tmp_path / "store"), settings=Settings())
    talk.chatter(20).assistant("ok")
    report = run(tmp_path, talk.write(tmp_path / "store"), settings=Settings())
    assert report.counts["candidates"] == 1


def test_a_dry_run_remembers_no_refusal(tmp_path: Path):
    session = many_records().write(tmp_path / "store")
    where = project(tmp_path / "store", session)
    extract_sessions(where, [session], Settings(), clock(), dry_run=True, home=tmp_path / "home")
    assert not memory(tmp_path).exists()


def copy_of(talk: Talk, *, rewritten: bool) -> Talk:
    """Return a copy under another name; a fork has the same records with another session id in each."""
    other = Talk("c0d0c6a1-0000-4000-8000-00000000000c", [dict(record) for record in talk.records])
    for record in other.records:
        record["sessionId"] = other.id if rewritten else talk.id
    return other


def checked_talk(number: int = 1) -> Talk:
    talk = Talk(f"{number}d0c6a1e-0000-4000-8000-00000000000{number}")
    return talk.bash("pnpm test").bash("pnpm test").person(RULES[0]).assistant("ok")


def said(tmp_path: Path) -> dict[str, float]:
    """Return how certain each text is by the surest of its candidates."""
    every = sorted(read_candidates(memory(tmp_path))[0], key=lambda c: c.confidence)
    return {c.text: c.confidence for c in every}


@pytest.mark.parametrize("rewritten", [True, False], ids=["fork", "copy"])
def test_a_copy_or_fork_of_a_session_proves_nothing_anew(tmp_path: Path, rewritten: bool):
    talk = checked_talk()
    sessions = [t.write(tmp_path / "store") for t in (talk, copy_of(talk, rewritten=rewritten))]
    run(tmp_path, *sessions)
    assert not [c for c in read_candidates(memory(tmp_path))[0] if c.extractor.endswith("repeated")]
    consolidate_project(project(tmp_path / "store", *sessions), open_gates(), clock(), force=True, home=tmp_path)
    (rule,) = [m for m in read_book(memory(tmp_path)).active if m.text in RULES]
    assert (rule.text, rule.confidence) == (RULES[0], said(tmp_path)[RULES[0]])


def test_sessions_of_their_own_do_prove_more(tmp_path: Path):
    sessions = [checked_talk(n).write(tmp_path / "store") for n in (1, 2)]
    run(tmp_path, *sessions)
    assert [c.confidence for c in read_candidates(memory(tmp_path))[0] if c.extractor.endswith("repeated")] == [
        CONFIDENCE
    ]
    consolidate_project(project(tmp_path / "store", *sessions), open_gates(), clock(), force=True, home=tmp_path)
    assert min(m.confidence for m in read_book(memory(tmp_path)).active if m.text in RULES) > said(tmp_path)[RULES[0]]


def test_a_fork_that_goes_on_is_the_same_sighting_until_it_shows_something_of_its_own(tmp_path: Path):
    talk = checked_talk()
    fork = copy_of(talk, rewritten=True)
    fork.bash("pnpm lint").bash("pnpm lint").person(RULES[1]).assistant("ok")
    sessions = [t.write(tmp_path / "store") for t in (talk, fork)]
    run(tmp_path, *sessions)
    consolidate_project(project(tmp_path / "store", *sessions), open_gates(), clock(), force=True, home=tmp_path)
    rules = {m.text: m.confidence for m in read_book(memory(tmp_path)).active if m.text in RULES}
    assert rules == {rule: said(tmp_path)[rule] for rule in RULES[:2]}

"""Extraction from sessions that are no files of lines, and whether their evidence reads back afterwards."""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from slowwave.extraction.job import extract_sessions
from slowwave.formats import SessionFiles
from slowwave.formats.database import RowReader
from slowwave.formats.lines import open_plain
from slowwave.formats.sessions import StoredSession
from slowwave.memory import Evidence, seen_in
from slowwave.memory.candidates import read_candidates
from slowwave.memory.evidence import check_all, unproven
from slowwave.report import Report
from slowwave.settings import ExtractionSettings, Settings
from tests.unit.extraction.talk import NOW, RULES, START, clock, open_gates, project
from tests.unit.formats import codex_files, openclaw_files
from tests.unit.formats.opencode_files import SESSION, Session, database, done, words


def talk(*rules: str) -> Session:
    """Return a session in which a person states rules, which are not what it begins with."""
    session = Session()
    session.user("go on")
    session.answer(words("Done."))
    for number, rule in enumerate(rules):
        session.user(rule)
        session.answer(words("Understood."), done("ok", f"c{number}"))
    return session


def stored(
    path: Path, session: str, *, at: datetime = START, in_database: bool = False, size: int = 0
) -> StoredSession:
    """Return an opencode session as a store finds it, at rest since ``at``."""
    files = SessionFiles(session, (path,))
    size = size or path.stat().st_size
    return StoredSession(
        "opencode", files, "main", path.parent, size, int(at.timestamp() * 1e9), in_database=in_database
    )


def as_export(session: Session, folder: Path) -> StoredSession:
    return stored(session.export(folder), SESSION)


def as_tree(session: Session, folder: Path) -> StoredSession:
    return stored(session.tree(folder), SESSION, size=sum(p.stat().st_size for p in folder.rglob("*.json")))


def as_rows(session: Session, folder: Path) -> StoredSession:
    (folder / "opencode.db").unlink(missing_ok=True)
    return stored(database(folder, session), SESSION, in_database=True, size=len(json.dumps(session.messages)))


FORMS: dict[str, Callable[[Session, Path], StoredSession]] = {"export": as_export, "tree": as_tree, "rows": as_rows}


def run(tmp_path: Path, session: StoredSession, settings: Settings | None = None) -> Report:
    where = project(tmp_path / "store", session)
    return extract_sessions(where, [session], settings or open_gates(), clock(), home=tmp_path / "home")


def evidence(tmp_path: Path) -> list[Evidence]:
    return [e for c in read_candidates(tmp_path / "store" / "memory")[0] for e in c.evidence]


def texts(tmp_path: Path) -> list[str]:
    return [c.text for c in read_candidates(tmp_path / "store" / "memory")[0]]


def folder_of(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_candidates_have_evidence_that_reads_back(tmp_path: Path, form: str) -> None:
    report = run(tmp_path, FORMS[form](talk(*RULES[:2]), folder_of(tmp_path)))
    assert (report.failures, report.counts["candidates"]) == ([], 2)
    assert texts(tmp_path) == list(RULES[:2])
    every = evidence(tmp_path)
    assert [c.finding for c in check_all(every)] == ["ok", "ok"]
    if form == "rows":
        with RowReader() as rows:
            data = [rows.read(Path(e.path), e.record) or b"" for e in every]
    else:
        data = [Path(e.path).read_bytes()[e.offset : e.offset + e.length] for e in every]
    for item, raw, rule in zip(every, data, RULES[:2], strict=True):
        assert hashlib.sha256(raw).hexdigest() == item.sha256
        assert rule.encode() in raw
        assert item.length == len(raw)
    assert all(e.record.startswith("part/prt_" if form == "rows" else "prt_") for e in every)


@pytest.mark.parametrize("form", FORMS)
def test_a_second_run_decodes_nothing_and_writes_nothing(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = FORMS[form](talk(*RULES[:2]), folder_of(tmp_path))
    run(tmp_path, session)
    memory = tmp_path / "store" / "memory"
    before = {p: p.stat().st_mtime_ns for p in memory.rglob("*") if p.suffix != ".lock"}
    monkeypatch.setattr("slowwave.extraction.job.by_name", None)
    report = run(tmp_path, session)
    assert (report.counts, report.failures) == ({"sessions": 1, "unchanged": 1}, [])
    assert {p: p.stat().st_mtime_ns for p in memory.rglob("*") if p.suffix != ".lock"} == before


@pytest.mark.parametrize("form", FORMS)
def test_only_what_is_new_of_a_grown_session_counts(tmp_path: Path, form: str) -> None:
    run(tmp_path, FORMS[form](talk(RULES[0]), folder_of(tmp_path)))
    report = run(tmp_path, FORMS[form](talk(*RULES[:2]), folder_of(tmp_path)))
    assert report.counts["candidates"] == 1
    assert "rewritten" not in report.counts
    first, second = read_candidates(tmp_path / "store" / "memory")[1]
    assert (first.start, first.stop) == (0, second.start)
    assert texts(tmp_path) == list(RULES[:2])


@pytest.mark.parametrize("form", FORMS)
def test_a_session_that_was_changed_is_read_again_and_its_candidates_stay_single(tmp_path: Path, form: str) -> None:
    run(tmp_path, FORMS[form](talk(*RULES[:2]), folder_of(tmp_path)))
    changed = talk(*RULES[:2])
    changed.messages[3]["parts"][1]["text"] = "Understood, and noted."
    report = run(tmp_path, FORMS[form](changed, folder_of(tmp_path)))
    assert report.counts["rewritten"] == 1
    assert texts(tmp_path) == list(RULES[:2])


@pytest.mark.parametrize("form", FORMS)
def test_a_new_title_costs_one_reading_and_no_candidate(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, FORMS[form](talk(*RULES[:2]), folder_of(tmp_path)))
    renamed = talk(*RULES[:2])
    renamed.info["title"] = "A title that is longer"
    session = FORMS[form](renamed, folder_of(tmp_path))
    later = StoredSession(
        session.dialect,
        session.files,
        session.kind,
        session.folder,
        session.size + 1,
        session.mtime_ns,
        in_database=session.in_database,
    )
    assert run(tmp_path, later).counts == {"sessions": 1, "unchanged": 1}
    monkeypatch.setattr("slowwave.extraction.job.by_name", None)
    assert run(tmp_path, later).counts == {"sessions": 1, "unchanged": 1}
    assert texts(tmp_path) == list(RULES[:2])


def test_a_refused_session_is_not_decoded_again_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = as_rows(talk(*RULES[:2]), folder_of(tmp_path))
    assert run(tmp_path, session, Settings()).counts["skipped_by_gate"] == 1
    with monkeypatch.context() as patch:
        patch.setattr("slowwave.extraction.job.by_name", None)
        second = run(tmp_path, session, Settings())
    assert (second.failures, [g.gate for g in second.gates]) == ([], ["messages"])
    loose = Settings(extraction=ExtractionSettings(min_messages=2, min_tool_calls=0))
    assert run(tmp_path, session, loose).counts["candidates"] == 2


@pytest.mark.parametrize(("minutes", "word"), [(5, "must rest"), (-60, "in the future")])
def test_a_session_of_a_database_rests_by_its_own_time(tmp_path: Path, minutes: int, word: str) -> None:
    path = database(folder_of(tmp_path), talk(*RULES[:2]))
    report = run(tmp_path, stored(path, SESSION, at=NOW - timedelta(minutes=minutes), in_database=True))
    (gate,) = report.gates
    assert (gate.gate, word in gate.reason) == ("idle", True)


def test_sub_agents_are_counted_and_not_mined(tmp_path: Path) -> None:
    child = talk(*RULES[:2])
    child.info["parentID"] = "ses_parent"
    session = as_rows(child, folder_of(tmp_path))
    assert run(tmp_path, session).counts["subagents"] == 1
    assert run(tmp_path, session).counts == {"sessions": 1, "unchanged": 1}
    assert texts(tmp_path) == []


def test_a_row_that_is_gone_is_lost_and_one_that_was_changed_is_changed(tmp_path: Path) -> None:
    session = as_rows(talk(*RULES[:2]), folder_of(tmp_path))
    run(tmp_path, session)
    first, second = evidence(tmp_path)
    with closing(sqlite3.connect(session.files.paths[0])) as db:
        db.execute("DELETE FROM part WHERE id = ?", (first.record.removeprefix("part/"),))
        db.execute("UPDATE part SET data = '{}' WHERE id = ?", (second.record.removeprefix("part/"),))
        db.commit()
    assert [c.finding for c in check_all([first, second])] == ["lost", "changed"]
    reasons = unproven({"first": [first], "second": [second], "both": [first, second]})
    assert reasons["first"].startswith("its evidence is gone")
    assert reasons["second"].startswith("its evidence is no longer")
    assert reasons["both"] == reasons["first"]
    session.files.paths[0].unlink()
    assert [c.finding for c in check_all([first, second])] == ["lost", "lost"]


def test_a_database_that_was_moved_or_is_damaged(tmp_path: Path) -> None:
    session = as_rows(talk(*RULES[:2]), folder_of(tmp_path))
    run(tmp_path, session)
    item = evidence(tmp_path)[0]
    moved = tmp_path / "elsewhere" / "opencode.db"
    moved.parent.mkdir()
    shutil.move(session.files.paths[0], moved)
    for folders in ([moved], [moved.parent]):
        (checked,) = check_all([item], folders)
        assert (checked.finding, checked.path, checked.offset) == ("moved", os.fspath(moved), 0)
    moved.write_bytes(b"SQLite format 3\0" + b"x" * 100)
    assert check_all([item], [moved])[0].finding == "changed"


def test_a_part_of_a_tree_that_is_gone_or_changed(tmp_path: Path) -> None:
    run(tmp_path, as_tree(talk(*RULES[:2]), folder_of(tmp_path)))
    first, second = evidence(tmp_path)
    Path(first.path).unlink()
    Path(second.path).write_text("{}", encoding="utf-8")
    assert [c.finding for c in check_all([first, second])] == ["lost", "changed"]


def test_a_copied_row_is_the_same_sighting(tmp_path: Path) -> None:
    run(tmp_path, as_rows(talk(RULES[0]), folder_of(tmp_path)))
    (item,) = evidence(tmp_path)
    copy = Evidence("/other.db", "part/prt_copied0001", 0, item.length, item.sha256, item.quote)
    assert seen_in((item,)) == seen_in((copy,))


def packed_rollout(folder: Path) -> StoredSession:
    """Return a session of Codex whose rollout is packed."""
    rows = [row for rule in RULES[:2] for row in codex_files.turn(rule, "Understood.")]
    path = codex_files.rollout(folder, codex_files.meta(), *rows)
    packed = codex_files.compressed(path)
    path.unlink()
    return stored_rollout(packed)


def stored_rollout(path: Path) -> StoredSession:
    os.utime(path, (START.timestamp(), START.timestamp()))
    at = path.stat()
    files = SessionFiles(codex_files.THREAD, (path,))
    return StoredSession("codex", files, "main", path.parent, at.st_size, at.st_mtime_ns)


def test_a_packed_rollout_has_evidence_in_its_plain_bytes(tmp_path: Path) -> None:
    session = packed_rollout(tmp_path / "sessions" / "2026" / "11" / "21")
    assert run(tmp_path, session).counts["candidates"] == 2
    for item, rule in zip(evidence(tmp_path), RULES[:2], strict=True):
        with open_plain(Path(item.path)) as file:
            file.seek(item.offset)
            assert rule.encode() in file.read(item.length)
        assert check_all([item])[0].finding == "ok"


def test_evidence_follows_a_rollout_that_is_unpacked_packed_or_archived(tmp_path: Path) -> None:
    session = packed_rollout(tmp_path / "sessions" / "2026" / "11" / "21")
    run(tmp_path, session)
    items = evidence(tmp_path)
    packed = session.files.paths[0]
    plain = packed.with_suffix("")
    with open_plain(packed) as file:
        plain.write_bytes(file.read())
    packed.unlink()
    assert {(c.finding, c.path) for c in check_all(items)} == {("moved", os.fspath(plain))}
    archive = tmp_path / "archived_sessions" / plain.name
    archive.parent.mkdir()
    plain.rename(archive)
    assert {(c.finding, c.path) for c in check_all(items)} == {("moved", os.fspath(archive))}
    archive.unlink()
    assert {c.finding for c in check_all(items)} == {"lost"}


def test_a_rollout_that_was_packed_after_it_was_read_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sessions" / "2026" / "11" / "21"
    path = codex_files.rollout(folder, codex_files.meta(), *codex_files.turn(RULES[0], "ok"))
    assert run(tmp_path, stored_rollout(path)).counts["candidates"] == 1
    packed = codex_files.compressed(path)
    path.unlink()
    assert run(tmp_path, stored_rollout(packed)).counts == {"sessions": 1, "unchanged": 1}
    monkeypatch.setattr("slowwave.extraction.job.states_of", None)
    assert run(tmp_path, stored_rollout(packed)).counts == {"sessions": 1, "unchanged": 1}


@pytest.mark.parametrize("form", FORMS)
def test_the_gate_on_tool_calls_counts_those_since_the_last_time(tmp_path: Path, form: str) -> None:
    settings = Settings(extraction=ExtractionSettings(min_messages=1, min_tool_calls=2))
    run(tmp_path, FORMS[form](talk(RULES[0]), folder_of(tmp_path)), settings)
    report = run(tmp_path, FORMS[form](talk(*RULES[:2]), folder_of(tmp_path)), settings)
    assert [g.reason.partition(": ")[2].partition(";")[0] for g in report.gates] == [
        "1 tool calls since the last extraction, 2 needed"
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_events_of_an_openclaw_database_are_evidence_plain_and_packed(tmp_path: Path, packed: bool) -> None:
    made = openclaw_files.session("s1")
    for rule in RULES[:2]:
        made.user(rule)
        made.model({"type": "text", "text": "Understood."})
    agent = openclaw_files.Agent(folder_of(tmp_path))
    agent.add(made, packed=packed)
    session = StoredSession(
        "openclaw",
        SessionFiles("s1", (agent.path,)),
        "main",
        tmp_path,
        9,
        int(START.timestamp() * 1e9),
        in_database=True,
    )
    assert run(tmp_path, session).counts["candidates"] == 2
    items = evidence(tmp_path)
    assert [e.record.rpartition("/")[0] for e in items] == ["transcript_events/s1"] * 2
    assert [c.finding for c in check_all(items)] == ["ok", "ok"]
    assert run(tmp_path, session).counts == {"sessions": 1, "unchanged": 1}
    agent.run("DELETE FROM transcript_events WHERE seq = ?", int(items[0].record.rpartition("/")[2]))
    agent.run("UPDATE transcript_events SET event_json = '{}' WHERE seq = ?", int(items[1].record.rpartition("/")[2]))
    assert [c.finding for c in check_all(items)] == ["lost", "changed"]

"""Extraction takes from the active path alone, in every dialect, and counts what it passed over."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowwave.extraction.job import extract_sessions
from slowwave.formats.sessions import StoredSession
from slowwave.memory.candidates import read_candidates
from slowwave.report import Report
from tests.unit.extraction.talk import RULES, clock, open_gates, project, stored
from tests.unit.formats import claude_files, codex_files, opencode_files, pi_files
from tests.unit.stores.store_builder import as_bytes, cersei

KEPT = RULES[0]
LEFT = RULES[1]
ECHO = "always run the linter before you commit"


def extracted(tmp_path: Path, session: StoredSession) -> tuple[list[str], Report]:
    where = project(tmp_path / "store", session)
    report = extract_sessions(where, [session], open_gates(), clock(), home=tmp_path / "home")
    return [c.text for c in read_candidates(where.memory)[0]], report


def claude_rewind(folder: Path) -> StoredSession:
    session = claude_files.Session()
    session.user("hello")
    said = session.says("m1", "hi")
    session.user(LEFT)
    session.says("m2", "ok")
    session.user(KEPT, said)
    session.says("m3", "ok")
    session.read(folder)
    return stored(folder / "s1.jsonl")


def pi_branch(folder: Path, name: str = "pi") -> StoredSession:
    session = pi_files.Session()
    session.user("hello")
    said = session.model("hi")
    session.user(LEFT)
    session.model("ok")
    session.user(KEPT, parent=said)
    session.model("ok")
    path = folder / "s1.jsonl"
    path.write_bytes(session.data())
    return stored(path, dialect=name)


def openclaw_branch(folder: Path) -> StoredSession:
    return pi_branch(folder, "openclaw")


def codex_rollback(folder: Path) -> StoredSession:
    lines = [
        codex_files.meta(),
        *codex_files.turn("hello", "hi"),
        *codex_files.turn(LEFT, "ok"),
        codex_files.event("thread_rolled_back", num_turns=1),
        *codex_files.turn(KEPT, "ok"),
    ]
    return stored(codex_files.rollout(folder, *lines), dialect="codex")


def opencode_revert(folder: Path) -> StoredSession:
    session = opencode_files.Session()
    session.user("hello")
    session.answer(opencode_files.words("hi"))
    session.user(KEPT)
    session.answer(opencode_files.words("ok"))
    session.info["revert"] = {"messageID": session.user(LEFT)}
    session.answer(opencode_files.words("ok"))
    path = session.export(folder)
    return stored(path, dialect="opencode")


@pytest.mark.parametrize("build", [claude_rewind, pi_branch, openclaw_branch, codex_rollback, opencode_revert])
def test_nothing_is_taken_from_a_branch_that_was_left(tmp_path: Path, build: Callable[[Path], StoredSession]):
    folder = tmp_path / "store"
    folder.mkdir()
    texts, report = extracted(tmp_path, build(folder))
    assert texts == [KEPT]
    assert report.counts["abandoned"] == 2
    assert "sidechain" not in report.counts


def claude_sidechain(folder: Path) -> StoredSession:
    session = claude_files.Session()
    session.user(KEPT)
    said = session.says("m1", claude_files.call("c1", "Task"))
    session.sidechain = True
    session.user(ECHO, None)
    session.says("m2", "ok")
    session.sidechain = False
    session.result("c1", ECHO, said)
    session.says("m3", "ok")
    session.read(folder)
    return stored(folder / "s1.jsonl")


def cersei_sidechain(folder: Path) -> StoredSession:
    path = folder / "s1.jsonl"
    side = {"is_sidechain": True}
    lines = [cersei("user", KEPT, 0), cersei("user", ECHO, 1, **side), cersei("assistant", "ok", 2, **side)]
    path.write_bytes(as_bytes([*lines, cersei("assistant", "ok", 3)]))
    return stored(path, dialect="cersei")


@pytest.mark.parametrize("build", [claude_sidechain, cersei_sidechain])
def test_nothing_is_taken_from_a_sub_agent_inside_the_session(tmp_path: Path, build: Callable[[Path], StoredSession]):
    folder = tmp_path / "store"
    folder.mkdir()
    texts, report = extracted(tmp_path, build(folder))
    assert texts == [KEPT]
    assert report.counts["sidechain"] == 2
    assert "abandoned" not in report.counts


def codex_agent(folder: Path) -> StoredSession:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}
    lines = [codex_files.meta(source=source), *codex_files.turn(ECHO, "ok")]
    return stored(codex_files.rollout(folder, *lines), dialect="codex")


def opencode_agent(folder: Path) -> StoredSession:
    session = opencode_files.Session(parentID="ses_parent")
    session.user(ECHO)
    session.answer(opencode_files.words("ok"))
    return stored(session.export(folder), dialect="opencode")


def claude_agent(folder: Path) -> StoredSession:
    session = claude_files.Session(sidechain=True)
    session.user(ECHO)
    session.says("m1", "ok")
    session.read(folder)
    return stored(folder / "s1.jsonl")


@pytest.mark.parametrize("build", [codex_agent, opencode_agent, claude_agent])
def test_a_sub_agents_own_session_gives_nothing(tmp_path: Path, build: Callable[[Path], StoredSession]):
    folder = tmp_path / "store"
    folder.mkdir()
    texts, report = extracted(tmp_path, build(folder))
    assert texts == []
    assert report.counts["subagents"] == 1


def test_a_message_that_a_tombstone_hides_gives_nothing(tmp_path: Path):
    path = tmp_path / "store" / "s1.jsonl"
    path.parent.mkdir()
    hidden: dict[str, Any] = {"type": "tombstone", "deleted_uuid": "u1", "timestamp": "2026-11-20T11:00:00Z"}
    path.write_bytes(as_bytes([cersei("user", KEPT, 0), cersei("user", LEFT, 1), cersei("assistant", "ok", 2), hidden]))
    texts, _ = extracted(tmp_path, stored(path, dialect="cersei"))
    assert texts == [KEPT]


def test_what_was_passed_over_before_is_not_counted_again(tmp_path: Path):
    folder = tmp_path / "store"
    folder.mkdir()
    session = claude_rewind(folder)
    extracted(tmp_path, session)
    path = session.files.paths[0]
    last = json.loads(path.read_bytes().splitlines()[-1])
    more = last | {
        "uuid": "u9",
        "parentUuid": last["uuid"],
        "message": {"id": "m9", "role": "assistant", "content": []},
    }
    path.write_bytes(path.read_bytes() + json.dumps(more).encode() + b"\n")
    _, report = extracted(tmp_path, stored(path))
    assert "abandoned" not in report.counts
    assert report.counts["extracted"] == 1

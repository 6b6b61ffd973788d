"""What is particular to pi and Clawdbot: answers that failed, results that are bare strings, settings, odd files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from slowwave.compaction.book import read_book
from slowwave.compaction.items import read_session
from slowwave.compaction.plan import due
from slowwave.compaction.story import compact_one, compact_sessions
from slowwave.errors import UsageError
from slowwave.formats import SessionFiles, ToolResult
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.report import Report
from slowwave.settings import CompactionSettings
from slowwave.stores.projects import Project
from tests.unit.compaction.job.talks import WRITTEN, job
from tests.unit.formats.codex_files import THREAD, message
from tests.unit.formats.pi_files import Session, call

PIS = ("pi", "openclaw")
LONG = "so it goes " * 400


def stored(folder: Path, data: bytes, dialect: str = "pi") -> StoredSession:
    """Return a session that was left yesterday."""
    name = f"rollout-2025-08-01T10-00-00-{THREAD}.jsonl" if dialect == "codex" else "s1.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    os.utime(path, (WRITTEN.timestamp(), WRITTEN.timestamp()))
    files = SessionFiles("s1", (path,))
    return StoredSession(dialect, files, "main", folder, len(data), int(WRITTEN.timestamp() * 1e9))


def run_over(session: StoredSession, folder: Path, *, dry_run: bool = False) -> Report:
    project = Project("shop", "", (), folder, (session,))
    return compact_sessions(project, [session], job(folder, force=True, dry_run=dry_run))


def with_failures() -> Session:
    """Return a session with answers that failed in what is summarised and in what is kept."""
    session = Session()
    for turn in range(4):
        session.user(f"please do step {turn}")
        session.model(f"half of step {turn}", call(f"x{turn}", "write", path=f"never/{turn}.py"), stopReason="aborted")
        session.user("go on")
        session.model("", stopReason="error", errorMessage="overloaded")
        session.user("again")
        session.model(LONG, call(f"c{turn}", "write", path=f"src/{turn}.py"))
        session.result(f"c{turn}", "written")
        session.model(f"step {turn} is done")
    return session


@pytest.mark.parametrize("dialect", PIS)
def test_answers_that_failed_are_neither_counted_nor_kept_nor_told(tmp_path: Path, dialect: str):
    session = stored(tmp_path / "store", with_failures().data(), dialect)
    before = read_session(dialect, session.files)
    assert [i.kind for i in before.items if i.message is not None].count("assistant") == 8
    report = run_over(session, tmp_path)
    assert report.counts["compacted"] == 1
    own = by_name(dialect)
    sent = list(own.context(own.read(session.files)))
    (done,) = read_book(job(tmp_path).folder, "s1", dialect, session.files.paths[0]).compactions
    assert done.kept == len(sent) - 1
    assert "never/" not in sent[0].text
    assert "src/0.py" in sent[0].text
    assert "half of step 0" not in sent[0].text


def test_what_only_failed_since_the_last_compaction_is_nothing_new(tmp_path: Path):
    talk = with_failures()
    talk.compact(talk.last, "so far")
    talk.model("half", stopReason="aborted")
    report = run_over(stored(tmp_path / "store", talk.data()), tmp_path)
    assert "no messages since the last compaction" in report.gates[0].reason


@pytest.mark.parametrize("dialect", PIS)
def test_results_that_are_bare_strings_stay_with_their_calls_and_their_text_is_told(tmp_path: Path, dialect: str):
    session = Session()
    for turn in range(4):
        session.user(f"please do step {turn}")
        session.model(LONG, call(f"c{turn}", "bash", command=f"make step{turn}"))
        body = {"role": "toolResult", "toolCallId": f"c{turn}", "content": f"error: step {turn} broke", "isError": True}
        session.add("message", message=body)
        session.model(f"step {turn} is done")
    found = stored(tmp_path / "store", session.data(), dialect)
    items = read_session(dialect, found.files).items
    assert sum("broke" in r.text for i in items if i.message for r in i.message.results) == 4
    assert run_over(found, tmp_path).counts["compacted"] == 1
    own = by_name(dialect)
    sent = list(own.context(own.read(found.files)))
    assert "step 0 broke" in sent[0].text
    # the clients themselves lose the text of what is kept
    results = [block for m in sent for block in m.blocks if isinstance(block, ToolResult)]
    assert {result.text for result in results} == {"(see attached image)"}


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ("{}", 180_000),
        ("{reserveTokensFloor: 60000}", 140_000),
        ("{reserveTokensFloor: 0}", 200_000 - 16_384),
        ("{reserveTokensFloor: 'all'}", 180_000),
        ("{", 180_000),
    ],
)
def test_the_reserve_is_not_below_the_floor_of_the_clients_settings(tmp_path: Path, config: str, limit: int):
    sessions = tmp_path / "agents" / "main" / "sessions"
    text = "{ // by a person\n agents: { defaults: { compaction: " + config + " } } }"
    session = stored(sessions, with_failures().data(), "openclaw")
    (tmp_path / "clawdbot.json").write_text(text)
    found = due(read_session("openclaw", session.files), CompactionSettings(), soft=0)
    assert f"limit {limit:,}" in found.reason
    # pi has no such setting
    assert "limit 183,616" in due(read_session("pi", session.files), CompactionSettings(), soft=0).reason


def first_version() -> bytes:
    """Return a session of pi's first version: no version in its header, no ids."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in with_failures().data().splitlines()]
    rows[0].pop("version")
    for row in rows[1:]:
        row.pop("id")
        row.pop("parentId")
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def moved(kind: str) -> bytes:
    session = with_failures()
    session.add(kind, targetId="e2")
    return session.data()


def bare() -> bytes:
    rows: list[Any] = [{"id": THREAD, "timestamp": "2025-08-01T10:00:00.000Z"}]
    for turn in range(6):
        rows += [message("user", f"step {turn}"), message("assistant", LONG)]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize(
    ("dialect", "data", "why", "remedy"),
    [
        ("pi", first_version(), "version 1 of pi has no ids", "open it in pi once"),
        ("openclaw", first_version(), "version 1 of pi has no ids", "open it in pi once"),
        ("openclaw", moved("leaf"), "records (leaf, reset)", "send /compact in OpenClaw"),
        ("openclaw", moved("reset"), "records (leaf, reset)", "send /compact in OpenClaw"),
        ("codex", bare(), "no record for compactions", "continue in a new session"),
    ],
    ids=["pi 1", "clawdbot, pi 1", "leaf", "reset", "bare rollout"],
)
def test_what_no_compaction_can_be_written_to_is_refused_with_reason_and_remedy(
    tmp_path: Path, dialect: str, data: bytes, why: str, remedy: str
):
    session = stored(tmp_path / "store", data, dialect)
    report = Report("compact")
    for dry_run in (True, False):
        report = run_over(session, tmp_path, dry_run=dry_run)
        assert [gate.gate for gate in report.gates] == ["client"]
        assert why in report.gates[0].reason
        assert remedy in report.gates[0].reason
        with pytest.raises(UsageError, match=r"has no ids|leaf, reset|no record for"):
            compact_one(session, job(tmp_path, dry_run=dry_run))
    assert session.files.paths[0].read_bytes() == data
    assert "flushed" not in report.counts

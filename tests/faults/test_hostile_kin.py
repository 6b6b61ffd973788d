"""Sessions that name their parents in a circle: each is listed once, and every tree that is drawn ends."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from tests.unit.formats import claude_files, codex_files, openclaw_files, opencode_files, pi_files
from tests.unit.stores.store_builder import as_bytes, cersei

pytestmark = pytest.mark.timeout(60)
Capture = pytest.CaptureFixture[str]


def named(number: int) -> str:
    return str(uuid.UUID(int=number + 1, version=4))


def ring(count: int) -> list[tuple[str, str]]:
    """Return ids, each with that of the next one: its parent."""
    return [(named(n), named((n + 1) % count)) for n in range(count)]


def claude(home: Path, count: int) -> Path:
    folder = home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    for own, parent in ring(count):
        made = claude_files.Session()
        fields: Any = {"sessionId": own, "forkedFrom": {"sessionId": parent, "messageUuid": "m-0"}}
        made.user("mend it", uuid="m-0", **fields)
        made.says("msg", "done", uuid="m-1", **fields)
        made.read(folder, f"{own}.jsonl")
    return home / ".claude"


def cersei_forks(home: Path, count: int) -> Path:
    folder = home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    for own, parent in ring(count):
        lines = [cersei("user", "mend it", 0), cersei("assistant", "done", 1)]
        (folder / f"{own}.jsonl").write_bytes(as_bytes([line | {"forked_from": parent} for line in lines]))
    return home / ".claude"


def pi(home: Path, count: int) -> Path:
    folder = home / ".pi" / "agent" / "sessions" / "--work--"
    folder.mkdir(parents=True)
    for own, parent in ring(count):
        header = {"id": own, "parentSession": f"/elsewhere/2026-03-15T10-00-00-000Z_{parent}.jsonl"}
        made = pi_files.Session(pi_files.HEADER | header)
        made.user("mend it")
        (folder / f"2026-03-15T10-00-00-000Z_{own}.jsonl").write_bytes(made.data())
    return home / ".pi" / "agent"


def _codex(home: Path, count: int, fields: Callable[[str], dict[str, Any]]) -> Path:
    for own, parent in ring(count):
        lines = [codex_files.meta(own, **fields(parent)), *codex_files.turn("mend it", "done")]
        codex_files.rollout(home / ".codex" / "sessions" / "2026" / "11" / "21", *lines, thread=own)
    return home / ".codex"


def codex_forks(home: Path, count: int) -> Path:
    def fields(parent: str) -> dict[str, Any]:
        base = {"thread_id": parent, "end_byte_offset": 10_000}
        return {"forked_from_id": parent, "history_mode": "paginated", "history_base": base}

    return _codex(home, count, fields)


def codex_agents(home: Path, count: int) -> Path:
    def fields(parent: str) -> dict[str, Any]:
        spawned = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}}
        return {"source": spawned, "session_id": parent, "parent_thread_id": parent}

    return _codex(home, count, fields)


def clawdbot(home: Path, count: int) -> Path:
    folder = home / ".clawdbot" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    entries: dict[str, Any] = {}
    for own, parent in ring(count):
        made = openclaw_files.session(own, version=3, parentSession=str(folder / f"{parent}.jsonl"))
        made.user("mend it")
        (folder / f"{own}.jsonl").write_bytes(made.data())
        entries[f"agent:main:subagent:{own}"] = {"sessionId": own, "spawnedBy": f"agent:main:subagent:{parent}"}
    (folder / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")
    return home / ".clawdbot"


def openclaw(home: Path, count: int) -> Path:
    folder = home / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    store = openclaw_files.Agent(folder)
    for at, (own, parent) in enumerate(ring(count), openclaw_files.START):
        made = openclaw_files.session(own)
        made.user("mend it")
        store.add(made, key=f"agent:main:subagent:{own}", at=at)
        store.node(own, spawned_by=f"agent:main:subagent:{parent}", fork_source_session_id=parent)
    return home / ".openclaw"


def _opencode(count: int) -> list[opencode_files.Session]:
    found: list[opencode_files.Session] = []
    for own, parent in ring(count):
        made = opencode_files.Session(f"ses_{own[-8:]}", parentID=f"ses_{parent[-8:]}")
        made.user("mend it")
        found.append(made)
    return found


def opencode_rows(home: Path, count: int) -> Path:
    (home / "opencode").mkdir()
    opencode_files.database(home / "opencode", *_opencode(count))
    return home / "opencode"


def opencode_tree(home: Path, count: int) -> Path:
    for made in _opencode(count):
        made.tree(home / "opencode")
    return home / "opencode"


RINGS = (*(claude, cersei_forks, pi, codex_forks, codex_agents, clawdbot, openclaw, opencode_rows, opencode_tree),)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("build", RINGS, ids=lambda build: build.__name__)
def test_parents_in_a_circle_hide_no_session_and_every_tree_ends(
    build: Callable[[Path, int], Path], count: int, tmp_path: Path, capsys: Capture
) -> None:
    store = ["--store", str(build(tmp_path, count))]
    assert main(["sessions", "list", "--json", *store]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) == count
    assert main(["sessions", "list", "--all", *store]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= count
    assert main(["sessions", "search", "mend", "--all", "--json", "--limit", "9", *store]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 1
    for row in rows[:2]:
        assert main(["sessions", "show", row["id"], "--tree", "--all", *store]) == 0
        drawn = capsys.readouterr().out
        assert "● user" in drawn
        assert len(drawn.splitlines()) < 10 * (count + 3)
        assert main(["sessions", "context", row["id"], *store]) == 0
        assert "mend it" in capsys.readouterr().out
    assert main(["run", "nightly", "--direct", "--force", *store, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["sessions"] <= count

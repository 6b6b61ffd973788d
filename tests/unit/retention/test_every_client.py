"""Secrets leave the sessions of every client that may be written to; what may not is refused and stays as it is."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.codex.dialect import CODEX
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.discovery import find_projects
from tests.unit.retention import planted
from tests.unit.retention.planted import OLD, TOKEN, WRITTEN, aged, content, contents, erase, left_in
from tests.unit.stores import families


def shapes(root: Path, home: Path) -> dict[str, tuple[str, str, int]]:
    """Return of every session dialect, kind and size."""
    settings = Settings(store=StoreSettings(roots=(root,)))
    found = find_projects(settings, {"HOME": str(home)})
    return {s.id: (s.dialect, s.kind, s.size) for project in found.projects for s in project.sessions}


@pytest.mark.parametrize("build", WRITTEN, ids=lambda build: build.__name__)
def test_every_client_loses_its_secrets_and_nothing_else(
    own_home: Path, capsys: pytest.CaptureFixture[str], build: Callable[[Path], Path]
) -> None:
    root = build(own_home)
    aged(root)
    assert left_in(own_home)
    before, sessions = contents(root), shapes(root, own_home)
    planned = erase(capsys, "--store", str(root))
    assert contents(root) == before
    done = erase(capsys, "--store", str(root), "--apply")
    assert left_in(own_home) == []
    assert "refused" not in done["counts"]
    assert done["counts"]["replaced"] == planned["counts"]["found"]
    after = contents(root)
    assert {name: len(data) for name, data in after.items()} == {name: len(data) for name, data in before.items()}
    assert {path.stat().st_mtime for path in root.rglob("*") if path.is_file()} == {OLD}
    packed = {name for name in before if name.endswith(".zst")}
    now = shapes(root, own_home)
    assert now.keys() == sessions.keys()
    assert packed or now == sessions
    again = erase(capsys, "--store", str(root), "--apply")
    assert not {"replaced", "found", "refused"} & set(again["counts"])
    assert contents(root) == after


def test_a_fork_by_reference_still_begins_where_it_did(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = planted.codex(own_home)
    aged(root)
    (fork,) = [path for path in root.rglob("rollout*.jsonl") if b"history_base" in path.read_bytes()]
    before = CODEX.read(SessionFiles("fork", (fork,)))
    erase(capsys, "--store", str(root), "--apply")
    after = CODEX.read(SessionFiles("fork", (fork,)))
    assert len(before.inherited) == len(after.inherited) > 0
    assert not after.problems
    assert [line.span.offset for line in after.inherited] == [line.span.offset for line in before.inherited]


@pytest.mark.parametrize("build", [families.openclaw, families.opencode_rows])
def test_what_only_its_client_writes_is_refused(
    own_home: Path, capsys: pytest.CaptureFixture[str], build: Callable[[Path], families.Family]
) -> None:
    family = build(own_home)
    aged(family.root)
    before = contents(family.root)
    report = erase(capsys, "--store", str(family.root), "--apply")
    assert contents(family.root) == before
    assert report["counts"]["refused"] == report["counts"]["sessions"] == len(family.known)
    assert all("database" in item["reason"] for item in report["items"] if item["action"] == "refused")


def test_a_session_that_codex_has_open_is_refused(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = planted.codex(own_home)
    path = next(path for path in root.rglob("rollout*.jsonl") if TOKEN.encode() in path.read_bytes())
    locks = root / "thread-writer-locks"
    locks.mkdir()
    thread = path.name.removesuffix(".jsonl")[-36:]
    aged(root)
    with (locks / f"{thread}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        report = erase(capsys, "--store", str(root), "--apply")
    refused = [item for item in report["items"] if item["action"] == "refused"]
    assert [item["target"] for item in refused] == [thread]
    assert "running Codex" in refused[0]["reason"]
    assert TOKEN.encode() in path.read_bytes()


def test_a_live_sub_agent_is_refused_although_its_session_rests(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = planted.claude(own_home)
    aged(root)
    (agent,) = root.rglob("agent-a1.jsonl")
    os.utime(agent)
    report = erase(capsys, "--store", str(root), "--apply")
    assert left_in(root) == [str(agent)]
    assert [item["target"] for item in report["items"] if item["action"] == "refused"] == ["agent-a1"]


def test_prompts_of_a_client_that_runs_are_refused(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = planted.claude(own_home)
    aged(root)
    os.utime(root / "history.jsonl")
    report = erase(capsys, "--store", str(root), "--apply")
    assert left_in(root) == [str(root / "history.jsonl")]
    assert [item["reason"][:4] for item in report["items"] if item["action"] == "refused"] == ["live"]


def test_a_damaged_packed_rollout_is_refused_and_keeps_its_bytes(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = planted.codex(own_home)
    packed = max(root.rglob("*.zst"))
    packed.write_bytes(packed.read_bytes()[:-20])
    aged(root)
    before = packed.read_bytes()
    report = erase(capsys, "--store", str(root), "--apply")
    assert packed.read_bytes() == before
    assert [i["target"] for i in report["items"] if i["action"] == "refused"] == [str(packed)]


def test_the_index_of_clawdbot_stays_json(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = planted.clawdbot(own_home)
    aged(root)
    (index,) = root.rglob("sessions.json")
    keys = list(json.loads(content(index)))
    erase(capsys, "--store", str(root), "--apply")
    assert list(json.loads(content(index))) == keys

"""Asking of every session of a large store whether something refers to it reads each header once, each folder once."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats import sessions as folders
from slowwave.formats.sessions import StoredSession
from slowwave.stores.trash import reason_to_stay
from tests.unit.stores import families

FOLDERS, EACH = 6, 20


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is opened and listed; folders count as settled at once."""
    seen: Counter[str] = Counter()
    header, scandir = folders._header, os.scandir  # pyright: ignore[reportPrivateUsage]

    def read(*args: Any) -> Any:
        seen["headers"] += 1
        return header(*args)

    def list_folder(*args: Any) -> Any:
        seen["listings"] += 1
        return scandir(*args)

    monkeypatch.setattr(folders, "_header", read)
    monkeypatch.setattr(os, "scandir", list_folder)
    monkeypatch.setattr(folders, "_TICK_NS", -(10**18))
    return seen


def stored(dialect: str, own: str, path: Path) -> StoredSession:
    at = path.stat()
    return StoredSession(dialect, SessionFiles(own, (path,)), "main", path.parent, at.st_size, at.st_mtime_ns)


def of_pi(home: Path) -> list[StoredSession]:
    found: list[StoredSession] = []
    for folder in range(FOLDERS):
        place = home / ".pi" / "agent" / "sessions" / f"--w{folder}--"
        place.mkdir(parents=True)
        for number in range(EACH):
            own = families.named(folder * EACH + number + 1)
            path = place / f"2026-03-15T10-00-00-000Z_{own}.jsonl"
            path.write_text(json.dumps({"type": "session", "version": 3, "id": own, "cwd": "/w"}) + "\n")
            found.append(stored("pi", own, path))
    return found


def of_codex(home: Path) -> list[StoredSession]:
    found: list[StoredSession] = []
    for day in range(FOLDERS):
        place = home / ".codex" / "sessions" / "2026" / "03" / f"{day + 1:02d}"
        place.mkdir(parents=True)
        for number in range(EACH):
            own = families.named(day * EACH + number + 1)
            path = place / f"rollout-2026-03-{day + 1:02d}T10-00-00-{own}.jsonl"
            path.write_text(json.dumps({"type": "session_meta", "payload": {"id": own, "cwd": "/w"}}) + "\n")
            found.append(stored("codex", own, path))
    return found


@pytest.mark.parametrize("make", [of_pi, of_codex])
def test_each_header_and_each_folder_is_read_once(tmp_path: Path, calls: Counter[str], make: Any) -> None:
    sessions = make(tmp_path)
    for session in sessions:
        assert reason_to_stay(session) == ""
    assert calls["headers"] == len(sessions)
    assert calls["listings"] <= FOLDERS + 4


@pytest.mark.parametrize("make", [of_pi, of_codex])
def test_a_removal_costs_a_listing_of_its_folder_and_no_header(tmp_path: Path, calls: Counter[str], make: Any) -> None:
    sessions = make(tmp_path)
    reason_to_stay(sessions[0])
    calls.clear()
    for session in sessions[: EACH * 2]:
        reason_to_stay(session)
        session.files.paths[0].unlink()
    assert calls["headers"] == 0
    assert calls["listings"] <= EACH * 2


def test_a_fork_that_is_made_meanwhile_is_found(tmp_path: Path, calls: Counter[str]) -> None:
    first, second = of_pi(tmp_path)[:2]
    assert reason_to_stay(first) == ""
    fork = second.files.paths[0].with_name(f"2026-03-16T10-00-00-000Z_{families.named(999)}.jsonl")
    named = {"type": "session", "version": 3, "id": families.named(999), "parentSession": first.files.paths[0].name}
    fork.write_text(json.dumps(named) + "\n")
    assert fork.name in reason_to_stay(first)
    assert calls["headers"] == FOLDERS * EACH + 1


def test_a_header_that_is_not_there_yet_is_looked_for_again(tmp_path: Path, calls: Counter[str]) -> None:
    first = of_pi(tmp_path)[0]
    fork = first.files.paths[0].with_name(f"2026-03-16T10-00-00-000Z_{families.named(999)}.jsonl")
    fork.write_bytes(b"")
    assert reason_to_stay(first) == ""
    named = {"type": "session", "version": 3, "id": families.named(999), "parentSession": first.files.paths[0].name}
    fork.write_text(json.dumps(named) + "\n")
    assert fork.name in reason_to_stay(first)
    assert calls["headers"] == FOLDERS * EACH + 2


def test_the_numbers_of_crabtalk_are_told_from_one_listing(tmp_path: Path, calls: Counter[str]) -> None:
    folder = tmp_path / ".crabtalk" / "sessions"
    folder.mkdir(parents=True)
    head = {"agent": "crab", "created_by": "user", "created_at": "2026-01-01T00:00:00Z", "title": "", "uptime_secs": 0}
    paths = [folder / f"crab_user_{number}.jsonl" for number in range(1, 40)]
    for path in paths:
        path.write_text(json.dumps(head) + "\n", encoding="utf-8")
    kept = [path.name for path in paths if reason_to_stay(stored("crabtalk", path.stem, path))]
    assert kept == ["crab_user_39.jsonl"]
    assert calls["listings"] == 1
    paths[-1].unlink()
    assert "38" in reason_to_stay(stored("crabtalk", paths[-2].stem, paths[-2]))

"""The doctor's checks: each sees its own trouble, names the fix, and changes nothing."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from slowwave.cli import main
from slowwave.context import FixedClock
from slowwave.memory.folder import sibling
from slowwave.samples import build
from slowwave.service.checks import Check, checks
from slowwave.settings import load_settings

NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)


def examined(
    store: Path,
    now: datetime = NOW,
    *,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    **how: bool,
) -> dict[str, Check]:
    settings = load_settings({}, overrides=overrides).with_roots([store])
    names = ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
    home = {name: os.environ[name] for name in names}
    return {check.name: check for check in checks(settings, {**home, **(environ or {})}, FixedClock(now), **how)}


def memory_of(store: Path) -> Path:
    folder = store / ".claude" / "projects" / "-home-ana-tern" / "memory"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def store(own_home: Path) -> Path:
    return build(own_home, NOW).home


def tree(root: Path) -> list[tuple[str, int]]:
    return [(str(p), p.stat().st_mtime_ns) for p in sorted(root.rglob("*"))]


def test_a_sound_installation_is_well_and_left_alone(store: Path, own_home: Path) -> None:
    before = tree(own_home)
    seen = examined(store)
    assert {name: check.seen for name, check in seen.items() if not check.ok} == {}
    assert set(seen) == {
        "settings", "prefect", "schedule", "model", "runs", "disk", "stores", "clients", "clock", "permissions",
        "privacy", "storage", "locks", "leftovers", "state", "delivery", "archive",
    }  # fmt: skip
    assert {name for name, check in seen.items() if check.fix} <= {"schedule"}  # whatever this machine schedules
    assert seen["stores"].seen.startswith("2 projects with 19 sessions")
    assert tree(own_home) == before


def test_a_store_that_is_missing_ends_the_checks_with_its_name(tmp_path: Path) -> None:
    seen = examined(tmp_path / "nowhere")
    assert not seen["stores"].ok
    assert "nowhere" in seen["stores"].seen


def test_a_lock_whose_owner_is_gone_is_stale(store: Path) -> None:
    lock = memory_of(store) / ".consolidation_lock"
    lock.write_text("1000\n", encoding="ascii")
    os.utime(lock, (1000, 1000))
    locks = examined(store)["locks"]
    assert (locks.ok, str(lock) in locks.seen) == (False, True)


def test_what_a_killed_run_left_behind_is_named(store: Path) -> None:
    left = sibling(memory_of(store), "stage", "d1")
    left.mkdir()
    assert examined(store)["leftovers"].seen == f"1 files or folders of a run that was killed, first: {left}"


def test_a_corrupt_state_is_named(store: Path) -> None:
    (memory_of(store) / ".consolidation_state.json").write_text("{", encoding="utf-8")
    state = examined(store)["state"]
    assert not state.ok
    assert "is not JSON" in state.seen


def test_a_dream_from_the_future_is_named(store: Path) -> None:
    later = int((NOW + timedelta(days=2)).timestamp())
    path = memory_of(store) / ".consolidation_state.json"
    path.write_text(f'{{"last_consolidated_at": {later}, "lock_etag": null}}', encoding="utf-8")
    assert "future" in examined(store)["state"].seen


def test_a_clock_that_is_behind_the_sessions_is_named(store: Path) -> None:
    assert not examined(store, NOW - timedelta(days=30))["clock"].ok


def test_a_memory_folder_that_is_a_file_is_named(store: Path) -> None:
    path = store / ".claude" / "projects" / "-home-ana-tern" / "memory"
    path.write_text("no folder", encoding="utf-8")
    assert str(path) in examined(store)["permissions"].seen


def test_a_server_that_does_not_answer_is_named(store: Path) -> None:
    with closing(socket.socket()) as taken:
        # bound but not listening: nobody else can answer there
        taken.bind(("127.0.0.1", 0))
        api = f"http://127.0.0.1:{taken.getsockname()[1]}/api"
        prefect = examined(store, environ={"PREFECT_API_URL": api})["prefect"]
    assert not prefect.ok
    assert "--direct" in prefect.fix


def test_the_command_prints_lines_or_json_and_ends_with_six(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert main(["doctor", "--store", str(store), "--json"]) == 0
    names = [orjson.loads(line)["name"] for line in capsys.readouterr().out.splitlines()]
    assert names[0] == "settings"
    (memory_of(store) / ".consolidation_state.json").write_text("{", encoding="utf-8")
    assert main(["doctor", "--store", str(store)]) == 6
    assert "WRONG  state" in capsys.readouterr().out

"""A hundred subjects, in every form and in every file that clients and slowwave write, are gone from every byte."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from slowwave.cli import main
from slowwave.stores.archive.pack import PackedSession, Wanted, write_pack
from tests.unit.retention import planted
from tests.unit.retention.everybody import (
    EVERYBODY,
    PEOPLE,
    STORES,
    forms,
    left_in,
    openclaw,
    opencode,
    planted_in,
    said,
)
from tests.unit.retention.planted import aged
from tests.unit.retention.test_subjects_erased import erase

GATES = ["--set", "extraction.min_messages=0", "--set", "consolidation.min_sessions=0", "--force"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home that the process lives in."""
    for name in (
        "XDG_STATE_HOME",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "PREFECT_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    place = tmp_path / "home"
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.chdir(tmp_path)
    return place


def everywhere(*more: str) -> list[str]:
    """Return the options that name every subject."""
    return [option for name in PEOPLE for option in ("--person", name)] + list(more)


def beside(home: Path) -> dict[Path, bytes]:
    """Write what clients keep beside their transcripts, and return files that name nobody."""
    claude = home / ".claude"
    for number, name in enumerate(
        ("history.jsonl", "todos/a-agent-a.json", "file-history/s/abc@v1", "paste-cache/1.txt", "shell-snapshots/s.sh")
    ):
        path = claude / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"display": said(number + 40), "n": number}) + "\n")
    neighbours = {claude / "todos" / "b.json": b'[{"content": "nobody"}]\n', claude / "settings.json": b'{"a": 1}\n'}
    for path, data in neighbours.items():
        path.write_bytes(data)
    return neighbours


def of_ours(home: Path) -> None:
    """Write what slowwave and its scheduler keep: state, a packed file in the trash, a pack, a database."""
    state, data = home / ".local/state/slowwave", home / ".local/share/slowwave"
    (state / "runs").mkdir(parents=True, exist_ok=True)
    (state / "runs" / "r1.report.json").write_text(json.dumps({"items": [said(51)]}))
    (state / "model.jsonl").write_text(json.dumps({"prompt": said(52)}) + "\n")
    prefect = state / "prefect"
    prefect.mkdir(exist_ok=True)
    (prefect / "server.log").write_text(said(53) + "\n")
    with closing(sqlite3.connect(prefect / "prefect.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE flow_run (id TEXT PRIMARY KEY, parameters JSON, n INTEGER)")
        rows = [(f"r{n}", json.dumps({"v": said(n)} if n % 2 else {"v": "nobody"}), n) for n in range(200)]
        database.executemany("INSERT INTO flow_run VALUES (?, ?, ?)", rows)
        database.execute("DELETE FROM flow_run WHERE n > 150")  # what was deleted lies in free pages
        database.commit()
    text = json.dumps({"type": "user", "text": said(54)}) + "\n"
    old = home / "gone.jsonl"
    old.write_text(text)
    session = PackedSession("gone", "claude", "p", "/work", "", 0.0, ())
    write_pack(data / "archive" / "a.swpack", [Wanted(session, [old])])
    old.unlink()
    packed = data / "trash" / "20250101T000000-aaaa" / "00000"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))


@pytest.mark.parametrize("build", STORES, ids=lambda build: build.__name__)
def test_nobody_is_found_in_any_byte_and_nothing_brings_them_back(
    build: Callable[[Path], Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = planted_in(build, home)
    aged(home)
    jobs = ["--direct", "--store", str(store), *GATES]
    assert main(["run", "nightly", *jobs]) == 0
    main(["sessions", "search", "release", "--store", str(store)])
    neighbours = beside(home)
    of_ours(home)
    aged(home)
    assert left_in(home)
    planned = erase(capsys, *everywhere())
    done = erase(capsys, *everywhere("--apply"))
    assert done["counts"]["replaced"] >= planned["counts"]["found"] > 0
    assert [item for item in done["items"] if item["action"] == "refused"] == []
    assert left_in(home) == []
    assert {path: path.read_bytes() for path in neighbours} == neighbours
    with closing(sqlite3.connect(home / ".local/state/slowwave/prefect/prefect.db")) as database:
        rows = database.execute("SELECT json(parameters), n FROM flow_run").fetchall()
    assert [n for _, n in rows] == list(range(151))
    assert all(parameters == '{"v":"nobody"}' for parameters, n in rows if n % 2 == 0)
    (page,) = (home / ".local/share/slowwave/certificates").glob("*.json")
    assert len(json.loads(page.read_bytes())["subjects"]) == len(PEOPLE)
    assert main(["run", "nightly", *jobs]) == 0
    main(["sessions", "search", "release", "--store", str(store)])
    assert left_in(home) == []
    again = erase(capsys, *everywhere("--apply"))
    assert not {"replaced", "found", "memories_erased", "candidates_erased"} & {
        k for k, v in again["counts"].items() if v
    }
    assert main(["retain", "audit", "--verify"]) == 0


def test_names_are_many_and_in_many_scripts() -> None:
    assert len(set(EVERYBODY)) == 100
    assert not all(name.isascii() for name in PEOPLE)
    assert any(name.isascii() for name in PEOPLE)


@pytest.mark.parametrize("build", [planted.claude, planted.codex, openclaw, opencode], ids=lambda build: build.__name__)
def test_a_backup_that_is_put_back_by_hand_teaches_nothing(
    build: Callable[[Path], Path], home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = planted_in(build, home)
    aged(home)
    shutil.copytree(store, tmp_path / "backup")
    jobs = ["--direct", "--store", str(store), *GATES]
    assert main(["run", "nightly", *jobs]) == 0
    erase(capsys, *everywhere("--apply", "--store", str(store)))
    assert left_in(home) == []
    shutil.copytree(tmp_path / "backup", store, dirs_exist_ok=True)
    aged(home)
    capsys.readouterr()
    assert main(["run", "nightly", "--json", *jobs]) == 0
    main(["sessions", "list", "--all", "--store", str(store)])
    main(["sessions", "search", "release", "--all", "--store", str(store)])
    printed = capsys.readouterr().out
    assert not any(form.decode() in printed for name in PEOPLE for _, form in forms(name))
    backup = {str(store / path.relative_to(tmp_path / "backup")) for path in (tmp_path / "backup").rglob("*")}
    assert set(left_in(home)) <= backup
    erase(capsys, *everywhere("--apply", "--store", str(store)))
    assert left_in(home) == []


def test_a_live_session_is_refused_and_what_it_says_stays(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = planted_in(planted.pi, home)
    aged(home)
    path = next(path for path in store.rglob("*.jsonl") if str(path) in left_in(store))
    os.utime(path)
    before = path.read_bytes()
    done = erase(capsys, *everywhere("--apply", "--store", str(store)))
    refused = [item for item in done["items"] if item["action"] == "refused"]
    assert ["changed" in item["reason"] for item in refused] == [True]
    assert path.read_bytes() == before
    assert left_in(home) == [str(path)]

"""Stores of every client through every reading command: circles of links, pipes for databases, records that ring."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from slowwave.cli import main
from tests.faults.hostile_sessions import Link
from tests.faults.hostile_stores import LAYOUTS, SESSION, Stored
from tests.faults.test_hostile_links import STRUCTURES

pytestmark = pytest.mark.timeout(60)
Capture = pytest.CaptureFixture[str]
TALK = [Link("1", None, "alpha"), Link("2", "1", "alpha beta")]
# Structures that a storage tree, a file for each message, cannot have.
NO_TREE = {"one id for all", "an id twice, a child between", "ids that are empty"}
JOBS = ("extract", "consolidate")  # a night is both


class Told(NamedTuple):
    code: int
    out: str
    err: str


def sessions(capsys: Capture, store: Stored, *words: str) -> Told:
    code = main(["sessions", *words, "--store", str(store.root)])
    told = capsys.readouterr()
    return Told(code, told.out, told.err)


def job(capsys: Capture, store: Stored, name: str) -> Told:
    chosen = ["--direct", "--force", "--store", str(store.root), "--set", "extraction.idle=0s"]
    code = main(["run", name, *chosen, "--json"])
    told = capsys.readouterr()
    return Told(code, told.out, told.err)


def rows(told: Told) -> list[dict[str, object]]:
    return [json.loads(line) for line in told.out.splitlines()]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_command_reads_records_that_ring_repeat_or_dangle(
    layout: str, structure: str, tmp_path: Path, capsys: Capture
) -> None:
    if layout.endswith("tree") and structure in NO_TREE:
        return
    links = STRUCTURES[structure]
    store = LAYOUTS[layout](tmp_path, links)
    listed = sessions(capsys, store, "list", "--json")
    assert [(row["messages"], row["bad_lines"]) for row in rows(listed)] == [(len(links), 0)]
    assert listed.err == ""
    shown = sessions(capsys, store, "show", store.name, "--all", "--json")
    assert sorted(m["text"] for m in json.loads(shown.out)["messages"]) == sorted(link.text for link in links)
    for words in (["show", store.name, "--all", "--tree"], ["context", store.name], ["search", links[-1].text]):
        told = sessions(capsys, store, *words)
        assert (told.code, told.err) == (0, "")
        assert links[-1].text in told.out or words[0] == "context"
    assert job(capsys, store, "nightly").code == 0


def links_everywhere(root: Path) -> None:
    """Put links that lead back, up and to themselves into every folder of a store."""
    for folder in [Path(found) for found, _, _ in os.walk(root)]:
        for name, target in (("self", "self"), ("up", ".."), ("home", root)):
            (folder / name).symlink_to(target)
        if any(folder.glob("*.jsonl")):
            (folder / f"ring-{SESSION}.jsonl").symlink_to("ring-b")
            (folder / "ring-b").symlink_to(f"ring-{SESSION}.jsonl")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_links_that_lead_back_or_nowhere_hide_no_session(layout: str, tmp_path: Path, capsys: Capture) -> None:
    store = LAYOUTS[layout](tmp_path, TALK)
    links_everywhere(store.root)
    listed = sessions(capsys, store, "list", "--json")
    assert listed.code == 0, listed.err
    assert [row["messages"] for row in rows(listed)] == [2]
    found = sessions(capsys, store, "search", "beta")
    assert (found.code, "alpha beta" in found.out) == (0, True)
    assert "beta" in sessions(capsys, store, "context", str(rows(listed)[0]["id"])).out
    assert [job(capsys, store, name).code for name in JOBS] == [0, 0]


@pytest.mark.parametrize(
    ("layout", "folder", "name"),
    [
        ("claude", "projects", "-ring"),
        ("cersei", "projects", "-ring"),
        ("pi", "sessions", "--ring--"),
        ("openclaw", "agents", "ring"),
        ("crabtalk", "sessions", "2026-11-20"),
        ("codex", "sessions", "2025"),
    ],
)
def test_a_folder_of_a_client_that_is_a_ring_is_told(
    layout: str, folder: str, name: str, tmp_path: Path, capsys: Capture
) -> None:
    store = LAYOUTS[layout](tmp_path, TALK)
    (store.root / folder / name).symlink_to(name)
    listed = sessions(capsys, store, "list", "--json")
    assert (listed.code, len(rows(listed))) == (0, 1)
    assert f"{name}: unreadable: Too many levels of symbolic links" in listed.err


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def zeroes(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def noise(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(bytes(b ^ 0x55 if at % 40 == 7 else b for at, b in enumerate(data)))


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("is_known", [False, True], ids=["never seen", "in the catalogue"])
@pytest.mark.parametrize("change", [a_pipe, a_folder, endless, zeroes, noise, half], ids=lambda c: c.__name__)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_store_whose_files_all_went_bad_is_told_in_lines(
    layout: str, change: Callable[[Path], None], is_known: bool, tmp_path: Path, capsys: Capture
) -> None:
    store = LAYOUTS[layout](tmp_path, TALK)
    if is_known:
        assert len(rows(sessions(capsys, store, "list", "--json"))) == 1
        assert sessions(capsys, store, "search", "beta").code == 0
    for path in [Path(folder, name) for folder, _, names in os.walk(store.root) for name in names]:
        change(path)
    listed = sessions(capsys, store, "list", "--json")
    assert listed.err or any(row["bad_lines"] or row["messages"] for row in rows(listed))
    for words in (["list"], ["search", "beta"], ["show", store.name], ["context", store.name, "--json"]):
        told = sessions(capsys, store, *words)
        assert told.code in (0, 3)
        assert all(line.startswith("slowwave: ") for line in told.err.splitlines())
    assert job(capsys, store, "nightly").code in (0, 3, 6)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name.startswith(("claude", "cersei", "pi", "codex"))])
def test_one_id_in_two_folders_is_asked_back(layout: str, tmp_path: Path, capsys: Capture) -> None:
    store = LAYOUTS[layout](tmp_path, TALK)
    path = Path(store.name)
    twin = path.parent.with_name({"pi": "--x--", "codex": "19"}.get(layout, "-x")) / path.name
    twin.parent.mkdir()
    shutil.copy(path, twin)
    listed = rows(sessions(capsys, store, "list", "--json"))
    assert len(listed) == 2
    (identity,) = {str(row["id"]) for row in listed}
    for action in ("show", "context"):
        told = sessions(capsys, store, action, identity)
        assert (told.code, told.out) == (3, "")
        assert "matches 2 sessions" in told.err
        assert sessions(capsys, store, action, str(twin)).code == 0

"""Stores full of what is no transcript: loops, pipes, devices, folders, odd names; each is told, none is fatal."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.cli import main
from tests.faults.measured import slowwave
from tests.unit.stores.store_builder import as_bytes, claude, write

pytestmark = pytest.mark.timeout(60)
Capture = pytest.CaptureFixture[str]
LINES = [claude("user", "hello", 0), claude("assistant", "hi", 1)]


def project(tmp_path: Path) -> Path:
    """Return a project folder with one good session."""
    folder = tmp_path / "projects" / "-home-ann-shop"
    write(folder / "good.jsonl", *LINES)
    return folder


def listed(folder: Path, capsys: Capture) -> tuple[list[str], str]:
    """Return the names of the sessions that are listed, and what was said about the rest."""
    code = main(["sessions", "list", "--store", str(folder.parent), "--json"])
    told = capsys.readouterr()
    assert code == 0
    return [Path(json.loads(line)["path"]).name for line in told.out.splitlines()], told.err


def pipe(path: Path) -> None:
    os.mkfifo(path)


def zeroes(path: Path) -> None:
    path.symlink_to("/dev/zero")


def terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def no_device(path: Path) -> None:
    path.symlink_to("/dev/null")


def folder_of_that_name(path: Path) -> None:
    path.mkdir()
    write(path / "inner.jsonl", *LINES)


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def link_to_nothing(path: Path) -> None:
    path.symlink_to("gone.jsonl")


def link_in_a_ring(path: Path) -> None:
    path.symlink_to("ring.jsonl")
    path.with_name("ring.jsonl").symlink_to(path.name)


def local_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


ODD: list[Callable[[Path], None]] = [
    *(pipe, zeroes, terminal, no_device, folder_of_that_name, link_to_itself, link_to_nothing, link_in_a_ring),
    local_socket,
]


@pytest.mark.parametrize("make", ODD, ids=lambda make: make.__name__)
def test_what_is_no_file_is_left_out_and_told(make: Callable[[Path], None], tmp_path: Path, capsys: Capture) -> None:
    folder = project(tmp_path)
    make(folder / "odd.jsonl")
    names, told = listed(folder, capsys)
    assert names == ["good.jsonl"]
    assert "odd.jsonl" in told
    assert any(kind in told for kind in ("unreadable", "ignored", "link: is a link out of the store"))


@pytest.mark.parametrize("make", ODD, ids=lambda make: make.__name__)
@pytest.mark.parametrize("action", ["show", "context"])
def test_what_is_no_file_is_refused_by_name(
    make: Callable[[Path], None], action: str, tmp_path: Path, capsys: Capture
) -> None:
    path = project(tmp_path) / "odd.jsonl"
    make(path)
    assert main(["sessions", action, str(path), "--json"]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "odd.jsonl" in told.err
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize("make", ODD, ids=lambda make: make.__name__)
def test_a_night_goes_on_beside_what_is_no_file(make: Callable[[Path], None], tmp_path: Path, capsys: Capture) -> None:
    folder = project(tmp_path)
    make(folder / "odd.jsonl")
    assert main(["run", "nightly", "--direct", "--store", str(folder.parent), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["counts"]["sessions"] == 1
    assert any("odd.jsonl" in warning for warning in report["warnings"])


NAMES = [
    b"new\nline.jsonl",
    b"not-\xff-utf8.jsonl",
    b"\x1b[31mred.jsonl",
    b"spa ce.jsonl",
    b"'quote\".jsonl",
    b"%s{project}.jsonl",
    b"-rf.jsonl",
    b"#hash?x=1.jsonl",
    b"x_part2.jsonl",
    "\u202egnol.jsonl".encode(),
    b"a" * 240 + b".jsonl",
    b"\\n.jsonl",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_session_of_any_name_is_listed_shown_and_mined(name: bytes, tmp_path: Path, capsys: Capture) -> None:
    folder = project(tmp_path)
    path = os.fsencode(folder) + b"/" + name
    with open(path, "wb") as file:  # noqa: PTH123 - a path of any bytes
        file.write(as_bytes(LINES))
    assert main(["sessions", "list", "--store", str(folder.parent), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert os.fsdecode(name) in {Path(row["path"]).name for row in rows}
    assert {row["messages"] for row in rows} == {2}
    for action in ("show", "context"):
        assert main(["sessions", action, os.fsdecode(path), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert [m["text"] for m in shown["messages"]][:2] == ["hello", "hi"]
        assert main(["sessions", action, os.fsdecode(path)]) == 0
        assert "hello" in capsys.readouterr().out
    assert main(["run", "nightly", "--direct", "--store", str(folder.parent), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["sessions"] == 2


@pytest.mark.parametrize("name", NAMES[:7])
def test_a_project_folder_of_any_name_is_read(name: bytes, tmp_path: Path, capsys: Capture) -> None:
    folder = os.fsencode(project(tmp_path).parent) + b"/" + name.removesuffix(b".jsonl")
    os.mkdir(folder)  # noqa: PTH102 - a path of any bytes
    with open(folder + b"/s.jsonl", "wb") as file:  # noqa: PTH123 - as above
        file.write(
            as_bytes([claude("user", "hello", 5, cwd="/elsewhere"), claude("assistant", "hi", 6, cwd="/elsewhere")])
        )
    root = str(tmp_path / "projects")
    assert main(["sessions", "list", "--store", root]) == 0
    assert main(["sessions", "list", "--store", root, "--json"]) == 0
    capsys.readouterr()
    assert main(["run", "nightly", "--direct", "--store", root, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["sessions"] == 2


def test_folders_that_lead_back_are_read_once(tmp_path: Path, capsys: Capture) -> None:
    folder = project(tmp_path)
    (folder / "good").mkdir()
    (folder / "good" / "subagents").symlink_to(folder)
    (folder.parent / "again").symlink_to(folder.name)
    (folder.parent / "up").symlink_to("..")
    names, told = listed(folder, capsys)
    assert names == ["good.jsonl"]
    assert "loop" in told
    assert main(["run", "nightly", "--direct", "--store", str(folder.parent), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["sessions"] == 1


def test_one_file_under_two_names_is_one_session(tmp_path: Path, capsys: Capture) -> None:
    folder = project(tmp_path)
    (folder / "hard.jsonl").hardlink_to(folder / "good.jsonl")
    (folder / "soft.jsonl").symlink_to("good.jsonl")
    names, told = listed(folder, capsys)
    assert len(names) == 1
    assert "2 duplicate" in told


def test_a_link_out_of_the_store_is_named_and_read_only_where_a_setting_lets_it(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = project(tmp_path)
    outside = write(tmp_path / "others" / "theirs.jsonl", *LINES)
    (folder / "theirs.jsonl").symlink_to(outside)
    for _ in range(2):  # the second time the catalogue knows the folder
        names, told = listed(folder, capsys)
        assert names == ["good.jsonl"]
        assert f"theirs.jsonl: link: is a link out of the store, to {outside}" in told
    for follow, number in (("true", 2), ("false", 1)):
        words = ["sessions", "list", "--store", str(folder.parent), "--json", "--set", f"store.follow_links={follow}"]
        assert main(words) == 0
        assert len(capsys.readouterr().out.splitlines()) == number


def test_files_and_folders_that_are_closed_are_told(tmp_path: Path) -> None:
    folder = project(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    write(folder / "closed.jsonl", *LINES).chmod(0)
    write(folder.parent / "-closed" / "s.jsonl", *LINES).parent.chmod(0)
    ran = slowwave(home, "sessions", "list", "--store", folder.parent, "--json", may_read_all=False)
    assert ran.code == 0, ran.err
    assert [Path(json.loads(line)["path"]).name for line in ran.out.splitlines()] == ["good.jsonl"]
    assert "closed.jsonl" in ran.err
    assert "-closed" in ran.err
    shown = slowwave(home, "sessions", "show", folder / "closed.jsonl", may_read_all=False)
    assert (shown.code, len(shown.err.splitlines())) == (3, 1)
    night = slowwave(home, "run", "nightly", "--direct", "--store", folder.parent, "--json", may_read_all=False)
    assert night.code in (0, 6), night.err
    assert json.loads(night.out)["counts"]["sessions"] == 1

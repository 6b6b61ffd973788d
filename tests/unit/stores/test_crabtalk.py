"""Where crabtalk's sessions are found, and what they are called."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from slowwave.files import home_folder
from slowwave.formats.crabtalk import Crabtalk
from slowwave.formats.crabtalk import dialect as crabtalk
from slowwave.formats.registry import CLIENTS
from slowwave.formats.sessions import FoundSession, Known, Place, Signature, StoreProblem, Walk
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.roots import store_roots


def session(path: Path, agent: str = "crab", sender: str = "user") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    meta = {"agent": agent, "created_by": sender, "created_at": "2026-02-25T10:00:00Z"}
    path.write_bytes(json.dumps(meta).encode() + b'\n{"role":"user","content":"hello"}\n')
    return path


def places(root: Path) -> list[Place] | None:
    return Crabtalk().places(root, {path.name for path in root.iterdir()}, [])


def sessions(folder: Path, problems: list[StoreProblem] | None = None) -> list[FoundSession]:
    return list(Crabtalk().sessions(Place("crabtalk", str(folder)), Walk[Known]([] if problems is None else problems)))


def named(found: Iterable[FoundSession]) -> list[tuple[str, str]]:
    return [(one.id, one.files[0].name) for one in found]


def test_it_is_asked_for_its_own_home(tmp_path: Path) -> None:
    assert CLIENTS["crabtalk"] in CLIENTS.values()
    environ = {"HOME": str(tmp_path)}
    assert Crabtalk().homes(environ) == [home_folder(environ) / ".crabtalk"]


@pytest.mark.parametrize("root", ["", "sessions"])
def test_its_home_and_the_folder_of_sessions_are_roots(tmp_path: Path, root: str) -> None:
    home = tmp_path / ".crabtalk"
    session(home / "sessions" / "crab_user_1.jsonl")
    (home / "config.toml").touch()
    assert places(home / root) == [Place("crabtalk", str(home / "sessions"))]


def test_early_versions_kept_a_folder_for_each_day(tmp_path: Path) -> None:
    folder = tmp_path / ".crabtalk" / "sessions"
    session(folder / "2026-02-25" / "crab_user_1.jsonl")
    session(folder / "2026-02-24" / "crab_user_1_chat.jsonl")
    session(folder / "notes" / "crab_user_1.jsonl")
    days = [folder / "2026-02-24", folder / "2026-02-25"]
    assert places(folder.parent) == [Place("crabtalk", str(day)) for day in days]
    session(folder / "crab_user_9.jsonl")
    assert places(folder.parent) == [Place("crabtalk", str(path)) for path in (folder, *days)]


def test_a_home_without_sessions_has_no_places(tmp_path: Path) -> None:
    home = tmp_path / ".crabtalk"
    (home / "sessions").mkdir(parents=True)
    assert places(home) == []


def test_other_folders_are_no_roots_of_it(tmp_path: Path) -> None:
    assert places(tmp_path) is None
    (tmp_path / "a_b_1.jsonl").write_bytes(b'{"type":"user","sessionId":"s"}\n')
    assert places(tmp_path) is None
    session(tmp_path / "crab_user_1.jsonl")
    assert places(tmp_path) == [Place("crabtalk", str(tmp_path))]
    (tmp_path / "0b1c.jsonl").write_bytes(b'{"type":"user","sessionId":"s"}\n')
    assert places(tmp_path) is None


def test_a_session_is_known_by_agent_sender_and_number_whatever_its_title(tmp_path: Path) -> None:
    session(tmp_path / "agent-x_user_1.jsonl", agent="agent-x")
    session(tmp_path / "crab_user_2_part2.jsonl")
    session(tmp_path / "crab_user_3.jsonl", agent="crab", sender="user")
    session(tmp_path / "crab_user_7_2.jsonl", agent="crab_user", sender="7")
    session(tmp_path / "odd_name_1.jsonl", agent="other")
    session(tmp_path / ".hidden_user_1.jsonl")
    assert named(sessions(tmp_path)) == [
        ("agent-x_user_1", "agent-x_user_1.jsonl"),
        ("crab_user_2", "crab_user_2_part2.jsonl"),
        ("crab_user_3", "crab_user_3.jsonl"),
        ("crab_user_7_2", "crab_user_7_2.jsonl"),
        ("odd_name_1", "odd_name_1.jsonl"),
    ]
    assert {(one.dialect, one.side) for one in sessions(tmp_path)} == {("crabtalk", False)}


def test_what_is_no_session_is_told_by_its_content_or_reported(tmp_path: Path) -> None:
    (tmp_path / "crab_user_1.jsonl").write_bytes(b'{"type":"user","sessionId":"s"}\n')
    (tmp_path / "crab_user_2.jsonl").mkdir()
    (tmp_path / "crab_user_3.jsonl").symlink_to("missing")
    problems: list[StoreProblem] = []
    assert [(one.id, one.dialect) for one in sessions(tmp_path, problems)] == [("crab_user_1", "")]
    assert [problem.kind for problem in problems] == ["unreadable", "unreadable"]
    assert sessions(tmp_path / "missing", problems) == []
    assert problems[-1].kind == "unreadable"


@dataclass
class Remembered:
    """What a catalogue knows of a session of one file."""

    size: int
    mtime_ns: int
    dev: int
    ino: int
    parts: list[Signature] | None = None
    told: str = ""


def test_an_unchanged_session_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session(tmp_path / "crab_user_1.jsonl")
    changed = session(tmp_path / "crab_user_2.jsonl")
    known: dict[str, Remembered] = {}
    for found in sessions(tmp_path):
        file = found.files[0]
        known[found.path] = Remembered(file.size, file.mtime_ns, file.dev, file.ino)
    with changed.open("ab") as log:
        log.write(b'{"role":"user","content":"more"}\n')
    opened: list[Path] = []
    monkeypatch.setattr(crabtalk, "meta_line_of", opened.append)
    walk = Walk[Remembered]([])
    walk.enter({}, lambda: known)
    assert [one.path for one in Crabtalk().sessions(Place("crabtalk", str(tmp_path)), walk)] == [str(changed)]
    assert opened == [changed]
    assert walk.kept == [known[str(tmp_path / "crab_user_1.jsonl")]]


def test_a_listing_shows_its_sessions_by_the_ids_that_titles_do_not_change(tmp_path: Path) -> None:
    path = session(tmp_path / ".crabtalk" / "sessions" / "crab_user_1_plan.jsonl")
    with path.open("ab") as log:
        log.write(b'{"compact":"so far","archived_at":"2026-03-01T10:00:00Z"}\n')
    with Catalogue(tmp_path / "catalogue.sqlite") as catalogue:
        (row,) = list_sessions(Settings(), {"HOME": str(tmp_path)}, catalogue).rows
    assert (row.id, row.dialect, row.messages, row.first_prompt) == ("crab_user_1", "crabtalk", 2, "hello")
    assert row.last_activity == "2026-03-01T10:00:00.000Z"


def test_a_home_of_another_name_is_not_taken_for_another_clients(tmp_path: Path) -> None:
    session(tmp_path / "elsewhere" / "sessions" / "crab_user_1.jsonl")
    (root,) = store_roots(Settings(store=StoreSettings(roots=(tmp_path / "elsewhere",))), {}, [])
    assert [place.kind for place in root.places] == ["crabtalk"]

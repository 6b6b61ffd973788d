"""Where sessions with ULIDs are found, and what is no session."""

from pathlib import Path

import pytest

from slowwave.files import home_folder
from slowwave.formats.registry import CLIENTS
from slowwave.formats.sessions import FoundSession, Known, Place, StoreProblem, Walk
from slowwave.formats.ulid import Ulid

ONE = "01JKQ5W8ZP3V9YB2C4D6E8F0GH"
TWO = "01JM2V7Q9N4E8ZC3T6R5W0XKYB"
RECORD = b'{"recordType":"message","schemaVersion":1,"seq":1,"role":"user","content":[]}\n'


def session(folder: Path, metadata: bytes = b"") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "session.jsonl").write_bytes(RECORD)
    if metadata:
        (folder / "metadata.json").write_bytes(metadata)
    return folder


def places(root: Path) -> list[Place] | None:
    return Ulid().places(root, {path.name for path in root.iterdir()}, [])


def sessions(folder: Path, problems: list[StoreProblem] | None = None) -> list[FoundSession]:
    return list(Ulid().sessions(Place("ulid", str(folder)), Walk[Known]([] if problems is None else problems)))


def test_it_is_asked_for_its_own_home(tmp_path: Path) -> None:
    assert CLIENTS["ulid"] in CLIENTS.values()
    environ = {"HOME": str(tmp_path)}
    assert Ulid().homes(environ) == [home_folder(environ) / ".agent"]


@pytest.mark.parametrize("root", ["", "sessions"])
def test_its_home_and_the_folder_of_sessions_are_roots(tmp_path: Path, root: str) -> None:
    session(tmp_path / "sessions" / ONE)
    (tmp_path / "config.yaml").touch()
    assert places(tmp_path / root) == [Place("ulid", str(tmp_path / "sessions"))]


def test_other_folders_are_no_roots_of_it(tmp_path: Path) -> None:
    (tmp_path / "sessions" / ONE).mkdir(parents=True)
    assert places(tmp_path) is None
    session(tmp_path / "sessions" / ONE.lower())
    assert places(tmp_path) is None


def test_a_home_without_sessions_has_no_places(tmp_path: Path) -> None:
    (tmp_path / ".agent").mkdir()
    assert places(tmp_path / ".agent") == []


def test_a_session_is_known_by_its_ulid(tmp_path: Path) -> None:
    session(tmp_path / TWO)
    session(tmp_path / ONE)
    found = sessions(tmp_path)
    assert [(one.id, one.folder, one.path) for one in found] == [
        (name, f"{tmp_path}/{name}", f"{tmp_path}/{name}/session.jsonl") for name in (ONE, TWO)
    ]
    assert {(one.dialect, one.side) for one in found} == {("ulid", False)}


def test_folders_of_other_names_are_reported_and_never_opened(tmp_path: Path) -> None:
    session(tmp_path / "backup")
    session(tmp_path / ".slowwave-tmp-1")
    (tmp_path / "notes.md").touch()
    (tmp_path / ONE).mkdir()
    (tmp_path / TWO).symlink_to(tmp_path / ONE)
    problems: list[StoreProblem] = []
    assert sessions(tmp_path, problems) == []
    assert [(problem.kind, Path(problem.path).name) for problem in problems] == [
        ("unreadable", "session.jsonl"),
        ("unreadable", "session.jsonl"),
        ("ignored", "backup"),
    ]


def test_names_stand_in_the_metadata(tmp_path: Path) -> None:
    session(tmp_path / ONE, b'{"id":"x","name":"Pods"}')
    session(tmp_path / TWO, b"not json")
    session(tmp_path / f"{TWO[:-1]}A", b'{"name":5}')
    long = f"{TWO[:-1]}C"
    session(tmp_path / long, b'{"systemPromptOverride":"%s","name":"Long"}' % (b"x" * 100_000))
    assert Ulid().titles(Place("ulid", str(tmp_path))) == {ONE: "Pods", long: "Long"}
    assert Ulid().titles(Place("ulid", str(tmp_path / "missing"))) == {}

"""A session whose client made it anew comes back beside it, from the trash or the archive, and is compared with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, REFUSED, UNREADABLE, USAGE
from slowwave.retention.audit import AuditLog
from tests.unit.retention.fleets import ADD
from tests.unit.retention.homes import Home, tree

NEW = "00000000-0000-4000-8000-0000000000aa"
NEW_IDS = {"crabtalk": "crab_user_9", "ulid": "01JKQ5W8ZP3V9YB2C4D6E8ZZZZ"}
COPIED = [name for name in ADD if name not in ("codex", "clawdbot")]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    home = Home(tmp_path)
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return home


def objects(capsys: pytest.CaptureFixture[str], *words: str, code: int = DONE) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["sessions", *words, "--json"]) == code, capsys.readouterr().err
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def put_by(home: Home, dialect: str, place: str) -> tuple[str, Path, bytes]:
    """Add a session, let it go into the trash or the archive alone, and return its id, its file and its bytes."""
    path = ADD[dialect](home, 1, 50)
    before = path.read_bytes()
    if dialect == "crabtalk":
        ADD[dialect](home, 2, 1)  # the highest number of an agent stays
    home.run()
    if place == "archive":
        home.clock.advance(days=8)
        home.run()
    assert not path.exists()
    (session,) = {line.session for line in AuditLog(home.environ).lines() if line.action == "trash"}
    return session, path, before


@pytest.mark.parametrize("place", ["trash", "archive"])
@pytest.mark.parametrize("dialect", COPIED)
def test_a_session_comes_back_beside_the_one_in_its_place(
    dialect: str, place: str, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    session, path, before = put_by(home, dialect, place)
    ADD[dialect](home, 1, 1, "something else", "of another day")
    now, kept = path.read_bytes(), tree(home.data)
    assert before != now
    assert main(["sessions", "restore", session]) == REFUSED
    new_id = NEW_IDS.get(dialect, NEW)
    (form,) = objects(capsys, "restore", session, "--as", new_id)
    assert form["as"] == new_id
    copy = Path(form["paths"][0])
    assert path.parent in (copy.parent, copy.parent.parent / path.parent.name)
    assert str(home.root / "state").encode() not in copy.read_bytes()
    # what lies in its place, and the copy that was put by, are as they were
    assert path.read_bytes() == now
    assert {name: one for name, one in kept.items() if "audit" not in name}.items() <= tree(home.data).items()
    (told,) = objects(capsys, "diff", session, new_id)
    # that of Cersei says all of it again, and more
    assert (told["added"] > 0, told["removed"] > 0) == (True, dialect != "cersei")
    # the copy says what the one that was put by says
    (alone,) = objects(capsys, "diff", session)
    assert [line[1:] for line in alone["lines"][2:]] == [line[1:] for line in told["lines"][2:]]
    last = AuditLog(home.environ).lines()
    assert [(line.action, line.session) for line in last][-1] == ("restore", new_id)
    # an id that is taken is refused, and retention leaves alone what came back
    assert main(["sessions", "restore", session, "--as", new_id]) == USAGE
    home.touch(copy, 50)
    assert home.run(force=True).counts.get("refused_restored", 0) == 1


@pytest.mark.parametrize("place", ["trash", "archive"])
@pytest.mark.parametrize("paginated", [False, True])
def test_a_session_whose_copies_would_refer_to_it_is_refused(
    paginated: bool, place: str, home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if paginated:
        monkeypatch.setitem(ADD, "codex", _paginated)
    session, path, before = put_by(home, "codex", place)
    assert (b'"paginated"' in before) == paginated
    assert main(["sessions", "restore", session, "--as", NEW]) == USAGE
    assert "refers to its parent" in capsys.readouterr().err
    assert not path.exists()
    assert main(["sessions", "restore", session]) == DONE
    assert path.read_bytes() == before


def _paginated(home: Home, number: int, days: float, *texts: str) -> Path:
    """Add a rollout whose lines have numbers: its client has forks of it by reference."""
    path = home.add("codex", number, days, *texts)
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    rows[0]["payload"]["history_mode"] = "paginated"
    path.write_text("".join(json.dumps(row | {"ordinal": n}) + "\n" for n, row in enumerate(rows)))
    home.touch(path, days)
    return path


def test_two_sessions_that_say_the_same_and_one_without_a_copy(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    path = home.add("claude", 1, 5)
    assert main(["sessions", "diff", path.stem]) == UNREADABLE
    assert main(["sessions", "restore", path.stem, "--as", NEW]) == UNREADABLE
    assert main(["sessions", "restore", "--all", "--as", NEW]) == USAGE
    capsys.readouterr()
    assert main(["sessions", "diff", path.stem, path.stem]) == DONE
    assert capsys.readouterr().out == "both say the same\n"


def test_who_finds_its_place_taken_is_told_of_both_ways(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    session, path, _ = put_by(home, "claude", "trash")
    path.write_bytes(b"{}\n")
    assert main(["sessions", "restore", session]) == REFUSED
    assert "--as NEW-ID" in capsys.readouterr().err

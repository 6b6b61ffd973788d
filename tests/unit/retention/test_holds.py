"""What a hold names is held with all that goes where it goes, whoever asks: the job, a person, or an erasure."""

import json
import os
from pathlib import Path
from uuid import UUID

import pytest
import zstandard

from slowwave.cli import main
from slowwave.errors import DONE, REFUSED, USAGE
from slowwave.retention import removal
from slowwave.retention.holds import place_hold, read_holds
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.trash import TrashItem, trash_folder, trash_items
from tests.faults.hostile_sessions import Link, session
from tests.unit.formats import opencode_files
from tests.unit.retention.homes import NOW, Home

OWN = str(UUID(int=1))
NAME = "Erika Mustermann"
HOLDS = [{"session": "agent-1"}, {"person": NAME}]


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(own_home)


def with_agent(home: Home, where: str) -> Path:
    """Write a session and a sub-agent; the name stands in one file that goes with it, and nowhere else."""
    path = home.add("claude", 1, 40, side=True)
    client = home.root / ".claude"
    named = {
        "agent": path.with_suffix("") / "subagents" / "agent-1.jsonl",
        "meta": path.with_suffix("") / "subagents" / "agent-1.meta.json",
        "copy": client / "file-history" / OWN / "0a1b@v1",
        "todo": client / "todos" / f"{OWN}-agent-{OWN}.json",
    }[where]
    named.parent.mkdir(parents=True, exist_ok=True)
    text = session("claude", [Link("a", None, f"call {NAME}")]).replace(b"false", b"true")
    named.write_bytes(text if where == "agent" else json.dumps([{"content": f"call {NAME}"}]).encode())
    home.touch(named, 40)
    return path


def hold(home: Home, what: dict[str, str]) -> None:
    place_hold(home.environ, NOW, reason="a lawsuit", by="ann", **what)


@pytest.mark.parametrize("what", HOLDS, ids=lambda what: next(iter(what)))
def test_a_held_sub_agent_holds_the_session_that_it_goes_with(home: Home, what: dict[str, str]) -> None:
    with_agent(home, "agent")
    hold(home, what)
    before = home.clients()
    assert home.run().counts["refused_held"] == 1
    assert main(["sessions", "rm", OWN]) == REFUSED
    assert home.clients() == before


@pytest.mark.parametrize("where", ["meta", "copy", "todo"])
def test_a_person_who_is_named_beside_the_transcript_holds_it(home: Home, where: str) -> None:
    path = with_agent(home, where)
    hold(home, {"person": NAME})
    assert home.run().counts["refused_held"] == 1
    assert path.exists()


def test_a_hold_on_a_sub_agent_keeps_the_trash(home: Home) -> None:
    with_agent(home, "agent")
    assert home.run().counts["removed"] == 1
    home.clock.advance(days=8)
    hold(home, {"session": "agent-1"})
    assert home.run().counts["refused_held"] == 1
    assert len(trash_items(trash_folder(home.environ))) == 1


def contents(home: Home) -> dict[str, bytes]:
    return {name: data for name, (data, _, _) in home.clients().items() if name.startswith(".claude")}


def erase(home: Home, *options: str) -> int:
    for path in home.root.rglob("*"):
        if path.is_file():
            os.utime(path, (1.7e9, 1.7e9))
    return main(["run", "erase", *options, "--apply"])


@pytest.mark.parametrize("what", HOLDS, ids=lambda what: next(iter(what)))
@pytest.mark.parametrize("archived", [False, True])
def test_a_held_sub_agent_is_not_erased_with_its_session(home: Home, what: dict[str, str], *, archived: bool) -> None:
    with_agent(home, "agent")
    if archived:
        assert home.run().counts["removed"] == 1
    hold(home, what)
    before = contents(home)
    assert erase(home, "--session", OWN) == REFUSED
    assert contents(home) == before
    if archived:
        assert main(["sessions", "restore", OWN]) == DONE
        assert any(name.endswith("agent-1.jsonl") for name in home.clients())


def test_a_session_whose_sub_agent_is_at_work_is_not_erased(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    path = with_agent(home, "agent")
    for one in home.root.rglob("*"):
        os.utime(one, (1.7e9, 1.7e9))
    os.utime(path.with_suffix("") / "subagents" / "agent-1.jsonl")
    assert main(["run", "erase", "--session", OWN, "--apply"]) == REFUSED
    assert "live" in capsys.readouterr().out
    assert path.exists()


@pytest.mark.parametrize("options", [["--session", "agent-1"], ["--person", NAME]], ids=lambda options: options[0])
@pytest.mark.parametrize("where", ["agent", "meta", "copy", "todo"])
def test_nothing_that_goes_with_a_held_session_is_erased(home: Home, where: str, options: list[str]) -> None:
    with_agent(home, where)
    hold(home, {"session": OWN})
    before = contents(home)
    assert erase(home, *options) == REFUSED
    assert contents(home) == before


PLACES = {
    "part": "storage/part/msg_1/prt_1.json",
    "message": "storage/message/ses_1/msg_2.json",
    "session_diff": "storage/session_diff/ses_1.json",
    "todo": "storage/todo/ses_1.json",
    "a later client's": "storage/notes/ses_1/first.json",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_every_place_of_opencode_is_held(home: Home, place: str) -> None:
    root = home.root / "data/opencode"
    made = opencode_files.Session("ses_1")
    made.user("mend it")
    made.tree(root)
    free = home.add("claude", 2, 40, "ask Jo Doe")
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = json.loads(path.read_bytes()) if path.exists() else {"id": "x"}
    path.write_text(json.dumps(fields | {"more": f"ask {NAME}"}))
    hold(home, {"person": NAME})
    before = path.read_bytes()
    assert erase(home, "--person", NAME, "--person", "Jo Doe") == REFUSED
    assert path.read_bytes() == before
    assert b"Jo Doe" not in free.read_bytes()


def test_notes_and_prompts_of_a_held_session_are_held_with_it(home: Home) -> None:
    home.add("claude", 1, 40, f"call {NAME}")
    home.add("claude", 2, 40, "call nobody")
    client = home.root / ".claude"
    (client / "debug").mkdir()
    for number in (1, 2):
        (client / "debug" / f"{UUID(int=number)}.txt").write_text("asked for Jo Doe\n")
    rows = [
        {"display": f"ask {who}", "sessionId": str(UUID(int=at))}
        for who, at in ((NAME, 3), ("Jo Doe", 1), ("Jo Doe", 2))
    ]
    (client / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    hold(home, {"person": NAME})
    assert erase(home, "--person", NAME, "--person", "Jo Doe") == REFUSED
    assert "Jo Doe" in (client / "debug" / f"{UUID(int=1)}.txt").read_text()
    assert "Jo Doe" not in (client / "debug" / f"{UUID(int=2)}.txt").read_text()
    left = [json.loads(line)["display"] for line in (client / "history.jsonl").read_text().splitlines()]
    assert left == [f"ask {NAME}", "ask Jo Doe", "ask ******"]


def packed_rollout(home: Home) -> Path:
    """Write a session that Codex itself has packed; a person is named in it."""
    plain = home.add("codex", 1, 40, f"call {NAME}")
    path = plain.with_name(f"{plain.name}.zst")
    path.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    plain.unlink()
    home.touch(path, 40)
    return path


@pytest.mark.parametrize("freed", [False, True])
def test_a_person_in_what_is_packed_is_held_in_trash_and_archive(home: Home, *, freed: bool) -> None:
    path = packed_rollout(home)
    before = path.read_bytes()
    assert home.run().counts["removed"] == 1
    if freed:
        home.clock.advance(days=8)
        assert home.run().counts["freed"] == 1
    hold(home, {"person": NAME})
    assert erase(home, "--session", OWN) == REFUSED
    assert erase(home, "--person", NAME) == REFUSED
    assert main(["sessions", "restore", OWN]) == DONE
    assert path.read_bytes() == before


def test_what_is_cut_short_may_name_anybody(home: Home) -> None:
    path = packed_rollout(home)
    frame = zstandard.ZstdCompressor().compress(os.urandom(999).hex().encode())
    path.write_bytes(path.read_bytes() + frame[: len(frame) // 2])
    home.touch(path, 40)
    hold(home, {"person": "Somebody Else"})
    assert home.run().counts["refused_unreadable"] == 1
    assert path.exists()


@pytest.mark.parametrize("place", ["here", "trash", "archive"])
def test_an_id_that_no_session_has_is_told(home: Home, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    home.add("claude", 1, 40, side=True)
    if place != "here":
        home.run()
    if place == "archive":
        home.clock.advance(days=8)
        home.run()
    for name, is_known in ((OWN, True), ("agent-1", True), (OWN[:-1], False)):
        capsys.readouterr()
        assert main(["retain", "hold", "--session", name, "--reason", "why"]) == DONE
        assert (name in capsys.readouterr().err) != is_known
        assert main(["retain", "release", read_holds(home.environ)[0].id]) == DONE
        capsys.readouterr()
        assert main(["run", "erase", "--session", name]) == (DONE if is_known else USAGE)
        assert ("not found" in capsys.readouterr().err) != is_known


def test_a_sub_agent_in_the_trash_of_its_session_is_refused(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with_agent(home, "agent")
    assert home.run().counts["removed"] == 1
    assert erase(home, "--session", "agent-1") == REFUSED
    assert OWN in capsys.readouterr().out
    assert main(["sessions", "restore", OWN]) == DONE
    assert erase(home, "--session", "agent-1") == DONE
    assert not any(b"Mustermann" in path.read_bytes() for path in home.root.rglob("*") if path.is_file())


def test_a_time_holds_only_what_happened_then(home: Home) -> None:
    home.add("claude", 1, 40)
    assert home.run().counts["removed"] == 1
    hold(home, {"since": "2020-01-01T00:00:00+00:00", "until": "2021-01-01T00:00:00+00:00"})
    assert erase(home, "--session", OWN) == DONE
    assert trash_items(trash_folder(home.environ)) == []
    assert list(Shelf(home.data / "archive").sessions()) == []


def test_a_hold_that_is_set_while_others_are_freed_counts(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.add("claude", 1, 41)
    home.add("claude", 2, 40)
    assert home.run().counts["removed"] == 2
    home.clock.advance(days=8)
    first = removal.free

    def freed(item: TrashItem, trash: Path) -> None:
        first(item, trash)
        hold(home, {"project": "shop"})

    monkeypatch.setattr(removal, "free", freed)
    report = home.run()
    assert (report.counts["freed"], report.counts["refused_held"]) == (1, 1)
    assert len(trash_items(trash_folder(home.environ))) == 1

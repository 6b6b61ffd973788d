"""What a hold names is held with all that goes where it goes, whoever asks: the job, a person, or an erasure."""

import json
import os
from pathlib import Path
from uuid import UUID

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, REFUSED
from slowwave.retention.holds import place_hold
from slowwave.stores.trash import trash_folder, trash_items
from tests.faults.hostile_sessions import Link, session
from tests.unit.retention.job.homes import NOW, Home

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

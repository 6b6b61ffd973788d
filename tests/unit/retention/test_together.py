"""What goes together is judged together: sub-agents beside a session are no sessions of their own."""

import json
from pathlib import Path
from uuid import UUID

from slowwave.stores.trash import restore, trash_folder, trash_items
from tests.unit.retention.homes import Home


def beside(home: Home, session: Path, days: float) -> Path:
    """Write a sub-agent of a session where client 2.0 keeps it."""
    path = session.with_name("agent-0123abc.jsonl")
    lines = [json.loads(line) for line in session.read_bytes().splitlines()]
    own = [line | {"isSidechain": True, "agentId": "0123abc", "sessionId": session.stem} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in own), encoding="utf-8")
    home.touch(path, days)
    return path


def test_a_sub_agent_beside_its_session_goes_with_it_and_comes_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    session = home.add("claude", 1, 40)
    beside(home, session, 39)
    before = home.clients()
    report = home.run()
    assert (report.counts["sessions"], report.counts["removed"]) == (1, 1)
    assert home.clients() == {}
    [item] = trash_items(trash_folder(home.environ))
    assert item.session == str(UUID(int=1))
    restore(item, trash_folder(home.environ))
    assert home.clients() == before


def test_a_sub_agent_beside_it_that_is_at_work_keeps_its_session(tmp_path: Path) -> None:
    home = Home(tmp_path)
    session = home.add("claude", 1, 40)
    beside(home, session, 0.001)
    before = home.clients()
    home.run()
    assert home.clients() == before

"""A listing shows true numbers also for dialects that are read as a whole."""

import json
from pathlib import Path
from typing import Any

from slowwave.settings import load_settings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.summary import SessionRow


def entry(number: int, role: str, text: str, **more: Any) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}, *more.pop("blocks", [])]
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": f"{number - 1:08x}" if number else None,
        "timestamp": f"2026-11-20T10:0{number}:00.000Z",
        "message": {"role": role, "content": content, "timestamp": 1, **more},
    }


def pi_session(path: Path, *entries: dict[str, Any]) -> Path:
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-20T10:00:00.000Z", "cwd": "/w"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(e) + "\n" for e in (header, *entries)))
    return path


def listed(store: Path, state: Path) -> SessionRow:
    settings = load_settings({}, cwd=state).with_roots([store])
    with Catalogue(state / "catalogue.sqlite") as catalogue:
        (row,) = list_sessions(settings, {"HOME": str(state)}, catalogue).rows
    return row


def test_a_pi_session_is_listed_with_what_it_holds(tmp_path: Path):
    call: dict[str, Any] = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}}
    store = tmp_path / "store"
    path = pi_session(
        store / "-w" / "s.jsonl", entry(0, "user", "mend the\nlogin"), entry(1, "assistant", "so", blocks=[call])
    )
    row = listed(store, tmp_path)
    assert (row.dialect, row.messages, row.records, row.tool_calls, row.bad_lines) == ("pi", 2, 3, 1, 0)
    assert row.first_prompt == "mend the login"
    assert (row.created, row.last_activity) == ("2026-11-20T10:00:00.000Z", "2026-11-20T10:01:00.000Z")
    assert row.cwd == "/w"
    with path.open("a") as file:
        file.write(json.dumps(entry(2, "user", "thanks")) + "\nnot json\n")
    grown = listed(store, tmp_path)
    assert (grown.messages, grown.records, grown.bad_lines) == (3, 4, 1)

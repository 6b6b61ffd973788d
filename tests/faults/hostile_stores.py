"""Stores of every client with one session of the test's own records in it, laid out as that client does."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.hostile_sessions import Link, session
from tests.unit.formats import openclaw_files, opencode_files

ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
SESSION = "5d2c9f1e-8c1b-4a55-9d61-0f5a3c2b1e00"
_ROLLOUT = f"rollout-2026-11-20T10-00-00-{SESSION}.jsonl"
_FILES = {
    "claude": f".claude/projects/-w/{SESSION}.jsonl",
    "cersei": f".cersei/projects/-w/{SESSION}.jsonl",
    "cersei-bare": f"bare/-w/{SESSION}.jsonl",
    "pi": f".pi/agent/sessions/--w--/2026-11-20T10-00-00-000Z_{SESSION}.jsonl",
    "openclaw": f".clawdbot/agents/main/sessions/{SESSION}.jsonl",
    "codex": f".codex/sessions/2026/11/20/{_ROLLOUT}",
    "crabtalk": ".crabtalk/sessions/crab_user_1.jsonl",
    "ulid": f".agent/sessions/{ULID}/session.jsonl",
}
# The name of a folder in _FILES that is the root of its store.
_ROOTS = {".claude", ".cersei", "bare", ".pi", ".clawdbot", ".codex", ".crabtalk", ".agent"}


class Stored(NamedTuple):
    """A store, and what the command is given to name its session."""

    root: Path
    name: str


def _file(dialect: str, home: Path, links: Iterable[Link]) -> Stored:
    path = home / _FILES[dialect]
    path.parent.mkdir(parents=True)
    path.write_bytes(session(dialect, links))
    root = next(folder for folder in path.parents if folder.name in _ROOTS)
    return Stored(root / "agent" if dialect == "pi" else root, str(path))


def _opencode(links: Iterable[Link]) -> opencode_files.Session:
    made = opencode_files.Session("ses_main")
    for link in links:
        made.user(link.text, id=link.id, parentID=link.parent)
        for part in made.messages[-1]["parts"]:
            part["messageID"] = link.id
    return made


def _tree(home: Path, links: Iterable[Link]) -> Stored:
    root = home / "opencode"
    return Stored(root, str(_opencode(links).tree(root)))


def _old_tree(home: Path, links: Iterable[Link]) -> Stored:
    root = home / "opencode"
    return Stored(root, str(_opencode(links).old_tree(root)))


def _rows(home: Path, links: Iterable[Link]) -> Stored:
    root = home / "opencode"
    root.mkdir(parents=True)
    opencode_files.database(root, _opencode(links))
    return Stored(root, "ses_main")


def _events(home: Path, links: Iterable[Link]) -> Stored:
    folder = home / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    made = openclaw_files.session("s1")
    for link in links:
        message: dict[str, Any] = {"role": "user", "content": link.text}
        made.add("message", id=link.id, parentId=link.parent, message=message)
    openclaw_files.Agent(folder).add(made)
    return Stored(home / ".openclaw", "s1")


LAYOUTS: dict[str, Callable[[Path, Iterable[Link]], Stored]] = {
    **{name: lambda home, links, name=name: _file(name, home, links) for name in _FILES},
    "opencode-tree": _tree,
    "opencode-old-tree": _old_tree,
    "opencode-rows": _rows,
    "openclaw-rows": _events,
}

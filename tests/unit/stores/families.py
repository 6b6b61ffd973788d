"""Stores of each client in which one session started a sub-agent and was forked, as the client writes them."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.unit.formats import claude_files, codex_files, openclaw_files, opencode_files, pi_files
from tests.unit.stores.store_builder import as_bytes, cersei


class Family(NamedTuple):
    """A root, and what must be known of the sessions in it: kind and parent by id; ``path`` is that of ``main``."""

    root: Path
    main: str
    path: Path
    known: dict[str, tuple[str, str]]


def named(number: int) -> str:
    return str(uuid.UUID(int=number, version=4))


def _claude_file(path: Path, session: str, *texts: str, side: bool = False, **fields: Any) -> None:
    made = claude_files.Session(sidechain=side)
    for number, text in enumerate(texts):
        own = {"sessionId": session, "uuid": f"{path.stem[:6] if side else 'm'}-{number}"} | fields
        if number % 2:
            made.says(f"msg{number}", text, **own)
        else:
            made.user(text, **own)
    path.parent.mkdir(parents=True, exist_ok=True)
    made.read(path.parent, path.name)


def claude(home: Path) -> Family:
    folder = home / ".claude" / "projects" / "-work"
    main, fork, copy = named(1), named(2), named(3)
    _claude_file(folder / f"{main}.jsonl", main, "mend it", "done")
    _claude_file(folder / main / "subagents" / "agent-a1.jsonl", main, "look at it", "seen", side=True)
    _claude_file(folder / "agent-a2.jsonl", main, "look again", "seen", side=True)
    origin = {"sessionId": main, "messageUuid": "m-1"}
    _claude_file(folder / f"{fork}.jsonl", fork, "mend it", "done", "no", forkedFrom=origin)
    _claude_file(folder / f"{copy}.jsonl", copy, "mend it", "done", "so", timestamp="2026-03-02T09:30:00.000Z")
    known = {"agent-a1": ("subagent", main), "agent-a2": ("subagent", main), fork: ("fork", main), copy: ("fork", main)}
    return Family(home / ".claude", main, folder / f"{main}.jsonl", known | {main: ("main", "")})


def cersei_forks(home: Path) -> Family:
    folder = home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    lines = [cersei("user", "mend it", 0), cersei("assistant", "done", 1)]
    (folder / "a.jsonl").write_bytes(as_bytes(lines))
    (folder / "b.jsonl").write_bytes(as_bytes([line | {"forked_from": "a"} for line in lines]))
    later = [*lines, cersei("user", "more", 2)]
    (folder / "c.jsonl").write_bytes(as_bytes([line | {"timestamp": "2026-11-20T12:00:00Z"} for line in later]))
    known = {"a": ("main", ""), "b": ("fork", "a"), "c": ("fork", "a")}
    return Family(home / ".claude", "a", folder / "a.jsonl", known)


def pi(home: Path) -> Family:
    folder = home / ".pi" / "agent" / "sessions" / "--work--"
    folder.mkdir(parents=True)
    main, fork = named(1), named(2)
    path = folder / f"2026-03-15T10-00-00-000Z_{main}.jsonl"
    made = pi_files.Session(pi_files.HEADER | {"id": main})
    made.user("mend it")
    made.model("done")
    path.write_bytes(made.data())
    made.header = pi_files.HEADER | {"id": fork, "parentSession": f"/elsewhere/{path.name}"}
    made.user("more")
    (folder / f"2026-03-16T10-00-00-000Z_{fork}.jsonl").write_bytes(made.data())
    return Family(home / ".pi" / "agent", main, path, {main: ("main", ""), fork: ("fork", main)})


def _talk(identity: str, **header: Any) -> pi_files.Session:
    made = openclaw_files.session(identity, **header)
    made.user("mend it")
    made.model("done")
    return made


def clawdbot(home: Path) -> Family:
    folder = home / ".clawdbot" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    main, agent, fork = named(1), named(2), named(3)
    for identity in (main, agent):
        (folder / f"{identity}.jsonl").write_bytes(_talk(identity, version=3).data())
    forked = _talk(fork, version=3, parentSession=str(folder / f"{main}.jsonl"))
    (folder / f"{fork}.jsonl").write_bytes(forked.data())
    entries = {
        "agent:main:main": {"sessionId": main},
        f"agent:main:subagent:{agent}": {"sessionId": agent, "spawnedBy": "agent:main:main"},
        "agent:main:main:thread:7": {"sessionId": fork},
    }
    (folder / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")
    known = {main: ("main", ""), agent: ("subagent", main), fork: ("fork", main)}
    return Family(home / ".clawdbot", main, folder / f"{main}.jsonl", known)


def openclaw(home: Path) -> Family:
    folder = home / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    main, agent, fork = named(1), named(2), named(3)
    store = openclaw_files.Agent(folder)
    store.add(_talk(main))
    store.add(_talk(agent), key=f"agent:main:subagent:{agent}", at=openclaw_files.START + 10)
    store.node(agent, spawned_by="agent:main:main")
    store.add(_talk(fork), key="agent:main:main:thread:7", at=openclaw_files.START + 20)
    store.node(fork, fork_source_session_id=main)
    known = {main: ("main", ""), agent: ("subagent", main), fork: ("fork", main)}
    return Family(home / ".openclaw", main, store.path, known)


def codex(home: Path) -> Family:
    days = home / ".codex" / "sessions" / "2026" / "11"
    main, agent, older, fork, by_reference = (named(number) for number in range(1, 6))
    path = codex_files.rollout(days / "21", codex_files.meta(main), *codex_files.turn("mend it", "done"), thread=main)
    spawned: dict[str, Any] = {"subagent": {"thread_spawn": {"parent_thread_id": main, "depth": 1}}}
    started: list[tuple[str, dict[str, Any]]] = [
        (agent, {"source": spawned, "session_id": main, "parent_thread_id": main, "agent_nickname": "Ada"}),
        (older, {"source": spawned}),
        (fork, {"forked_from_id": main}),
        (by_reference, {"history_base": {"thread_id": main, "end_byte_offset": path.stat().st_size}}),
    ]
    for identity, fields in started:
        lines = [codex_files.meta(identity, **fields), *codex_files.turn("and this", "well")]
        codex_files.rollout(days / "22", *lines, thread=identity)
    known = {agent: ("subagent", main), older: ("subagent", main), fork: ("fork", main), by_reference: ("fork", main)}
    return Family(home / ".codex", main, path, known | {main: ("main", "")})


def _opencode() -> list[opencode_files.Session]:
    main = opencode_files.Session("ses_main")
    main.user("mend it")
    main.answer(opencode_files.words("done"))
    child = opencode_files.Session("ses_child", parentID="ses_main", title="look at it")
    child.user("look at it")
    child.answer(opencode_files.words("seen"))
    fork = opencode_files.Session("ses_fork", title="Fix it (fork #1)")
    fork.user("mend it")
    fork.answer(opencode_files.words("done"))
    return [main, child, fork]


_OPENCODE = {"ses_main": ("main", ""), "ses_child": ("subagent", "ses_main"), "ses_fork": ("fork", "")}


def opencode_rows(home: Path) -> Family:
    root = home / ".local" / "share" / "opencode"
    root.mkdir(parents=True)
    path = opencode_files.database(root, *_opencode())
    return Family(root, "ses_main", path, _OPENCODE)


def opencode_tree(home: Path) -> Family:
    root = home / ".local" / "share" / "opencode"
    path, *_ = (made.tree(root) for made in _opencode())
    return Family(root, "ses_main", path, _OPENCODE)


FAMILIES: tuple[Callable[[Path], Family], ...] = (
    claude,
    cersei_forks,
    pi,
    clawdbot,
    openclaw,
    codex,
    opencode_rows,
    opencode_tree,
)

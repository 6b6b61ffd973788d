"""Sessions of every client that keeps files, with what each keeps beside them, in a :class:`Home`."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from slowwave.memory import Candidate, Evidence, ExtractedRange, SessionRef
from slowwave.memory.candidates import append_candidates
from tests.unit.formats.openclaw_files import session as openclaw_session
from tests.unit.retention.homes import DAY, Home
from tests.unit.stores.store_builder import as_bytes, cersei, tombstone

PROJECT = ".claude/projects/-home-ann-shop"
# files in which clients note sessions of all kinds
INDEXES = ("sessions.json", "session_index.jsonl")
# the record of every session of Cersei that its tombstone hides
HIDDEN = "u1"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def claude(home: Home, number: int, days: float, *texts: str) -> Path:
    return home.add("claude", number, days, *texts, side=True)


def pi(home: Home, number: int, days: float, *texts: str) -> Path:
    return home.add("pi", number, days, *texts)


def crabtalk(home: Home, number: int, days: float, *texts: str) -> Path:
    return home.add("crabtalk", number, days, *texts)


def codex(home: Home, number: int, days: float, *texts: str) -> Path:
    """A rollout, and its name in the index of the home."""
    path = home.add("codex", number, days, *texts)
    line = {"id": str(UUID(int=number)), "thread_name": f"name {number}", "updated_at": "2026-11-20T10:00:00Z"}
    with (home.root / ".codex" / "session_index.jsonl").open("a", encoding="utf-8") as index:
        index.write(json.dumps(line) + "\n")
    return path


def cersei_parts(home: Home, number: int, days: float, *texts: str) -> Path:
    """A session in two parts; a record of the first is hidden by a tombstone in the second."""
    name, folder = str(UUID(int=number)), home.root / PROJECT
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [
        cersei("user", text, at, session_id=name) for at, text in enumerate(("ask", "hidden", *texts))
    ]
    last = cersei("assistant", "well", 9, session_id=name, parent_uuid="u1")
    first, second = folder / f"{name}.jsonl", folder / f"{name}_part2.jsonl"
    first.write_bytes(as_bytes(lines))
    second.write_bytes(as_bytes([last, tombstone(HIDDEN), cersei("user", "more", 10, session_id=name)]))
    for path in (first, second):
        path.chmod(0o640)
        home.touch(path, days)
    return first


def ulid(home: Home, number: int, days: float, *texts: str) -> Path:
    """A session in a folder of its own."""
    own = "01JKQ5W8ZP3V9YB2C4D6E8" + "".join(_CROCKFORD[number >> shift & 31] for shift in (15, 10, 5, 0))
    folder = home.root / ".agent" / "sessions" / own
    folder.mkdir(parents=True)
    record = {"recordType": "message", "schemaVersion": 1, "role": "user"}
    rows = [
        record | {"seq": at, "content": [{"type": "text", "text": text}]}
        for at, text in enumerate(texts or ("mend it",), 1)
    ]
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "metadata.json").write_text(json.dumps({"id": own, "name": f"name {number}"}), encoding="utf-8")
    home.touch(folder / "metadata.json", days)
    home.touch(path, days)
    home.touch(folder, days)
    return path


def clawdbot(home: Home, number: int, days: float, *texts: str) -> Path:
    """A session with its entry in the client's index."""
    folder = home.root / ".clawdbot" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    own = str(UUID(int=number))
    made = openclaw_session(own, version=3)
    made.user(" ".join(texts) or f"hello {number}")
    made.model("well")
    path = folder / f"{own}.jsonl"
    path.write_bytes(made.data())
    index = folder / "sessions.json"
    entries: dict[str, Any] = json.loads(index.read_bytes()) if index.exists() else {}
    at = int((home.clock.at.timestamp() - days * DAY) * 1000)
    entries[f"agent:main:telegram:dm:{number}"] = {"sessionId": own, "updatedAt": at}
    index.write_text(json.dumps(entries, indent=2), encoding="utf-8")
    home.touch(path, days)
    return path


ADD: dict[str, Callable[..., Path]] = {
    "claude": claude,
    "pi": pi,
    "codex": codex,
    "crabtalk": crabtalk,
    "cersei": cersei_parts,
    "ulid": ulid,
    "clawdbot": clawdbot,
}


def remember(home: Home, path: Path) -> None:
    """Let a memory folder rest on every record of a session of Cersei."""
    memory = home.root / PROJECT / "memory"
    (memory / ".slowwave").mkdir(parents=True, exist_ok=True)
    data, at = path.read_bytes(), 0
    ref = SessionRef("cersei", path.stem, str(path))
    found: list[Candidate] = []
    for line in data.splitlines():
        evidence = Evidence(str(path), json.loads(line)["uuid"], at, len(line), sha256(line).hexdigest())
        text = f"fact {path.stem} {at}"
        own = sha256(text.encode()).hexdigest()[:16]
        found.append(Candidate(own, "decision", text, 0.9, "user_explicit", "x-1", ref, (evidence,)))
        at += len(line) + 1
    append_candidates(memory, found, [ExtractedRange(ref, 0, at, sha256(data).hexdigest(), "x-1")])

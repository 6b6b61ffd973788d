"""A listing and a discovery say who began a session, where its client tells."""

import json
from pathlib import Path

import pytest

from slowwave.formats.openclaw.store import parse_key
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import find_projects, list_sessions
from tests.unit.formats import openclaw_files
from tests.unit.stores.families import named, pi

JOB, HOOK = "cron:nightly", "hook:5"


def origins(root: Path) -> dict[str, str]:
    """Return the origin of each session as a listing shows it; a discovery with and without a catalogue must agree."""
    settings, environ = Settings(store=StoreSettings(roots=(root,))), {"HOME": str(root.parent)}
    found: list[dict[str, str]] = []
    for _ in ("fresh", "known"):
        with Catalogue(root.parent / "catalogue.sqlite") as catalogue:
            found.append({row.id: row.origin for row in list_sessions(settings, environ, catalogue).rows})
            known = find_projects(settings, environ, catalogue)
        both = (known, find_projects(settings, environ))
        found += [{s.id: s.origin for project in one.projects for s in project.sessions} for one in both]
    assert all(one == found[0] for one in found)
    return found[0]


def talk(identity: str, version: int = 3) -> openclaw_files.Session:
    made = openclaw_files.session(identity, version=version)
    made.user("hello")
    made.model("well")
    return made


def test_the_key_of_a_session_of_clawdbot_tells(tmp_path: Path) -> None:
    folder = tmp_path / ".clawdbot" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    keys = ("agent:main:main", JOB, HOOK, "agent:main:telegram:group:5", "agent:main:other")
    entries = {key: {"sessionId": named(number)} for number, key in enumerate(keys)}
    entries["agent:main:other"]["spawnedBy"] = "agent:main:main"
    for number in range(len(keys) + 1):
        (folder / f"{named(number)}.jsonl").write_bytes(talk(named(number)).data())
    (folder / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")
    expected = ("interactive", "cron", "hook", "interactive", "", "")
    assert origins(tmp_path / ".clawdbot") == {named(number): origin for number, origin in enumerate(expected)}


def test_the_key_of_a_session_in_a_database_tells(tmp_path: Path) -> None:
    folder = tmp_path / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    agent = openclaw_files.Agent(folder)
    for number, key in enumerate(("agent:main:main", JOB, HOOK, f"agent:main:subagent:{named(3)}")):
        agent.add(talk(named(number), 4), key=key, at=openclaw_files.START + number)
    agent.node(named(3), spawned_by="agent:main:main")
    expected = ("interactive", "cron", "hook", "")
    assert origins(tmp_path / ".openclaw") == {named(number): origin for number, origin in enumerate(expected)}


@pytest.mark.parametrize(
    ("metadata", "origin"),
    [
        (b'{"source":"cron","cronJobId":"j"}', "cron"),
        (b'{"source": "interactive"}', "interactive"),
        (b'{"source": "something new"}', ""),
        (b'{"source": ["cron"]}', ""),
        (b'{"source": "cron"', ""),
        (b"", ""),
    ],
)
def test_the_metadata_of_a_session_with_a_ulid_tell(tmp_path: Path, metadata: bytes, origin: str) -> None:
    identity = "01JNQXAW6E8M3VJ8Y2R5T7K9ZA"
    folder = tmp_path / ".agent" / "sessions" / identity
    folder.mkdir(parents=True)
    record: dict[str, object] = {"recordType": "message", "schemaVersion": 1, "seq": 1, "role": "user", "content": []}
    (folder / "session.jsonl").write_text(json.dumps(record) + "\n")
    if metadata:
        (folder / "metadata.json").write_bytes(metadata)
    assert origins(tmp_path / ".agent") == {identity: origin}


def test_other_clients_do_not_tell(tmp_path: Path) -> None:
    assert set(origins(pi(tmp_path).root).values()) == {""}


def test_what_began_a_session_of_a_node_or_an_unknown_key_is_not_known() -> None:
    assert {parse_key(key).origin for key in ("node-a", "agent:main:acp:b", "x:y")} == {""}
    assert parse_key("global").origin == "interactive"

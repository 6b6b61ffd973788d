"""The sessions of Clawdbot and OpenClaw are found where the client keeps them, and known for what became of them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from slowwave.formats.openclaw import Openclaw
from slowwave.formats.sessions import FoundSession, Known, Place, StoreProblem, Walk
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import Listing, list_sessions
from tests.unit.formats.openclaw_files import START, Agent, session
from tests.unit.formats.pi_files import HEADER, Session

KIND = Openclaw()
UUID = "1c648be0-52be-437c-89f7-ec59c7be57d4"


def talk(identity: str = "s1", text: str = "hello", **header: Any) -> Session:
    made = session(identity, **header)
    made.user(text)
    made.model("well")
    return made


def home(root: Path, *names: str, entries: dict[str, Any] | None = None) -> Path:
    folder = root / ".clawdbot" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes(talk(name.partition(".")[0], version=3).data())
    if entries is not None:
        (folder / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def found_in(folder: Path, problems: list[StoreProblem] | None = None) -> dict[str, FoundSession]:
    walk = Walk[Known]([] if problems is None else problems)
    return {found.id: found for found in KIND.sessions(Place("openclaw", str(folder)), walk)}


def listing(root: Path, catalogue: Path) -> Listing:
    settings = Settings(store=StoreSettings(roots=(root,)))
    with Catalogue(catalogue) as known:
        return list_sessions(settings, {"HOME": str(root.parent)}, known)


def agent_of(root: Path) -> Agent:
    folder = root / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    return Agent(folder)


def test_the_clients_own_folders_are_looked_into(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    names = (".openclaw", ".clawdbot", ".moltbot")
    assert KIND.homes(environ) == [tmp_path / name for name in names]
    (tmp_path / ".clawdbot").symlink_to(tmp_path / ".openclaw")
    assert KIND.homes(environ) == [tmp_path / ".openclaw", tmp_path / ".moltbot"]
    assert KIND.homes(environ | {"OPENCLAW_PROFILE": "dev"})[0] == tmp_path / ".openclaw-dev"
    assert KIND.homes(environ | {"OPENCLAW_HOME": "/srv"})[0] == Path("/srv/.openclaw")
    for name in ("OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR"):
        assert KIND.homes(environ | {name: " /srv/state "}) == [Path("/srv/state")]


def test_each_agents_folder_and_database_is_a_place(tmp_path: Path) -> None:
    sessions = home(tmp_path, "s1.jsonl")
    root = tmp_path / ".clawdbot"
    (root / "agents" / "empty").mkdir()
    (root / "agents" / "work" / "agent").mkdir(parents=True)
    (root / "agents" / "work" / "agent" / "openclaw-agent.sqlite").touch()
    database = str(root / "agents" / "work" / "agent" / "openclaw-agent.sqlite")
    assert KIND.places(root, ["agents"], []) == [Place("openclaw", str(sessions)), Place("openclaw", database)]
    assert KIND.places(sessions.parent, ["sessions"], []) == [Place("openclaw", str(sessions))]
    (sessions / "sessions.json").write_bytes(b"{}")
    assert KIND.places(sessions, ["sessions.json", "s1.jsonl"], []) == [Place("openclaw", str(sessions))]


def test_other_folders_are_none_of_its(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "reviewer.md").touch()
    assert KIND.places(tmp_path, ["agents"], []) is None
    fresh = tmp_path / ".openclaw"
    fresh.mkdir()
    assert KIND.places(fresh, [], []) == []


def test_what_became_of_a_transcript_is_known(tmp_path: Path) -> None:
    asides = {
        "s1.jsonl.reset.2026-01-24T10-00-00.000Z": "reset",
        "s1.jsonl.deleted.2026-01-24T10-00-00.000Z": "deleted",
        "s1.jsonl.bak-4711-1769428798123": "backup",
        f"s1.checkpoint.{UUID}.jsonl": "backup",
    }
    folder = home(tmp_path, "s1.jsonl", "s1-topic-12.jsonl", *asides)
    found = found_in(folder)
    assert {f.files[0].name: f.source for f in found.values()} == {
        "s1.jsonl": "",
        "s1-topic-12.jsonl": "",
        **asides,
    }
    assert {"s1", "s1-topic-12", "s1.reset.2026-01-24T10-00-00.000Z", "s1.bak-4711-1769428798123"} <= set(found)
    assert {f.dialect for f in found.values()} == {"openclaw"}


def test_trajectories_are_counted_and_never_taken_for_sessions(tmp_path: Path) -> None:
    folder = home(tmp_path, "s1.jsonl", "s1.trajectory.jsonl", "s2.trajectory.jsonl", "s1.jsonl.lock", entries={})
    (folder / "s1.trajectory-path.json").write_bytes(b"{}")
    problems: list[StoreProblem] = []
    assert sorted(found_in(folder, problems)) == ["s1"]
    assert [(p.kind, p.detail.partition(" ")[0]) for p in problems] == [("ignored", "3")]


def test_sub_agents_are_known_by_their_key_or_who_started_them(tmp_path: Path) -> None:
    entries = {
        "agent:main:main": {"sessionId": "s1"},
        f"agent:main:subagent:{UUID}": {"sessionId": "s2"},
        "agent:main:other": {"sessionId": "s3", "spawnedBy": "agent:main:main"},
        "agent:main:telegram:group:5:topic:12": {"sessionId": "s4", "sessionFile": "s4-topic-12.jsonl"},
        f"hook:{UUID}": {"sessionId": "s5"},
    }
    names = [*(f"s{n}.jsonl" for n in (1, 2, 3, 5)), "s4-topic-12.jsonl"]
    found = found_in(home(tmp_path, *names, entries=entries))
    assert {name: (f.side, f.kind) for name, f in found.items()} == {
        "s1": (False, ""),
        "s2": (True, "subagent"),
        "s3": (True, "subagent"),
        "s4-topic-12": (False, ""),
        "s5": (False, ""),
    }


def test_the_kind_follows_the_key_although_the_transcript_stays_as_it_is(tmp_path: Path) -> None:
    """The store "may rewrite or rehydrate entries as sessions run"; `hook:<uuid>` holds "unless overridden"."""
    folder = home(tmp_path, "s1.jsonl", "s2.jsonl")
    root, catalogue = tmp_path / ".clawdbot", tmp_path / "catalogue.sqlite"

    def kinds(*keys: str) -> list[tuple[str, str]]:
        entries = {key: {"sessionId": f"s{number}"} for number, key in enumerate(keys, 1) if key}
        (folder / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")
        return [(row.kind, row.origin) for row in sorted(listing(root, catalogue).rows, key=lambda row: row.id)]

    assert kinds(f"hook:{UUID}", "agent:main:main") == [("main", "hook"), ("main", "interactive")]
    assert kinds(f"agent:main:subagent:{UUID}", "cron:backup") == [("subagent", ""), ("main", "cron")]
    # the next run of the job has the key
    assert kinds(f"hook:{UUID}", "") == [("main", "hook"), ("main", "cron")]
    with Catalogue(catalogue) as known:
        list_sessions(Settings(store=StoreSettings(roots=(root,))), {"HOME": str(root.parent)}, known)
        assert not known.reads


def test_an_archive_is_read_though_it_is_packed(tmp_path: Path) -> None:
    folder = home(tmp_path)
    packed = folder / "s1.jsonl.deleted.2026-01-24T10-00-00.000Z.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(talk(text="gone").data()))
    (row,) = listing(tmp_path / ".clawdbot", tmp_path / "catalogue.sqlite").rows
    assert (row.first_prompt, row.messages) == ("gone", 2)


def test_titles_come_from_the_store_and_follow_it(tmp_path: Path) -> None:
    entries = {"agent:main:main": {"sessionId": "s1", "displayName": "Client's"}}
    folder = home(tmp_path, "s1.jsonl", entries=entries)
    root, catalogue = tmp_path / ".clawdbot", tmp_path / "catalogue.sqlite"
    assert [(r.dialect, r.id, r.title) for r in listing(root, catalogue).rows] == [("openclaw", "s1", "Client's")]
    entries["agent:main:main"]["label"] = "Mine"
    (folder / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")
    assert [r.title for r in listing(root, catalogue).rows] == ["Mine"]


@pytest.mark.parametrize("store", [b"", b"{broken"])
def test_a_store_that_cannot_be_read_hides_no_session(tmp_path: Path, store: bytes) -> None:
    folder = home(tmp_path, "s1.jsonl")
    (folder / "sessions.json").write_bytes(store)
    found = listing(tmp_path / ".clawdbot", tmp_path / "catalogue.sqlite")
    assert [r.id for r in found.rows] == ["s1"]
    assert [p.kind for p in found.problems] == ["damaged"]


def test_a_file_that_shows_no_mark_of_the_client_is_told_by_its_place(tmp_path: Path) -> None:
    home(tmp_path, "s1.jsonl")
    (row,) = listing(tmp_path / ".clawdbot", tmp_path / "catalogue.sqlite").rows
    assert (row.dialect, row.messages, row.first_prompt, row.cwd) == ("openclaw", 2, "hello", HEADER["cwd"])


def test_the_first_prompt_is_what_a_person_wrote_in_it(tmp_path: Path) -> None:
    folder = home(tmp_path)
    made = session(version=3)
    made.user("Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.")
    made.user("[Telegram Ana 2026-01-24 10:00 UTC] buy milk")
    (folder / "s1.jsonl").write_bytes(made.data())
    (row,) = listing(tmp_path / ".clawdbot", tmp_path / "catalogue.sqlite").rows
    assert row.first_prompt == "buy milk"


def test_sessions_of_a_database_are_listed_each_for_itself(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    agent.add(talk("s1", "first", cwd="/a"), key="agent:main:main", packed=True)
    agent.add(talk("s2", "second", cwd="/b"), key=f"agent:main:subagent:{UUID}", at=START + 10)
    agent.node("s2", spawned_by="agent:main:main")
    agent.add(talk("s3", "third", cwd="/c"), key="agent:main:copy", at=START + 20)
    agent.node("s3", fork_source_session_id="s1", label="Copy")
    agent.add(talk("s4", "fourth", cwd="/d"), key="agent:main:cron:job", at=START + 30)
    agent.run("INSERT INTO session_nodes(session_key, current_session_id) VALUES ('agent:main:alias', 's1')")
    rows = {r.id: r for r in listing(tmp_path / ".openclaw", tmp_path / "catalogue.sqlite").rows}
    assert {i: (r.dialect, r.kind, r.first_prompt, r.messages, r.cwd, r.title) for i, r in rows.items()} == {
        "s1": ("openclaw", "main", "first", 2, "/a", ""),
        "s2": ("openclaw", "subagent", "second", 2, "/b", ""),
        "s3": ("openclaw", "fork", "third", 2, "/c", "Copy"),
        "s4": ("openclaw", "main", "fourth", 2, "/d", ""),
    }
    walked = KIND.sessions(Place("openclaw", str(agent.path)), Walk[Known]([]))
    assert [found.id for found in walked] == ["s1", "s2", "s3", "s4"]
    assert rows["s1"].bytes == len(b"".join(talk("s1", "first", cwd="/a").data().splitlines()))


def test_only_sessions_that_changed_are_looked_into_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_of(tmp_path)
    agent.add(talk("s1", "first"))
    agent.add(talk("s2", "second"), key="agent:main:other")
    root, catalogue = tmp_path / ".openclaw", tmp_path / "catalogue.sqlite"
    before = {r.id: r for r in listing(root, catalogue).rows}
    agent.event("s2", 3, b'{"type":"message","id":"e9","parentId":"e2","message":{"role":"user","content":"more"}}')
    read: list[str] = []
    original = type(KIND)._of_database  # what is yielded is what is read

    def noted(self: Openclaw, place: Place, walk: Walk[Any]) -> Any:
        for found in original(self, place, walk):
            read.append(found.id)
            yield found

    monkeypatch.setattr(Openclaw, "_of_database", noted)
    after = {r.id: r for r in listing(root, catalogue).rows}
    assert read == ["s2"]
    assert after["s1"] == before["s1"]
    assert (before["s2"].messages, after["s2"].messages) == (2, 3)


def test_a_database_that_its_client_has_open_is_listed_with_what_it_wrote_last(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    agent.add(talk())
    with closing(sqlite3.connect(agent.path)) as client:
        client.execute("UPDATE session_nodes SET label = 'Open'")
        client.commit()
        names = sorted(p.name for p in agent.path.parent.iterdir())
        (row,) = listing(tmp_path / ".openclaw", tmp_path / "catalogue.sqlite").rows
        assert row.title == "Open"
        assert sorted(p.name for p in agent.path.parent.iterdir()) == names


def test_a_database_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    home(tmp_path, "s1.jsonl")
    folder = tmp_path / ".clawdbot" / "agents" / "main" / "agent"
    folder.mkdir()
    (folder / "openclaw-agent.sqlite").write_bytes(b"SQLite format 3\0" + bytes(100))
    found = listing(tmp_path / ".clawdbot", tmp_path / "catalogue.sqlite")
    assert [r.id for r in found.rows] == ["s1"]
    assert [p.kind for p in found.problems] == ["unreadable"]

"""What of a session goes together in every client: nothing of it stays behind, nothing of another one goes."""

import json
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave import files
from slowwave.context import FixedClock
from slowwave.errors import LockHeldError, MovedError, RefusedError
from slowwave.formats.locks import lock_path
from slowwave.formats.openclaw.store import read_store
from slowwave.formats.sessions import FoundSession
from slowwave.stores.archive.pack import PackedSession, Wanted, write_pack
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.roots import found_sessions, meant_session
from slowwave.stores.trash import Removal, plan_removal, remove, restore, trash_items
from tests.faults.calls import counted, faulty, once
from tests.unit.formats import claude_files, codex_files, openclaw_files
from tests.unit.stores import families
from tests.unit.stores.store_builder import cersei, settings_for, write
from tests.unit.stores.test_trash import Snapshot, snapshot

SHARED = Path(__file__).parents[3].parent / "shared"
CLOCK = FixedClock(datetime(2026, 11, 21, 9, tzinfo=UTC))


def found(root: Path, name: str) -> FoundSession:
    return meant_session(name, found_sessions(settings_for(root), {}, []))


def planned(root: Path, name: str) -> Removal:
    return plan_removal(found(root, name), {"HOME": os.fspath(root.parent)}, CLOCK)


def removed(root: Path, name: str, trash: Path) -> list[str]:
    """Remove a session and return what stays in the store, by its path in it."""
    remove(planned(root, name), trash, CLOCK)
    return left(root)


def left(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file()]


def claude_home(home: Path) -> tuple[Path, str, str]:
    """Return a home of Claude Code with two sessions, each with everything that the client keeps of one."""
    root = home / ".claude"
    project = root / "projects" / "-work"
    ids = families.named(1), families.named(2)
    for number, own in enumerate(ids):
        made = claude_files.Session()
        made.user("mend it", sessionId=own, uuid=f"m-{number}")
        project.mkdir(parents=True, exist_ok=True)
        made.read(project, f"{own}.jsonl")
        side = claude_files.Session(sidechain=True)
        side.user("look", sessionId=own, uuid=f"s-{number}")
        (project / own / "subagents").mkdir(parents=True)
        side.read(project / own / "subagents", f"agent-a{number}.jsonl")
        side.read(project, f"agent-b{number}.jsonl")
        for name in (
            f"projects/-work/{own}/subagents/agent-a{number}.meta.json",
            f"projects/-work/{own}/tool-results/b1.txt",
            f"file-history/{own}/0123456789abcdef@v1",
            f"session-env/{own}/hook.sh",
            f"tasks/{own}/1.json",
            f"todos/{own}.json",
            f"todos/{own}-agent-{own}.json",
        ):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"{name}\n", encoding="utf-8")
    (root / "history.jsonl").write_text("{}\n", encoding="utf-8")
    return root, *ids


def test_everything_that_claude_code_keeps_of_a_session_goes_and_comes_back(tmp_path: Path) -> None:
    root, own, other = claude_home(tmp_path)
    before = snapshot(root)
    assert len([name for name in left(root) if own in name]) == 9
    stays = removed(root, own, tmp_path / "trash")
    assert not [name for name in stays if own in name or name.endswith("agent-b0.jsonl")]
    assert len([name for name in stays if other in name]) == 9
    assert {"history.jsonl", "projects/-work/agent-b1.jsonl"} <= set(stays)
    [item] = trash_items(tmp_path / "trash")
    assert restore(item, tmp_path / "trash") == []
    assert _of(snapshot(root), own) == _of(before, own)
    assert _of(snapshot(root), ".json") == _of(before, ".json")


def _of(found: Snapshot, part: str) -> Snapshot:
    """Leave out the folders of the home itself, whose times change."""
    return {name: at for name, at in found.items() if part in name}


def test_what_claude_code_needs_to_find_a_session_goes_last(tmp_path: Path) -> None:
    root, own, _ = claude_home(tmp_path)
    names = [path.name for path in planned(root, own).paths]
    assert names[:2] == [f"{own}-agent-{own}.json", f"{own}.json"]
    assert names[-3:] == ["agent-b0.jsonl", own, f"{own}.jsonl"]


def test_a_session_of_the_same_id_in_another_project_keeps_what_is_in_the_home(tmp_path: Path) -> None:
    root, own, _ = claude_home(tmp_path)
    copy = root / "projects" / "-other" / f"{own}.jsonl"
    copy.parent.mkdir()
    copy.write_bytes((root / "projects" / "-work" / f"{own}.jsonl").read_bytes() + b"\n")
    paths = plan_removal(
        next(s for s in found_sessions(settings_for(root), {}, []) if s.path == str(copy)), {"HOME": "/nobody"}, CLOCK
    ).paths
    assert list(paths) == [copy]


def test_a_plain_folder_of_transcripts_is_no_home_of_claude_code(tmp_path: Path) -> None:
    folder = tmp_path / "backup" / "copies"
    own = families.named(1)
    folder.mkdir(parents=True)
    (tmp_path / "todos").mkdir()
    (tmp_path / "todos" / f"{own}.json").write_text("[]", encoding="utf-8")
    write(folder / f"{own}.jsonl", cersei("user", "a", 0))
    assert [path.name for path in planned(folder, own).paths] == [f"{own}.jsonl"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_rollout_goes_in_both_of_its_forms_with_its_name(tmp_path: Path, *, packed: bool) -> None:
    root = tmp_path / ".codex"
    other = "01a1ffe2-70a4-7cb3-ab90-000000000002"
    day = root / "sessions" / "2026" / "11" / "21"
    path = codex_files.rollout(day, codex_files.meta(), *codex_files.turn("Fix it", "Done."))
    codex_files.rollout(day, codex_files.meta(other), *codex_files.turn("Old", "1"), thread=other)
    if packed:
        codex_files.compressed(path)
    index = root / "session_index.jsonl"
    lines = [
        {"id": codex_files.THREAD, "thread_name": "first", "updated_at": "2026-11-01T00:00:00Z"},
        {"id": other, "thread_name": "other", "updated_at": "2026-11-02T00:00:00Z"},
        {"id": codex_files.THREAD, "thread_name": "last", "updated_at": "2026-11-03T00:00:00Z"},
    ]
    index.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    before = {name: (root / name).read_bytes() for name in left(root)}
    stays = removed(root, codex_files.THREAD, tmp_path / "trash")
    assert [Path(name).name for name in stays] == ["session_index.jsonl", f"rollout-2026-11-21T20-53-12-{other}.jsonl"]
    assert [json.loads(line)["thread_name"] for line in index.read_text().splitlines()] == ["other"]
    [item] = trash_items(tmp_path / "trash")
    assert restore(item, tmp_path / "trash") == []
    assert {name: (root / name).read_bytes() for name in left(root)} == before


def test_the_name_of_a_thread_stays_with_its_other_rollout(tmp_path: Path) -> None:
    root = tmp_path / ".codex"
    day = root / "sessions" / "2026" / "11" / "21"
    codex_files.rollout(day, codex_files.meta(), *codex_files.turn("Fix it", "Done."))
    codex_files.rollout(root / "archived_sessions", codex_files.meta(), *codex_files.turn("Fix it", "Done."))
    (root / "session_index.jsonl").write_text(json.dumps({"id": codex_files.THREAD, "thread_name": "n"}) + "\n")
    first = next(s for s in found_sessions(settings_for(root), {}, []) if "archived" in s.path)
    assert plan_removal(first, {"HOME": "/nobody"}, CLOCK).notes == ()


def test_a_name_that_was_given_meanwhile_stays(tmp_path: Path) -> None:
    root = tmp_path / ".codex"
    codex_files.rollout(root / "sessions" / "2026" / "11" / "21", codex_files.meta(), *codex_files.turn("a", "b"))
    index = root / "session_index.jsonl"
    index.write_text(json.dumps({"id": codex_files.THREAD, "thread_name": "old"}) + "\n", encoding="utf-8")
    removed(root, codex_files.THREAD, tmp_path / "trash")
    new = json.dumps({"id": codex_files.THREAD, "thread_name": "new"}) + "\n"
    index.write_text(new, encoding="utf-8")
    [item] = trash_items(tmp_path / "trash")
    assert [said for said in restore(item, tmp_path / "trash") if "named again" in said]
    assert index.read_text(encoding="utf-8") == new


def test_a_rollout_that_a_fork_refers_to_is_refused_until_the_fork_is_gone(tmp_path: Path) -> None:
    family = families.codex(tmp_path)
    forks = [own for own, (kind, parent) in family.known.items() if (kind, parent) == ("fork", family.main)]
    for fork in forks:
        with pytest.raises(RefusedError, match="was forked from it"):
            planned(family.root, family.main)
        remove(planned(family.root, fork), tmp_path / "trash", CLOCK)
    assert len(forks) == 2
    assert planned(family.root, family.main).paths


def test_a_session_of_pi_that_a_fork_refers_to_is_refused_also_from_another_folder(tmp_path: Path) -> None:
    family = families.pi(tmp_path)
    [fork] = [path for path in family.path.parent.iterdir() if path != family.path]
    other = family.path.parent.parent / "--elsewhere--"
    other.mkdir()
    fork.rename(other / fork.name)
    with pytest.raises(RefusedError, match="was forked from it"):
        planned(family.root, family.main)
    (other / fork.name).unlink()
    assert planned(family.root, family.main).paths == (family.path,)


def test_a_fork_that_is_made_after_the_plan_keeps_its_parent(tmp_path: Path) -> None:
    family = families.pi(tmp_path)
    [fork] = [path for path in family.path.parent.iterdir() if path != family.path]
    data = fork.read_bytes()
    fork.unlink()
    plan = planned(family.root, family.main)
    fork.write_bytes(data)
    with pytest.raises(RefusedError, match="was forked from it"):
        remove(plan, tmp_path / "trash", CLOCK)
    assert family.path.exists()
    assert not (tmp_path / "trash").exists()


def test_a_fork_that_is_made_while_its_parent_goes_keeps_it(tmp_path: Path) -> None:
    def home(name: str) -> tuple[families.Family, Path, bytes]:
        family = families.pi(tmp_path / name)
        [fork] = [path for path in family.path.parent.iterdir() if path != family.path]
        data = fork.read_bytes()
        fork.unlink()
        return family, fork, data

    family, _, _ = home("counted")
    plan = planned(family.root, family.main)
    changes = counted(tmp_path / "counted", lambda: remove(plan, tmp_path / "counted" / "trash", CLOCK))
    kept = 0
    for point in range(1, changes + 1):
        family, fork, data = home(str(point))
        before, parent = family.path.read_bytes(), family.path

        def forks(_call: str, _path: str, *, parent: Path = parent, fork: Path = fork, data: bytes = data) -> None:
            if parent.exists():
                fork.write_bytes(data)

        with faulty(tmp_path / str(point), once(point, forks)), suppress(RefusedError):
            remove(planned(family.root, family.main), tmp_path / str(point) / "trash", CLOCK)
        if fork.exists():
            assert parent.read_bytes() == before
            assert list(trash_items(tmp_path / str(point) / "trash")) == []
            kept += 1
    assert 1 < kept < changes


def clawdbot_home(home: Path, entries: dict[str, Any], *names: str) -> Path:
    folder = home / ".clawdbot" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    for name in names:
        made = openclaw_files.session(name.partition(".")[0], version=3)
        made.user("hello")
        made.model("well")
        (folder / name).write_bytes(made.data())
    (folder / "sessions.json").write_text(json.dumps(entries, indent=2), encoding="utf-8")
    return folder


ENTRIES: dict[str, Any] = {
    "agent:main:main": {"sessionId": "s1", "updatedAt": 5, "new": {"of": "later"}},
    "agent:main:telegram:group:7": {"sessionId": "s2", "updatedAt": 6},
    "agent:main:telegram:group:7:topic:9": {"sessionId": "s1", "sessionFile": "s1-topic-9.jsonl", "updatedAt": 7},
}
NAMES = ("s1.jsonl", "s2.jsonl", "s1-topic-9.jsonl", "s1.jsonl.reset.2026-01-24T10-00-00.000Z")


def test_a_transcript_takes_its_entry_with_it_and_brings_it_back(tmp_path: Path) -> None:
    folder = clawdbot_home(tmp_path, ENTRIES, *NAMES)
    store = folder / "sessions.json"
    stays = removed(folder, "s2", tmp_path / "trash")
    assert stays == sorted({*NAMES, "sessions.json"} - {"s2.jsonl"})
    assert list(read_store(store)) == ["agent:main:main", "agent:main:telegram:group:7:topic:9"]
    assert not lock_path(store).exists()
    [item] = trash_items(tmp_path / "trash")
    assert restore(item, tmp_path / "trash") == []
    expected = read_store(_written(tmp_path / "expected.json", ENTRIES))
    for key, entry in read_store(store).items():
        assert {name: entry.get(name) for name in entry.fields} == {
            n: expected[key].get(n) for n in expected[key].fields
        }
    assert set(read_store(store)) == set(expected)
    assert json.loads(store.read_bytes()) == ENTRIES


def _written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("s1", ["agent:main:main"]),
        ("s1-topic-9", ["agent:main:telegram:group:7:topic:9"]),
        ("s1.reset.2026-01-24T10-00-00.000Z", []),
    ],
)
def test_topics_and_what_was_reset_are_sessions_of_their_own(tmp_path: Path, name: str, gone: list[str]) -> None:
    folder = clawdbot_home(tmp_path, ENTRIES, *NAMES)
    session = next(s for s in found_sessions(settings_for(folder), {}, []) if s.id == name)
    plan = plan_removal(session, {"HOME": os.fspath(tmp_path)}, CLOCK)
    assert [path.name for path in plan.paths] == [session.files[0].name]
    assert [note.key for note in plan.notes] == gone


def test_other_records_of_its_runs_go_with_the_last_transcript(tmp_path: Path) -> None:
    folder = clawdbot_home(tmp_path, ENTRIES, *NAMES)
    for name in ("s2.trajectory.jsonl", "s2.trajectory-path.json", "s1.trajectory.jsonl"):
        (folder / name).write_text("{}\n", encoding="utf-8")
    names = [path.name for path in planned(folder, "s2").paths]
    assert names == ["s2.trajectory-path.json", "s2.trajectory.jsonl", "s2.jsonl"]
    session = next(s for s in found_sessions(settings_for(folder), {}, []) if s.id == "s1")
    plan = plan_removal(session, {"HOME": os.fspath(tmp_path)}, CLOCK)
    assert [path.name for path in plan.paths] == ["s1.jsonl"]  # the topic still has its runs


def test_a_conversation_that_went_on_meanwhile_is_not_removed(tmp_path: Path) -> None:
    folder = clawdbot_home(tmp_path, ENTRIES, *NAMES)
    plan = planned(folder, "s2")
    later = ENTRIES | {"agent:main:telegram:group:7": {"sessionId": "s3", "updatedAt": 9}}
    _written(folder / "sessions.json", later)
    with pytest.raises(MovedError, match="changed since it was looked at"):
        remove(plan, tmp_path / "trash", CLOCK)
    assert (folder / "s2.jsonl").exists()
    assert json.loads((folder / "sessions.json").read_bytes()) == later
    assert trash_items(tmp_path / "trash") == []


def test_an_entry_that_leads_elsewhere_by_now_is_not_replaced_by_a_restore(tmp_path: Path) -> None:
    folder = clawdbot_home(tmp_path, ENTRIES, *NAMES)
    removed(folder, "s2", tmp_path / "trash")
    later = ENTRIES | {"agent:main:telegram:group:7": {"sessionId": "s3", "updatedAt": 9}}
    _written(folder / "sessions.json", later)
    [item] = trash_items(tmp_path / "trash")
    assert [said for said in restore(item, tmp_path / "trash") if "goes on in another session" in said]
    assert json.loads((folder / "sessions.json").read_bytes()) == later
    assert (folder / "s2.jsonl").exists()


def test_a_store_that_its_client_holds_keeps_everything_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = clawdbot_home(tmp_path, ENTRIES, *NAMES)
    plan = planned(folder, "s2")
    before = snapshot(folder)
    monkeypatch.setattr("slowwave.formats.notes.update_store", _held)
    with pytest.raises(LockHeldError):
        remove(plan, tmp_path / "trash", CLOCK)
    assert snapshot(folder) == before
    assert trash_items(tmp_path / "trash") == []


def _held(path: Path, change: object) -> None:  # noqa: ARG001 - the shape of update_store
    raise LockHeldError(f"{path}: held by process 1")


def test_a_killed_removal_of_a_transcript_comes_back_with_its_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop at every point at which something is written, linked, synced or removed; then restore."""
    stops = 0
    for number in range(200):
        home = tmp_path / str(number)
        folder = clawdbot_home(home, ENTRIES, *NAMES)
        plan = planned(folder, "s2")
        count = iter(range(1000))

        def stop(what: str, path: Path, count: Any = count, number: int = number) -> None:  # noqa: ARG001
            if next(count) == number:
                raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            for module in ("slowwave.files", "slowwave.stores.trash"):
                patched.setattr(f"{module}.at_fault_point", stop)
            try:
                remove(plan, home / "trash", CLOCK)
            except KeyboardInterrupt:
                stops += 1
            else:
                break
        for item in trash_items(home / "trash"):
            restore(item, home / "trash")
        assert json.loads((folder / "sessions.json").read_bytes()) == ENTRIES, number
        assert {name for name in left(folder) if not name.startswith(files.TEMP_PREFIX)} == {*NAMES, "sessions.json"}
    assert stops > 8


def test_the_last_number_of_crabtalk_is_not_given_again(tmp_path: Path) -> None:
    folder = tmp_path / ".crabtalk" / "sessions"
    folder.mkdir(parents=True)
    for number in (1, 2):
        head = {
            "agent": "crab",
            "created_by": "user",
            "created_at": "2026-01-01T00:00:00Z",
            "title": "",
            "uptime_secs": 0,
        }
        body = json.dumps(head) + "\n" + json.dumps({"role": "user", "content": "hi"}) + "\n"
        (folder / f"crab_user_{number}.jsonl").write_text(body, encoding="utf-8")
    assert [path.name for path in planned(tmp_path / ".crabtalk", "crab_user_1").paths] == ["crab_user_1.jsonl"]
    with pytest.raises(RefusedError, match="last number"):
        planned(tmp_path / ".crabtalk", "crab_user_2")


def test_a_session_with_a_folder_of_its_own_goes_with_all_of_it(tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "samples" / "ulid"
    [log, *_] = sorted(sample.rglob("*.jsonl"))
    own = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    folder = tmp_path / ".agent" / "sessions" / own
    folder.mkdir(parents=True)
    (folder / "session.jsonl").write_bytes(log.read_bytes())
    (folder / "metadata.json").write_text("{}", encoding="utf-8")
    assert planned(tmp_path / ".agent", own).paths == (folder,)


def test_the_parts_of_a_session_go_from_the_last_to_the_first(tmp_path: Path) -> None:
    write(tmp_path / "s.jsonl", cersei("user", "a", 0))
    for number in (2, 3, 10):
        write(tmp_path / f"s_part{number}.jsonl", cersei("user", "b", number))
    names = [path.name for path in planned(tmp_path, "s").paths]
    assert names == ["s_part10.jsonl", "s_part3.jsonl", "s_part2.jsonl", "s.jsonl"]


def test_an_entry_comes_back_from_the_archive_when_the_trash_is_empty(tmp_path: Path) -> None:
    folder = clawdbot_home(tmp_path, ENTRIES, *NAMES)
    plan = planned(folder, "s2")
    packed = PackedSession("s2", "openclaw", "p", "", "2026-11-21T09:00:00Z", 0, (), notes=plan.notes)
    write_pack(tmp_path / "archive" / "a.swpack", [Wanted(packed, plan.paths)])
    remove(plan, tmp_path / "trash", CLOCK)
    shutil.rmtree(tmp_path / "trash")
    shelf = Shelf(tmp_path / "archive")
    [one] = shelf.find("s2")
    assert shelf.restore(one) == []
    assert json.loads((folder / "sessions.json").read_bytes()) == ENTRIES
    assert shelf.restore(one) == [f"{folder / 's2.jsonl'}: is there already, as it was"]


@pytest.mark.real
@pytest.mark.skipif(not SHARED.is_dir(), reason="the real homes are not beside this checkout")
@pytest.mark.parametrize(
    "home", sorted(SHARED.glob("clients/corpus/*/*/home")), ids=lambda p: f"{p.parts[-3]}-{p.parts[-2]}"
)
def test_a_real_home_comes_back_as_it_was_after_each_of_its_sessions_went(home: Path, tmp_path: Path) -> None:
    [client] = [path for path in home.iterdir() if path.is_dir() and path.name != ".local"] or [None]
    if client is None:
        pytest.skip("its sessions are rows of a database, which its client alone removes")
    root = tmp_path / client.name
    shutil.copytree(client, root)
    before = {name: (root / name).read_bytes() for name in left(root)}
    went = 0
    for session in found_sessions(settings_for(root), {}, []):
        if session.side:
            continue
        try:
            plan = plan_removal(session, {"HOME": os.fspath(tmp_path)}, CLOCK)
        except RefusedError as error:
            assert "was forked from it" in str(error)  # noqa: PT017 - it may be refused for nothing else
            continue
        item = remove(plan, tmp_path / "trash", CLOCK)
        went += 1
        named = [name for name in left(root) if session.id in name]
        assert named == []
        for name in left(root):
            if name.endswith(("sessions.json", "session_index.jsonl")):
                assert session.id.encode() not in (root / name).read_bytes()
        assert restore(item, tmp_path / "trash") == []
        assert {name: (root / name).read_bytes() for name in left(root)} == before
    assert went

"""Removal through the trash: nothing is ever lost, nothing is replaced, everything comes back byte for byte."""

import errno
import json
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave import files
from slowwave.context import FixedClock
from slowwave.errors import CorruptStateError, MovedError, NotFoundError, RefusedError, UsageError
from slowwave.formats.sessions import FoundFile, FoundSession
from slowwave.stores.roots import found_sessions, meant_session
from slowwave.stores.trash import (
    TrashItem,
    is_whole,
    matching_items,
    plan_removal,
    remove,
    restore,
    throw_away,
    trash_folder,
    trash_items,
)
from tests.unit.stores.store_builder import add, cersei, claude, settings_for, write

CLOCK = FixedClock(datetime(2026, 11, 21, 9, tzinfo=UTC))
Snapshot = dict[str, tuple[int, int, bytes]]


def snapshot(folder: Path) -> Snapshot:
    """Return mode, time and content of everything in a folder."""
    found: Snapshot = {}
    for path in sorted(folder.rglob("*")):
        at = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        if path.is_symlink():
            content = os.fsencode(path.readlink())
        found[str(path.relative_to(folder))] = (at.st_mode, at.st_mtime_ns, content)
    return found


def store_with_a_session(store: Path) -> Path:
    write(store / "s.jsonl", cersei("user", "a", 0))
    write(store / "s_part2.jsonl", cersei("user", "b", 1))
    write(store / "s_part3.jsonl", cersei("user", "c", 2))
    write(store / "s" / "subagents" / "agent-1.jsonl", claude("user", "go", isSidechain=True))
    write(store / "s" / "tool-results" / "b1.txt", b"long output")
    (store / "s" / "empty").mkdir()
    (store / "s" / "link").symlink_to("nowhere")
    write(store / "other.jsonl", claude("user", "stay"))
    for number, path in enumerate(sorted(store.rglob("*"))):
        if not path.is_symlink():
            path.chmod(0o640 if path.is_file() else 0o750)
            os.utime(path, ns=(number * 1_000_000_007, number * 1_000_000_007))
    return store


def remove_session(store: Path, trash: Path) -> TrashItem:
    found = meant_session("s", found_sessions(settings_for(store), {}, []))
    return remove(plan_removal(found, {"HOME": str(trash.parent)}, CLOCK), trash, CLOCK)


def test_a_removed_session_leaves_nothing_behind_and_comes_back_as_it_was(tmp_path: Path):
    store, trash = store_with_a_session(tmp_path / "store"), tmp_path / "trash"
    before = snapshot(store)
    item = remove_session(store, trash)
    assert sorted(p.name for p in store.iterdir()) == ["other.jsonl"]
    assert restore(item, trash) == []
    assert snapshot(store) == before
    assert list(trash.iterdir()) == []


def test_the_manifest_tells_what_why_and_when(tmp_path: Path):
    store, trash = store_with_a_session(tmp_path / "store"), tmp_path / "trash"
    item = remove_session(store, trash)
    told = json.loads((trash / item.id / "manifest.json").read_text())
    assert (told["session"], told["dialect"], told["reason"]) == ("s", "cersei", "removed on request")
    assert told["at"] == "2026-11-21T09:00:00+00:00"
    assert {Path(f["path"]).name for f in told["files"]} >= {"s.jsonl", "s_part2.jsonl", "agent-1.jsonl", "b1.txt"}
    assert all(len(f["sha256"]) == 64 for f in told["files"] if f["kind"] == "file")
    assert trash.stat().st_mode & 0o077 == 0
    assert trash_items(trash) == [item]


def test_the_base_file_goes_last_and_the_side_folder_first(tmp_path: Path):
    store = store_with_a_session(tmp_path / "store")
    found = meant_session("s", found_sessions(settings_for(store), {}, []))
    plan = plan_removal(found, {"HOME": str(tmp_path)}, CLOCK)
    assert [p.name for p in plan.paths] == ["s", "s_part3.jsonl", "s_part2.jsonl", "s.jsonl"]


def test_a_restore_never_replaces_anything(tmp_path: Path):
    store, trash = store_with_a_session(tmp_path / "store"), tmp_path / "trash"
    item = remove_session(store, trash)
    write(store / "s_part2.jsonl", cersei("user", "new", 5))
    before, kept = snapshot(store), snapshot(trash)
    with pytest.raises(RefusedError, match=r"s_part2\.jsonl: exists again"):
        restore(item, trash)
    assert (snapshot(store), snapshot(trash)) == (before, kept)


def test_a_session_that_changed_since_the_plan_is_not_removed(tmp_path: Path):
    store, trash = store_with_a_session(tmp_path / "store"), tmp_path / "trash"
    found = meant_session("s", found_sessions(settings_for(store), {}, []))
    plan = plan_removal(found, {"HOME": str(tmp_path)}, CLOCK)
    add(store / "s_part3.jsonl", cersei("user", "late", 7))
    before = snapshot(store)
    with pytest.raises(MovedError):
        remove(plan, trash, CLOCK)
    assert snapshot(store) == before
    assert not trash.exists()


def test_a_session_that_a_client_has_open_is_not_removed(tmp_path: Path):
    store, trash = store_with_a_session(tmp_path / "store"), tmp_path / "trash"
    claims = tmp_path / ".claude" / "sessions"
    claims.mkdir(parents=True)
    found = meant_session("s", found_sessions(settings_for(store), {}, []))
    plan = plan_removal(found, {"HOME": str(tmp_path)}, CLOCK)
    (claims / f"{os.getpid()}.json").write_text('{"sessionId": "s"}')
    before = snapshot(store)
    for attempt in (lambda: plan_removal(found, {"HOME": str(tmp_path)}, CLOCK), lambda: remove(plan, trash, CLOCK)):
        with pytest.raises(RefusedError, match="running client"):
            attempt()
    assert snapshot(store) == before
    assert not trash.exists()


def test_bytes_that_were_appended_after_the_removal_come_back_too(tmp_path: Path):
    store, trash = store_with_a_session(tmp_path / "store"), tmp_path / "trash"
    with (store / "s.jsonl").open("ab") as file:
        item = remove_session(store, trash)
        file.write(b"late\n")
    assert "changed after" in restore(item, trash)[0]
    assert (store / "s.jsonl").read_bytes().endswith(b"late\n")


def test_another_file_system_is_crossed_by_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    without_links(monkeypatch)
    store, trash = store_with_a_session(tmp_path / "store"), tmp_path / "trash"
    before = snapshot(store)
    item = remove_session(store, trash)
    assert sorted(p.name for p in store.iterdir()) == ["other.jsonl"]
    assert restore(item, trash) == []
    assert snapshot(store) == before


def test_what_a_client_appends_while_it_is_copied_far_away_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    without_links(monkeypatch)
    store, trash = store_with_a_session(tmp_path / "store"), tmp_path / "trash"
    first = store / "s.jsonl"

    def append(event: str, path: str) -> None:
        if (event, path) == ("unlink", os.fspath(first)):
            with first.open("ab") as file:
                file.write(b"late\n")

    before = first.read_bytes()
    with monkeypatch.context() as within:
        within.setattr(files, "fault_hook", append)
        with pytest.raises(MovedError, match="wrote to it"):
            remove_session(store, trash)
    (item,) = trash_items(trash)
    assert restore(item, trash) == []
    assert first.read_bytes() == before + b"late\n"
    assert (store / "s_part3.jsonl").exists()


@pytest.mark.parametrize("place", ["near", "far"])
def test_a_removal_counts_as_whole_only_when_nothing_lies_in_its_old_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
):
    set_place(place, monkeypatch)
    after = 0
    while True:
        store, trash = tmp_path / f"store{after}", tmp_path / f"trash{after}"
        write(store / "s.jsonl", cersei("user", "a", 0))
        was_killed = run_killed(after, lambda: remove_session(store, trash))  # noqa: B023 - called at once
        stands = (store / "s.jsonl").exists()
        assert all(is_whole(item, trash) != stands for item in trash_items(trash)), after
        if not was_killed:
            break
        after += 1
    assert after > 5


def test_items_are_found_by_session_by_item_and_by_their_beginning(tmp_path: Path):
    trash = tmp_path / "trash"
    for name in ("abc1", "abc2", "abc2"):
        path = write(tmp_path / f"{name}.jsonl", claude("user", "hi"))
        number = len(trash_items(trash))
        throw_away([path], trash, item_id=f"t{number}", session=name, dialect="claude", reason="", at=CLOCK.now())
    assert [i.id for i in matching_items(trash, ["abc2"])] == ["t1", "t2"]
    assert [i.id for i in matching_items(trash, ["t0", "abc1"])] == ["t0"]
    with pytest.raises(RefusedError, match="matches 2"):
        matching_items(trash, ["abc"])
    with pytest.raises(NotFoundError):
        matching_items(trash, [""])


def test_a_broken_manifest_is_an_error_and_not_an_empty_trash(tmp_path: Path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "manifest.json").write_text("{")
    with pytest.raises(CorruptStateError):
        trash_items(tmp_path)


def test_names_that_are_no_utf8_come_back(tmp_path: Path):
    store, trash = tmp_path / "store", tmp_path / "trash"
    path = write(Path(os.fsdecode(os.fsencode(store) + b"/\xff\n.jsonl")), claude("user", "hi"))
    before = snapshot(store)
    item = throw_away([path], trash, item_id="t", session="x", dialect="claude", reason="", at=CLOCK.now())
    assert restore(trash_items(trash)[0], trash) == []
    assert item.files[0].path == os.fspath(path)
    assert snapshot(store) == before


def test_the_trash_lies_under_the_data_folder():
    assert trash_folder({"HOME": "/h"}) == Path("/h/.local/share/slowwave/trash")
    assert trash_folder({"HOME": "/h", "XDG_DATA_HOME": "/d"}) == Path("/d/slowwave/trash")


def run_killed(after: int, act: Callable[[], object]) -> bool:
    """Run ``act`` in a process that is killed at the fault point with this number; say whether it came so far."""
    pid = os.fork()
    if pid == 0:
        left = after

        def hook(_event: str, _path: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        files.fault_hook = hook
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL


def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the trash lie on another file system."""

    def refusing(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refusing)


def set_place(place: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let the trash be ``near`` or ``far``; return how many fault points to go on by (copies make them slow)."""
    if place == "far":
        without_links(monkeypatch)
        return 4
    return 2


@pytest.mark.parametrize("place", ["near", "far"])
def test_a_removal_that_is_killed_anywhere_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str):
    step = set_place(place, monkeypatch)
    after = 0
    while True:
        store, trash = store_with_a_session(tmp_path / f"store{after}"), tmp_path / f"trash{after}"
        before = snapshot(store)
        was_killed = run_killed(after, lambda: remove_session(store, trash))  # noqa: B023 - called at once
        for item in trash_items(trash):
            restore(item, trash)
        assert snapshot(store) == before
        if not was_killed:
            break
        after += step
    assert after > 20


@pytest.mark.parametrize("place", ["near", "far"])
def test_a_removal_that_was_killed_can_be_finished_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
):
    step = set_place(place, monkeypatch)
    for after in range(0, 30, 3 * step):
        store, trash = store_with_a_session(tmp_path / f"store{after}"), tmp_path / f"trash{after}"
        before = snapshot(store)
        run_killed(after, lambda: remove_session(store, trash))  # noqa: B023 - called at once
        if (store / "s.jsonl").exists():
            remove_session(store, trash)
        assert sorted(p.name for p in store.iterdir()) == ["other.jsonl"]
        for item in trash_items(trash):
            restore(item, trash)
        assert snapshot(store).keys() == before.keys()
        assert {n: s[2] for n, s in snapshot(store).items()} == {n: s[2] for n, s in before.items()}


@pytest.mark.parametrize("place", ["near", "far"])
def test_a_killed_restore_goes_on_when_it_is_called_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str):
    step = set_place(place, monkeypatch)
    after = 0
    while True:
        store, trash = store_with_a_session(tmp_path / f"store{after}"), tmp_path / f"trash{after}"
        before = snapshot(store)
        item = remove_session(store, trash)
        was_killed = run_killed(after, lambda: restore(item, trash))  # noqa: B023 - called at once
        for left in trash_items(trash):
            restore(left, trash)
        assert snapshot(store) == before
        if not was_killed:
            break
        after += step
    assert after > 10


def test_a_session_with_a_folder_of_its_own_goes_and_comes_back_as_a_whole(tmp_path: Path):
    name = "01J9ZQ4T5V6W7X8Y9Z0A1B2C3D"
    record: dict[str, object] = {"recordType": "message", "schemaVersion": 1, "seq": 0, "role": "user", "content": []}
    log = write(tmp_path / ".agent" / "sessions" / name / "session.jsonl", record)
    beside = log.with_name("metadata.json")
    beside.write_text("{}")
    found = meant_session(name, found_sessions(settings_for(tmp_path / ".agent"), {}, []))
    item = remove(plan_removal(found, {"HOME": str(tmp_path)}, CLOCK), tmp_path / "trash", CLOCK)
    assert not log.parent.exists()
    restore(item, tmp_path / "trash")
    assert (beside.read_text(), log.exists()) == ("{}", True)


def test_a_session_in_a_database_is_not_removed(tmp_path: Path):
    file = FoundFile("opencode.db", 10, 1, 1, 1)
    found = FoundSession(str(tmp_path), "ses_1", [file], side=False, dialect="opencode", in_database=True)
    with pytest.raises(UsageError, match="remove the session in its client"):
        plan_removal(found, {"HOME": str(tmp_path)}, CLOCK)

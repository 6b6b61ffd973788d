"""What a listing shows, and that only new bytes are ever read for it."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import UnknownDialectError, UnreadableError
from slowwave.formats.registry import sniff
from slowwave.stores import catalogue as catalogue_module
from slowwave.stores import roots
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import Listing, list_sessions
from slowwave.stores.summary import Scanned, SessionRow, scan
from tests.unit.stores.store_builder import Line, add, as_bytes, cersei, claude, settings_for, tombstone, write


def listed(root: Path, state: Path) -> tuple[Listing, int, list[str]]:
    with Catalogue(state) as catalogue:
        listing = list_sessions(settings_for(root), {}, catalogue)
        return listing, catalogue.reads, catalogue.warnings


def row_of(tmp_path: Path, *lines: Line) -> SessionRow:
    write(tmp_path / "store" / "s.jsonl", *lines)
    (row,) = listed(tmp_path / "store", tmp_path / "c.sqlite")[0].rows
    return row


def test_a_row_tells_what_a_person_wants_to_know(tmp_path: Path):
    call: dict[str, Any] = {
        "id": "msg_2",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}],
    }
    result: dict[str, Any] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}
    row = row_of(
        tmp_path,
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "timestamp": "2026-11-20T09:59:00Z"},
        claude("user", "<system-reminder>be nice</system-reminder>", isMeta=True),
        claude("user", "fix\n  the tests", 1),
        claude("assistant", "Let me look.", 2),
        claude("assistant", "", 2, message=call, uuid="u2b"),
        claude("user", "", 3, message=result),
        claude("assistant", "Done.", 4),
        {"type": "custom-title", "customTitle": "Tests", "sessionId": "s"},
    )
    assert (row.dialect, row.id, row.kind, row.title) == ("claude", "s", "main", "Tests")
    assert row.first_prompt == "fix the tests"
    assert (row.records, row.messages, row.tool_calls, row.bad_lines) == (8, 5, 1, 0)
    assert (row.created, row.last_activity) == ("2026-11-20T09:59:00Z", "2026-11-20T10:00:04.000Z")
    assert (row.cwd, row.project, row.parts) == ("/home/ann/shop", "store", 1)
    assert row.bytes == Path(row.path).stat().st_size


def test_sub_agents_inside_a_main_file_do_not_count_as_its_messages(tmp_path: Path):
    row = row_of(
        tmp_path, claude("user", "go", 1, isSidechain=True), claude("user", "hi", 2), claude("assistant", "yo", 3)
    )
    assert (row.kind, row.messages, row.first_prompt) == ("main", 2, "hi")


def test_a_file_of_a_sub_agent_counts_its_own_messages(tmp_path: Path):
    row = row_of(tmp_path, claude("user", "go", 1, isSidechain=True), claude("assistant", "ok", 2, isSidechain=True))
    assert (row.kind, row.messages, row.first_prompt) == ("subagent", 2, "go")


def test_tombstones_hide_messages_in_any_part_and_order(tmp_path: Path):
    store = tmp_path / "store"
    write(store / "s.jsonl", tombstone("u9"), cersei("user", "secret", 0), cersei("assistant", "b", 1))
    write(store / "s_part2.jsonl", cersei("user", "kept", 2), tombstone("u0"))
    write(store / "s_part3.jsonl", cersei("user", "never", 9))
    (row,) = listed(store, tmp_path / "c.sqlite")[0].rows
    assert (row.messages, row.records, row.first_prompt, row.parts) == (2, 6, "kept", 3)


def test_a_tombstone_that_arrives_later_hides_a_message_that_was_counted(tmp_path: Path):
    path = write(tmp_path / "store" / "s.jsonl", cersei("user", "secret", 0), cersei("assistant", "b", 1))
    state = tmp_path / "c.sqlite"
    assert listed(path.parent, state)[0].rows[0].messages == 2
    add(path, tombstone("u0"))
    (row,) = listed(path.parent, state)[0].rows
    assert (row.messages, row.first_prompt) == (1, "")


def test_damage_is_counted_once_a_line(tmp_path: Path):
    good = as_bytes([claude("user", "hi")]).rstrip()
    row = row_of(tmp_path, good, b"garbage {", b"\x00\x00\x00", good + good, b"[1]", good[:40])
    assert (row.records, row.bad_lines) == (3, 4)


def test_a_last_line_without_newline_is_shown_and_not_counted_twice(tmp_path: Path):
    path = write(tmp_path / "store" / "s.jsonl", claude("user", "hi", 0))
    state = tmp_path / "c.sqlite"
    whole = as_bytes([claude("assistant", "yo", 1)])
    with path.open("ab") as file:
        file.write(whole[:-1])
    assert listed(path.parent, state)[0].rows[0].messages == 2
    with path.open("ab") as file:
        file.write(b"\n" + as_bytes([claude("user", "more", 2)]))
    (row,) = listed(path.parent, state)[0].rows
    assert (row.messages, row.records, row.bad_lines) == (3, 3, 0)


def test_a_torn_line_counts_as_bad_once_also_after_it_was_healed(tmp_path: Path):
    path = write(tmp_path / "store" / "s.jsonl", claude("user", "hi", 0))
    state = tmp_path / "c.sqlite"
    with path.open("ab") as file:
        file.write(as_bytes([claude("assistant", "yo", 1)])[:30])
    assert listed(path.parent, state)[0].rows[0].bad_lines == 1
    with path.open("ab") as file:
        file.write(b"\n" + as_bytes([claude("user", "more", 2)]))
    (row,) = listed(path.parent, state)[0].rows
    assert (row.messages, row.bad_lines) == (2, 1)


def test_an_unchanged_store_is_not_read_again(tmp_path: Path):
    for name in "abc":
        write(tmp_path / "store" / f"{name}.jsonl", claude("user", name))
    write(tmp_path / "store" / "empty.jsonl")
    first, reads, _ = listed(tmp_path / "store", tmp_path / "c.sqlite")
    again, no_reads, _ = listed(tmp_path / "store", tmp_path / "c.sqlite")
    assert (reads, no_reads) == (4, 0)
    assert again.rows == first.rows
    assert [p.kind for p in again.problems] == [p.kind for p in first.problems] == ["empty"]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the offsets at which reading begins."""
    seen: list[int] = []

    def spying(found: Any, dialect: str, before: Any = None) -> Scanned:
        seen.append(before.cursor if before else 0)
        return scan(found, dialect, before)

    monkeypatch.setattr(catalogue_module, "scan", spying)
    return seen


def test_of_a_grown_session_only_the_new_bytes_are_read(tmp_path: Path, starts: list[int]):
    path = write(tmp_path / "store" / "s.jsonl", *[claude("user", "x", n) for n in range(9)])
    listed(path.parent, tmp_path / "c.sqlite")
    size = path.stat().st_size
    # the old bytes change behind the catalogue's back, further from the cursor than it compares: only new ones count
    add(path, claude("user", "new", 10))
    (row,) = listed(path.parent, tmp_path / "c.sqlite")[0].rows
    assert starts == [0, size]
    assert (row.records, row.messages) == (10, 10)


def test_appending_in_any_steps_gives_what_one_reading_gives(tmp_path: Path):
    lines: list[Line] = [
        {"type": "summary", "summary": "Old title", "leafUuid": "u7"},
        *[claude("user" if n % 2 else "assistant", f"text {n}", n) for n in range(8)],
        b"broken {",
        {"type": "ai-title", "aiTitle": "AI", "sessionId": "s"},
        claude("assistant", "again", 7, uuid="u7b"),
        cersei("user", "x", 9),
    ]
    data = as_bytes(lines)
    path = write(tmp_path / "store" / "s.jsonl")
    for end in range(0, len(data), 97):
        path.write_bytes(b"")  # keep the inode
        with path.open("r+b") as file:
            file.write(data[:end])
        os.utime(path, ns=(end + 1, end + 1))
        try:
            listed(path.parent, tmp_path / "steps.sqlite")
        except UnknownDialectError:
            assert end < 200
    path.write_bytes(data)
    (stepwise,) = listed(path.parent, tmp_path / "steps.sqlite")[0].rows
    (at_once,) = listed(path.parent, tmp_path / "once.sqlite")[0].rows
    assert stepwise == at_once


def test_a_rewritten_session_is_read_again(tmp_path: Path):
    path = write(tmp_path / "store" / "s.jsonl", claude("user", "first", 0))
    state = tmp_path / "c.sqlite"
    listed(path.parent, state)
    path.write_bytes(as_bytes([claude("user", "other", 0), claude("user", "longer", 1)]))
    assert listed(path.parent, state)[0].rows[0].first_prompt == "other"
    replaced = write(tmp_path / "new", claude("user", "third", 0), claude("user", "longer", 1), claude("user", "l", 2))
    replaced.replace(path)
    assert listed(path.parent, state)[0].rows[0].first_prompt == "third"
    path.write_bytes(as_bytes([claude("user", "short", 0)]))
    assert listed(path.parent, state)[0].rows[0].messages == 1


def test_another_file_of_the_same_size_and_time_is_read(tmp_path: Path):
    path = write(tmp_path / "store" / "s.jsonl", claude("user", "first", 0))
    os.utime(path, ns=(7, 7))
    listed(path.parent, tmp_path / "c.sqlite")
    other = write(tmp_path / "other", claude("user", "third", 0))
    os.utime(other, ns=(7, 7))
    other.replace(path)
    assert listed(path.parent, tmp_path / "c.sqlite")[0].rows[0].first_prompt == "third"


def test_a_new_part_and_a_removed_part_are_seen(tmp_path: Path, starts: list[int]):
    store, state = tmp_path / "store", tmp_path / "c.sqlite"
    write(store / "s.jsonl", cersei("user", "a", 0))
    listed(store, state)
    part = write(store / "s_part2.jsonl", cersei("user", "b", 1))
    assert [(r.parts, r.messages) for r in listed(store, state)[0].rows] == [(2, 2)]
    assert [(r.parts, r.messages) for r in listed(store, state)[0].rows] == [(2, 2)]
    assert starts == [0, (store / "s.jsonl").stat().st_size]
    add(part, cersei("user", "c", 2))
    assert [(r.parts, r.messages) for r in listed(store, state)[0].rows] == [(2, 3)]
    part.unlink()
    assert [(r.parts, r.messages) for r in listed(store, state)[0].rows] == [(1, 1)]


def test_a_removed_session_disappears(tmp_path: Path):
    store, state = tmp_path / "store", tmp_path / "c.sqlite"
    for name in "ab":
        write(store / f"{name}.jsonl", claude("user", name))
    assert len(listed(store, state)[0].rows) == 2
    (store / "a.jsonl").unlink()
    assert [r.id for r in listed(store, state)[0].rows] == ["b"]
    with sqlite3.connect(state) as database:
        assert database.execute("SELECT count(*) FROM marks").fetchone() == (1,)


def test_a_fork_is_known_by_its_first_message_and_its_age(tmp_path: Path):
    def session(name: str, started: str) -> None:
        queue = {"type": "queue-operation", "sessionId": name, "timestamp": started}
        write(tmp_path / "store" / f"{name}.jsonl", queue, claude("user", "hi", 0), claude("assistant", "yo", 1))

    session("a-fork", "2026-11-20T12:00:00Z")
    session("b-main", "2026-11-20T09:00:00Z")
    rows = listed(tmp_path / "store", tmp_path / "c.sqlite")[0].rows
    assert {r.id: r.kind for r in rows} == {"a-fork": "fork", "b-main": "main"}


def test_a_title_that_another_file_holds_is_found(tmp_path: Path):
    write(tmp_path / "store" / "a.jsonl", claude("user", "hi", 0), claude("assistant", "yo", 1))
    write(
        tmp_path / "store" / "b.jsonl",
        {"type": "summary", "summary": "Greeting", "leafUuid": "u1"},
        claude("user", "x", 5),
    )
    rows = listed(tmp_path / "store", tmp_path / "c.sqlite")[0].rows
    assert {r.id: r.title for r in rows} == {"a": "Greeting", "b": ""}


def test_a_title_about_an_earlier_message_of_the_same_session_counts_also_when_it_comes_later(tmp_path: Path):
    path = write(tmp_path / "store" / "s.jsonl", claude("user", "hi", 0), claude("assistant", "yo", 1))
    state = tmp_path / "c.sqlite"
    listed(path.parent, state)
    add(path, claude("user", "more", 2), {"type": "summary", "summary": "Mine", "leafUuid": "u1"})
    add(path, {"type": "summary", "summary": "Another's", "leafUuid": "elsewhere"})
    for catalogue in (state, tmp_path / "fresh.sqlite"):
        assert listed(path.parent, catalogue)[0].rows[0].title == "Mine"


def test_rows_come_newest_first(tmp_path: Path):
    for number, name in enumerate("bac"):
        write(tmp_path / "store" / f"{name}.jsonl", claude("user", name, number, uuid=name))
    assert [r.id for r in listed(tmp_path / "store", tmp_path / "c.sqlite")[0].rows] == ["c", "a", "b"]


@pytest.mark.parametrize("damage", [b"this is no database", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_damaged_catalogue_is_rebuilt_with_a_warning(tmp_path: Path, damage: bytes):
    write(tmp_path / "store" / "s.jsonl", claude("user", "hi"))
    state = tmp_path / "c.sqlite"
    state.write_bytes(damage)
    listing, _, warnings = listed(tmp_path / "store", state)
    assert len(listing.rows) == 1
    assert [w for w in warnings if "built anew" in w]
    assert listed(tmp_path / "store", state)[1:] == (0, [])


def test_a_catalogue_of_an_earlier_version_is_rebuilt_with_a_warning(tmp_path: Path):
    write(tmp_path / "store" / "s.jsonl", claude("user", "hi"))
    state = tmp_path / "c.sqlite"
    with sqlite3.connect(state) as database:
        database.execute("PRAGMA user_version = 1")
    listing, _, warnings = listed(tmp_path / "store", state)
    assert len(listing.rows) == 1
    assert "version 1, " in warnings[0]


def test_a_damaged_page_or_mark_is_read_again_with_a_warning(tmp_path: Path):
    path = write(tmp_path / "store" / "s.jsonl", claude("user", "hi"))
    state = tmp_path / "c.sqlite"
    listed(path.parent, state)
    with sqlite3.connect(state) as database:
        database.execute("UPDATE marks SET mark = x'ff'")
    add(path, claude("user", "more", 1))
    listing, _, warnings = listed(path.parent, state)
    assert (listing.rows[0].messages, len(warnings)) == (2, 1)
    with sqlite3.connect(state) as database:
        database.execute("UPDATE pages SET head = x'93c1'")
    listing, _, warnings = listed(path.parent, state)
    assert (listing.rows[0].messages, len(warnings)) == (2, 1)


def test_without_a_place_for_the_catalogue_the_listing_still_works(tmp_path: Path):
    write(tmp_path / "store" / "s.jsonl", claude("user", "hi"))
    (tmp_path / "file").write_text("x")
    listing, reads, warnings = listed(tmp_path / "store", tmp_path / "file" / "c.sqlite")
    assert (len(listing.rows), reads) == (1, 1)
    assert "no catalogue can be kept" in warnings[0]


def test_an_unreadable_file_is_tried_again_although_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path / "store" / "a.jsonl", claude("user", "hi"))
    write(tmp_path / "store" / "s.jsonl", claude("user", "hi"))

    def refusing(path: Path) -> str | None:
        if path.name == "s.jsonl":
            raise UnreadableError(path, "Permission denied")
        return sniff(path)

    with monkeypatch.context() as patch:
        patch.setattr(roots, "sniff", refusing)
        listing = listed(tmp_path / "store", tmp_path / "c.sqlite")[0]
    assert [(p.kind, p.detail) for p in listing.problems] == [("unreadable", "Permission denied")]
    assert len(listed(tmp_path / "store", tmp_path / "c.sqlite")[0].rows) == 2


def test_the_catalogue_is_private(tmp_path: Path):
    write(tmp_path / "store" / "s.jsonl", claude("user", "hi"))
    listed(tmp_path / "store", tmp_path / "state" / "c.sqlite")
    assert (tmp_path / "state" / "c.sqlite").stat().st_mode & 0o077 == 0


def test_a_path_that_is_no_utf8_is_listed_and_gives_its_bytes_back(tmp_path: Path):
    store = Path(os.fsdecode(os.fsencode(tmp_path / "store") + b"\xff"))
    write(store / "s.jsonl", claude("user", "hi"))
    for _ in range(2):
        (row,) = listed(store, tmp_path / "c.sqlite")[0].rows
        assert Path(json.loads(json.dumps(row.path))).read_bytes()


def test_a_growing_file_never_counts_a_line_twice(tmp_path: Path):
    path = write(tmp_path / "store" / "s.jsonl", claude("user", "0", 0))
    state = tmp_path / "c.sqlite"
    for number in range(1, 30):
        add(path, claude("user", str(number), number))
        (row,) = listed(path.parent, state)[0].rows
        assert row.messages == number + 1

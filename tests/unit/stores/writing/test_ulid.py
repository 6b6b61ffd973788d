"""What is written to sessions with ULIDs: the log first, and metadata that are rebuilt from it when they differ."""

import json
import multiprocessing
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave import files
from slowwave.context import FixedClock
from slowwave.errors import LockHeldError, NotFoundError, UsageError
from slowwave.formats import SessionFiles, Text, Thinking, ToolCall
from slowwave.formats.ulid import write as ulid
from slowwave.formats.ulid.dialect import ULID, UlidMaker, ulid_time
from slowwave.formats.ulid.write import UlidWriter
from slowwave.formats.writing import Compaction, Draft, Means, Target
from slowwave.locks import locked_file
from slowwave.stores.roots import writer_for

ID = "01JKQ5W8ZP3V9YB2C4D6E8F0GH"
OTHER = "01JM2V7Q9N4E8ZC3T6R5W0XKYB"
NOW = datetime(2025, 2, 11, 10, tzinfo=UTC)
FORK = multiprocessing.get_context("fork")
ROUNDS = 100 if os.environ.get("DRILLS") == "full" else 12


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def writer(tmp_path: Path, clock: FixedClock) -> UlidWriter:
    return UlidWriter(Means(clock, tmp_path / "home"))


def begun(writer: UlidWriter, folder: Path, *texts: str, **metadata: str) -> Target:
    path = writer.begin(folder, ID, **metadata)
    target = Target(ID, path, (path,))
    for text in texts:
        writer.message(target, Draft("user", text))
    return target


def metadata(target: Target) -> dict[str, Any]:
    return json.loads((target.path.parent / "metadata.json").read_bytes())


def put(target: Target, value: object) -> None:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    (target.path.parent / "metadata.json").write_bytes(data)


def seqs(target: Target) -> list[int]:
    return [json.loads(line)["seq"] for line in target.path.read_bytes().splitlines()]


def together(*works: Callable[[], None]) -> None:
    processes = [FORK.Process(target=work) for work in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(works)


def test_the_registry_has_it(tmp_path: Path) -> None:
    assert isinstance(writer_for("ulid", Means(FixedClock(NOW), tmp_path)), UlidWriter)


def test_ids_grow_within_a_millisecond_and_when_the_clock_goes_back(clock: FixedClock) -> None:
    make = UlidMaker(clock, lambda: (1 << 80) - 1)
    made = [make(), make()]
    clock.advance(milliseconds=1)
    made.append(make())
    clock.advance(hours=-1)
    made += [make(), make()]
    assert made == sorted(set(made))
    assert [ulid_time(one) for one in made[:1]] == [NOW]
    assert made[0] == "01JKT77280" + "Z" * 16


def test_the_time_of_what_is_no_ulid_is_not_known() -> None:
    assert ulid_time("x") is None
    assert ulid_time("Z" * 26) is None


def test_a_message_begins_the_session_that_it_names(writer: UlidWriter, tmp_path: Path) -> None:
    path = writer.path(tmp_path / "sessions", ID)
    assert writer.message(Target(ID, path), Draft("user", "hello")) == "1"
    assert writer.message(Target(ID, path), Draft("assistant", "begun by another meanwhile")) == "2"
    assert metadata(Target(ID, path))["messageCount"] == 2
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "draft",
    [
        Draft("user", ({"type": "image", "data": "x"},)),
        Draft("user", ({"type": "text", "text": "x", "cache": True},)),
        Draft("user", (ToolCall("c", "ls", {}),)),
        Draft("assistant", (Thinking("hm"),)),
        Draft("tool", "no call"),
        Draft("user", "x", call_id="c"),
        Draft("user", "x", parent="1"),
        Draft("user", "half a character \ud800"),
        Draft("assistant", (ToolCall("c", "ls", {"x": object()}),)),
    ],
)
def test_what_the_specification_does_not_know_is_refused(writer: UlidWriter, tmp_path: Path, draft: Draft) -> None:
    target = begun(writer, tmp_path, "one")
    before = (target.path.read_bytes(), metadata(target))
    with pytest.raises(UsageError):
        writer.message(target, draft)
    assert (target.path.read_bytes(), metadata(target)) == before


def test_blocks_in_the_form_of_the_specification_go_in_as_they_are(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    call = {"type": "toolCall", "id": "c", "name": "ls", "arguments": {"a": 1}}
    writer.message(target, Draft("assistant", ({"type": "text", "text": "x"}, call)))
    (message,) = ULID.read(SessionFiles(ID, (target.path,))).messages
    assert message.blocks == (Text("x"), ToolCall("c", "ls", {"a": 1}))


def test_unknown_fields_of_the_metadata_stay(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, model="m-1", prompt="be kind", cron_job="job")
    put(target, metadata(target) | {"metrics": {"tokens": 1.0, "big": 10**30}, "later": [None], "name": "\ud83d\ude00"})
    writer.message(target, Draft("user", "hello"))
    assert metadata(target) == {
        "id": ID,
        "createdAt": "2025-02-11T10:00:00.000Z",
        "lastMessageAt": "2025-02-11T10:00:00.000Z",
        "model": "m-1",
        "messageCount": 1,
        "source": "cron",
        "cronJobId": "job",
        "systemPromptOverride": "be kind",
        "metrics": {"tokens": 1.0, "big": 10**30},
        "later": [None],
        "name": "\U0001f600",
    }


@pytest.mark.parametrize("lost", [None, b"", b"not json", b"[1]", b"[" * 100_000, {"id": OTHER, "messageCount": 99}])
def test_metadata_that_are_lost_or_wrong_are_rebuilt_from_the_log(
    writer: UlidWriter, clock: FixedClock, tmp_path: Path, lost: object
) -> None:
    target = begun(writer, tmp_path, "one", "two")
    if lost is None:
        (target.path.parent / "metadata.json").unlink()
    else:
        put(target, lost)
    clock.advance(minutes=1)
    writer.message(target, Draft("user", "three"))
    assert metadata(target) == {
        "id": ID,
        "createdAt": "2025-02-10T05:38:54.582Z",  # which the ULID itself says
        "lastMessageAt": "2025-02-11T10:01:00.000Z",
        "model": "",
        "messageCount": 3,
        "source": "interactive",
    }


def test_a_log_that_another_wrote_to_is_counted_anew(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "one")
    line: dict[str, Any] = {"recordType": "message", "schemaVersion": 1, "seq": 7, "role": "user", "content": []}
    with target.path.open("ab") as log:
        log.write(json.dumps(line | {"timestamp": "2025-03-01T00:00:00Z"}).encode() + b"\n")
        log.write(json.dumps(line | {"seq": 9, "recordType": "later", "schemaVersion": 2}).encode() + b"\n")
        log.write(b"garbage\n")
    writer.refresh(target)
    assert (metadata(target)["messageCount"], metadata(target)["lastMessageAt"]) == (2, "2025-03-01T00:00:00Z")
    assert writer.message(target, Draft("user", "next")) == "10"


def test_a_large_log_is_counted_only_where_the_metadata_do_not_agree(
    writer: UlidWriter, clock: FixedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = begun(writer, tmp_path)
    counts: list[Path] = []
    really = ulid.counted
    monkeypatch.setattr(ulid, "counted", lambda path: counts.append(path) or really(path))  # pyright: ignore[reportUnknownLambdaType,reportUnknownArgumentType]
    monkeypatch.setattr(ulid, "_COUNTED_BYTES", 0)
    for _ in range(4):
        clock.advance(seconds=1)
        writer.message(target, Draft("user", "hello"))
    assert len(counts) == 1  # of the empty log
    with target.path.open("ab") as log:
        log.write(target.path.read_bytes().splitlines(keepends=True)[0])
    clock.advance(seconds=1)
    writer.message(target, Draft("user", "after another"))
    assert (len(counts), metadata(target)["messageCount"]) == (2, 6)
    writer.message(target, Draft("user", "in the same millisecond"))
    writer.message(target, Draft("user", "and again"))
    assert (len(counts), metadata(target)["messageCount"]) == (3, 8)


def test_a_kill_between_log_and_metadata_is_put_right_by_the_next_message(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "one")

    def write_and_die() -> None:
        def hook(event: str, path: str) -> None:
            if event == "rename" and path.endswith("metadata.json"):
                os._exit(0)

        files.fault_hook = hook
        writer.message(target, Draft("user", "two"))
        os._exit(1)

    together(write_and_die)
    assert (seqs(target), metadata(target)["messageCount"]) == ([1, 2], 1)
    writer.message(target, Draft("user", "three"))
    assert (seqs(target), metadata(target)["messageCount"]) == ([1, 2, 3], 3)


@pytest.mark.parametrize("event", ["mkdir", "write", "fsync", "rename"])
def test_a_session_is_begun_whole_or_not_at_all(
    writer: UlidWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    def fail(now: str, _path: str) -> None:
        if now == event:
            raise OSError(28, "No space left on device")

    folder = tmp_path / "sessions"
    monkeypatch.setattr(files, "fault_hook", fail)
    with pytest.raises(OSError, match="No space"):
        writer.begin(folder, ID)
    assert list(folder.iterdir()) == []


def test_a_session_is_not_begun_twice(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "one")
    with pytest.raises(UsageError, match="exists already"):
        writer.begin(tmp_path, ID)
    assert seqs(target) == [1]


@pytest.mark.drill
def test_processes_that_begin_and_write_at_once_lose_nothing(writer: UlidWriter, tmp_path: Path) -> None:
    path = writer.path(tmp_path / "sessions", ID)
    target = Target(ID, path)

    def write(who: str) -> None:
        for number in range(ROUNDS):
            if number % 4 == 3:
                writer.compaction(target, Compaction(f"{who} {number}", read_files=(f"{who}{number}",)))
            else:
                writer.message(target, Draft("user", f"{who} {number}"))
            if number % 5 == 4:
                writer.name(target, f"{who} {number}")

    together(*(lambda w=who: write(w) for who in ("ann", "bob", "cy")))
    assert seqs(target) == list(range(1, 3 * ROUNDS + 1))
    compactions = 3 * (ROUNDS // 4)
    assert metadata(target)["messageCount"] == 3 * ROUNDS - compactions
    assert metadata(target)["name"].split()[0] in ("ann", "bob", "cy")
    last = [r for line in path.read_bytes().splitlines() if (r := json.loads(line))["recordType"] == "compaction"][-1]
    assert len(last["readFiles"]) == compactions
    assert [p.name for p in path.parent.parent.iterdir()] == [ID]


def test_two_that_begin_one_session_at_once_share_it(
    writer: UlidWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = writer.path(tmp_path, ID)
    other = UlidWriter(writer.means)

    def another(event: str, where: str) -> None:
        if event == "rename" and where == str(path.parent) and not path.exists():
            monkeypatch.setattr(os.path, "lexists", lambda _: False)  # pyright: ignore[reportUnknownLambdaType,reportUnknownArgumentType]
            monkeypatch.setattr(files, "fault_hook", lambda *_: None)  # pyright: ignore[reportUnknownLambdaType,reportUnknownArgumentType]
            other.message(Target(ID, path), Draft("user", "first"))

    monkeypatch.setattr(files, "fault_hook", another)
    assert writer.message(Target(ID, path), Draft("user", "second")) == "2"
    assert metadata(Target(ID, path))["messageCount"] == 2
    assert [p.name for p in tmp_path.iterdir()] == [ID]


def test_metadata_are_written_under_the_lock_of_the_log(
    writer: UlidWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = begun(writer, tmp_path)
    held: list[bool] = []

    def look(event: str, path: str) -> None:
        if event == "rename" and path.endswith("metadata.json"):
            with pytest.raises(LockHeldError), locked_file(target.path, timeout_s=-1):
                pass
            held.append(True)

    monkeypatch.setattr(files, "fault_hook", look)
    writer.message(target, Draft("user", "one"))
    writer.compaction(target, Compaction("so far"))
    writer.name(target, "Pods")
    writer.refresh(target)
    assert held == [True] * 4


def test_a_name_is_given_and_taken_away(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "one")
    before = target.path.read_bytes()
    writer.name(target, "Pods \u00e9")
    assert metadata(target)["name"] == "Pods \u00e9"
    assert ULID.read(SessionFiles(ID, (target.path,))).title == "Pods \u00e9"
    writer.name(target, "")
    assert "name" not in metadata(target)
    assert target.path.read_bytes() == before


def test_a_compaction_without_kept_messages_hides_all_before_it(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "one", "two")
    assert writer.compaction(target, Compaction("so far")) == "3"
    writer.message(target, Draft("user", "three"))
    assert [m.id for m in ULID.context(ULID.read(SessionFiles(ID, (target.path,))))] == ["3", "4"]


def test_a_compaction_keeps_from_a_message_that_is_there(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "one")
    with pytest.raises(NotFoundError, match="'7'"):
        writer.compaction(target, Compaction("s", keep_from="7"))
    assert seqs(target) == [1]


def test_a_copy_has_an_id_of_its_own_and_the_same_records(
    writer: UlidWriter, clock: FixedClock, tmp_path: Path
) -> None:
    target = begun(writer, tmp_path, "one", model="m-1", cron_job="job")
    later = b'{ "recordType":"later", "x":1.0 }\n'
    with target.path.open("ab") as log:
        log.write(later)
    writer.message(target, Draft("user", "two"))
    put(target, metadata(target) | {"name": "Pods", "metrics": {"tokens": 5}, "mine": 1})
    before = (target.path.read_bytes(), metadata(target))
    clock.advance(hours=1)
    (copy,) = writer.fork(target, tmp_path, OTHER)
    assert copy == tmp_path / OTHER / "session.jsonl"
    assert copy.read_bytes() == before[0]
    assert metadata(Target(OTHER, copy)) == {
        "id": OTHER,
        "createdAt": "2025-02-11T11:00:00.000Z",
        "lastMessageAt": "2025-02-11T10:00:00.000Z",
        "model": "m-1",
        "messageCount": 2,
        "source": "interactive",
        "name": "Pods",
        "mine": 1,
    }
    assert (target.path.read_bytes(), metadata(target)) == before
    with pytest.raises(UsageError, match="exists already"):
        writer.fork(target, tmp_path, OTHER)


def test_a_copy_up_to_a_message_ends_with_it(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "one", "two", "three")
    (copy,) = writer.fork(target, tmp_path, OTHER, at="2")
    assert (seqs(Target(OTHER, copy)), metadata(Target(OTHER, copy))["messageCount"]) == ([1, 2], 2)
    with pytest.raises(NotFoundError, match="'9'"):
        writer.fork(target, tmp_path, writer.new_id(tmp_path), at="9")
    assert len(list(tmp_path.glob("0*"))) == 2


def test_a_copy_of_a_torn_log_is_whole(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "one")
    whole = target.path.read_bytes()
    with target.path.open("ab") as log:
        log.write(b'{"recordType":"mess')
    (copy,) = writer.fork(target, tmp_path, OTHER)
    assert copy.read_bytes() == whole


def test_a_log_in_a_folder_of_another_name_is_not_written_to(writer: UlidWriter, tmp_path: Path) -> None:
    path = tmp_path / "backup" / "session.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"")
    target = Target("session", path, (path,))
    for act in (
        lambda: writer.message(target, Draft("user", "x")),
        lambda: writer.compaction(target, Compaction("x")),
        lambda: writer.name(target, "x"),
        lambda: writer.refresh(target),
        lambda: writer.fork(target, tmp_path, OTHER),
    ):
        with pytest.raises(UsageError, match="not a ULID"):
            act()
    assert [p.name for p in tmp_path.rglob("*")] == ["backup", "session.jsonl"]

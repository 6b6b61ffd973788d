"""What is written to crabtalk's sessions: lines, numbers that nobody else gets, titles without loss, copies."""

import json
import multiprocessing
import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave import files
from slowwave.context import FixedClock
from slowwave.errors import MovedError, NotFoundError, RefusedError, UnreadableError, UsageError
from slowwave.formats import SessionFiles, Text, Thinking, ToolCall
from slowwave.formats.crabtalk.dialect import CRABTALK
from slowwave.formats.crabtalk.write import CrabtalkWriter, file_of
from slowwave.formats.messages import normal_form
from slowwave.formats.writing import Compaction, Draft, Means, Target
from slowwave.stores.roots import writer_for

NOW = datetime(2026, 2, 25, 10, tzinfo=UTC)
FORK = multiprocessing.get_context("fork")
ROUNDS = 100 if os.environ.get("DRILLS") == "full" else 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".crabtalk" / "sessions"


@pytest.fixture
def writer(tmp_path: Path) -> CrabtalkWriter:
    return CrabtalkWriter(Means(FixedClock(NOW), tmp_path / "home"))


def target_of(path: Path) -> Target:
    return Target("_".join(path.stem.split("_")[:3]), path, (path,))


def begun(writer: CrabtalkWriter, folder: Path, *texts: str) -> Target:
    target = target_of(writer.begin(folder, "crab", "user"))
    for text in texts:
        writer.message(target, Draft("user", text))
    return target


def objects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def said(path: Path) -> list[str]:
    messages = CRABTALK.read(SessionFiles(path.stem, (path,))).messages
    return [message.text for message in messages]


def together(*works: Callable[[], None]) -> None:
    processes = [FORK.Process(target=work) for work in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(works)


def test_the_registry_has_it(tmp_path: Path) -> None:
    assert isinstance(writer_for("crabtalk", Means(FixedClock(NOW), tmp_path)), CrabtalkWriter)


def test_a_message_has_the_fields_of_openai_and_no_empty_ones(writer: CrabtalkWriter, folder: Path) -> None:
    target = begun(writer, folder)
    call = ToolCall("c1", "bash", {"command": "ls \u00e9"})
    writer.message(target, Draft("user", "list"))
    writer.message(target, Draft("assistant", (Thinking("hm"), Text("ok"), Text("then"), call)))
    writer.message(target, Draft("assistant", (call,)))
    writer.message(target, Draft("tool", "a.py", call_id="c1"))
    function = {"name": "bash", "arguments": '{"command":"ls \u00e9"}'}
    calls = [{"id": "c1", "type": "function", "function": function}]
    assert objects(target.path)[1:] == [
        {"role": "user", "content": "list"},
        {"role": "assistant", "content": "ok\nthen", "reasoning_content": "hm", "tool_calls": calls},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "content": "a.py", "tool_call_id": "c1"},
    ]


@pytest.mark.parametrize(
    "draft",
    [
        Draft("user", ({"type": "text", "text": "x"},)),
        Draft("user", (ToolCall("c", "ls", {}),)),
        Draft("user", (Thinking("hm"),)),
        Draft("tool", "no call"),
        Draft("user", "x", call_id="c"),
        Draft("user", "x", parent="1"),
        Draft("user", "half a character \ud800"),
    ],
)
def test_what_crabtalk_could_not_read_is_refused(writer: CrabtalkWriter, folder: Path, draft: Draft) -> None:
    target = begun(writer, folder)
    before = target.path.read_bytes()
    with pytest.raises(UsageError):
        writer.message(target, draft)
    assert target.path.read_bytes() == before


def test_a_marker_keeps_no_message_before_it(writer: CrabtalkWriter, folder: Path) -> None:
    target = begun(writer, folder, "old")
    with pytest.raises(UsageError, match="keeps no message"):
        writer.compaction(target, Compaction("s", keep_from="1"))
    writer.compaction(target, Compaction("all of it"))
    assert objects(target.path)[-1] == {"compact": "all of it"}


def test_a_torn_tail_is_healed_by_the_next_record(writer: CrabtalkWriter, folder: Path) -> None:
    target = begun(writer, folder, "one")
    with target.path.open("ab") as file:
        file.write(b'{"role":"user","con')
    writer.compaction(target, Compaction("so far"))
    assert said(target.path) == ["one", "so far"]


@pytest.mark.parametrize("content", [b"", b'{"role":"user","content":"x"}\n'])
def test_nothing_is_added_to_a_file_that_crabtalk_would_refuse(
    writer: CrabtalkWriter, folder: Path, content: bytes
) -> None:
    target = begun(writer, folder)
    target.path.write_bytes(content)
    with pytest.raises(UnreadableError, match="metadata"):
        writer.message(target, Draft("user", "x"))
    assert target.path.read_bytes() == content


def test_a_new_session_is_begun_with_its_metadata(writer: CrabtalkWriter, folder: Path) -> None:
    path = writer.path(folder, "my_crab_tg-1_4")
    writer.message(Target("my_crab_tg-1_4", path), Draft("user", "hello"))
    meta, message = objects(path)
    assert (meta["agent"], meta["created_by"], message["content"]) == ("my_crab", "tg-1", "hello")
    assert path.stat().st_mode & 0o777 == 0o600
    writer.message(Target("my_crab_tg-1_4", path), Draft("user", "begun meanwhile by another"))
    assert len(objects(path)) == 3


@pytest.mark.parametrize(
    "bad", ["crab", "crab_user", "crab_user_0", "crab_user_01", "crab_US_1", "../x_user_1", "_u_1"]
)
def test_an_id_that_is_no_name_is_refused(writer: CrabtalkWriter, folder: Path, bad: str) -> None:
    with pytest.raises(UsageError):
        writer.path(folder, bad)
    assert not folder.exists()


def test_the_next_number_is_told_to_who_names_another(writer: CrabtalkWriter, folder: Path) -> None:
    begun(writer, folder)
    begun(writer, folder)
    for wrong in ("crab_user", "crab_user_1"):
        with pytest.raises(UsageError, match="crab_user_3"):
            writer.path(folder, wrong)


@pytest.mark.parametrize("agent", ["", ".hidden", "a/b", "..", "a\nb", "a" * 101])
def test_an_agent_that_cannot_begin_a_name_is_refused(writer: CrabtalkWriter, folder: Path, agent: str) -> None:
    with pytest.raises(UsageError, match="agent"):
        writer.begin(folder, agent, "user")


@pytest.mark.drill
def test_processes_that_begin_at_once_get_each_a_number_of_their_own(writer: CrabtalkWriter, folder: Path) -> None:
    def begin(who: str) -> None:
        for number in range(ROUNDS):
            path = writer.begin(folder, "crab", "user")
            writer.message(target_of(path), Draft("user", f"{who} {number}"))
            if number % 3 == 0:
                writer.name(target_of(path), f"{who} {number}")

    together(*(lambda w=who: begin(w) for who in ("ann", "bob", "cy")))
    found = [path for path in folder.iterdir() if path.suffix == ".jsonl"]
    texts = [said(path) for path in found]
    assert sorted(texts) == sorted([f"{who} {n}"] for who in ("ann", "bob", "cy") for n in range(ROUNDS))
    assert sorted(int(path.stem.split("_")[2]) for path in found) == list(range(1, 3 * ROUNDS + 1))
    assert len(list(folder.iterdir())) == len(found)


def test_a_number_that_was_taken_and_titled_meanwhile_is_not_given_again(
    writer: CrabtalkWriter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another(event: str, path: str) -> None:
        if event == "link" and path.endswith("crab_user_1.jsonl"):
            Path(path).with_name("crab_user_1_their-title.jsonl").write_bytes(b"{}\n")

    folder.mkdir(parents=True)
    monkeypatch.setattr(files, "fault_hook", another)
    assert writer.begin(folder, "crab", "user").name == "crab_user_2.jsonl"
    assert sorted(path.name for path in folder.iterdir()) == ["crab_user_1_their-title.jsonl", "crab_user_2.jsonl"]


def test_a_session_is_begun_whole_or_not_at_all(
    writer: CrabtalkWriter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(event: str, _path: str) -> None:
        if event == "link":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "fault_hook", fail)
    with pytest.raises(OSError, match="No space"):
        writer.begin(folder, "crab", "user")
    assert list(folder.iterdir()) == []


def test_without_links_a_name_is_exclusive_all_the_same(
    writer: CrabtalkWriter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(_source: object, _target: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    first = begun(writer, folder, "mine").path
    monkeypatch.setattr(os, "link", no_links)
    assert writer.begin(folder, "crab", "user").name == "crab_user_2.jsonl"
    with pytest.raises(UsageError, match="exists already"):
        writer.fork(target_of(first), folder, "crab_user_2")
    assert said(first) == ["mine"]


def test_a_title_keeps_the_time_of_creation_unknown_fields_and_every_message(
    writer: CrabtalkWriter, folder: Path
) -> None:
    target = begun(writer, folder)
    meta = b'{ "created_by":"user","x":[1.0,1e400],"agent":"crab","created_at":"2024-01-01T00:00:00Z","uptime_secs":77}'
    rest = b'\n{"role":"user",  "content":"\xff"}\nnot json\n{"later":"type"}\n{"role":"user","con'
    target.path.write_bytes(meta + rest)
    writer.name(target, "Gr\u00fc\u00dfe: a plan!")
    path = folder / "crab_user_1_gr\u00fc\u00dfe-a-plan.jsonl"
    changed, _, after = path.read_bytes().partition(b"\n")
    assert b"\n" + after == rest
    assert json.loads(changed) == {**json.loads(meta), "title": "Gr\u00fc\u00dfe: a plan!"}
    assert not target.path.exists()


def test_titles_add_up_in_the_name_and_change_nothing_about_the_identity(writer: CrabtalkWriter, folder: Path) -> None:
    target = begun(writer, folder, "hello")
    names: list[str] = []
    for title in ("One", "One", "Two", "", ":::", "x" * 300):
        writer.name(target, title)
        path = file_of(folder, "crab_user_1")
        names.append(path.name)
        assert objects(path)[0]["title"] == title
    assert names[:5] == ["crab_user_1_one.jsonl"] * 2 + ["crab_user_1_one_two.jsonl"] * 3
    assert names[5].startswith("crab_user_1_one_two_xxx")
    assert len(names[5]) < 220
    assert said(path) == ["hello"]
    assert writer.new_id(folder, target) == "crab_user_2"


def test_who_has_the_old_name_still_reaches_the_session(writer: CrabtalkWriter, folder: Path) -> None:
    target = begun(writer, folder, "one")
    writer.name(target, "Title")
    writer.message(target, Draft("user", "two"))
    writer.compaction(target, Compaction("three"))
    writer.name(target, "Other")
    assert [path.name for path in folder.iterdir()] == ["crab_user_1_title_other.jsonl"]
    assert said(file_of(folder, "crab_user_1")) == ["one", "two", "three"]


@pytest.mark.drill
def test_no_message_is_lost_while_the_session_is_renamed(writer: CrabtalkWriter, folder: Path) -> None:
    target = begun(writer, folder)

    def write(who: str) -> None:
        for number in range(ROUNDS):
            writer.message(target, Draft("user", f"{who} {number}"))

    def rename(who: str) -> None:
        for number in range(4):
            done = False
            while not done:
                try:
                    writer.name(target, f"{who} {number}")
                    done = True
                except MovedError:
                    continue  # a message came in between: nothing was changed

    together(lambda: write("ann"), lambda: write("bob"), lambda: rename("cy"), lambda: rename("di"))
    (path,) = folder.iterdir()
    assert sorted(said(path)) == sorted(f"{who} {n}" for who in ("ann", "bob") for n in range(ROUNDS))
    for who in ("ann", "bob"):
        assert [text for text in said(path) if text.startswith(who)] == [f"{who} {n}" for n in range(ROUNDS)]


@pytest.mark.parametrize("moment", range(12))
def test_a_kill_while_a_title_is_set_loses_nothing(writer: CrabtalkWriter, folder: Path, moment: int) -> None:
    target = begun(writer, folder, "one", "two")

    def rename_and_die() -> None:
        left = moment

        def hook(_event: str, _path: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(0)

        files.fault_hook = hook
        writer.name(target, "Title")

    together(rename_and_die)
    found = [path for path in folder.iterdir() if not files.is_leftover(path.name)]
    assert len({path.stat().st_ino for path in found}) == 1
    for path in found:
        assert said(path) == ["one", "two"]
        assert objects(path)[0]["created_at"] == "2026-02-25T10:00:00.000000+00:00"
    writer.name(target_of(found[0]), "Other")
    (path,) = (path for path in folder.iterdir() if not files.is_leftover(path.name))
    assert path.name in ("crab_user_1_title_other.jsonl", "crab_user_1_other.jsonl")
    assert (said(path), objects(path)[0]["title"]) == (["one", "two"], "Other")


@contextmanager
def running(home: Path) -> Generator[Path]:
    """Answer on crabtalk's socket, as it does as long as it runs."""
    run = home / ".crabtalk" / "run"
    run.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        here = Path.cwd()
        os.chdir(run)  # the name of a socket may not be as long as that of a temporary folder
        try:
            server.bind("crabtalk.sock")
        finally:
            os.chdir(here)
        server.listen()
        yield run / "crabtalk.sock"


def test_a_title_is_not_set_while_crabtalk_runs(writer: CrabtalkWriter, folder: Path, tmp_path: Path) -> None:
    target = begun(writer, folder)
    with running(tmp_path / "home"), pytest.raises(RefusedError, match="crabtalk runs"):
        writer.name(target, "Title")
    writer.name(target, "Title")
    assert [path.name for path in folder.iterdir()] == ["crab_user_1_title.jsonl"]


def test_a_session_that_crabtalk_has_in_memory_is_not_written_to(
    writer: CrabtalkWriter, folder: Path, tmp_path: Path
) -> None:
    old, new, elsewhere = begun(writer, folder), begun(writer, folder), begun(writer, tmp_path / "copies")
    with running(tmp_path / "home") as path:
        started = path.stat().st_mtime_ns
        os.utime(old.path, ns=(started - 1, started - 1))
        os.utime(new.path, ns=(started + 1, started + 1))
        with pytest.raises(RefusedError, match="since crabtalk started"), writer.alone(new):
            pass
        for target in (old, elsewhere):
            with writer.alone(target):
                writer.message(target, Draft("user", "hello"))
    with writer.alone(new):
        writer.message(new, Draft("user", "hello"))
    assert [said(target.path) for target in (old, new, elsewhere)] == [["hello"]] * 3


def test_a_copy_has_the_next_number_and_the_same_messages(writer: CrabtalkWriter, folder: Path) -> None:
    target = begun(writer, folder, "one", "two")
    writer.name(target, "Title")
    writer.begin(folder, "crab", "user")
    source = file_of(folder, "crab_user_1")
    before = source.read_bytes()
    new_id = writer.new_id(folder, target)
    (copy,) = writer.fork(target, folder, new_id)
    assert (new_id, copy.name) == ("crab_user_3", "crab_user_3.jsonl")
    assert source.read_bytes() == before
    assert copy.read_bytes().split(b"\n", 1)[1] == before.split(b"\n", 1)[1]
    assert objects(copy)[0] == objects(source)[0] | {"uptime_secs": 0}
    assert normal_form(CRABTALK.context(CRABTALK.read(SessionFiles("c", (copy,))))) == [
        {"role": "user", "text": "one"},
        {"role": "user", "text": "two"},
    ]


@pytest.mark.parametrize(
    ("new_id", "at"), [("crab_user_1", None), ("crab_bob_2", None), ("x", None), ("crab_user_2", "1")]
)
def test_a_copy_elsewhere_or_of_a_part_is_refused(
    writer: CrabtalkWriter, folder: Path, new_id: str, at: str | None
) -> None:
    target = begun(writer, folder, "one")
    with pytest.raises(UsageError):
        writer.fork(target, folder, new_id, at)
    assert [path.name for path in folder.iterdir()] == ["crab_user_1.jsonl"]


def test_a_session_that_is_not_there_is_said_to_be_missing(writer: CrabtalkWriter, folder: Path) -> None:
    folder.mkdir(parents=True)
    path = folder / "crab_user_1.jsonl"
    with pytest.raises(NotFoundError, match="no file of session"):
        writer.message(Target("crab_user_1", path, (path,)), Draft("user", "x"))
    assert list(folder.iterdir()) == []

"""What the seeds say of the lifecycle of a session, on the command line: begin, answer, go on with the latest."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from tests.unit.formats.pi_files import Session, call
from tests.unit.stores.store_builder import cersei, claude, write

Capture = pytest.CaptureFixture[str]


def sessions(*args: object) -> int:
    return main(["sessions", *map(str, args)])


def objects(capsys: Capture) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_write_assistant_message_links_to_the_user_message(tmp_path: Path, capsys: Capture):
    store = tmp_path / "store"
    store.mkdir()
    args = ("--dialect", "cersei", "--role", "user", "--store", store, "--json")
    assert sessions("append", "session-1", "fix the tests", *args, "--answer", "I'll fix those tests.") == 0
    (told,) = objects(capsys)
    asked, answered = lines(Path(told["path"]))
    assert answered["parent_uuid"] == asked["uuid"]
    assert "parent_uuid" not in asked


def test_a_session_over_two_hundred_megabytes_is_named_when_it_is_added_to(tmp_path: Path, capsys: Capture):
    path = write(tmp_path / "-p" / "s.jsonl", cersei("user", "one", 0))
    small = ("--set", "store.warn_bytes=100")
    assert sessions("append", path, "--role", "user", "two", *small) == 0
    assert "Cersei itself refuses to load more than 100" in capsys.readouterr().err
    assert sessions("append", path, "--role", "user", "three") == 0
    assert capsys.readouterr().err == ""


def test_a_new_session_of_the_specification_is_an_empty_log_with_metadata_and_an_id_that_was_made(
    tmp_path: Path, capsys: Capture
):
    store = tmp_path / ".agent"
    (store / "sessions").mkdir(parents=True)
    assert sessions("new", "--store", store, "--name", "pods", "--cron-job", "nightly-check", "--json") == 0
    (told,) = objects(capsys)
    log = Path(told["path"])
    assert log.read_bytes() == b""
    metadata = json.loads((log.parent / "metadata.json").read_text())
    assert (metadata["id"], metadata["source"], metadata["cronJobId"]) == (told["session"], "cron", "nightly-check")
    assert sessions("list", "--store", store, "--json") == 0
    (listed,) = objects(capsys)
    assert (listed["id"], listed["dialect"], listed["messages"], listed["title"]) == (
        told["session"],
        "ulid",
        0,
        "pods",
    )
    assert sessions("append", told["session"], "--role", "user", "What pods are running?", "--store", store) == 0
    assert sessions("context", told["session"], "--store", store, "--json") == 0
    assert capsys.readouterr().out.count("What pods are running?") == 1
    (record,) = lines(log)
    assert record["seq"] == 1


def test_new_chats_increment_the_seq_and_the_latest_of_an_identity_is_found(tmp_path: Path, capsys: Capture):
    store = tmp_path / ".crabtalk" / "sessions"
    store.mkdir(parents=True)
    for number in (1, 2):
        assert sessions("new", "crab_user", "--dialect", "crabtalk", "--store", store) == 0
        assert capsys.readouterr().out.splitlines()[-1] == f"crab_user_{number}"
        assert sessions("append", f"crab_user_{number}", "--role", "user", f"hello {number}", "--store", store) == 0
    assert sessions("new", "crab_user2", "--dialect", "crabtalk", "--store", store) == 0
    capsys.readouterr()
    assert sessions("context", "crab_user", "--store", store, "--json") == 0
    (shown,) = objects(capsys)
    assert shown["session"] == "crab_user_2"


def test_messages_marked_auto_injected_are_neither_typed_nor_sent(tmp_path: Path, capsys: Capture):
    path = tmp_path / "crab_user_1.jsonl"
    meta = {"agent": "crab", "created_by": "user", "created_at": "", "title": "", "uptime_secs": 0}
    injected = {"role": "user", "content": "Never restart nginx without asking", "auto_injected": True}
    rows = [meta, injected, {"role": "user", "content": "hello"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert sessions("context", path, "--json") == 0
    (sent,) = objects(capsys)
    assert [m["text"] for m in sent["messages"]] == ["hello"]
    assert sessions("show", path) == 0
    assert "injected" in capsys.readouterr().out.partition("Never restart")[0]


def test_messages_marked_auto_injected_are_not_mined(tmp_path: Path, capsys: Capture):
    store = tmp_path / ".crabtalk" / "sessions"
    store.mkdir(parents=True)
    meta = {"agent": "crab", "created_by": "user", "created_at": "", "title": "", "uptime_secs": 0}
    injected = {"role": "user", "content": "Never restart nginx without asking", "auto_injected": True}
    typed = {"role": "user", "content": "Always run the tests before you push, never push without them."}
    rows = [meta, injected, typed, {"role": "assistant", "content": "ok"}]
    path = store / "crab_user_1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert main(["run", "extract", "--direct", "--force", "--store", str(store.parent), "--json"]) == 0
    (report,) = objects(capsys)
    assert [item["text"] for item in report["items"]] == [typed["content"].rstrip(".")]


def test_context_and_resume_without_an_id_take_the_latest(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    here, there = tmp_path / "here", tmp_path / "there"
    for number, folder in enumerate((here, there)):
        folder.mkdir()
        record = claude("user", f"in {folder.name}") | {"cwd": str(folder)}
        path = write(tmp_path / "store" / f"-{folder.name}" / f"{folder.name}.jsonl", record)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    monkeypatch.chdir(here)
    assert sessions("context", "--store", tmp_path / "store", "--json") == 0
    assert "in there" in capsys.readouterr().out
    assert sessions("context", "--here", "--store", tmp_path / "store", "--json") == 0
    assert "in here" in capsys.readouterr().out
    assert sessions("resume", "--store", tmp_path / "store") == 0
    assert capsys.readouterr().out == f"cd {there} && claude --resume there\n"
    monkeypatch.chdir(tmp_path)
    assert sessions("resume", "--here", "--store", tmp_path / "store") == 3


@pytest.mark.parametrize("keep", [False, True])
def test_a_summary_written_by_hand_can_be_taken_back(tmp_path: Path, capsys: Capture, keep: bool):
    path = write(tmp_path / "-p" / "s.jsonl", *(cersei("user", f"message {n}", n) for n in range(4)))
    before = path.read_bytes()
    kept = ("--keep-from", "u2") if keep else ()
    assert sessions("compact", path, "--summary", "They said a lot.", *kept) == 0
    assert path.read_bytes().startswith(before)
    assert path.read_bytes() != before
    assert sessions("show", path, "--compactions") == 0
    capsys.readouterr()
    assert sessions("uncompact", path) == 0
    assert path.read_bytes() == before


def test_a_branch_tells_what_it_leaves_behind(tmp_path: Path, capsys: Capture):
    made = Session()
    first = made.user("build the harbour")
    made.model("which stone?")
    made.user("granite, and never basalt")
    made.model("on it", call("c1", "write", path="src/granite.py", content="x"))
    made.result("c1", "done")
    path = tmp_path / "--work--" / "2026-03-15T10-00-00-000Z_abc.jsonl"
    path.parent.mkdir()
    path.write_bytes(made.data())
    before = path.read_bytes()
    assert sessions("branch", path, "--from", "nope", "--summarise") == 3
    assert path.read_bytes() == before
    assert sessions("branch", path, "--from", first, "--summarise") == 0
    last = lines(path)[-1]
    assert (last["type"], last["parentId"], last["fromId"]) == ("branch_summary", first, first)
    assert "granite, and never basalt" in last["summary"]
    assert "src/granite.py" in last["summary"]
    assert "build the harbour" not in last["summary"]
    capsys.readouterr()
    assert sessions("context", path, "--json") == 0
    (sent,) = objects(capsys)
    assert ["granite" in json.dumps(m) for m in sent["messages"]] == [False, True]

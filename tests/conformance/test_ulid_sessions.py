"""The specification's own scenarios, S7.1 to S7.18, named after them; §7 of the session specification is the assertion.

Where a scenario needs a model's answer, a stub gives one. What the specification leaves open is tested behind them.
"""

import json
import multiprocessing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave.compaction.items import items_of
from slowwave.compaction.plan import Budget, Plan, prepare
from slowwave.compaction.summary import SECTIONS, ULID_SEPARATOR, Part, flat, joined, requests
from slowwave.compaction.tokens import rule_of
from slowwave.context import FixedClock
from slowwave.errors import UsageError
from slowwave.formats import SessionFiles, Text, ToolCall
from slowwave.formats.messages import normal_form
from slowwave.formats.ulid import is_ulid
from slowwave.formats.ulid.dialect import ULID, UlidTranscript
from slowwave.formats.ulid.write import UlidWriter
from slowwave.formats.writing import Block, Compaction, Draft, Means, Target
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import list_sessions

ID = "01JKQ5W8ZP3V9YB2C4D6E8F0GH"
NOW = datetime(2025, 2, 11, 10, tzinfo=UTC)
PREFIX = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
FORK = multiprocessing.get_context("fork")


def message(seq: int, role: str, text: str, **fields: Any) -> dict[str, Any]:
    """Return a message record in the fields' order of the specification."""
    content = [{"type": "text", "text": text}, *fields.pop("calls", [])]
    head = {"recordType": "message", "schemaVersion": 1, "seq": seq, "role": role, "content": content}
    return head | fields | {"timestamp": f"2025-02-11T10:00:{seq:02d}Z"}


def compaction(seq: int, first: int, summary: str = "so far") -> dict[str, Any]:
    head = {"recordType": "compaction", "schemaVersion": 1, "seq": seq, "firstKeptSeq": first, "summary": summary}
    return head | {"tokensBefore": 10, "readFiles": [], "modifiedFiles": [], "timestamp": "2025-02-11T11:00:00Z"}


CALL = {"type": "toolCall", "id": "tc_1", "name": "bash", "arguments": {"command": "kubectl get pods"}}
PODS = [
    message(1, "user", "What pods are running?"),
    message(2, "assistant", "Let me check.", calls=[CALL]),
    message(3, "toolResult", "nginx 1/1 Running", toolCallId="tc_1", isError=False),
    message(4, "assistant", "One: nginx."),
]


def log(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(r).encode() + b"\n" for r in records)


def read(folder: Path, data: bytes) -> UlidTranscript:
    path = folder / ID / "session.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return ULID.read(SessionFiles(ID, (path,)))


def numbers(transcript: UlidTranscript) -> list[str | None]:
    return [m.id for m in ULID.context(transcript)]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def writer(tmp_path: Path, clock: FixedClock) -> UlidWriter:
    return UlidWriter(Means(clock, tmp_path / "home"))


def begun(writer: UlidWriter, folder: Path, session: str = ID, **metadata: str) -> Target:
    path = writer.begin(folder, session, **metadata)
    return Target(session, path, (path,))


def say_pods(writer: UlidWriter, target: Target) -> None:
    writer.message(target, Draft("user", "What pods are running?"))
    call = ToolCall("tc_1", "bash", {"command": "kubectl get pods"})
    writer.message(target, Draft("assistant", (Text("Let me check."), call)))
    writer.message(target, Draft("tool", "nginx 1/1 Running", call_id="tc_1"))
    writer.message(target, Draft("assistant", "One: nginx."))


def records(target: Target) -> list[dict[str, Any]]:
    return [json.loads(line) for line in target.path.read_bytes().splitlines()]


def metadata(target: Target) -> dict[str, Any]:
    return json.loads((target.path.parent / "metadata.json").read_bytes())


def load(target: Target) -> UlidTranscript:
    return ULID.read(SessionFiles(target.id, (target.path,)))


def planned(target: Target, keep: int) -> Plan:
    context = ULID.context(load(target))
    plan = prepare(items_of(context, rule_of("ulid")), Budget(keep_recent_tokens=keep))
    assert isinstance(plan, Plan)
    return plan


def compact(writer: UlidWriter, target: Target, keep: int, answer: str) -> Plan:
    """Carry out a compaction whose model answers ``answer``."""
    plan = planned(target, keep)
    parts: dict[Part, str] = {request.part: answer for request in requests(plan, Budget(), separator=ULID_SEPARATOR)}
    files = plan.files
    record = Compaction(
        joined(plan, parts),
        plan.first_kept,
        tokens_summarised=plan.tokens_summarised,
        read_files=tuple(files.read_files),
        modified_files=tuple(files.modified_files),
    )
    writer.compaction(target, record)
    return plan


def use(writer: UlidWriter, target: Target, number: int, tool: str, path: str) -> None:
    """Ask for a tool to be used on a file, let it answer, and say that it did."""
    blocks: tuple[Block, ...] = (ToolCall(f"tc_{number}", tool, {"path": path}),)
    writer.message(target, Draft("user", f"please {tool} {path} " + "x" * 400))
    writer.message(target, Draft("assistant", blocks))
    writer.message(target, Draft("tool", "done", call_id=f"tc_{number}"))
    writer.message(target, Draft("assistant", "It is done. " + "y" * 400))


def test_s7_1_a_new_session_is_a_folder_with_an_empty_log_and_metadata(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, model="m-1")
    assert sorted(path.name for path in (tmp_path / ID).iterdir()) == ["metadata.json", "session.jsonl"]
    assert target.path.read_bytes() == b""
    assert metadata(target) == {
        "id": ID,
        "createdAt": "2025-02-11T10:00:00.000Z",
        "lastMessageAt": "2025-02-11T10:00:00.000Z",
        "model": "m-1",
        "messageCount": 0,
        "source": "interactive",
    }
    assert load(target).problems == []


def test_s7_2_messages_are_appended_and_the_file_is_never_rewritten(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    inode, before = target.path.stat().st_ino, b""
    for number in range(5):
        writer.message(target, Draft("user", f"message {number}"))
        assert target.path.read_bytes().startswith(before)
        before = target.path.read_bytes()
    assert target.path.stat().st_ino == inode
    assert [r["seq"] for r in records(target)] == [1, 2, 3, 4, 5]


def test_s7_3_loading_reconstructs_the_whole_history(tmp_path: Path) -> None:
    transcript = read(tmp_path, log(*PODS))
    assert normal_form(ULID.context(transcript)) == [
        {"role": "user", "text": "What pods are running?"},
        {
            "role": "assistant",
            "text": "Let me check.",
            "calls": [{"id": "tc_1", "name": "bash", "args": {"command": "kubectl get pods"}}],
        },
        {"role": "tool", "results": [{"id": "tc_1", "text": "nginx 1/1 Running"}]},
        {"role": "assistant", "text": "One: nginx."},
    ]
    assert [m.origin for m in transcript.messages] == ["typed", "model", "tool", "model"]


def test_s7_3_compaction_overlays_apply_and_the_history_stays(tmp_path: Path) -> None:
    transcript = read(tmp_path, log(*PODS, compaction(5, 4), message(6, "user", "And now?")))
    assert numbers(transcript) == ["5", "4", "6"]
    assert len(transcript.messages) == 6
    assert all(m.active for m in transcript.messages)


def test_s7_4_metadata_follow_each_message(writer: UlidWriter, clock: FixedClock, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    for number in (1, 2):
        clock.advance(seconds=1)
        writer.message(target, Draft("user", "hello"))
        stamp = f"2025-02-11T10:00:0{number}.000Z"
        assert (metadata(target)["messageCount"], metadata(target)["lastMessageAt"]) == (number, stamp)
    assert metadata(target)["createdAt"] == "2025-02-11T10:00:00.000Z"


def test_s7_5_sessions_are_listed_with_the_last_message_first(
    writer: UlidWriter, clock: FixedClock, tmp_path: Path
) -> None:
    sessions = tmp_path / "home" / ".agent" / "sessions"
    targets: list[Target] = []
    for _ in range(3):
        clock.advance(seconds=1)
        targets.append(begun(writer, sessions, writer.new_id(sessions)))
    for target in (targets[1], targets[0], targets[2]):
        clock.advance(seconds=1)
        writer.message(target, Draft("user", "hello"))
    writer.name(targets[0], "Pods")
    with Catalogue(tmp_path / "catalogue.sqlite") as catalogue:
        rows = list_sessions(Settings(store=StoreSettings(roots=(tmp_path / "home",))), {}, catalogue).rows
    assert [row.id for row in rows] == [targets[2].id, targets[0].id, targets[1].id]
    assert [row.last_activity for row in rows] == [
        metadata(t)["lastMessageAt"] for t in (targets[i] for i in (2, 0, 1))
    ]
    assert [row.title for row in rows] == ["", "Pods", ""]


def test_s7_6_a_compaction_is_appended_and_the_file_not_rewritten(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    say_pods(writer, target)
    inode, before = target.path.stat().st_ino, target.path.read_bytes()
    assert writer.compaction(target, Compaction("## Goal\npods", "4", tokens_summarised=77)) == "5"
    assert target.path.read_bytes().startswith(before)
    assert target.path.stat().st_ino == inode
    assert records(target)[-1] == {
        "recordType": "compaction",
        "schemaVersion": 1,
        "seq": 5,
        "firstKeptSeq": 4,
        "summary": "## Goal\npods",
        "tokensBefore": 77,
        "readFiles": [],
        "modifiedFiles": [],
        "timestamp": "2025-02-11T10:00:00.000Z",
    }
    assert metadata(target)["messageCount"] == 4


def test_s7_7_sessions_of_cron_say_so_and_name_their_job(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, cron_job="nightly-report")
    writer.message(target, Draft("user", "write the report"))
    assert (metadata(target)["source"], metadata(target)["cronJobId"]) == ("cron", "nightly-report")


BAD_IDS = [
    "",
    "../../etc/passwd",
    ID[:-1],
    ID + "0",
    ID.lower(),
    ID[:-1] + "I",
    ID + "\n",
    f"../{ID}",
    f"{ID}/..",
    "\0",
]


@pytest.mark.parametrize("bad", BAD_IDS)
def test_s7_8_only_a_ulid_names_a_session(bad: str) -> None:
    assert is_ulid(ID)
    assert not is_ulid(bad)


@pytest.mark.parametrize("bad", BAD_IDS)
def test_s7_8_nothing_is_written_for_another_id(writer: UlidWriter, tmp_path: Path, bad: str) -> None:
    folder = tmp_path / "sessions"
    with pytest.raises(UsageError, match="not a ULID"):
        writer.path(folder, bad)
    with pytest.raises(UsageError, match="not a ULID"):
        writer.begin(folder, bad)
    target = begun(writer, tmp_path)
    with pytest.raises(UsageError, match="not a ULID"):
        writer.fork(target, folder, bad)
    assert not folder.exists()


@pytest.mark.parametrize("cut", [1, 10, 60, 100])
def test_s7_9_a_torn_tail_is_ignored_on_reload(tmp_path: Path, cut: int) -> None:
    transcript = read(tmp_path, log(*PODS)[:-cut])
    expected = ["1", "2", "3", "4"] if cut == 1 else ["1", "2", "3"]
    assert numbers(transcript) == expected
    assert [p.kind for p in transcript.problems] == ([] if cut == 1 else ["torn"])


def test_s7_9_what_is_written_after_a_torn_tail_is_whole(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    say_pods(writer, target)
    torn = target.path.read_bytes()[:-30]
    target.path.write_bytes(torn)
    assert writer.message(target, Draft("user", "again")) == "4"
    assert target.path.read_bytes().startswith(torn + b"\n{")
    assert numbers(load(target)) == ["1", "2", "3", "4"]
    assert metadata(target)["messageCount"] == 4


def test_s7_10_messages_of_two_processes_are_queued_not_interleaved(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)

    def say(who: str) -> None:
        for number in range(40):
            writer.message(target, Draft("user", f"{who} {number} " + "z" * 5000))

    processes = [FORK.Process(target=say, args=(who,)) for who in ("ann", "bob")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    said = records(target)
    assert [r["seq"] for r in said] == list(range(1, 81))
    for who in ("ann", "bob"):
        own = [r["content"][0]["text"].split()[1] for r in said if r["content"][0]["text"].startswith(who)]
        assert own == [str(number) for number in range(40)]
    assert metadata(target)["messageCount"] == 80


def test_s7_11_context_is_the_summary_and_the_messages_from_first_kept_on(tmp_path: Path) -> None:
    later = [message(6, "user", "more"), compaction(7, 3, "newer"), message(8, "assistant", "yes")]
    transcript = read(tmp_path, log(*PODS, compaction(5, 4, "older"), *later))
    context = ULID.context(transcript)
    assert context[0].text == PREFIX + "newer\n</summary>"
    assert context[0].origin == "summary"
    assert numbers(transcript) == ["7", "3", "4", "6", "8"]


def test_s7_11_each_message_once_though_two_steps_name_it(tmp_path: Path) -> None:
    transcript = read(tmp_path, log(*PODS, compaction(5, 2), message(6, "user", "more")))
    assert numbers(transcript) == ["5", "2", "3", "4", "6"]


def test_s7_12_content_is_written_as_a_list_of_blocks(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    say_pods(writer, target)
    call = {"type": "toolCall", "id": "tc_1", "name": "bash", "arguments": {"command": "kubectl get pods"}}
    assert [r["content"] for r in records(target)] == [
        [{"type": "text", "text": "What pods are running?"}],
        [{"type": "text", "text": "Let me check."}, call],
        [{"type": "text", "text": "nginx 1/1 Running"}],
        [{"type": "text", "text": "One: nginx."}],
    ]


def test_s7_12_a_bare_string_is_read_though_none_should_be_written(tmp_path: Path) -> None:
    record = PODS[0] | {"content": "bare"}
    assert read(tmp_path, log(record)).messages[0].text == "bare"


@pytest.mark.parametrize("keep", range(1, 300, 23))
def test_s7_13_no_cut_parts_a_call_from_its_result(writer: UlidWriter, tmp_path: Path, keep: int) -> None:
    target = begun(writer, tmp_path)
    for number in range(3):
        use(writer, target, number, "read", f"f{number}.py")
    plan = compact(writer, target, keep, "so far")
    called = {c.id for item in plan.history + plan.prefix if item.message for c in item.message.calls}
    kept = ULID.context(load(target))[1:]
    assert not called & {r.id for m in kept for r in m.results}
    assert kept[0].role != "tool"


@pytest.mark.parametrize("first", ["3", "5"])
def test_s7_13_a_compaction_that_would_part_them_is_not_written(writer: UlidWriter, tmp_path: Path, first: str) -> None:
    target = begun(writer, tmp_path)
    writer.message(target, Draft("user", "look"))
    writer.message(target, Draft("assistant", (ToolCall("a", "read", {}), ToolCall("b", "read", {}))))
    writer.message(target, Draft("tool", "one", call_id="a"))
    writer.message(target, Draft("user", "hurry"))
    writer.message(target, Draft("tool", "two", call_id="b"))
    before = target.path.read_bytes()
    with pytest.raises(UsageError, match="parts results from their calls"):
        writer.compaction(target, Compaction("s", first))
    with pytest.raises(UsageError, match="parts results from their calls"):
        writer.compaction(target, Compaction("s", "4"))
    assert target.path.read_bytes() == before


def test_s7_14_a_summary_follows_the_structured_format(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    use(writer, target, 1, "read", "a.py")
    use(writer, target, 2, "edit", "b.py")
    (request,) = requests(planned(target, 150), Budget(), separator=ULID_SEPARATOR)[:1]
    for section in ("Goal", "Progress", "Key Decisions", "Next Steps", "Critical Context"):
        assert section in SECTIONS
        assert f"## {section}" in request.prompt
    answer = "\n".join(f"## {section}\n(none)" for section in SECTIONS)
    compact(writer, target, 150, answer)
    summary = records(target)[-1]["summary"]
    assert summary == (f"{answer}\n\n<read-files>\na.py\n</read-files>")


def test_s7_15_files_of_earlier_compactions_stay_in_the_lists(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    use(writer, target, 1, "read_file", "a.py")
    use(writer, target, 2, "write_file", "b.py")
    use(writer, target, 3, "read", "c.py")
    compact(writer, target, 1, "first")
    assert (records(target)[-1]["readFiles"], records(target)[-1]["modifiedFiles"]) == (["a.py", "c.py"], ["b.py"])
    use(writer, target, 4, "edit", "d.py")
    use(writer, target, 5, "list_directory", "lib")
    compact(writer, target, 1, "second")
    last = records(target)[-1]
    assert (last["readFiles"], last["modifiedFiles"]) == (["a.py", "c.py"], ["b.py", "d.py"])
    # also when whoever compacts names only what is new
    writer.message(target, Draft("user", "more"))
    writer.compaction(target, Compaction("third", read_files=("e.py",)))
    last = records(target)[-1]
    assert (last["readFiles"], last["modifiedFiles"]) == (["a.py", "c.py", "e.py"], ["b.py", "d.py"])


def test_s7_16_a_file_in_both_lists_is_modified_only(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    use(writer, target, 1, "read", "a.py")
    compact(writer, target, 1, "first")
    use(writer, target, 2, "read", "b.py")
    use(writer, target, 3, "edit", "b.py")
    use(writer, target, 4, "edit", "a.py")
    compact(writer, target, 1, "second")
    assert (records(target)[-1]["readFiles"], records(target)[-1]["modifiedFiles"]) == ([], ["a.py", "b.py"])


def test_s7_17_a_second_compaction_asks_to_update_the_first_summary(writer: UlidWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    use(writer, target, 1, "read", "a.py")
    use(writer, target, 2, "read", "b.py")
    (first,) = requests(planned(target, 1), Budget())[:1]
    assert (first.form, "<previous-summary>" in first.prompt) == ("initial", False)
    compact(writer, target, 1, "## Goal\nread both")
    use(writer, target, 3, "read", "c.py")
    (second,) = requests(planned(target, 1), Budget())[:1]
    assert second.form == "update"
    assert "<previous-summary>\n## Goal\nread both" in second.prompt


def test_s7_18_messages_are_serialised_as_flat_text_not_as_json(tmp_path: Path) -> None:
    context = ULID.context(read(tmp_path, log(*PODS)))
    assert flat(context, separator=ULID_SEPARATOR) == (
        "[User]: What pods are running?\n"
        "[Assistant]: Let me check.\n"
        '[Assistant tool calls]: bash(command="kubectl get pods")\n'
        "[Tool result]: nginx 1/1 Running\n"
        "[Assistant]: One: nginx."
    )


def test_no_message_is_lost_between_two_compactions(writer: UlidWriter, tmp_path: Path) -> None:
    """What the first compaction kept is summarised by the second (pi lost it, #2608)."""
    target = begun(writer, tmp_path)
    for number in range(6):
        use(writer, target, number, "read", f"{number}.py")
    first = compact(writer, target, 400, "first")
    for number in range(6, 9):
        use(writer, target, number, "read", f"{number}.py")
    second = compact(writer, target, 400, "second")
    summarised = [item.id for plan in (first, second) for item in plan.history + plan.prefix]
    kept = [m.id for m in ULID.context(load(target))[1:]]
    messages = [str(r["seq"]) for r in records(target) if r["recordType"] == "message"]
    assert summarised + kept == messages

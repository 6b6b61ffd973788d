"""What opencode would send: compactions, tails, pruned and interrupted calls, errors, reverts."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.opencode_files import Session, context, done, spoken, tool, words


def two_turns() -> Session:
    session = Session()
    for asked, answered in (("one", "1"), ("two", "2")):
        session.user(asked)
        session.answer(words(answered), finish="stop")
    return session


def test_a_finished_summary_hides_what_was_before(tmp_path: Path) -> None:
    session = two_turns()
    session.compact("We did it")
    session.user("three")
    assert spoken(session.export(tmp_path)) == ["u:What did we do so far?", "a:We did it", "u:three"]


@pytest.mark.parametrize(
    "info", [{"finish": None}, {"summary": False}, {"error": {"name": "UnknownError"}}, {"parentID": "msg_other"}]
)
def test_only_a_finished_summary_hides_anything(tmp_path: Path, info: dict[str, Any]) -> None:
    session = two_turns()
    session.compact("We did it", **info)
    assert spoken(session.export(tmp_path))[:5] == ["u:one", "a:1", "u:two", "a:2", "u:What did we do so far?"]


def test_the_newest_compaction_counts(tmp_path: Path) -> None:
    session = two_turns()
    session.compact("first")
    session.user("three")
    session.compact("second")
    assert spoken(session.export(tmp_path)) == ["u:What did we do so far?", "a:second"]


def test_a_kept_tail_stands_behind_the_summary(tmp_path: Path) -> None:
    session = two_turns()
    session.compact("We did it", tail=session.messages[2]["info"]["id"])
    session.user("three")
    sent = ["u:What did we do so far?", "a:We did it", "u:two", "a:2", "u:three"]
    assert spoken(session.export(tmp_path)) == sent


def test_a_tail_that_is_gone_keeps_everything(tmp_path: Path) -> None:
    session = two_turns()
    session.compact("We did it", tail="msg_gone")
    assert spoken(session.export(tmp_path))[0] == "u:one"


def test_calls_and_results_are_sent_as_a_chat_api_takes_them(tmp_path: Path) -> None:
    session = Session()
    session.answer(words("Let me "), words("look."), done("a\n"), done("b", "c2"))
    args = '{"command":"ls"}'
    assert context(session.export(tmp_path)) == [
        {
            "role": "assistant",
            "text": "Let me look.",
            "calls": [{"id": "c1", "name": "bash", "args": args}, {"id": "c2", "name": "bash", "args": args}],
        },
        {"role": "tool", "results": [{"id": "c1", "text": "a"}]},
        {"role": "tool", "results": [{"id": "c2", "text": "b"}]},
    ]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (done("old", time={"compacted": 7}), "[Old tool result content cleared]"),
        (tool(status="pending"), "[Tool execution was interrupted]"),
        (tool(status="running"), "[Tool execution was interrupted]"),
        (tool(status="error", error="no"), "no"),
        (tool(status="error", error="no", metadata={"interrupted": True, "output": "half"}), "half"),
        (tool(), "[Tool execution was interrupted]"),
    ],
)
def test_every_call_gets_an_answer(tmp_path: Path, part: dict[str, Any], text: str) -> None:
    session = Session()
    session.answer(part)
    assert spoken(session.export(tmp_path)) == ["a:", f"t:{text}"]


def test_steps_of_one_answer_are_parted(tmp_path: Path) -> None:
    session = Session()
    session.answer(words("1"), done("a"), {"type": "step-start"}, words("2"))
    assert spoken(session.export(tmp_path)) == ["a:1", "t:a", "a:2"]


@pytest.mark.parametrize(
    ("name", "parts", "sent"),
    [
        ("APIError", [words("half")], []),
        ("MessageAbortedError", [words("half")], ["a:half"]),
        ("MessageAbortedError", [], []),
    ],
)
def test_an_answer_that_failed_is_sent_only_when_it_was_aborted(
    tmp_path: Path, name: str, parts: list[dict[str, Any]], sent: list[str]
) -> None:
    session = Session()
    session.answer(*parts, error={"name": name})
    assert spoken(session.export(tmp_path)) == sent


def test_of_a_prompt_only_what_is_meant_for_the_model_is_sent(tmp_path: Path) -> None:
    session = Session()
    files = [{"type": "file", "mime": m} for m in ("text/plain", "application/x-directory")]
    session.add("user", words("hi"), words("no", ignored=True), words("file", synthetic=True), *files)
    session.add("user", {"type": "subtask", "prompt": "search"})
    session.add("user", {"type": "snapshot"})
    session.add("user")
    assert spoken(session.export(tmp_path)) == ["u:hi\nfile", "u:The following tool was executed by the user"]


def test_pictures_of_a_tool_are_announced(tmp_path: Path) -> None:
    session = Session()
    session.answer(done("ok", attachments=[{"mime": "image/png", "url": "data:"}]))
    assert spoken(session.export(tmp_path)) == ["a:", "t:ok", "u:Attached media from tool result:"]


def test_other_files_of_a_tool_are_sent_with_its_output_as_json(tmp_path: Path) -> None:
    session = Session()
    files = [{"mime": "text/csv", "url": "data:text/csv;base64,YSxi"}, {"mime": "text/csv", "url": "http://a/b,c"}]
    session.answer(done("é", attachments=files), done("", "c2", attachments=files[1:]))
    session.answer(done("old", attachments=files, time={"compacted": 7}))
    data = '{"type":"file-data","data":"YSxi","mediaType":"text/csv"}'
    sent = [f't:[{{"type":"text","text":"é"}},{data}]', "t:[]", "t:[Old tool result content cleared]"]
    assert [line for line in spoken(session.export(tmp_path)) if line.startswith("t:")] == sent


def test_what_a_revert_took_back_is_not_sent(tmp_path: Path) -> None:
    session = two_turns()
    session.info["revert"] = {"messageID": session.messages[2]["info"]["id"]}
    path = session.export(tmp_path)
    assert spoken(path) == ["u:one", "a:1"]
    session.info["revert"] = {"messageID": "msg_gone"}
    assert len(spoken(session.export(tmp_path))) == 4


def test_a_revert_may_take_back_a_part_of_a_message(tmp_path: Path) -> None:
    session = Session()
    first = session.answer(words("kept"), done("gone"))
    session.user("gone, too")
    session.info["revert"] = {"messageID": first, "partID": session.messages[0]["parts"][2]["id"]}
    assert spoken(session.export(tmp_path)) == ["a:kept"]


def test_a_revert_to_a_part_that_is_gone_leaves_its_message_whole(tmp_path: Path) -> None:
    session = Session()
    first = session.answer(words("kept"), done("kept, too"))
    session.user("gone")
    session.info["revert"] = {"messageID": first, "partID": "prt_gone"}
    assert spoken(session.export(tmp_path)) == ["a:kept", "t:kept, too"]


@pytest.mark.parametrize(
    ("info", "asked", "sent"),
    [
        ({}, "fake-1", "a:so"),
        ({}, "fake-2", "a:Hmm.so"),
        ({"model": {"providerID": "fake", "id": "fake-1"}}, "fake-2", "a:so"),
        ({"model": {"providerID": "fake", "id": "fake-2"}}, "fake-1", "a:Hmm.so"),
    ],
)
def test_thoughts_of_another_model_are_sent_as_text(
    tmp_path: Path, info: dict[str, Any], asked: str, sent: str
) -> None:
    session = Session(**info)
    session.user("think")
    thoughts = [{"type": "reasoning", "text": text} for text in ("Hmm.", " \n")]
    session.answer(*thoughts, words("so"), providerID="fake", modelID="fake-1")
    session.add("user", words("again"), model={"providerID": "fake", "modelID": asked})
    assert spoken(session.export(tmp_path)) == ["u:think", sent, "u:again"]

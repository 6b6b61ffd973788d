"""What pi would send: compactions, branches, failed answers, other models, damage (clients.md: damage table of pi)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.formats import Thinking
from slowwave.formats.pi.dialect import PI
from tests.unit.formats.pi_files import Session, call, image, read

ANTHROPIC = {"provider": "anthropic", "model": "claude", "api": "anthropic-messages"}


def talk() -> Session:
    session = Session()
    session.user("task")
    session.model("look", call("c1"))
    session.result("c1", "found")
    session.model("done")
    session.user("more")
    session.model("ok")
    return session


def test_a_second_compaction_may_keep_from_before_the_first(tmp_path: Path) -> None:
    session = talk()
    session.compact("e4", "first")
    session.user("next")
    session.compact("e2", "second")
    session.user("last")
    assert session.shape(tmp_path) == [
        "user: [second]",
        "assistant: look | read(c1)",
        "tool: c1=found",
        "assistant: done",
        "user: more",
        "assistant: ok",
        "user: next",
        "user: last",
    ]


@pytest.mark.parametrize("first", ["missing", None, "e7"])
def test_a_compaction_that_names_no_entry_before_it_keeps_none(tmp_path: Path, first: str | None) -> None:
    session = talk()
    session.compact(first)
    session.user("last")
    assert session.shape(tmp_path) == ["user: [so far]", "user: last"]


def test_a_compaction_on_a_branch_that_was_left_does_not_count(tmp_path: Path) -> None:
    session = talk()
    session.compact("e5")
    session.add("branch_summary", parent="e1", fromId="e1", summary="tried it")
    session.user("again")
    assert session.shape(tmp_path) == ["user: task", "user: [tried it]", "user: again"]


def test_failed_and_aborted_answers_are_not_sent(tmp_path: Path) -> None:
    session = Session()
    session.user("task")
    session.model("half", call("c1"), stopReason="aborted")
    session.model(stopReason="error", errorMessage="529")
    session.model("whole")
    assert session.shape(tmp_path) == ["user: task", "assistant: whole"]
    assert len(session.read(tmp_path).messages) == 4


def test_an_open_call_gets_a_result_before_anyone_else_speaks(tmp_path: Path) -> None:
    session = Session()
    session.model(call("c1"), call("c2"))
    session.result("c2", "b")
    session.user("well?")
    session.model(call("c3"))
    assert session.shape(tmp_path) == [
        "assistant: read(c1) | read(c2)",
        "tool: c2=b",
        "tool: c1=No result provided",
        "user: well?",
        "assistant: read(c3)",
        "tool: c3=No result provided",
    ]


def test_shell_commands_are_told_unless_they_were_kept_to_oneself(tmp_path: Path) -> None:
    session = Session()
    bash = {"role": "bashExecution", "command": "make", "output": "a\nb", "exitCode": 2, "cancelled": False}
    session.add("message", message=bash | {"truncated": True, "fullOutputPath": "/tmp/o"})
    session.add("message", message=bash | {"output": "", "exitCode": 0})
    session.add("message", message=bash | {"output": "", "cancelled": True, "exitCode": None})
    session.add("message", message=bash | {"excludeFromContext": True})
    assert session.shape(tmp_path) == [
        "user: Ran `make`\n```\na\nb\n```\n\nCommand exited with code 2\n\n[Output truncated. Full output: /tmp/o]",
        "user: Ran `make`\n(no output)",
        "user: Ran `make`\n(no output)\n\n(command cancelled)",
    ]


def test_entries_of_extensions_labels_and_names_say_nothing(tmp_path: Path) -> None:
    session = Session()
    first = session.user("a")
    session.add("custom", customType="x", data={"content": "secret"}, content="secret")
    session.add("label", targetId=first, label="L")
    session.add("session_info", name="n")
    session.add("custom_message", customType="x", content=[{"type": "text", "text": "shown"}], display=False)
    assert session.shape(tmp_path) == ["user: a", "user: shown"]


def test_anthropic_gets_the_results_of_a_turn_as_one_message_of_the_user(tmp_path: Path) -> None:
    session = Session()
    session.model(call("c1"), call("c|2"), "both")
    session.result("c1", "a")
    session.result("c|2", image(), "b")
    session.model("fine", **ANTHROPIC)
    assert session.context(tmp_path)[1] == {
        "role": "user",
        "results": [{"id": "c1", "text": "a"}, {"id": "c_2", "text": "[image]\nb"}],
    }


def test_thinking_of_another_model_becomes_text(tmp_path: Path) -> None:
    session = Session()
    signed = {"type": "thinking", "thinking": "signed", "thinkingSignature": "s"}
    session.model(signed, {"type": "thinking", "thinking": "secret", "redacted": True}, "a")
    session.model({"type": "thinking", "thinking": "open"}, signed, "b", **ANTHROPIC)
    first, second = PI.context(session.read(tmp_path))
    assert [getattr(b, "text", "") for b in first.blocks] == ["signed", "a"]
    assert [type(b) is Thinking for b in second.blocks] == [False, True, False]
    assert second.text == "open\nb"


def test_images_are_named_to_a_model_that_does_not_see_them(tmp_path: Path) -> None:
    session = Session()
    session.user([image(), image(), {"type": "text", "text": "what?"}])
    session.model(call("c1"))
    session.result("c1", image())
    assert session.shape(tmp_path) == [
        "user: (image omitted: model does not support images)\nwhat?",
        "assistant: read(c1)",
        "tool: c1=(tool image omitted: model does not support images)",
    ]
    session.model("seen", provider="openai", model="gpt")
    assert session.shape(tmp_path)[-2:] == ["user: Attached image(s) from tool result:", "assistant: seen"]


ALL = ["task", "look", "c1", "done", "more", "ok"]
GLUED = b'{"type":"message","id":"e9","parentId":"e6"}{"type":"label","id":"e10"}\n'
# by the numbers of the variants that were tried on the client
DAMAGE: list[tuple[str, Callable[[bytes], bytes], list[str]]] = [
    ("01 torn tail", lambda d: d[:-40], ALL[:-1]),
    ("03 no newline at the end", lambda d: d[:-1], ALL),
    ("06 a line of NUL", lambda d: d + b"\0\0\0\n", ALL),
    ("07 an unknown entry without id is the leaf", lambda d: d + b'{"type":"new"}\n', []),
    ("08 an unknown entry in the chain", lambda d: d + b'{"type":"new","id":"n","parentId":"e6"}\n', ALL),
    ("09 an empty file", lambda d: d[:0], []),
    ("10 no header", lambda d: d.partition(b"\n")[2], []),
    ("17 blank lines and CRLF", lambda d: d.replace(b"\n", b"\r\n\r\n"), ALL),
    ("18 a byte order mark", lambda d: b"\xef\xbb\xbf" + d, ALL),
    ("two entries on one line", lambda d: d + GLUED, ALL),
]


@pytest.mark.parametrize(("name", "damage", "expected"), DAMAGE, ids=[name for name, _, _ in DAMAGE])
def test_damage_is_met_as_the_client_meets_it(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes], expected: list[str]
) -> None:
    transcript = read(tmp_path, damage(talk().data()))
    assert [m.text or m.results[0].id for m in PI.context(transcript)] == expected, name


def test_a_file_without_its_header_still_shows_what_was_said(tmp_path: Path) -> None:
    session = talk()
    session.header = None
    transcript = session.read(tmp_path)
    assert len(transcript.messages) == 6
    assert all(m.active for m in transcript.messages)
    assert transcript.messages[0].id == "e1"

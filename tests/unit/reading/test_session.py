"""A session of any client is read once for its meaning: every item with its evidence, nothing that nobody said."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import SlowwaveError
from slowwave.formats import (
    Block,
    Injected,
    Message,
    Origin,
    Other,
    Role,
    SessionFiles,
    Span,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from slowwave.formats.messages import PlainMessage
from slowwave.formats.registry import NAMES, by_name, sniff
from slowwave.reading import AGENT, PERSON, Chosen, Edited, Failed, Meaning, Ran, Said
from slowwave.reading.session import read
from tests.quality.redactor import redactor_for
from tests.unit.extraction.talk import CWD, REFUSED, START, Talk
from tests.unit.extraction.test_redact import PLANTED
from tests.unit.formats import codex_files, opencode_files
from tests.unit.reading.clients import Say, Use, of_talk, reading_of, same, written
from tests.unit.reading.test_harness import COMMAND, NOTE, STORE, asked

SHARED = Path(__file__).parents[4] / "shared"
SAMPLES = sorted(p for p in (Path(__file__).parents[2] / "samples").rglob("*.json*") if ".context." not in p.name)
TALK = [
    Say("user", "fix the parser\n\n> and this is quoted"),
    Use("bash", {"command": "make test"}, "make: *** [test] Error 2", failed=True),
    Use("edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}, "done"),
    Use("read", {"file_path": "/w/b.py"}, "ENOENT: no such file", failed=True),
    Say("assistant", "I look again."),
    Use("bash", {"command": "make test"}, "3 passed"),
    Say("assistant", "It works."),
    Say("user", "good"),
]


def shape(item: Meaning) -> tuple[object, ...]:
    """Return what an item says, without its place."""
    match item:
        case Said():
            return (item.speaker, item.channel, item.own, item.text, item.is_last)
        case Chosen():
            return ("chosen", item.question, item.answer)
        case Ran():
            return ("ran", item.line, item.run.ok)
        case Failed():
            return ("failed", item.tool, item.error)
        case Edited():
            return ("edited", item.path)


@pytest.mark.parametrize("dialect", NAMES)
def test_the_same_talk_reads_the_same_in_every_format(tmp_path: Path, dialect: str):
    fails = dialect != "crabtalk"  # which does not write down whether a call failed
    expected: list[tuple[object, ...]] = [
        ("person", "typed", "fix the parser", "fix the parser\n> and this is quoted", True),
        ("ran", "make test", not fails),
        ("edited", "/w/a.py"),
        ("failed", "read", "ENOENT: no such file"),
        ("assistant", "typed", "I look again.", "I look again.", False),
        ("ran", "make test", True),
        ("assistant", "typed", "It works.", "It works.", True),
        ("person", "typed", "good", "good", True),
    ]
    found = [shape(item) for item in reading_of(dialect, written(dialect, tmp_path, TALK)).items]
    if dialect == "codex":  # whose results say whether a command failed, and nothing of other tools
        found = [one if one[0] != "failed" else ("failed", one[1], expected[3][2]) for one in found]
    assert found == [one for one in expected if fails or one[0] != "failed"]


def everything() -> Talk:
    talk = Talk().person("fix it").assistant("I will.").bash("make test", "a.py:3: error: bad\n1 failed", 2)
    talk.tool("Edit", {"file_path": f"{CWD}/a.py", "new_string": "x"}, "ok").tool(
        "Read", {"file_path": "b"}, "\ngone", error=True
    )
    talk.refused("we keep this file as it is").records += asked({"Which store?": "Files"}, STORE).records[1:]
    return talk.assistant("Done.").person(COMMAND.format("keep it small"))


def test_every_item_names_the_records_that_show_it(tmp_path: Path):
    talk = everything()
    reading = of_talk(tmp_path, talk)
    data = (tmp_path / f"{talk.id}.jsonl").read_bytes()
    kinds = [type(item).__name__ for item in reading.items]
    assert kinds == ["Said", "Said", "Ran", "Edited", "Failed", "Said", "Chosen", "Said", "Said"]
    assert [len(item.sources) for item in reading.items] == [1, 1, 2, 2, 2, 1, 2, 1, 1]
    said = ["fix it", "I will.", "make test", "a.py", "gone", "as it is", "Files", "Done.", "keep it small"]
    for item, words in zip(reading.items, said, strict=True):
        stretches = [data[span.offset : span.offset + len(span.raw)] for span in item.sources]
        assert stretches == [span.raw for span in item.sources]
        assert any(words.encode() in stretch for stretch in stretches)
        assert item.cwd == CWD
    first, ran, refused = reading.items[0], reading.items[2], reading.items[5]
    assert (first.record, first.at) == (talk.records[0]["uuid"], START)
    assert ran.at == START + timedelta(minutes=3)
    assert isinstance(ran, Ran)
    assert (ran.line, ran.run.ok, ran.run.code, ran.cause) == ("make test", False, 2, "a.py:3: error: bad")
    assert isinstance(refused, Said)
    assert (refused.channel, refused.own, refused.refused) == (
        "refusal",
        "we keep this file as it is",
        f"Edit {CWD}/a.py",
    )


def test_what_was_heard_stands_before_the_item_that_follows_it(tmp_path: Path):
    talk = Talk().person("fix it").assistant("I will.").bash("cat a", "shown").person("now go")
    assert [(one.order, one.text, one.by) for one in of_talk(tmp_path, talk).heard] == [
        (0, "fix it", PERSON),
        (1, "I will.", AGENT),
        (2, "shown", "the output of Bash"),
        (3, "now go", PERSON),
    ]


def test_only_the_newest_of_several_messages_of_one_speaker_is_the_last(tmp_path: Path):
    talk = Talk().person("a").person("b").assistant("c").bash("ls").assistant("d").person("e").assistant("f")
    reading = of_talk(tmp_path, talk)
    said = [(item.text, item.is_last) for item in reading.items if isinstance(item, Said)]
    assert said == [("a", False), ("b", True), ("c", False), ("d", True), ("e", True), ("f", True)]
    last = reading.items[-1]
    before = (reading.before(last, "person"), reading.before(last, "assistant"))
    assert [one and one.text for one in before] == ["e", "d"]
    assert reading.before(reading.items[0], "person") is None


@pytest.mark.parametrize("again", ["go", "and use tabs"])
def test_what_is_typed_while_the_agent_works_is_said_once(tmp_path: Path, again: str):
    talk = Talk().person("fix it").bash("ls").assistant("ok").person(again)
    queued = {"type": "queue-operation", "operation": "enqueue", "content": "and use tabs", "sessionId": talk.id}
    talk.records.insert(2, queued)
    found = [(item.own, item.channel) for item in of_talk(tmp_path, talk).said("person")]
    assert found == [(words, "typed") for words in dict.fromkeys(["fix it", "and use tabs", again])]


def test_what_nobody_said_is_left_out(tmp_path: Path):
    talk = Talk().person("fix it").person("of a sub-agent", isSidechain=True).person("a summary", isCompactSummary=True)
    talk.person("made up", isMeta=True).person("<system-reminder>be nice</system-reminder>typed beside it")
    talk.person("[Request interrupted by user]").person("<local-command-stdout>out</local-command-stdout>").assistant(
        " \n"
    )
    talk.bash("ls").records.append(talk.records[-1] | {"uuid": "again"})
    reading = of_talk(tmp_path, talk)
    assert [shape(item)[2:4] for item in reading.said("person")] == [("fix it",) * 2, ("typed beside it",) * 2]
    assert [type(item) for item in reading.items] == [Said, Said, Ran]


def test_an_abandoned_branch_is_left_out(tmp_path: Path):
    talk = Talk().person("fix it").assistant("I will.").person("the old way").assistant("Old.").person("the new way")
    talk.records[-1]["parentUuid"] = talk.records[1]["uuid"]
    assert [item.text for item in of_talk(tmp_path, talk).said("person")] == ["fix it", "the new way"]


def test_a_summary_is_nobodys_words(tmp_path: Path):
    session = opencode_files.Session()
    session.user("fix it")
    session.compact("the person wants tabs")
    session.user("go")
    reading = reading_of("opencode", session.export(tmp_path))
    assert [item.text for item in reading.items if isinstance(item, Said)] == ["fix it", "go"]


@pytest.mark.parametrize("family", PLANTED)
@pytest.mark.parametrize("hide", [False, True])
def test_no_item_holds_a_secret_not_even_one_with_something_hidden_inside(tmp_path: Path, family: str, *, hide: bool):
    frame, secret = PLANTED[family]
    shown = frame.format(secret[:3] + "\u200b" + secret[3:] if hide else secret)
    question = STORE | {"question": shown, "header": shown, "options": [{"label": shown, "description": shown}]}
    talk = asked({shown: shown}, question, annotations={shown: {"notes": shown}})
    talk.person(f"here:\n```\n{shown}\n```\n{shown}").assistant(shown).refused(shown).bash(f"echo '{shown}'", shown, 1)
    talk.tool("Edit", {"file_path": shown}, "ok").tool("Read", {"file_path": "x"}, shown, error=True)
    talk.tool("Edit", {"file_path": shown}, f"{REFUSED}no", error=True)
    talk.person(COMMAND.format(shown.replace("<", "")))
    reading = of_talk(tmp_path, talk, redactor_for("shop"))
    assert {type(item) for item in reading.items} == {Said, Chosen, Ran, Failed, Edited}
    words = [replace(item, sources=()) for item in reading.items]
    assert secret not in repr(words)
    assert repr(secret)[1:-1] not in repr(words)


def test_what_nobody_sees_is_in_no_item(tmp_path: Path):
    hidden = "a\u200bb\u202e <!-- c -->\x1b[8m"
    talk = asked({hidden: hidden}, STORE | {"question": hidden, "header": hidden})
    talk.person(hidden).assistant(hidden).refused(hidden).bash(hidden, hidden, 1).tool(
        "Edit", {"file_path": hidden}, "ok"
    )
    talk.tool("Read", {}, hidden, error=True).person(COMMAND.format("a\u200bb\u202e"))
    words = repr([replace(item, sources=()) for item in of_talk(tmp_path, talk).items])
    assert not any(sign in words for sign in ("\\u200b", "\\u202e", "<!--", "\\x1b"))
    assert words.count("ab") >= 9


def test_of_a_huge_message_both_ends_are_kept_and_no_half_of_a_secret(tmp_path: Path):
    secret = PLANTED["github"][1]
    middle = "word " * 200_000
    talk = Talk().person(f"use tabs {middle}and never spaces").assistant(f"start {middle} end")
    talk.person("x" * 15_980 + f" {secret} " + "y " * 40_000).person("z" * 100_000)
    reading = of_talk(tmp_path, talk, redactor_for("shop"))
    first, second, *rest = reading.said("person")
    assert len(first.text) < 40_000
    assert first.own.startswith("use tabs word")
    assert first.own.endswith("word and never spaces")
    assert secret[:12] not in second.text
    assert rest == []
    (answer,) = reading.said("assistant")
    assert (answer.text[:5], answer.text[-3:]) == ("start", "end")


# ------------------------------------------------------------------------------------------------ any messages at all

WORDS = st.text(max_size=20) | st.sampled_from(
    ["> quoted", "```\nx", "# T", COMMAND.format("x"), f"x{NOTE}", '{"output":"x"}', 'The user answered: "a"="b"']
)
IDS = st.sampled_from(["c1", "c2", ""])
TOOLS = st.sampled_from(["Bash", "bash", "Edit", "apply_patch", "AskUserQuestion", "mcp__a__b", ""])
ARGS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["command", "file_path", "questions", "input"]), inner, max_size=2)
    ),
    max_leaves=4,
)
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Injected, WORDS),
    st.builds(Thinking, WORDS),
    st.builds(Other, WORDS),
    st.builds(ToolCall, IDS, TOOLS, ARGS),
    st.builds(ToolResult, IDS, WORDS, st.booleans()),
)
RAWS = st.sampled_from([b"", b"{", b"[1]", b'{"type":"user","sessionId":"s","toolUseResult":{"answers":3}}', b"\xff"])
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")
ORIGINS: tuple[Origin, ...] = ("typed", "injected", "model", "tool", "summary")


@st.composite
def any_messages(draw: st.DrawFn) -> list[Message]:
    found: list[Message] = []
    for number in range(draw(st.integers(0, 8))):
        blocks = draw(st.lists(BLOCKS, max_size=3))
        spans = tuple(Span(0, number, number * 100 + at, draw(RAWS)) for at in range(len(blocks)))
        role, origin = draw(st.sampled_from(ROLES)), draw(st.sampled_from(ORIGINS))
        active = draw(st.booleans()) or draw(st.booleans())
        found.append(PlainMessage(role, tuple(blocks), spans, origin, active=active))
    return found


def check(messages: list[Message], cut: int) -> None:
    """Hold what is promised of every reading: order, and that what comes later takes nothing back."""
    whole = read(messages, same)
    assert [item.order for item in whole.items] == list(range(len(whole.items)))
    assert all(0 <= one.order <= len(whole.items) for one in whole.heard)
    assert [one.order for one in whole.heard] == sorted(one.order for one in whole.heard)
    assert all(part.text.strip() for item in whole.items if isinstance(item, Said) for part in item.parts)
    part = read(messages[:cut], same)
    assert list(map(still, part.items)) == list(map(still, whole.items[: len(part.items)]))
    assert part.heard == whole.heard[: len(part.heard)]


def still(item: Meaning) -> Meaning:
    return replace(item, is_last=True) if isinstance(item, Said) else item


@given(any_messages(), st.integers(0, 8))
def test_any_messages_are_read_and_a_prefix_of_them_to_a_prefix(messages: list[Message], cut: int):
    check(messages, cut)


def prefixes_of(path: Path) -> None:
    dialect = sniff(path)
    if dialect is None:
        return
    try:
        transcript = by_name(dialect).read(SessionFiles(path.stem, (path,)))
    except SlowwaveError:
        return  # one that is damaged on purpose
    for part in (0, 1, 2, 3):
        check(transcript.messages, len(transcript.messages) * part // 3)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_prefixes_of_samples_of_real_clients(path: Path):
    prefixes_of(path)


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="the corpus of real transcripts is not here")
def test_prefixes_of_real_transcripts():
    paths = sorted((SHARED / "corpus").rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    for path in paths[:60]:
        prefixes_of(path)


_PRINT = """
import sys
from pathlib import Path
from tests.unit.reading.clients import reading_of, same
from slowwave.reading.pastes import echoes
reading = reading_of("claude", Path(sys.argv[1]))
print(reading.items, reading.heard)
print(echoes([(99, one.text) for one in reading.heard], reading.heard))
"""


def test_a_reading_does_not_depend_on_the_seed_of_hashes(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    talk = everything().assistant("We always use quartz as the package registry of our services.")
    path.write_bytes(talk.person("we always use quartz as the package registry of our services").data())
    seeds = [os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)} for seed in ("1", "2")]
    printed = [subprocess.check_output((sys.executable, "-c", _PRINT, path), env=env) for env in seeds]
    assert printed[0] == printed[1]
    assert b"package registry" in printed[0]


def test_a_command_of_codex_that_goes_on_is_followed_to_its_end(tmp_path: Path) -> None:
    def calls(number: int, **arguments: object) -> Any:
        name = "exec_command" if "cmd" in arguments else "write_stdin"
        call = {"name": name, "arguments": json.dumps(arguments), "call_id": f"c{number}"}
        return codex_files.item("function_call", **call)

    head = "Chunk ID: a\nWall time: 30.0 seconds\n"
    runs = f"{head}Process running with session ID 3\nOutput:\n"
    lines = [
        codex_files.meta(),
        *(calls(1, cmd="make test"), codex_files.output("c1", f"{runs}collecting\n")),
        *(calls(2, session_id=3, chars=""), codex_files.output("c2", f"{runs}2 failed\n")),
        *(calls(3, cmd="make build"), codex_files.output("c3", f"{head}Process exited with code 0\nOutput:\ndone\n")),
        *(calls(4, session_id=3, chars=""), codex_files.output("c4", f"{head}Process exited with code 1\nOutput:\n")),
        *(calls(5, session_id=3, chars=""), codex_files.output("c5", f"{head}Process exited with code 0\nOutput:\n")),
    ]
    reading = reading_of("codex", codex_files.rollout(tmp_path, *lines))
    tests, build = (item for item in reading.items if isinstance(item, Ran))
    assert (tests.line, tests.run.code, tests.run.commands[0].outcome) == ("make test", 1, "failed")
    assert tests.cause == "2 failed"
    assert (build.line, build.run.commands[0].outcome) == ("make build", "succeeded")

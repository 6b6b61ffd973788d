"""Cersei's own tests of session memories, by their names, against slowwave's gates, parser and file format."""

from slowwave.extraction.gates import Progress, progress_of, session_gates
from slowwave.extraction.model.operations import parse_reply
from slowwave.formats import Span, Text, ToolCall
from slowwave.formats.messages import PlainMessage
from slowwave.memory.candidates import add_lines, fact_line
from slowwave.settings import ExtractionSettings

SPAN = Span(0, 1, 0, b"{}")


def passes(progress: Progress) -> bool:
    gates = session_gates(progress, ExtractionSettings(), project="p", session="s")
    return all(gate.passed for gate in gates)


def test_should_extract_below_threshold():
    assert not passes(Progress(messages=10, new_tool_calls=5, is_first=True))


def test_should_extract_above_threshold():
    assert passes(Progress(messages=25, new_tool_calls=0, is_first=True))


def test_should_extract_cooldown():
    assert not passes(Progress(messages=25, new_tool_calls=1, is_first=False))


def test_exactly_at_the_thresholds():
    assert passes(Progress(messages=20, new_tool_calls=3, is_first=False))
    assert not passes(Progress(messages=19, new_tool_calls=3, is_first=False))
    assert not passes(Progress(messages=20, new_tool_calls=2, is_first=False))


def test_last_assistant_message_with_a_tool_use_blocks():
    talk = [PlainMessage("user", (Text("go"),), (SPAN,), "typed")] * 20
    call = PlainMessage("assistant", (ToolCall("t1", "Bash", {}),), (SPAN,), "model")
    assert not passes(progress_of([*talk, call], [], is_first=True))
    assert passes(progress_of(talk, [], is_first=True))


def test_parse_extraction_output():
    reply = """Here is what I found:
MEMORY: preference | 8 | User prefers concise answers
MEMORY: project | 9 | The service runs on Go | not Rust
this line is prose
  memory: lower case is no mark
MEMORY: code_pattern | 10 | Errors are wrapped
"""
    facts, refused = parse_reply(reply)
    assert [(f.category, f.confidence) for f in facts] == [("preference", 0.8), ("project", 0.9), ("pattern", 1.0)]
    assert facts[1].text == "The service runs on Go | not Rust"
    assert refused == []


def test_parse_refuses_what_is_no_number_and_unknown_categories():
    reply = """MEMORY: preference | nan | x
MEMORY: weather | 5 | x
MEMORY: project | -1 | x
MEMORY: project | 5 |
MEMORY: project | five | x
MEMORY: project
MEMORY: UserPreference | 14 | clamped"""
    facts, refused = parse_reply(reply)
    assert [(f.category, f.confidence, f.text) for f in facts] == [("preference", 1.0, "clamped")]
    assert len(refused) == 6


def test_persist_memories():
    text = add_lines("", [fact_line("preference", "Likes tabs", 0.9)], "2026-11-03")
    assert "## Auto-extracted memories" in text
    assert "**[preference]**" in text
    assert "90%" in text
    text = add_lines(text, [fact_line("project", "Uses Go", 0.8)], "2026-11-03")
    assert "Likes tabs" in text
    assert text.count("### Session memories — 2026-11-03") == 1

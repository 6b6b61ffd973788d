"""Clawdbot's safeguard around compaction, by what its own tests of ``compaction-safeguard.ts`` say of failures.

That no history is cut without a summary is a rule of whoever applies a plan: a plan changes nothing.
"""

from slowwave.compaction.failures import Failure, failures, failures_section
from slowwave.dialects.model import Message, ToolResult
from tests.unit.compaction.messages import answer, message, result


def failed(call_id: str, text: str) -> Message:
    return message("tool", ToolResult(call_id, text, is_error=True), origin="tool")


def test_formats_tool_failures_with_tool_and_words() -> None:
    found = failures([answer("", "c1:exec", "c2:read"), failed("c1", "ENOENT:\n  missing file"), result("c2")])
    assert found == [Failure("exec", "ENOENT: missing file")]
    assert failures_section(found) == "\n\n## Tool Failures\n- exec: ENOENT: missing file"


def test_dedupes_by_tool_call_id_and_handles_empty_output() -> None:
    found = failures([answer("", "c1:exec"), failed("c1", ""), failed("c1", "again")])
    assert found == [Failure("exec", "")]
    assert "- exec: failed (no output)" in failures_section(found)


def test_caps_the_number_of_failures_and_says_so() -> None:
    calls = [answer("", *(f"c{n}:exec" for n in range(10))), *(failed(f"c{n}", f"error {n}") for n in range(10))]
    section = failures_section(failures(calls))
    assert section.count("- exec: ") == 8
    assert section.endswith("- ...and 2 more")


def test_omits_the_section_when_there_are_no_tool_failures() -> None:
    assert failures_section(failures([answer("", "c1"), result("c1")])) == ""


def test_cuts_what_a_tool_said() -> None:
    (found,) = failures([answer("", "c"), failed("c", "x" * 500)])
    assert (len(found.text), found.text[-3:]) == (240, "...")


def test_a_failure_without_its_call_is_told_too() -> None:
    assert failures([failed("gone", "error")]) == [Failure("tool", "error")]

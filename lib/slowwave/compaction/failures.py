"""What went wrong in the messages that are summarised, to stand below the summary word for word.

Source: the safeguard of Clawdbot 2026.1.27: at most eight failures of 240 characters, each call once.
"""

from collections.abc import Sequence
from typing import NamedTuple

from slowwave.compaction.calls import answers
from slowwave.compaction.javascript import cut, units
from slowwave.dialects.model import Message

MOST_FAILURES = 8
MOST_UNITS = 240


class Failure(NamedTuple):
    """A tool that failed, and the beginning of what it said, on one line."""

    tool: str
    text: str


def failures(messages: Sequence[Message]) -> list[Failure]:
    """Return every call that failed, in order, once."""
    found: list[Failure] = []
    links = answers(([c.id for c in m.calls], [r.id for r in m.results]) for m in messages)
    for message, answered in zip(messages, links, strict=True):
        for result, answer in zip(message.results, answered, strict=True):
            if result.is_error and not (answer is not None and answer.is_double):
                tool = "tool" if answer is None else messages[answer.at].calls[answer.number].name
                found.append(Failure(tool, _shortened(" ".join(result.text.split()))))
    return found


def failures_section(found: Sequence[Failure]) -> str:
    """Return failures as a section of a summary, or "" when there are none; the number of the others is said."""
    if not found:
        return ""
    lines = [f"- {failure.tool}: {failure.text or 'failed (no output)'}" for failure in found[:MOST_FAILURES]]
    if len(found) > MOST_FAILURES:
        lines.append(f"- ...and {len(found) - MOST_FAILURES} more")
    return "\n\n## Tool Failures\n" + "\n".join(lines)


def _shortened(text: str) -> str:
    return text if units(text) <= MOST_UNITS else cut(text, MOST_UNITS - 3) + "..."

"""The words that pi itself puts around summaries, shell commands, skills and files before a model sees them.

Source: ``core/messages.ts``, ``cli/file-processor.ts`` and ``agent-session.ts`` of pi 0.73.1; the prefixes are the
same in 0.58.3 and are part of the format: a model was trained by them to tell a summary from a person.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, cast

from slowwave.dialects.model import Block, Injected, Text

_COMPACTED = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
_BRANCH = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)
# A skill that was called by name, and files named with @ on the command line; a person typed neither.
_HARNESS = re.compile(
    r'<skill name="[^"\n]+" location="[^"\n]+">\n.*?\n</skill>|<file name="[^"\n]+">.*?</file>\n?', re.DOTALL
)


def as_written(value: object) -> str:
    """Return a value as JavaScript puts it into a text, where another type than text stands in a file."""
    match value:
        case str():
            return value
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case int() | float():
            return _number(value)
        case list():
            return ",".join("" if v is None else as_written(v) for v in _leaves(cast("list[object]", value)))
        case _:
            return "[object Object]"


def _number(value: float) -> str:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    # from here on JavaScript writes an exponent, as Python does
    return str(int(number)) if abs(number) < 1e21 and number.is_integer() else repr(number)  # noqa: PLR2004


def _leaves(values: list[object]) -> Iterator[object]:
    """Yield what stands in lists in lists, however deep; an empty one stands for an empty text."""
    waiting: list[object] = [values]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list) and item:
            waiting += cast("list[object]", item)[::-1]
        else:
            yield None if isinstance(item, list) else item


def compaction_text(body: dict[str, Any]) -> str:
    """Return the text that stands for what a compaction hides; pi prints what is not there, too."""
    return _COMPACTED[0] + as_written(body.get("summary", "undefined")) + _COMPACTED[1]


def branch_text(body: dict[str, Any]) -> str:
    """Return the text that stands for a branch that was left."""
    return _BRANCH[0] + as_written(body.get("summary", "undefined")) + _BRANCH[1]


def shell_text(message: dict[str, Any]) -> str:
    """Return what a model is told of a command that a person ran with ``!``."""
    output = as_written(message["output"]) if message.get("output") else ""
    text = f"Ran `{as_written(message.get('command', 'undefined'))}`\n" + (
        f"```\n{output}\n```" if output else "(no output)"
    )
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code is not None and code != 0:
        text += f"\n\nCommand exited with code {as_written(code)}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text


def split_typed(text: str) -> list[Block]:
    """Return what a person typed and what the client put beside it, in order."""
    if "<skill name=" not in text and "<file name=" not in text:
        return [Text(text)]
    blocks: list[Block] = []
    at = 0
    for match in _HARNESS.finditer(text):
        if typed := text[at : match.start()].strip():
            blocks.append(Text(typed))
        blocks.append(Injected(match[0]))
        at = match.end()
    if typed := text[at:].strip():
        blocks.append(Text(typed))
    return blocks or [Text(text)]

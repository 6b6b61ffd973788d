"""Whether a call failed, told by what the client says of it and by the exit code in its output."""

import re

from slowwave.dialects.model import ToolResult
from slowwave.extraction.shell import exit_code
from slowwave.reading.harness import output_of

# client: pi puts the code behind what a command printed
_PI_CODE = re.compile(r"(?:^|\n)Command exited with code (\d+)\s*\Z")
_HEAD, _TAIL = 4_000, 200
_SHELL_TEXT = re.compile(r"^apply_patch verification failed|^patch rejected", re.IGNORECASE)


def code_of(result: ToolResult) -> int | None:
    """Return the exit code that a result names, None where the client tells none."""
    text = result.text
    if (found := _PI_CODE.search(text[-_TAIL:])) is not None:
        return int(found[1])
    return exit_code(output_of(text) if text.startswith('{"output":') else text[:_HEAD])


def has_failed(tool: str, result: ToolResult) -> bool:
    """Say whether a call failed."""
    return result.is_error or bool(code_of(result)) or (bool(tool) and _SHELL_TEXT.match(result.text) is not None)


def has_run(result: ToolResult) -> bool:
    """Say whether a command ran to an end, whatever came of it; refused and broken off calls did not."""
    return code_of(result) is not None

"""Whether a call failed, told by what the client says of it and by the exit code in its output."""

import re

from slowwave.formats.model import ToolResult
from slowwave.reading.harness import output_of
from slowwave.shell.reports import exit_code

_SHELL_TEXT = re.compile(r"^apply_patch verification failed|^patch rejected", re.IGNORECASE)


def code_of(result: ToolResult) -> int | None:
    """Return the exit code that a result names, None where the client tells none."""
    return exit_code(output_of(result.text))


def has_failed(tool: str, result: ToolResult) -> bool:
    """Say whether a call failed."""
    return result.is_error or bool(code_of(result)) or (bool(tool) and _SHELL_TEXT.match(result.text) is not None)


def has_run(result: ToolResult) -> bool:
    """Say whether a command ran to an end, whatever came of it; refused and broken off calls did not."""
    return code_of(result) is not None

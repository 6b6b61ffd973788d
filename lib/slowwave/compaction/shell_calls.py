"""The shell line of a call, and the folder that it names for it, in the spellings of every client."""

import shlex
from typing import cast

from slowwave.compaction.arguments import arguments_of
from slowwave.dialects.model import ToolCall
from slowwave.reading.harness import command_in

# tools that the extraction does not take for shells, since it was never measured on them
_MORE_SHELLS = frozenset({"run_terminal", "shell_exec", "run_terminal_cmd", "run_shell_command", "execute_command"})
_FOLDERS = ("workdir", "cwd", "working_directory", "directory")
_INTERPRETERS = ("-c", "-lc", "-lic", "-ic")
_WITH_SCRIPT = 3


def line_of(call: ToolCall) -> str:
    """Return the shell line of a call, or "" when the tool is no shell."""
    fields = arguments_of(call)
    given = fields.get("command", fields.get("cmd"))
    if not command_in(call.name, fields) and call.name.lower() not in _MORE_SHELLS:
        return ""
    if isinstance(given, list):
        words = [str(word) for word in cast("list[object]", given)]
        return words[2] if len(words) == _WITH_SCRIPT and words[1] in _INTERPRETERS else shlex.join(words)
    return given if isinstance(given, str) else command_in(call.name, fields)


def folder_of(call: ToolCall) -> str:
    """Return the folder that a call wants its line to run in, or ""."""
    fields = arguments_of(call)
    return next((value for key in _FOLDERS if isinstance(value := fields.get(key), str)), "")

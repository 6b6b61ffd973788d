"""The shell line of a call, and the folder that it names for it, in the spellings of every client."""

from slowwave.compaction.arguments import arguments_of
from slowwave.formats.model import ToolCall
from slowwave.reading.harness import command_in, line_in

# tools that the extraction does not take for shells, since it was never measured on them
_MORE_SHELLS = frozenset({"run_terminal", "shell_exec", "run_terminal_cmd", "run_shell_command", "execute_command"})
_FOLDERS = ("workdir", "cwd", "working_directory", "directory")


def line_of(call: ToolCall) -> str:
    """Return the shell line of a call, or "" when the tool is no shell."""
    fields = arguments_of(call)
    return command_in(call.name, fields) or (line_in(fields) if call.name.lower() in _MORE_SHELLS else "")


def folder_of(call: ToolCall) -> str:
    """Return the folder that a call wants its line to run in, or ""."""
    fields = arguments_of(call)
    return next((value for key in _FOLDERS if isinstance(value := fields.get(key), str)), "")

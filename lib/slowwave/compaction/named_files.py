"""The files that calls of tools for files name.

pi 0.58.3 takes calls named exactly ``read``, ``write`` and ``edit`` with a string ``path``; the ULID specification adds
the names of its older tools (§7.5.3), and the other clients have names of their own, which are the same tools. A file
that was both read and changed is listed as changed only.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from slowwave.compaction.arguments import arguments_of
from slowwave.compaction.file_lists import FileOperations
from slowwave.compaction.patches import patched
from slowwave.formats.model import ToolCall

_READ = frozenset({"read", "read_file", "readfile", "notebookread", "view", "open_file", "view_image"})
_MODIFIED = frozenset(
    {
        *("write", "edit", "write_file", "edit_file", "multiedit", "notebookedit", "create", "create_file"),
        *("str_replace", "replace", "writefile", "editfile", "delete_file", "insert"),
    }
)
# one tool for looking and changing; ``command`` says which of the two
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
_PATCH = frozenset({"apply_patch", "patch"})
_PATHS = ("path", "file_path", "filePath", "notebook_path", "absolute_path")
_PATCHES = ("input", "patch", "patchText")


class Touched(NamedTuple):
    """A file that a call reads or changes, by its path as it is to be shown."""

    path: str
    use: Literal["read", "modified"]


def of_calls(calls: Iterable[ToolCall]) -> FileOperations:
    """Return the files that calls name; whether a call succeeded is not asked, as in every source."""
    read: set[str] = set()
    modified: set[str] = set()
    for touched in (touched for call in calls for touched in named(call)):
        (read if touched.use == "read" else modified).add(touched.path)
    return FileOperations(frozenset(read), frozenset(modified))


def named(call: ToolCall) -> Iterator[Touched]:
    """Yield the files that a call of a tool for files names."""
    name = call.name.lower()
    if name in _PATCH:
        yield from (Touched(path, "modified") for path in _patched(call))
        return
    path = _path(call)
    if path and (name in _READ or (name in _EDITORS and arguments_of(call).get("command") == "view")):
        yield Touched(path, "read")
    elif path and (name in _MODIFIED or name in _EDITORS):
        yield Touched(path, "modified")


def _path(call: ToolCall) -> str:
    fields = arguments_of(call)
    return next((path for key in _PATHS if isinstance(path := fields.get(key), str) and path), "")


def _patched(call: ToolCall) -> list[str]:
    fields = arguments_of(call)
    text = next((t for k in _PATCHES if isinstance(t := fields.get(k), str)), "")
    return patched(text or (call.args if isinstance(call.args, str) else ""))

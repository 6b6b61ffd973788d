"""Which files a session read and which it changed, told by its tool calls and carried on from compaction to compaction.

pi 0.58.3 takes calls named exactly ``read``, ``write`` and ``edit`` with a string ``path``; the ULID specification adds
the names of its older tools (§7.5.3), and the other clients have names of their own, which are the same tools. A file
that was both read and changed is listed as changed only.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, cast

from slowwave.compaction.javascript import fields_of, order
from slowwave.dialects.model import ToolCall

_READ = frozenset({"read", "read_file", "notebookread"})
_MODIFIED = frozenset({"write", "edit", "write_file", "edit_file", "multiedit", "notebookedit"})
_PATCH = frozenset({"apply_patch", "patch"})
_PATHS = ("path", "file_path", "filePath", "notebook_path")
_PATCHES = ("input", "patch", "patchText")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_TAGS = ("read-files", "modified-files")


class FileOperations(NamedTuple):
    """The files that were read and the files that were changed; a path may be in both."""

    read: frozenset[str] = frozenset()
    modified: frozenset[str] = frozenset()

    def __or__(self, other: "FileOperations") -> "FileOperations":
        return FileOperations(self.read | other.read, self.modified | other.modified)

    @property
    def read_files(self) -> list[str]:
        """Files that were only read, in the order that pi writes them."""
        return sorted(self.read - self.modified, key=order)

    @property
    def modified_files(self) -> list[str]:
        """Files that were changed, in the order that pi writes them."""
        return sorted(self.modified, key=order)

    def tags(self) -> str:
        """Return the lists as they stand at the end of a summary, or "" when there are none."""
        lists = (("read-files", self.read_files), ("modified-files", self.modified_files))
        return "".join("\n".join((f"\n\n<{tag}>", *files, f"</{tag}>")) for tag, files in lists if files)


NO_FILES = FileOperations()


def of_calls(calls: Iterable[ToolCall]) -> FileOperations:
    """Return the files that calls name; whether a call succeeded is not asked, as in every source."""
    read: set[str] = set()
    modified: set[str] = set()
    for call in calls:
        name = call.name.lower()
        if name in _PATCH:
            modified.update(_patched(call.args))
        elif path := _path(call.args):
            (read if name in _READ else modified if name in _MODIFIED else set[str]()).add(path)
    return FileOperations(frozenset(read), frozenset(modified))


def of_details(details: object) -> FileOperations:
    """Return the lists that a compaction record carries (``readFiles``, ``modifiedFiles``); nonsense is none."""
    fields = fields_of(details)
    return FileOperations(_strings(fields.get("readFiles")), _strings(fields.get("modifiedFiles")))


def of_tags(summary: str) -> FileOperations:
    """Return the lists at the end of a summary whose record carries none."""
    lists = _apart(summary)[1]
    return FileOperations(lists.get("read-files", frozenset()), lists.get("modified-files", frozenset()))


def without_tags(summary: str) -> str:
    """Return a summary without the lists at its end, so that the next one does not have them twice."""
    return _apart(summary)[0]


def _apart(summary: str) -> tuple[str, dict[str, frozenset[str]]]:
    """Return the text of a summary and the lists at its end by tag."""
    text, lists = summary, dict[str, frozenset[str]]()
    while (tag := next((t for t in _TAGS if text.rstrip().endswith(f"</{t}>")), None)) is not None:
        begin = text.rfind(f"<{tag}>\n")
        if begin < 0:
            break
        lines = text.rstrip()[begin:].split("\n")[1:-1]
        lists[tag] = lists.get(tag, frozenset()) | frozenset(filter(None, lines))
        text = text[:begin].rstrip()
    return text, lists


def _path(args: object) -> str:
    fields = fields_of(args)
    return next((path for key in _PATHS if isinstance(path := fields.get(key), str) and path), "")


def _patched(args: object) -> list[str]:
    fields = fields_of(args)
    text = args if isinstance(args, str) else next((t for k in _PATCHES if isinstance(t := fields.get(k), str)), "")
    return [m[1] or m[2] for m in _PATCHED.finditer(text)]


def _strings(value: object) -> frozenset[str]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return frozenset(item for item in items if isinstance(item, str))

"""The two lists of files that a summary carries: read and changed, as records, tags and texts hold them."""

import re
from typing import NamedTuple, cast

from slowwave.compaction.javascript import fields_of, order

_LISTED = re.compile(r"<(read|modified)-files>\n(.*?)\n</\1-files>", re.DOTALL)
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


def of_details(details: object) -> FileOperations:
    """Return the lists that a compaction record carries (``readFiles``, ``modifiedFiles``); nonsense is none."""
    fields = fields_of(details)
    return FileOperations(_strings(fields.get("readFiles")), _strings(fields.get("modifiedFiles")))


def of_tags(summary: str) -> FileOperations:
    """Return the lists at the end of a summary whose record carries none."""
    lists = _apart(summary)[1]
    return FileOperations(lists.get("read-files", frozenset()), lists.get("modified-files", frozenset()))


def of_lists(text: str) -> FileOperations:
    """Return all lists that stand anywhere in a text that a client or this project wrote, a summary in its wrapping."""
    lists: dict[str, set[str]] = {"read": set(), "modified": set()}
    for found in _LISTED.finditer(text):
        lists[found[1]].update(filter(None, found[2].split("\n")))
    return FileOperations(frozenset(lists["read"]), frozenset(lists["modified"]))


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


def _strings(value: object) -> frozenset[str]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return frozenset(item for item in items if isinstance(item, str))

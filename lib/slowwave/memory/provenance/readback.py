"""Which tool calls read the memory folder: what they show are echoes of memory, and no source of it.

Only calls that can show nothing else count as reading it: one file of another place among the operands, a program that
is no plain reader, or an address, and the output is a source like any other.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from slowwave.reading.harness import command_in

_READERS = frozenset(
    ("cat", "head", "tail", "less", "more", "bat", "nl", "tac", "grep", "egrep", "fgrep", "rg", "ag", "wc", "diff")
) | frozenset(("ls", "stat", "file", "sort", "uniq", "cut", "tr"))
_WITH_PATTERN = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "tr"})
_SILENT = frozenset({"cd", "pwd", "true", "clear"})
_STEP = re.compile(r"\s*(?:&&|\|\||;|\||\n)\s*")
_REDIRECT = re.compile(r"\d?(?:>>?|<)(?:&\d|\s*\S+)")
_PATHS = ("file_path", "path", "filePath", "notebook_path", "paths", "absolute_path", "dir_path")
_SEARCHES = frozenset({"grep", "rg", "search", "search_files", "grep_search"})
# where Claude Code and Cersei keep the memory of any project, under whatever name it had before it was moved
_CLIENTS_OWN = re.compile(r"/\.claude/projects/[^/]+/memory(?:/|$)")
_HEAD = re.compile(r"^==> (.+) <==$")


@dataclass(frozen=True, slots=True)
class MemoryPlaces:
    """Where a memory folder is and was.

    Attributes:
        folders: absolute paths.
        home: what ``~`` and ``$HOME`` stand for.
    """

    folders: tuple[str, ...]
    home: str

    def holds(self, path: str, cwd: str) -> bool:
        """Say whether a path as somebody wrote it lies in the memory folder."""
        for name in ("~", "$HOME", "${HOME}"):
            if path == name or path.startswith(f"{name}/"):
                path = self.home + path[len(name) :]
        full = os.path.normpath(os.path.join(cwd or "/", path))  # noqa: PTH118 - the paths of a transcript
        return any(full == f or full.startswith(f"{f}/") for f in self.folders) or bool(_CLIENTS_OWN.search(full))

    def shown_beside(self, tool: str, args: object, cwd: str, text: str) -> str:
        """Return what a call's output shows that is not the memory folder's own."""
        given = _mapping(args)
        line = command_in(tool, given)
        if line:
            return "" if self._only_reads(line, cwd) else self._without_found(text, cwd)
        named = [path for key in _PATHS for path in _strings(given.get(key))]
        if named and all(self.holds(path, cwd) for path in named):
            return ""
        return self._without_found(text, cwd) if tool.lower() in _SEARCHES else text

    def _only_reads(self, line: str, cwd: str) -> bool:
        found = False
        for step in _STEP.split(_REDIRECT.sub(" ", line).strip()):
            words = _words(step)
            if words and words[0] == "cd":
                cwd = os.path.normpath(os.path.join(cwd or "/", *self._moved(words[1:2])))  # noqa: PTH118 - as above
            elif words and words[0] not in _SILENT:
                operands = _operands(words)
                if operands is None or not all(self.holds(path, cwd) for path in operands):
                    return False
                found = found or bool(operands) or self.holds(".", cwd)
        return found

    def _moved(self, target: Sequence[str]) -> Sequence[str]:
        return [self.home + t[1:] if t == "~" or t.startswith("~/") else t for t in target]

    def _without_found(self, text: str, cwd: str) -> str:
        """Return what a search printed, without the lines that it found in the memory folder."""
        kept: list[str] = []
        inside = False
        for line in text.split("\n"):
            head = _HEAD.match(line)
            if head:
                inside = self.holds(head[1], cwd)
            path, colon, _ = line.partition(":")
            if not inside and not (colon and "/" in path and " " not in path and self.holds(path, cwd)):
                kept.append(line)
        return "\n".join(kept)


def _operands(words: Sequence[str]) -> list[str] | None:
    """Return the files that a plain reader names; None for another program."""
    program = words[0].rpartition("/")[2]
    if program == "sed" and "-n" in words:
        return [w for w in words[1:] if not w.startswith("-")][1:]
    if program not in _READERS:
        return None
    plain = [w for w in words[1:] if not w.startswith("-") and not w.isdigit()]
    return plain[1:] if program in _WITH_PATTERN else plain


def _words(step: str) -> list[str]:
    try:
        return shlex.split(step)
    except ValueError:
        return step.split()


def _mapping(args: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", args) if isinstance(args, dict) else {"input": args}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (one for one in cast("list[object]", value) if isinstance(one, str))

"""Reads raw records of any client by rules of its own: marks, calls and files; nothing of slowwave is used."""

import json
import os.path
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

MARK = re.compile(r"\bm\d+x\b")
_READERS = {"read", "read_file", "view_image"}
_CHANGERS = {"write", "edit", "multiedit", "write_file", "edit_file", "replace", "notebookedit"}
_LISTS = re.compile(r"<(read|modified)-files>\n(.*?)\n</\1-files>", re.DOTALL)
# a list ends where a line of its own says so; what a person typed like it stands in the middle
_END = re.compile(
    r"(?:\s*<(read|modified)-files>\n(?:(?!</?\w+-files>)[^\n]*\n)*</\1-files>)+(?:\s*</(?:context_)?summary>)?\s*\Z"
)
_RECENT = re.compile(r"\n*<recent-messages>\n.*?\n</recent-messages>", re.DOTALL)
_FAILED = re.compile(r'"exit_code":[1-9]|^Exit code: [1-9]')
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)


class Files(NamedTuple):
    """Files as absolute paths; what was changed is not in ``read``."""

    read: set[str]
    modified: set[str]


class Use(NamedTuple):
    """One call with its arguments, and what its first result said."""

    id: str
    tool: str
    arguments: Any
    output: str = ""
    failed: bool = False
    answered: bool = False


def records(raw: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of lines; what is none is left out."""
    for line in raw.split(b"\n"):
        try:
            value: object = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)


def strings(value: object) -> Iterator[str]:
    """Yield every text within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, object]", value).values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from strings(inner)


def marks(raw: bytes) -> set[str]:
    """Return the marks that stand anywhere in the records."""
    return {found for record in records(raw) for text in strings(record) for found in MARK.findall(text)}


def objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield every object within a value, itself included."""
    if isinstance(value, dict):
        yield cast("dict[str, Any]", value)
        for inner in cast("dict[str, object]", value).values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from objects(inner)


def uses(raw: bytes) -> list[Use]:
    """Return the calls of the records with their results, whatever client wrote them; each id once."""
    calls: dict[str, tuple[str, Any]] = {}
    results: dict[str, tuple[str, bool]] = {}
    for found in (found for record in records(raw) for found in objects(record)):
        kind = found.get("type")
        if kind in ("tool_use", "toolCall") and isinstance(found.get("name"), str):
            calls.setdefault(str(found.get("id")), (found["name"], found.get("input", found.get("arguments"))))
        elif kind in ("function_call", "custom_tool_call"):
            calls.setdefault(found["call_id"], (found["name"], decoded(found.get("arguments", found.get("input")))))
        elif kind == "function" and isinstance(found.get("function"), dict):
            calls.setdefault(found["id"], (found["function"]["name"], decoded(found["function"]["arguments"])))
        elif kind == "tool_result":
            results.setdefault(
                found["tool_use_id"], ("\n".join(strings(found.get("content"))), found.get("is_error") is True)
            )
        elif kind in ("function_call_output", "custom_tool_call_output"):
            results.setdefault(found["call_id"], ("\n".join(strings(found.get("output"))), False))
        elif found.get("role") in ("toolResult", "tool"):
            own = found.get("toolCallId", found.get("tool_call_id"))
            results.setdefault(str(own), ("\n".join(strings(found.get("content"))), found.get("isError") is True))
    return [
        Use(own, *call, *results[own], answered=True) if own in results else Use(own, *call)
        for own, call in calls.items()
    ]


def decoded(value: Any) -> Any:
    """Return what a text of JSON says; other values as they are."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def files(found: Iterable[Use], cwd: str) -> Files:
    """Return the files that tools for files, patches and the plainest shell lines touched; failed calls touch none."""
    read, modified = set[str](), set[str]()
    for use in found:
        tool, given = use.tool.lower(), cast("object", use.arguments)
        has_code = _FAILED.search(use.output[:9000]) is not None
        fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        words = str(fields.get("command", "")).split()
        if words[:1] == ["echo"] and ">" in words and not use.failed:
            modified.add(words[-1])  # opened before the line failed, if it did
        if use.failed or has_code:
            continue
        if tool in ("apply_patch", "patch"):
            modified |= {name for text in strings(use.arguments) for name in _PATCHED.findall(text)}
        else:
            path = next(
                (fields[k] for k in ("file_path", "path", "absolute_path", "notebook_path") if k in fields), None
            )
            if isinstance(path, str) and path:
                read |= {path} if tool in _READERS else set()
                modified |= {path} if tool in _CHANGERS else set()
            if words[:1] == ["cat"] and ">" not in words:
                read |= set(words[1:])
    found_read, found_modified = ({normal(path, cwd) for path in paths} for paths in (read, modified))
    return Files(found_read - found_modified, found_modified)


def normal(path: str, cwd: str) -> str:
    """Return the one spelling of a path."""
    return os.path.normpath(os.path.join(cwd, path)).casefold()  # noqa: PTH118 - texts, no files


def listed(summary: str, cwd: str) -> Files:
    """Return the lists at the end of a summary, whatever its client puts around it."""
    both: dict[str, set[str]] = {"read": set(), "modified": set()}
    end = _END.search(_RECENT.sub("", summary))
    for kind, lines in _LISTS.findall(end[0]) if end else ():
        both[kind] = {normal(line, cwd) for line in lines.split("\n") if line}
    return Files(both["read"], both["modified"])


def together(*every: Files) -> Files:
    """Return all files of several; what was changed anywhere was changed."""
    modified = {path for one in every for path in one.modified}
    return Files({path for one in every for path in one.read} - modified, modified)


def of_branches(raw: bytes, cwd: str) -> Files:
    """Return what the summaries of left branches among the records list."""
    told = [str(record["summary"]) for record in records(raw) if record.get("type") == "branch_summary"]
    return together(Files(set(), set()), *(listed(text, cwd) for text in told))


def ranges(paths: list[Path], places: Iterable[tuple[int, int, int]]) -> bytes:
    """Return the bytes of places (part, offset, length), each place a line or several."""
    whole = [path.read_bytes() for path in paths]
    return b"\n".join(whole[part][offset : offset + length] for part, offset, length in places)

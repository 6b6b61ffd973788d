"""Slowwave's entry among the hooks of a client: a change of somebody's JSON that leaves all other bytes alone."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from slowwave.errors import RefusedError, UnreadableError
from slowwave.memory.delivery.register import Hooked

EVENT = "PreToolUse"
_SECONDS = 5


def with_entry(data: bytes, matcher: str, wanted: str, path: Path) -> tuple[bytes, str]:
    """Return a file of hooks with the entry in it, and the text that was put in.

    Raises:
        RefusedError: it is not what a client writes there.
        UnreadableError: it is no JSON.
    """
    handler = {"type": "command", "command": wanted, "timeout": _SECONDS}
    entry = json.dumps({"matcher": matcher, "hooks": [handler]})
    if not data.strip():
        text = f'{{\n  "hooks": {{\n    "{EVENT}": [\n      {entry}\n    ]\n  }}\n}}\n'
        return data + text.encode(), text
    whole = _decoded(data, path)
    at, inside = whole.find("{"), f'"hooks": {{"{EVENT}": [{entry}]}}'
    for key, shell in (("hooks", f'"{EVENT}": [{entry}]'), (EVENT, entry)):
        found = [value for name, _, value, _ in _members(whole, at) if name == key]
        if not found:
            break
        opens = "{" if key == "hooks" else "["
        if len(found) > 1 or whole[found[0]] != opens:
            raise RefusedError(f'{path}: "{key}" is not what a client writes there; put the hook in by hand')
        at, inside = found[0], shell
    is_last = not list(_members(whole, at) if whole[at] == "{" else _elements(whole, at))
    text = f"\n{inside}" + ("" if is_last else ",")
    return (whole[: at + 1] + text + whole[at + 1 :]).encode("utf-8", "surrogateescape"), text


def without_entry(data: bytes, known: Hooked) -> bytes:
    """Return a file without the entry: without the very text that was put in, else without what holds the command."""
    text = known.text.encode()
    if text and data.count(text) == 1:
        return data.replace(text, b"")
    try:
        whole = _decoded(data, Path())
    except (UnreadableError, RefusedError):
        return data  # nothing of it can be told from a person's own
    place = _place_of(whole, json.dumps(known.command))
    return (_cut(whole, *place) if place else whole).encode("utf-8", "surrogateescape")


def _place_of(whole: str, own: str) -> tuple[int, int] | None:
    """Return where the entry with a command stands, with all around it that holds nothing else; None without one."""
    for name, key, value, end in _members(whole, whole.find("{")):
        events = list(_members(whole, value)) if name == "hooks" and whole[value] == "{" else []
        for event, event_key, at, event_end in events:
            entries = list(_elements(whole, at)) if event == EVENT and whole[at] == "[" else []
            for begin, stop in entries:
                if own not in whole[begin:stop] or whole.count('"command":', begin, stop) != 1:
                    continue
                if len(entries) > 1:
                    return begin, stop
                return (event_key, event_end) if len(events) > 1 else (key, end)
    return None


def _cut(whole: str, begin: int, end: int) -> str:
    """Return a JSON text without one of several values, and without the comma that parted it from the others."""
    before, behind = whole[:begin], whole[end:]
    if behind.lstrip().startswith(","):
        return before.rstrip() + behind.lstrip()[1:]
    if before.rstrip().endswith(","):
        return before.rstrip()[:-1] + behind
    return before + behind


def _decoded(data: bytes, path: Path) -> str:
    """Return a file as text, which is one JSON object.

    Raises:
        UnreadableError: it is none.
    """
    try:
        whole = data.decode("utf-8")
        is_object = isinstance(json.loads(whole), dict)
    except ValueError as error:
        raise UnreadableError(path, f"is not JSON ({error})", "fix it first; slowwave changes nothing in it") from error
    if not is_object:
        raise RefusedError(f"{path}: is not what a client writes there; put the hook in by hand")
    return whole


_decode: Callable[[str, int], tuple[object, int]] = json.JSONDecoder().raw_decode


def _members(whole: str, at: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield the members of an object of a JSON text: name, and where the name, the value and the end of it are."""
    at = _blank(whole, at + 1)
    while whole[at] != "}":
        name, end = _decode(whole, at)
        value = _blank(whole, _blank(whole, end) + 1)
        _, end = _decode(whole, value)
        yield cast("str", name), at, value, end
        at = _blank(whole, end)
        at = _blank(whole, at + 1) if whole[at] == "," else at


def _elements(whole: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield where the elements of an array of a JSON text begin and end."""
    at = _blank(whole, at + 1)
    while whole[at] != "]":
        _, end = _decode(whole, at)
        yield at, end
        at = _blank(whole, end)
        at = _blank(whole, at + 1) if whole[at] == "," else at


def _blank(whole: str, at: int) -> int:
    while whole[at] in " \t\r\n":
        at += 1
    return at

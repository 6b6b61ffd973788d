"""The files that a patch names: in the form of Codex, or as a unified diff of git."""

import re

_PATCHED = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+?)[ \t\r]*$|^\*\*\* Move to: (.+?)[ \t\r]*$", re.MULTILINE
)
_DIFFED = re.compile(r"^(?:---|\+\+\+) [ab]/([^\t\n]+)", re.MULTILINE)


def patched(text: str) -> list[str]:
    """Return the files that a patch of Codex adds, updates, deletes or moves, in order."""
    return [m[1] or m[2] for m in _PATCHED.finditer(text)]


def diffed(text: str) -> list[str]:
    """Return the files that a diff of git changes, in order, once."""
    return list(dict.fromkeys(m[1] for m in _DIFFED.finditer(text)))

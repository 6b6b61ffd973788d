"""What secrets are called in many languages, and what ties a value to its name: the words of ``nouns.txt``."""

from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("nouns.txt")


@cache
def words(head: str) -> tuple[str, ...]:
    """Return the words below a head of the file.

    Raises:
        KeyError: there is no such head.
    """
    return _blocks()[head]


@cache
def _blocks() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for block in _FILE.read_text(encoding="utf-8").split("\n["):
        head, _, lines = block.partition("]")
        every = ",".join(lines.split("\n")[1:]).split(",")
        found[head] = tuple(dict.fromkeys(word.strip() for word in every if word.strip()))
    return found

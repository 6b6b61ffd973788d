"""Reading the files of cases: blocks between empty lines, a head at the margin and indented lines below it."""

from collections.abc import Iterator
from pathlib import Path


def blocks(name: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words of each head of a file beside this one, with the lines below it."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    for block in text.split("\n\n"):
        head, *lines = [line for line in block.splitlines() if line and not line.startswith("#")] or [""]
        if head:
            yield head.split(), [line.strip() for line in lines]


def values(line: str) -> list[str]:
    """Return what a line lists between bars."""
    return [value.strip() for value in line.split(" | ")]

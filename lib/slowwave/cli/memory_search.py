"""``slowwave memory search``: the memories that fit some words best, and lines of others among them."""

import argparse
import os
from typing import Any

import msgspec

from slowwave.cli.memory_facts import row_of
from slowwave.cli.output import counted, dim, harmless, say, say_json, screen_width, wrapped
from slowwave.cli.parser import settings_of
from slowwave.errors import DONE
from slowwave.memory.book import Book, Memory, read_book, standing_of
from slowwave.memory.folder import MemoryFolder
from slowwave.memory.search import Line, lines_of_others, search_memories
from slowwave.observability.lessons import short_names
from slowwave.secrets.redactor import redactor_of

# in the place of a percentage
_NOT_WEIGHED = "--"


def find(args: argparse.Namespace) -> int:
    """Print what fits the words best, the best first; of a line of others whose it is."""
    settings = settings_of(args)
    redact = redactor_of(settings, os.environ, create=False)
    every: list[tuple[Memory | Line, tuple[MemoryFolder, Book]]] = []
    for folder in args.folders:
        book = read_book(folder.path)
        every += [(memory, (folder, book)) for memory in book.active]
        every += [(line, (folder, book)) for line in lines_of_others(folder.path, redact)]
    found = search_memories(every, " ".join(args.query), args.limit)
    if args.json:
        for one in found:
            (folder, book), what = one.of, one.what
            standing = standing_of(book, settings.consolidation.half_lives)
            row = _row(folder, what) if isinstance(what, Line) else row_of(folder, what, standing=standing)
            say_json([{"score": float(f"{one.score:.6g}"), **row}])
        return DONE
    names = short_names(folder.project for folder in args.folders)
    for one in found:
        first = f"{one.score:6.2f}  {_facts(one.what)}  "
        text = f"{one.what.text} [{names[one.of[0].project]}]"
        for shown in wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=dim):
            say(shown)
    lines = sum(isinstance(what, Line) for what, _ in every)
    among = counted(len(every) - lines, "memory", "memories")
    if lines:
        among = f"{len(every)}: {among} and {counted(lines, 'line')} of others"
    say(f"{len(found)} of {among}")
    return DONE


def _facts(what: Memory | Line) -> str:
    if isinstance(what, Line):
        return f"{what.id}  {_NOT_WEIGHED:>4}  {harmless(what.whose):<10}"
    return f"{what.id}  {what.confidence:>4.0%}  {what.category:<10}"


def _row(folder: MemoryFolder, line: Line) -> dict[str, Any]:
    """Return a line of others as a row like those of memories, as ``memory list --foreign`` has them."""
    return {
        "id": line.id,
        "category": None,
        "text": line.text,
        "confidence": None,
        "file": str(folder.path / line.file) if line.file else None,
        "status": "foreign" if line.file else "shared",
        "project": folder.project,
        "written_by": line.whose,
        "source": msgspec.to_builtins(line.source) if line.source else None,
    }

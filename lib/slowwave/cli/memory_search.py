"""``slowwave memory search``: the memories that fit some words best."""

import argparse

from slowwave.cli.memory_facts import row_of
from slowwave.cli.options import settings_of
from slowwave.cli.output import counted, dim, say, say_json, screen_width, wrapped
from slowwave.errors import DONE
from slowwave.memory.book import read_book
from slowwave.memory.search import search_memories
from slowwave.memory.standing import standing_of
from slowwave.observability.learned import short_names


def find(args: argparse.Namespace) -> int:
    """Print the memories that fit the words best, the best first."""
    half_lives = settings_of(args).consolidation.half_lives
    books = [(folder, read_book(folder.path)) for folder in args.folders]
    every = [(memory, (folder, book)) for folder, book in books for memory in book.active]
    found = search_memories(every, " ".join(args.query), args.limit)
    if args.json:
        for one in found:
            folder, book = one.of
            row = row_of(folder, one.memory, standing=standing_of(book, half_lives))
            say_json([{"score": float(f"{one.score:.6g}"), **row}])
        return DONE
    names = short_names(folder.project for folder in args.folders)
    for one in found:
        memory, (folder, _) = one.memory, one.of
        first = f"{one.score:6.2f}  {memory.id}  {memory.confidence:>4.0%}  {memory.category:<10}  "
        text = f"{memory.text} [{names[folder.project]}]"
        for line in wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=dim):
            say(line)
    say(f"{len(found)} of {counted(len(every), 'memory', 'memories')}")
    return DONE

"""``slowwave memory search``: the memories that fit some words best."""

import argparse

from slowwave.cli.memory_facts import row_of
from slowwave.cli.options import settings_of
from slowwave.cli.output import harmless, say, say_json
from slowwave.errors import DONE
from slowwave.memory.book import read_book, standing_of
from slowwave.memory.search import search_memories


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
    for one in found:
        memory, (folder, _) = one.memory, one.of
        facts = f"{memory.id}  {memory.confidence:>4.0%}  {memory.category:<10}"
        say(f"{one.score:6.2f}  {facts}  {harmless(memory.text)}  [{folder.project}]")
    say(f"{len(found)} of {len(every)} memories")
    return DONE

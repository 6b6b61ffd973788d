"""``slowwave memory export``: one project's memory for other programs, and for agents that read ``AGENTS.md``."""

import argparse
from pathlib import Path

from slowwave.cli.memory_facts import row_of
from slowwave.cli.memory_folders import MemoryFolder
from slowwave.cli.options import settings_of
from slowwave.cli.output import say, say_json, warn
from slowwave.consolidation.facts import doubts_of
from slowwave.errors import DONE, NotFoundError, UnreadableError, UsageError
from slowwave.files import atomic_write
from slowwave.memory.book import read_book, standing_of
from slowwave.memory.delivery.sections import section_of, with_section
from slowwave.memory.folder import read_or_none
from slowwave.memory.foreign import warning
from slowwave.memory.index import best_lines
from slowwave.memory.pages import target_of
from slowwave.models.meter import bytes_of

VERSION = 1
BESIDE = "check this: a tool's output brought the same into"


def show_export(args: argparse.Namespace) -> int:
    """Print one project's memory as JSON or as a section of Markdown, or put that section into a file."""
    folder = _the_only(args.folders)
    book = read_book(folder.path)
    standing = standing_of(book, settings_of(args).consolidation.half_lives)
    doubts = doubts_of(folder.path)
    warned = {m.id: f"{BESIDE} {line.file}" for m in book.memories.values() if (line := doubts.has(m.text))}
    if doubts.number:
        warn(f"{folder.project}: {warning(doubts.number)}; none of them is exported")
    if args.format == "json":
        if args.into:
            raise UsageError("--into takes a section: use it with --format agents")
        rows = [
            row_of(folder, m, standing=standing) | ({"warning": warned[m.id]} if m.id in warned else {})
            for m in book.memories.values()
            if args.all or (m.status == "active" and not m.is_retraction)
        ]
        # one object, unlike the list: what is exported is read as a whole
        say_json([{"version": VERSION, "project": folder.project, "memory": str(folder.path), "memories": rows}])
        return DONE
    lines = section_of(book.own, standing, warned)
    if not args.into:
        say("\n".join(lines))
        return DONE
    changed = _put(args.into, lines)
    say(f"{args.into}: {'updated' if changed else 'is up to date'}, {len(book.own)} memories.")
    return DONE


def show_context(args: argparse.Namespace) -> int:
    """Print what is worth most of one project's memory, whoever wrote it, within a number of tokens."""
    folder = _the_only(args.folders)
    book = read_book(folder.path)
    doubts = doubts_of(folder.path)
    memories = [m for m in book.active if not (m.stands and target_of(m.line)) and not doubts.has(m.text)]
    standing = standing_of(book, settings_of(args).consolidation.half_lives)
    lines = best_lines(memories, standing, bytes_of(args.tokens))
    if args.json:
        shown = sum(not line.startswith("#") for line in lines)
        say_json([{"project": folder.project, "lines": lines, "shown": shown, "memories": len(memories)}])
    else:
        say("\n".join(lines) or "Nothing is remembered that fits.")
    return DONE


def _the_only(folders: list[MemoryFolder]) -> MemoryFolder:
    own = [folder for folder in folders if not folder.is_global]
    if not own:
        raise NotFoundError("no memory folder; slowwave run nightly makes one")
    if len(own) > 1:
        raise UsageError(
            f"{len(own)} projects match; choose one with --project: {', '.join(f.project for f in own[:5])}"
        )
    return own[0]


def _put(path: Path, lines: list[str]) -> bool:
    """Put the section into a file; return whether that changed it. A link is followed, what it points at is changed."""
    target = path.expanduser().resolve()
    if not target.parent.is_dir():
        raise UnreadableError(target.parent, "does not exist", "name a file in a folder that does")
    old = read_or_none(target)
    new = with_section(old or b"", lines, target)
    if new == old:
        return False
    # a file of its own is for everybody who works in the repository, as one that an editor makes
    atomic_write(target, new, mode=None if old is not None else 0o644)
    return True

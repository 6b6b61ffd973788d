"""``slowwave memory diff|undo``: what a dream changed, and taking it back."""

import argparse

import msgspec

from slowwave.cli.memory_folders import MemoryFolder, bring, the_one
from slowwave.cli.options import settings_of
from slowwave.cli.output import say, say_json
from slowwave.clock import SystemClock
from slowwave.consolidation.lock import held
from slowwave.errors import DONE
from slowwave.memory.book import read_book
from slowwave.memory.difference import difference
from slowwave.memory.stage import read_manifest
from slowwave.memory.undo import undo


def show_diff(args: argparse.Namespace) -> int:
    """Print what a dream changed, file by file."""
    folder, manifest = the_one(args.folders, f"dream {args.dream}", lambda f: read_manifest(f.path, args.dream))
    text = difference(folder.path, args.dream)
    if args.json:
        files = {name: {"before": was, "after": now} for name, (was, now) in manifest.files.items()}
        say_json([{"dream": args.dream, "memory": str(folder.path), "files": files, "diff": text}])
    else:
        say(text.removesuffix("\n"))
    return DONE


def take_back(args: argparse.Namespace) -> int:
    """Undo a dream and all later ones."""

    def has(folder: MemoryFolder) -> bool:
        book = read_book(folder.path)
        return args.dream in book.dreams or args.dream in book.undone_dreams

    folder, _ = the_one(args.folders, f"dream {args.dream}", has)
    with held(folder.path, settings_of(args).consolidation.lock_stale):
        undone = undo(folder.path, args.dream, SystemClock().now(), force=args.force)
    bring(folder, settings_of(args))
    if args.json:
        say_json([{**msgspec.to_builtins(undone), "memory": str(folder.path)}])
        return DONE
    later = f", and with it the later {', '.join(undone.dreams[:-1])}" if len(undone.dreams) > 1 else ""
    say(f"Undone: {args.dream}{later}. Restored in {folder.path}: {', '.join(undone.files) or 'nothing'}.")
    if undone.edited:
        say(f"Your version of {', '.join(undone.edited)}: {folder.path}/.slowwave/undo/{undone.id}/edited/")
    return DONE

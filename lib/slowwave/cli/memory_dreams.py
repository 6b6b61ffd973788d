"""``slowwave memory diff|undo``: what a dream changed, and taking it back."""

import argparse
import os

from slowwave.cli.memory_folders import the_one
from slowwave.cli.options import settings_of
from slowwave.cli.output import say, say_json, warn
from slowwave.clock import SystemClock
from slowwave.errors import DONE
from slowwave.jobs.review import Desk
from slowwave.memory.transaction import read_manifest
from slowwave.memory.undo import difference


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
    """Undo a dream and all later ones, or what was decided in review."""
    undone = Desk(args.folders, settings_of(args), os.environ, SystemClock()).take_back(args.dream, force=args.force)
    for warning in undone.warnings:
        warn(warning)
    if args.json:
        say_json([undone])
    else:
        say(undone.text)
    return DONE

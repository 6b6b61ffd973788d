"""``slowwave memory review``: the dreams that wait for a person."""

import argparse

import msgspec

from slowwave.cli.memory_folders import MemoryFolder, the_one
from slowwave.cli.options import settings_of
from slowwave.cli.output import say, say_json
from slowwave.clock import SystemClock
from slowwave.consolidation.review import Parked, accept, parked_dreams, reject
from slowwave.errors import DONE, PARKED


def show_review(args: argparse.Namespace) -> int:
    """Print the dreams that wait, code 5 when there are any; or accept or reject one."""
    if args.accept:
        folder, _ = the_one(args.folders, f"parked dream {args.accept}", lambda f: _parked(f, args.accept))
        plan = accept(folder.path, args.accept, settings_of(args).consolidation, SystemClock().now())
        return _told(args, {"accepted": args.accept, "dream": plan.id}, f"Applied as dream {plan.id}.")
    if args.reject:
        folder, _ = the_one(args.folders, f"parked dream {args.reject}", lambda f: _parked(f, args.reject))
        refused = reject(folder.path, args.reject, SystemClock().now())
        text = f"Rejected: {len(refused)} candidates are not taken again."
        return _told(args, {"rejected": args.reject, "candidates": list(refused)}, text)
    waiting = [(folder, parked) for folder in args.folders for parked in parked_dreams(folder.path)]
    for folder, parked in waiting:
        if args.json:
            say_json([{**msgspec.to_builtins(parked), "project": folder.project}])
        else:
            _show(folder, parked)
    if not waiting and not args.json:
        say("No dream waits for review.")
    return PARKED if waiting else DONE


def _parked(folder: MemoryFolder, dream: str) -> Parked | None:
    return next((p for p in parked_dreams(folder.path) if p.id == dream), None)


def _show(folder: MemoryFolder, parked: Parked) -> None:
    say(f"{parked.id}  {folder.project}: {parked.reason}")
    for operation in parked.operations:
        if operation.action not in {"KEEP", "WAIT"}:
            what = operation.memory or ", ".join(operation.candidates)
            say(f"  {operation.action:<9} {what}  {operation.reason}")
    say(f"  slowwave memory review --accept {parked.id} | --reject {parked.id}")


def _told(args: argparse.Namespace, data: dict[str, object], text: str) -> int:
    if args.json:
        say_json([data])
    else:
        say(text)
    return DONE

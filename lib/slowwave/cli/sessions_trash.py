"""``slowwave sessions rm`` and ``restore``: removal through the trash, and back."""

import argparse
import os
from collections.abc import Callable

from slowwave.cli.options import settings_of
from slowwave.cli.output import counted, say, say_json, warn
from slowwave.cli.sessions_target import chosen_session
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, SlowwaveError, UsageError
from slowwave.stores.removal import plan_removal, remove
from slowwave.stores.trash import TrashItem, matching_items, restore, trash_folder, trash_items


def rm(args: argparse.Namespace) -> int:
    """Move sessions into the trash; all of them are looked up before the first one moves."""
    settings_of(args)
    found = {session.path: session for session in (chosen_session(args, name) for name in args.ids)}
    plans = [plan_removal(session, os.environ, SystemClock()) for session in found.values()]
    forms: list[dict[str, object]] = []
    for plan in plans:
        trash_id = None if args.dry_run else remove(plan, trash_folder(os.environ), SystemClock()).id
        parts = len(plan.session.files)
        forms.append({"id": plan.session.id, "parts": parts, "paths": [str(p) for p in plan.paths], "trash": trash_id})
        if not args.json:
            verb = "would move" if args.dry_run else "moved"
            say(f"{verb} session {plan.session.id} ({counted(parts, 'part')}) to the trash")
    if args.json:
        say_json(forms)
    elif not args.dry_run:
        say("bring back with: slowwave sessions restore " + " ".join(plan.session.id for plan in plans))
    return DONE


def bring_back(args: argparse.Namespace) -> int:
    """Restore sessions, or list the trash when none is named; one that cannot come back does not stop the others."""
    settings_of(args)
    trash = trash_folder(os.environ)
    if args.all and args.ids:
        raise UsageError("write either ids or --all, not both")
    if not args.all and not args.ids:
        _list(trash_items(trash), as_json=args.json)
        return DONE
    items = trash_items(trash) if args.all else matching_items(trash, args.ids)
    failed: list[SlowwaveError] = []
    for item in items:
        try:
            warnings = restore(item, trash)
        except SlowwaveError as error:
            failed.append(error)
            warn(str(error))
            continue
        for warning in warnings:
            warn(warning)
        if args.json:
            say_json([{"id": item.session, "trash": item.id, "paths": [file.path for file in item.files]}])
        else:
            say(f"restored session {item.session} ({counted(len(item.files), 'file')})")
    if not items and not args.json:
        say("the trash is empty: nothing to restore")
    if not failed:
        return DONE
    return failed[0].exit_code if len(items) == 1 else PARTLY_FAILED


def _list(items: list[TrashItem], *, as_json: bool) -> None:
    if as_json:
        say_json(
            [{"id": i.session, "trash": i.id, "at": i.at, "reason": i.reason, "files": len(i.files)} for i in items]
        )
        return
    for item in items:
        when = item.at[:16].replace("T", " ")
        say(f"{item.session}  {when}  {item.dialect}  {counted(len(item.files), 'file')}  {item.reason}")
    say(f"{len(items)} in the trash" if items else "the trash is empty")


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"rm": rm, "restore": bring_back}

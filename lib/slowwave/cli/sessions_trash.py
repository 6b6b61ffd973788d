"""``slowwave sessions rm`` and ``restore``: removal through the trash, and back."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.cli.options import settings_of
from slowwave.cli.output import counted, say, say_json, warn
from slowwave.cli.sessions_target import chosen_session
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, NotFoundError, RefusedError, SlowwaveError, UsageError
from slowwave.places import archive_folder
from slowwave.retention.manual import bring_back, bring_back_as, refuse_held, remove_by_hand
from slowwave.stores.removal import plan_removal
from slowwave.stores.trash import TrashedFile, TrashItem, matching_items, trash_folder, trash_items

if TYPE_CHECKING:
    from slowwave.stores.archive.pack import PackedFile
    from slowwave.stores.archive.shelf import Shelved


def rm(args: argparse.Namespace) -> int:
    """Move sessions into the trash; all of them are looked up, and must not be held, before the first one moves."""
    settings = settings_of(args)
    found = {session.path: session for session in (chosen_session(args, name) for name in args.ids)}
    plans = [plan_removal(session, os.environ, SystemClock()) for session in found.values()]
    refuse_held(plans, settings, os.environ)
    forms: list[dict[str, object]] = []
    for plan in plans:
        trash_id = None if args.dry_run else remove_by_hand(plan, os.environ, SystemClock()).id
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


def restore(args: argparse.Namespace) -> int:
    """Restore sessions, or list the trash when none is named; one that cannot come back does not stop the others."""
    settings_of(args)
    trash = trash_folder(os.environ)
    if args.all and args.ids:
        raise UsageError("write either ids or --all, not both")
    if not args.all and not args.ids:
        _list(trash_items(trash), as_json=args.json)
        return DONE
    if args.new_id:
        return _restore_as(args)
    items = _meant(trash, args)
    failed: list[SlowwaveError] = []
    for item in items:
        try:
            warnings = bring_back(item, os.environ, SystemClock())
        except SlowwaveError as error:
            failed.append(error)
            warn(str(error))
            continue
        for warning in warnings:
            warn(warning)
        form, session, files = _told(item)
        if args.json:
            say_json([form | {"paths": [file.path for file in files]}])
        else:
            say(f"restored session {session} ({counted(len(files), 'file')})")
    if not items and not args.json:
        say("the trash is empty: nothing to restore")
    if not failed:
        return DONE
    return failed[0].exit_code if len(items) == 1 else PARTLY_FAILED


def _restore_as(args: argparse.Namespace) -> int:
    """Restore the transcript of one session under a new id, beside what lies in its place."""
    from slowwave.cli.sessions_write import writers_for  # noqa: PLC0415 - only here
    from slowwave.stores.roots import found_sessions  # noqa: PLC0415 - as above

    if args.all or len(args.ids) != 1:
        raise UsageError("--as gives one session one new id: write the id of one session")
    found = found_sessions(settings_of(args), os.environ, [])
    if any(session.id == args.new_id for session in found):
        raise UsageError(f"{args.new_id}: there is such a session already; nothing was written")
    one = copy_of(args.ids[0])
    if one is None:
        raise NotFoundError(f"neither trash nor archive has a copy of {args.ids[0]!r}")
    paths = bring_back_as(one, args.new_id, writers_for(args), os.environ, SystemClock())
    form, session, _ = _told(one)
    if args.json:
        say_json([form | {"as": args.new_id, "paths": [str(path) for path in paths]}])
    else:
        say(f"restored the transcript of session {session} as {args.new_id}; its copy stays where it is")
        say(f"compare them: slowwave sessions diff {session} {args.new_id}")
    return DONE


def copy_of(name: str) -> "TrashItem | Shelved | None":
    """Return the copy of a session that was put by last: in the trash, else in the archive; None where there is none.

    Raises:
        RefusedError: a beginning fits more than one session.
    """
    try:
        return matching_items(trash_folder(os.environ), [name])[-1]
    except NotFoundError:
        return _archived(name)


def _meant(trash: Path, args: argparse.Namespace) -> "list[TrashItem | Shelved]":
    """Return what is to come back: from the trash, else from the archive.

    Raises:
        NotFoundError: nothing in either is called so.
        RefusedError: a beginning fits more than one session.
    """
    if args.all:
        return [*trash_items(trash)]
    items: dict[str, TrashItem | Shelved] = {}
    for name in args.ids:
        try:
            items.update((item.id, item) for item in matching_items(trash, [name]))
        except NotFoundError as error:
            one = _archived(name)
            if one is None:
                raise error from None
            items[f"{one.pack}#{one.session.id}"] = one
    return list(items.values())


def _archived(name: str) -> "Shelved | None":
    """Return the archived session that is meant, as it was when it was archived last."""
    folder = archive_folder(os.environ)
    if not name or not folder.is_dir():
        return None
    from slowwave.stores.archive.shelf import Shelf, ids_of  # noqa: PLC0415 - few sessions are archived

    shelf = Shelf(folder)
    found = shelf.find(name)
    if not found:
        found = [one for one in shelf.latest() if any(one_id.startswith(name) for one_id in ids_of(one.session))]
        if len(found) > 1:
            ids = ", ".join(sorted(one.session.id for one in found)[:5])
            raise RefusedError(f"{name!r} matches {len(found)} archived sessions: {ids}")
    for problem in shelf.problems:
        warn(str(problem))
    places = {one.session.files[-1].path for one in found if one.session.files}
    if len(places) > 1:
        raise RefusedError(f"{name!r} matches {len(places)} archived sessions: {', '.join(sorted(places)[:5])}")
    return found[0] if found else None


def _told(item: "TrashItem | Shelved") -> "tuple[dict[str, object], str, Sequence[TrashedFile | PackedFile]]":
    if isinstance(item, TrashItem):
        return {"id": item.session, "trash": item.id}, item.session, item.files
    return {"id": item.session.id, "archive": str(item.pack)}, item.session.id, item.session.files


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


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"rm": rm, "restore": restore}

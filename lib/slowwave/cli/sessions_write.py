"""``slowwave sessions append``, ``tombstone`` and ``fork``."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from slowwave.cli.options import settings_of
from slowwave.cli.output import say, say_json
from slowwave.cli.sessions_target import chosen_session
from slowwave.errors import DONE, NotFoundError, UsageError
from slowwave.places import home_folder
from slowwave.stores.ids import checked_id, found_sessions
from slowwave.stores.places import new_session_folder
from slowwave.stores.sessions import Sessions
from slowwave.stores.walk import SUFFIX, FoundSession


def append(args: argparse.Namespace) -> int:
    """Add one message to a session, or begin a new one with it."""
    text = sys.stdin.read() if args.text == "-" else args.text
    if not text.strip():
        raise UsageError("the message is empty: write its text, or - to read it from standard input")
    session_id, sessions = _target(args)
    if args.role == "user":
        made = sessions.write_user_message(session_id, text, parent=args.parent)
    else:
        made = sessions.write_assistant_message(session_id, text, args.parent)
    path = sessions.find(session_id, exactly=True).path
    if args.json:
        say_json([{"session": session_id, "uuid": made, "path": path}])
    else:
        say(made)
    return DONE


def _target(args: argparse.Namespace) -> tuple[str, Sessions]:
    """Return the session that is meant, which is a new one when no session has this id."""
    try:
        found = chosen_session(args, args.id) if os.sep in args.id or args.id.endswith(SUFFIX) else _known(args)
    except NotFoundError:
        found = None
    if found is not None:
        return found.id, _sessions(args, Path(found.folder), "")
    cwd = (args.cwd or Path.cwd()).expanduser().absolute()
    folder = new_session_folder(settings_of(args), os.environ, cwd)
    return checked_id(args.id), _sessions(args, folder, os.fspath(cwd))


def _known(args: argparse.Namespace) -> FoundSession | None:
    """Return the session with exactly this id: a beginning could as well be a new id."""
    settings = settings_of(args)
    if any(not root.exists() for root in settings.store.roots):
        return None
    try:
        sessions = [s for s in found_sessions(settings, os.environ, []) if s.id == args.id]
    except NotFoundError:
        return None
    if len(sessions) > 1:
        raise UsageError(f"{args.id!r} is in {len(sessions)} folders; name its file: {sessions[0].path}")
    return sessions[0] if sessions else None


def tombstone(args: argparse.Namespace) -> int:
    """Hide one message of a session."""
    found = chosen_session(args, args.id)
    sessions = _sessions(args, Path(found.folder), "")
    if not any(message.id == args.uuid for message in sessions.transcript(found.id).messages):
        raise NotFoundError(f"session {found.id} shows no message {args.uuid!r}; `slowwave sessions show` names them")
    sessions.tombstone(found.id, args.uuid)
    if args.json:
        say_json([{"session": found.id, "deleted_uuid": args.uuid}])
    else:
        say(f"hidden: {args.uuid}")
    return DONE


def fork(args: argparse.Namespace) -> int:
    """Copy a session under a new id."""
    found = chosen_session(args, args.id)
    sessions = _sessions(args, Path(found.folder), "")
    made = sessions.fork(found.id)
    if args.json:
        say_json([{"session": made, "from": found.id, "path": sessions.find(made, exactly=True).path}])
    else:
        say(made)
    return DONE


def _sessions(args: argparse.Namespace, folder: Path, cwd: str) -> Sessions:
    settings = settings_of(args)
    return Sessions(
        folder,
        getattr(args, "dialect", "cersei"),
        part_bytes=settings.store.part_bytes,
        cwd=cwd,
        home=home_folder(os.environ),
        fsync=settings.store.fsync,
    )


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"append": append, "tombstone": tombstone, "fork": fork}

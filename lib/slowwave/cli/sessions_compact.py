"""``slowwave sessions compact`` without a summary, and ``uncompact``."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from slowwave.cli.options import settings_of
from slowwave.cli.output import say, say_json
from slowwave.cli.sessions_target import chosen_session, opened
from slowwave.clock import SystemClock
from slowwave.compaction.job.book import folder_of
from slowwave.compaction.job.by_hand import compact_one
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.summary import by_ledger
from slowwave.compaction.job.undoing import undo
from slowwave.errors import DONE
from slowwave.places import home_folder
from slowwave.report import Report
from slowwave.secrets.key import redactor_of
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import FoundSession


def compact(args: argparse.Namespace) -> int:
    """Append a compaction whose summary is the ledger of what goes away, whether the session is large or not."""
    settings, session = settings_of(args), stored_session(chosen_session(args, args.id))
    run = Compacting(
        "",
        settings,
        SystemClock(),
        os.environ,
        by_ledger,
        lambda _session: Report("extract"),
        "by-hand",
        force=True,
        dry_run=args.dry_run,
        redact=redactor_of(settings, os.environ, create=not args.dry_run),
    )
    draft, done = compact_one(session, run)
    fields = {
        "session": session.id,
        "uuid": done.message if done else "",
        "path": os.fspath(session.files.paths[0]),
        "plan": draft.reason,
        "summary": draft.summary.text,
        **({"compaction": done.id} if done else {}),
    }
    if args.json:
        say_json([fields])
    else:
        say(draft.reason)
        say(f"compacted: {done.id}" if done else draft.summary.text)
    return DONE


def uncompact(args: argparse.Namespace) -> int:
    """Take the last compaction of slowwave's back."""
    session = stored_session(chosen_session(args, args.id))
    done = undo(session, folder_of(os.environ), home_folder(os.environ))
    size = done.after - (done.before or 0)
    if args.json:
        say_json([{"session": session.id, "compaction": done.id, "path": done.path, "bytes": size}])
    else:
        say(f"taken back: {done.id}, {size:,} bytes of {done.path}")
    return DONE


def stored_session(found: FoundSession) -> StoredSession:
    """Return a session as jobs know it.

    Raises:
        UnreadableError: it cannot be read, or no dialect recognises it.
    """
    dialect, files = opened(found)
    kind = "subagent" if found.side else "main"
    return StoredSession(
        dialect.name, files, kind, Path(found.folder), found.size, found.mtime_ns, found.source, found.in_database
    )


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"uncompact": uncompact}

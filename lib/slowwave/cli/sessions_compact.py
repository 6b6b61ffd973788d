"""``slowwave sessions compact`` without a summary, ``prune`` and ``uncompact``."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from slowwave.cli.options import settings_of
from slowwave.cli.output import say, say_json, warn
from slowwave.cli.sessions_target import chosen_session, opened
from slowwave.clock import SystemClock
from slowwave.compaction.job.book import Appended, folder_of
from slowwave.compaction.job.recovery import undo
from slowwave.compaction.job.run import Compacting
from slowwave.compaction.job.story import compact_one, prune_one
from slowwave.errors import DONE, UsageError
from slowwave.places import home_folder
from slowwave.settings import Settings
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import FoundSession


def compact(args: argparse.Namespace) -> int:
    """Append a compaction that is planned and summarised here, whether the session is large or not; memories first."""
    session = stored_session(chosen_session(args, args.id))
    run = _run(args, session)
    draft, done = compact_one(session, run)
    told = {"plan": draft.reason, "summary": draft.summary.text, "notes": list(draft.summary.notes)}
    if args.json:
        say_json([_fields(session, done) | told | {"warnings": run.report.warnings}])
    else:
        say(draft.reason)
        say(f"compacted: {done.id}" if done else draft.summary.text)
        _tell(run, draft.summary.notes)
    return DONE


def prune(args: argparse.Namespace) -> int:
    """Clear old outputs of tools by an overlay; every word stays."""
    session = stored_session(chosen_session(args, args.id))
    run = _run(args, session)
    clearing, done = prune_one(session, run)
    if args.json:
        calls = {"plan": clearing.reason, "calls": sorted(clearing.calls), "tokens_freed": clearing.freed}
        say_json([_fields(session, done) | calls | {"warnings": run.report.warnings}])
    else:
        say(clearing.reason)
        if done:
            say(f"pruned: {done.id} (slowwave sessions uncompact {session.id} takes it back)")
        _tell(run)
    return DONE


def summary_of_branch(args: argparse.Namespace, found: FoundSession) -> str:
    """Return what is left behind when a session goes on from an older message."""
    from slowwave.compaction.job.draft import branch_summary  # noqa: PLC0415 - of one command

    session = stored_session(found)
    return branch_summary(session, args.from_message, _run(args, session))


def _run(args: argparse.Namespace, session: StoredSession) -> Compacting:
    from slowwave.jobs.compacting import by_hand  # noqa: PLC0415 - uncompact needs no projects
    from slowwave.jobs.run import Run, new_run_id  # noqa: PLC0415 - as above

    settings, clock = settings_of(args), SystemClock()
    if focus := getattr(args, "focus", ""):
        settings = focused(settings, focus)
    return by_hand(
        session,
        Run(new_run_id(clock), settings, clock, os.environ, force=True, dry_run=getattr(args, "dry_run", False)),
    )


def focused(settings: Settings, focus: str) -> Settings:
    """Return settings in which a model's narrative looks at something above all.

    Raises:
        UsageError: no model tells one.
    """
    if not settings.model.is_set or settings.compaction.model == "off":
        raise UsageError(
            "--focus is for a model's summary, and no model is set (model.base_url and model.name, or model.command)"
        )
    return replace(settings, compaction=replace(settings.compaction, focus=focus))


def _fields(session: StoredSession, done: Appended | None) -> dict[str, object]:
    fields: dict[str, object] = {
        "session": session.id,
        "uuid": done.message if done else "",
        "path": os.fspath(session.files.paths[0]),
    }
    return fields | ({"compaction": done.id} if done else {})


def _tell(run: Compacting, notes: Sequence[str] = ()) -> None:
    for line in notes:
        say(line)
    for line in run.report.warnings:
        warn(line)


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


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"prune": prune, "uncompact": uncompact}

"""``slowwave sessions append``, ``tombstone``, ``compact``, ``branch``, ``label``, ``name`` and ``fork``."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from slowwave.cli.options import settings_of
from slowwave.cli.output import say, say_json, warn
from slowwave.cli.sessions_target import chosen_session, opened, path_of, refuse_archived
from slowwave.clock import SystemClock
from slowwave.errors import DONE, NotFoundError, UsageError
from slowwave.formats.append import SUFFIX, numbered_parts, session_stem
from slowwave.places import archive_folder, home_folder
from slowwave.stores.roots import found_sessions, meant_session
from slowwave.stores.walk import FoundSession
from slowwave.stores.writing.base import Compaction, Draft, Means, Target, checked, unknown
from slowwave.stores.writing.registry import Opened, Writers, folder_for, held

_BYTES_PER_TOKEN = 4


def append(args: argparse.Namespace) -> int:
    """Add one message to a session, or begin a new one with it."""
    drafts = [Draft(args.role, _text(args.text, "message"), args.parent, args.call or "", args.tool)]
    if args.role == "tool" and not args.call:
        raise UsageError("a tool's result answers a call: name it with --call ID")
    if args.answer is not None:
        drafts.append(Draft("assistant", _text(args.answer, "answer")))
    checked(drafts)
    target = _target(args)
    with held(target) as (writer, session):
        made = [writer.message(session, drafts[0])]
        # what Cersei's write_assistant_message is given; the other clients take the last message by themselves
        answered = made[0] if writer.dialect == "cersei" else None
        made += [writer.message(session, draft._replace(parent=answered)) for draft in drafts[1:]]
    if writer.dialect == "cersei":
        _tell_size(session, settings_of(args).store.warn_bytes)
    if not session.files and not session.path.exists():
        raise UsageError(
            f"{session.id}: {writer.dialect} keeps no session without an answer; nothing was written, give --answer too"
        )
    return _say(
        args,
        {"session": session.id, "uuid": made[-1], "path": os.fspath(session.path)},
        "\n".join(made) if all(made) else f"added to {session.id}",
    )


def _tell_size(session: Target, most: int) -> None:
    """Warn when a session of Cersei has become larger than Cersei loads."""
    names = numbered_parts(session.path.with_name(session_stem(session.path.name)[0] + SUFFIX)).values()
    size = sum(session.path.with_name(name).stat().st_size for name in names)
    if size > most:
        warn(f"{session.id}: has {size:,} bytes over all parts, and Cersei itself refuses to load more than {most:,}")


def _target(args: argparse.Namespace) -> Opened:
    """Return the session that is meant, which is a new one when no session has this id."""
    path = path_of(args.id)
    is_id = path is None or (os.sep not in args.id and path.is_dir())  # a folder may well be called like an id
    found = _known(args) if is_id else chosen_session(args, args.id)
    writers = writers_for(args)
    if found is not None and found.size:
        return writers.known(found)
    if found is not None and found.dialect == "ulid":
        return writers.known(found)  # its log is empty as long as nothing was said
    cwd = (args.cwd or Path.cwd()).expanduser().absolute()
    folder = folder_for(args.dialect, settings_of(args), os.environ, cwd) if found is None else Path(found.folder)
    return writers.new(args.dialect, folder, args.id if found is None else found.id, os.fspath(cwd))


def new(args: argparse.Namespace) -> int:
    """Begin a session without messages, whose id is made here."""
    noted = {"name": args.name, "model": args.model, "cron_job": args.cron_job, "prompt": args.prompt}
    metadata = {name: value for name, value in noted.items() if value}
    checked(metadata)
    folder = folder_for(args.dialect, settings_of(args), os.environ, Path.cwd())
    made, path = writers_for(args).of(args.dialect).empty(folder, args.id, metadata)
    return _say(args, {"session": made, "path": os.fspath(path)}, made)


def _known(args: argparse.Namespace) -> FoundSession | None:
    """Return the session with exactly this id, None when it is a new one.

    Raises:
        UsageError: a session's id begins so: whether that one or a new one is meant cannot be told.
        NotFoundError: several sessions have the id.
    """
    settings = settings_of(args)
    named = (root.expanduser() for root in settings.store.roots)
    roots = [root for root in named if root.is_dir() and any(root.iterdir())]  # a new store may be empty
    if settings.store.roots and not roots:
        return None
    sessions = found_sessions(settings.with_roots(roots), os.environ, [])
    try:
        found = meant_session(args.id, sessions)
    except NotFoundError:
        if any(session.id.startswith(args.id) for session in sessions):
            raise
        _refuse_archived(args.id)
        return None
    if found.id != args.id:
        raise UsageError(
            f"{args.id!r} is the beginning of session {found.id} in {found.folder}; write that id in full to add to it,"
            " or another one to begin a session"
        )
    return found


def _refuse_archived(name: str) -> None:
    """Refuse to begin a session with the id of one that is archived."""
    folder = archive_folder(os.environ)
    if folder.is_dir():
        from slowwave.stores.archive.shelf import Shelf  # noqa: PLC0415 - few sessions are archived

        if Shelf(folder).find(name):
            refuse_archived(name)


def tombstone(args: argparse.Namespace) -> int:
    """Hide one message of a session."""
    found = chosen_session(args, args.id)
    dialect, files = opened(found)
    if all(message.id != args.uuid for message in dialect.read(files).messages):
        raise unknown(args.uuid, found.id)
    with held(writers_for(args).known(found)) as (writer, session):
        writer.tombstone(session, args.uuid)
    return _say(args, {"session": found.id, "deleted_uuid": args.uuid}, f"hidden: {args.uuid}")


def compact(args: argparse.Namespace) -> int:
    """Append a compaction with a summary that somebody wrote, or one that is planned and summarised here."""
    if args.summary is None:
        if args.keep_from is not None:
            raise UsageError("--keep-from goes with --summary; else compaction.keep_recent_tokens says what stays")
        from slowwave.cli.sessions_compact import compact as compact_planned  # noqa: PLC0415 - only here

        return compact_planned(args)
    if args.dry_run:
        raise UsageError("--dry-run shows the plan of a compaction without --summary")
    if args.focus:
        raise UsageError("--focus is for a summary that a model tells; leave --summary out")
    summary = _text(args.summary, "summary")
    found = chosen_session(args, args.id)
    before, summarised = _tokens(found, args.keep_from)
    compaction = Compaction(summary, args.keep_from, before, tokens_summarised=summarised)
    checked(compaction)
    made = _noted_summary(args, found, compaction)
    return _say(args, {"session": found.id, "uuid": made, "path": found.path}, made or f"compacted: {found.id}")


def _noted_summary(args: argparse.Namespace, found: FoundSession, compaction: Compaction) -> str:
    """Append a summary that a person wrote, noted so that it can be taken back."""
    from slowwave.cli.sessions_compact import stored_session  # noqa: PLC0415 - of few commands
    from slowwave.compaction.job.book import folder_of  # noqa: PLC0415 - as above
    from slowwave.compaction.job.story import noted_by_hand  # noqa: PLC0415 - as above

    session = stored_session(found)
    with noted_by_hand(session, folder_of(os.environ), compaction) as note:
        means = replace(writers_for(args).means, announce=note.announce)
        with held(Writers(means).known(found)) as (writer, target):
            note.message = writer.compaction(target, compaction)
    return note.message


def _tokens(found: FoundSession, keep_from: str | None) -> tuple[int, int]:
    """Return about how many tokens the context has before the compaction, and how many of them it summarises."""
    dialect, files = opened(found)
    messages = dialect.context(dialect.read(files))
    end = next((i for i, m in enumerate(messages) if m.id == keep_from), len(messages))
    sizes = [
        sum(len(text.encode("utf-8", "replace")) for text in (m.text, *(r.text for r in m.results))) for m in messages
    ]
    return -(-sum(sizes) // _BYTES_PER_TOKEN), -(-sum(sizes[:end]) // _BYTES_PER_TOKEN)


def branch(args: argparse.Namespace) -> int:
    """Go on from an older message."""
    summary = None if args.summary is None else _text(args.summary, "summary")
    if summary is not None and args.summarise:
        raise UsageError("--summarise makes a summary: leave --summary out")
    checked(summary)
    found = chosen_session(args, args.id)
    if args.summarise:
        from slowwave.cli.sessions_compact import summary_of_branch  # noqa: PLC0415 - of few commands

        summary = summary_of_branch(args, found)
    with held(writers_for(args).known(found)) as (writer, session):
        made = writer.branch(session, args.from_message, summary)
    return _say(args, {"session": found.id, "uuid": made, "from": args.from_message}, made)


def label(args: argparse.Namespace) -> int:
    """Give a message a label, or take it away."""
    checked(args.label)
    found = chosen_session(args, args.id)
    with held(writers_for(args).known(found)) as (writer, session):
        made = writer.label(session, args.message, args.label or None)
    shown = {"session": found.id, "uuid": made, "message": args.message, "label": args.label}
    return _say(args, shown, f"{'labelled' if args.label else 'label removed'}: {args.message}")


def name(args: argparse.Namespace) -> int:
    """Give a session the name that its client shows."""
    checked(args.name)
    found = chosen_session(args, args.id)
    with held(writers_for(args).known(found)) as (writer, session):
        writer.name(session, args.name)
    return _say(args, {"session": found.id, "name": args.name}, f"named: {args.name}")


def fork(args: argparse.Namespace) -> int:
    """Copy a session, or the path to one of its messages, under a new id."""
    found = chosen_session(args, args.id)
    with held(writers_for(args).known(found)) as (writer, session):
        folder = writer.folder(session)
        made = writer.new_id(folder, session)
        first, *_ = writer.fork(session, folder, made, args.at)
    return _say(args, {"session": made, "from": found.id, "path": os.fspath(first)}, made)


def _text(given: str, what: str) -> str:
    text = sys.stdin.read() if given == "-" else given
    if not text.strip():
        raise UsageError(f"the {what} is empty: write its text, or - to read it from standard input")
    return text


def _say(args: argparse.Namespace, fields: Mapping[str, object], text: str) -> int:
    if args.json:
        say_json([dict(fields)])
    else:
        say(text)
    return DONE


def writers_for(args: argparse.Namespace) -> Writers:
    """Return the writers as the settings say."""
    settings = settings_of(args)
    means = Means(
        SystemClock(), home_folder(os.environ), part_bytes=settings.store.part_bytes, fsync=settings.store.fsync
    )
    return Writers(means)


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "append": append,
    "new": new,
    "tombstone": tombstone,
    "compact": compact,
    "branch": branch,
    "label": label,
    "name": name,
    "fork": fork,
}

"""``slowwave sessions``: what changes a session, appends to it, removes it or brings it back."""

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from slowwave.cli.sessions_context import chosen_session, opened, path_of, refuse_archived
from slowwave.cli.terminal import (
    answer,
    say,
    say_json,
    settings_of,
    short_time,
    warn,
)
from slowwave.context import Run, SystemClock, new_run_id
from slowwave.errors import DONE, PARTLY_FAILED, NotFoundError, RefusedError, SlowwaveError, UsageError
from slowwave.files import archive_folder, home_folder
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import SUFFIX, FoundSession, StoredSession, numbered_parts, session_stem
from slowwave.formats.writing import Compaction, Draft, Means, Target, checked, unknown
from slowwave.quantities import counted
from slowwave.stores.roots import Opened, Writers, folder_for, found_sessions, held, meant_session
from slowwave.stores.trash import TrashedFile, TrashItem, matching_items, plan_removal, trash_folder, trash_items

if TYPE_CHECKING:
    from slowwave.compaction.book import Appended, Compacting
    from slowwave.settings import Settings
    from slowwave.stores.archive.pack import PackedFile
    from slowwave.stores.archive.shelf import Shelved


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
        answered = made[0] if client_of(writer.dialect).has_parts else None
        made += [writer.message(session, draft._replace(parent=answered)) for draft in drafts[1:]]
    if client_of(writer.dialect).refuses_large:
        _tell_size(session, settings_of(args).store.warn_bytes)
    if not session.files and not session.path.exists():
        raise UsageError(
            f"{session.id}: {writer.dialect} keeps no session without an answer; nothing was written, give --answer too"
        )
    return answer(
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
    if found is not None and client_of(found.dialect).may_be_empty:
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
    return answer(args, {"session": made, "path": os.fspath(path)}, made)


def _known(args: argparse.Namespace) -> FoundSession | None:
    """Return the session with exactly this id, None when it is a new one."""
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
    return answer(args, {"session": found.id, "deleted_uuid": args.uuid}, f"hidden: {args.uuid}")


def compact(args: argparse.Namespace) -> int:
    """Append a compaction with a summary that somebody wrote, or one that is planned and summarised here."""
    if args.summary is None:
        if args.keep_from is not None:
            raise UsageError("--keep-from goes with --summary; else compaction.keep_recent_tokens says what stays")
        return _compact_planned(args)
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
    return answer(args, {"session": found.id, "uuid": made, "path": found.path}, made or f"compacted: {found.id}")


def _noted_summary(args: argparse.Namespace, found: FoundSession, compaction: Compaction) -> str:
    """Append a summary that a person wrote, noted so that it can be taken back."""
    from slowwave.compaction.book import folder_of  # noqa: PLC0415 - as above
    from slowwave.compaction.story import noted_by_hand  # noqa: PLC0415 - as above

    session = stored_session(found)
    with noted_by_hand(session, folder_of(os.environ), compaction) as note:
        means = dataclasses.replace(writers_for(args).means, announce=note.announce)
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
        summary = summary_of_branch(args, found)
    with held(writers_for(args).known(found)) as (writer, session):
        made = writer.branch(session, args.from_message, summary)
    return answer(args, {"session": found.id, "uuid": made, "from": args.from_message}, made)


def label(args: argparse.Namespace) -> int:
    """Give a message a label, or take it away."""
    checked(args.label)
    found = chosen_session(args, args.id)
    with held(writers_for(args).known(found)) as (writer, session):
        made = writer.label(session, args.message, args.label or None)
    shown = {"session": found.id, "uuid": made, "message": args.message, "label": args.label}
    return answer(args, shown, f"{'labelled' if args.label else 'label removed'}: {args.message}")


def name(args: argparse.Namespace) -> int:
    """Give a session the name that its client shows."""
    checked(args.name)
    found = chosen_session(args, args.id)
    with held(writers_for(args).known(found)) as (writer, session):
        writer.name(session, args.name)
    return answer(args, {"session": found.id, "name": args.name}, f"named: {args.name}")


def fork(args: argparse.Namespace) -> int:
    """Copy a session, or the path to one of its messages, under a new id."""
    found = chosen_session(args, args.id)
    with held(writers_for(args).known(found)) as (writer, session):
        folder = writer.folder(session)
        made = writer.new_id(folder, session)
        first, *_ = writer.fork(session, folder, made, args.at)
    return answer(args, {"session": made, "from": found.id, "path": os.fspath(first)}, made)


def _text(given: str, what: str) -> str:
    text = sys.stdin.read() if given == "-" else given
    if not text.strip():
        raise UsageError(f"the {what} is empty: write its text, or - to read it from standard input")
    return text


def writers_for(args: argparse.Namespace) -> Writers:
    """Return the writers as the settings say."""
    settings = settings_of(args)
    means = Means(
        SystemClock(), home_folder(os.environ), part_bytes=settings.store.part_bytes, fsync=settings.store.fsync
    )
    return Writers(means)


def _compact_planned(args: argparse.Namespace) -> int:
    """Append a compaction that is planned and summarised here, whether the session is large or not; memories first."""
    from slowwave.compaction.story import compact_one  # noqa: PLC0415 - of few commands

    session = stored_session(chosen_session(args, args.id))
    run = _compacting(args, session)
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
    from slowwave.compaction.story import prune_one  # noqa: PLC0415 - of few commands

    session = stored_session(chosen_session(args, args.id))
    run = _compacting(args, session)
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
    from slowwave.compaction.story import branch_summary  # noqa: PLC0415 - of one command

    session = stored_session(found)
    return branch_summary(session, args.from_message, _compacting(args, session))


def _compacting(args: argparse.Namespace, session: StoredSession) -> "Compacting":
    from slowwave.jobs.steps import by_hand  # noqa: PLC0415 - uncompact needs no projects

    settings, clock = settings_of(args), SystemClock()
    if focus := getattr(args, "focus", ""):
        settings = focused(settings, focus)
    return by_hand(
        session,
        Run(new_run_id(clock), settings, clock, os.environ, force=True, dry_run=getattr(args, "dry_run", False)),
    )


def focused(settings: "Settings", focus: str) -> "Settings":
    """Return settings in which a model's narrative looks at something above all."""
    if not settings.model.is_set or settings.compaction.model == "off":
        raise UsageError(
            "--focus is for a model's summary, and no model is set (model.base_url and model.name, or model.command)"
        )
    return msgspec.structs.replace(settings, compaction=msgspec.structs.replace(settings.compaction, focus=focus))


def _fields(session: StoredSession, done: "Appended | None") -> dict[str, object]:
    fields: dict[str, object] = {
        "session": session.id,
        "uuid": done.message if done else "",
        "path": os.fspath(session.files.paths[0]),
    }
    return fields | ({"compaction": done.id} if done else {})


def _tell(run: "Compacting", notes: Sequence[str] = ()) -> None:
    for line in notes:
        say(line)
    for line in run.report.warnings:
        warn(line)


def uncompact(args: argparse.Namespace) -> int:
    """Take the last compaction of slowwave's back."""
    from slowwave.compaction.append import undo  # noqa: PLC0415 - as above
    from slowwave.compaction.book import folder_of  # noqa: PLC0415 - of few commands

    session = stored_session(chosen_session(args, args.id))
    done = undo(session, folder_of(os.environ), home_folder(os.environ))
    size = done.after - (done.before or 0)
    told = {"session": session.id, "compaction": done.id, "path": done.path, "bytes": size}
    return answer(args, told, f"taken back: {done.id}, {size:,} bytes of {done.path}")


def stored_session(found: FoundSession) -> StoredSession:
    """Return a session as jobs know it."""
    dialect, files = opened(found)
    kind = "subagent" if found.side else "main"
    return StoredSession(
        dialect.name, files, kind, Path(found.folder), found.size, found.mtime_ns, found.source, found.in_database
    )


def rm(args: argparse.Namespace) -> int:
    """Move sessions into the trash; all of them are looked up, and must not be held, before the first one moves."""
    from slowwave.retention.removal import refuse_held, remove_by_hand  # noqa: PLC0415 - of few commands

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
    from slowwave.retention.removal import bring_back  # noqa: PLC0415 - of few commands

    settings_of(args)
    trash = trash_folder(os.environ)
    if args.all and args.ids:
        raise UsageError("write either ids or --all, not both")
    if not args.all and not args.ids:
        _list_trash(trash_items(trash), as_json=args.json)
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
        form, session, files = _told_item(item)
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
    from slowwave.retention.removal import bring_back_as  # noqa: PLC0415 - of few commands

    if args.all or len(args.ids) != 1:
        raise UsageError("--as gives one session one new id: write the id of one session")
    found = found_sessions(settings_of(args), os.environ, [])
    if any(session.id == args.new_id for session in found):
        raise UsageError(f"{args.new_id}: there is such a session already; nothing was written")
    one = copy_of(args.ids[0])
    if one is None:
        raise NotFoundError(f"neither trash nor archive has a copy of {args.ids[0]!r}")
    paths = bring_back_as(one, args.new_id, writers_for(args), os.environ, SystemClock())
    form, session, _ = _told_item(one)
    if args.json:
        say_json([form | {"as": args.new_id, "paths": [str(path) for path in paths]}])
    else:
        say(f"restored the transcript of session {session} as {args.new_id}; its copy stays where it is")
        say(f"compare them: slowwave sessions diff {session} {args.new_id}")
    return DONE


def copy_of(name: str) -> "TrashItem | Shelved | None":
    """Return the copy of a session that was put by last, in the trash, else in the archive; None for none."""
    try:
        return matching_items(trash_folder(os.environ), [name])[-1]
    except NotFoundError:
        return _archived(name)


def _meant(trash: Path, args: argparse.Namespace) -> "list[TrashItem | Shelved]":
    """Return what is to come back: from the trash, else from the archive."""
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


def _told_item(item: "TrashItem | Shelved") -> "tuple[dict[str, object], str, Sequence[TrashedFile | PackedFile]]":
    if isinstance(item, TrashItem):
        return {"id": item.session, "trash": item.id}, item.session, item.files
    return {"id": item.session.id, "archive": str(item.pack)}, item.session.id, item.session.files


def _list_trash(items: list[TrashItem], *, as_json: bool) -> None:
    if as_json:
        say_json(
            [{"id": i.session, "trash": i.id, "at": i.at, "reason": i.reason, "files": len(i.files)} for i in items]
        )
        return
    for item in items:
        say(f"{item.session}  {short_time(item.at)}  {item.dialect}  {counted(len(item.files), 'file')}  {item.reason}")
    say(f"{len(items)} in the trash" if items else "the trash is empty")

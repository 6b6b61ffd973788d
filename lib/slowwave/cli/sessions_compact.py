"""``slowwave sessions compact`` without a summary, ``uncompact``, and ``show --compactions``."""

import argparse
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from slowwave.cli.options import settings_of
from slowwave.cli.output import bold, say, say_json
from slowwave.cli.sessions_target import chosen_session, opened
from slowwave.clock import SystemClock
from slowwave.compaction.job.book import Appended, folder_of, read_book
from slowwave.compaction.job.by_hand import compact_one
from slowwave.compaction.job.story import Compacting
from slowwave.compaction.job.summary import by_ledger
from slowwave.compaction.job.undoing import undo
from slowwave.dialects.model import Message, SessionFiles
from slowwave.errors import DONE
from slowwave.places import home_folder
from slowwave.report import Report
from slowwave.secrets.key import redactor_of
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import FoundSession


def compact(args: argparse.Namespace) -> int:
    """Append a compaction whose summary is the ledger of what goes away, whether the session is large or not."""
    settings, session = settings_of(args), _stored(chosen_session(args, args.id))
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
    session = _stored(chosen_session(args, args.id))
    done = undo(session, folder_of(os.environ), home_folder(os.environ))
    if args.json:
        say_json(
            [
                {
                    "session": session.id,
                    "compaction": done.id,
                    "path": done.path,
                    "bytes": done.after - (done.before or 0),
                }
            ]
        )
    else:
        say(f"taken back: {done.id}, {done.after - (done.before or 0):,} bytes of {done.path}")
    return DONE


def compactions(args: argparse.Namespace) -> int:
    """Explain every compaction of a session: those that slowwave appended with all that it knows, and its client's."""
    session = _stored(chosen_session(args, args.id))
    dialect, files = opened(chosen_session(args, args.id))
    book = read_book(folder_of(os.environ), session.id, session.dialect, files.paths[0])
    whole = dialect.read(files)
    own = {done.message: done for done in book.compactions if done.message}
    rows = [_row(message, own.get(message.id or "")) for message in whole.messages if message.origin == "summary"]
    unnamed = [done for done in book.compactions if not done.message]
    if unnamed:  # summaries without ids: ours are the last ones
        for row, done in zip(rows[-len(unnamed) :], unnamed, strict=False):
            row.update(_known(done))
    if args.json:
        say_json([{"session": session.id, "stopped": book.error if book.is_stopped else "", "compactions": rows}])
        return DONE
    for line in _lines(rows, session.files):
        say(line)
    if book.is_stopped:
        again = f"`slowwave sessions compact {session.id}` tries again"
        say(f"stopped after {book.failures} failures in a row: {book.error}; {again}")
    return DONE


def _row(message: Message, done: Appended | None) -> dict[str, object]:
    stamp = message.timestamp
    row: dict[str, object] = {
        "message": message.id,
        "by": "client",
        "timestamp": stamp.astimezone(UTC).isoformat() if isinstance(stamp, datetime) else None,
        "characters": len(message.text),
    }
    return row if done is None else row | _known(done)


def _known(done: Appended) -> dict[str, object]:
    return {
        "by": "slowwave",
        "id": done.id,
        "run": done.run,
        "trigger": done.trigger,
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "summarised": done.summarised,
        "kept": done.kept,
        "keep_from": done.keep_from,
        "source": done.source,
        "score": done.score,
        "lost": done.lost,
        "dropped": [{"part": part, "offset": offset, "length": length} for part, offset, length in done.dropped],
    }


def _lines(rows: list[dict[str, object]], files: SessionFiles) -> Iterator[str]:
    if not rows:
        yield "no compactions"
    for row in rows:
        yield bold(
            f"{row['message'] or '(no id)'}  {row['timestamp'] or ''}  by {row['by']}, {row['characters']:,} characters"
        )
        if row["by"] != "slowwave":
            continue
        yield f"  {row['id']}  {row['trigger']}"
        yield f"  {row['tokens_before']:,} tokens before, about {row['tokens_after']:,} after"
        stays = f"{row['kept']} kept from {row['keep_from']}" if row["kept"] else "none kept"
        yield f"  {row['summarised']} messages summarised by the {row['source']}, {stays}"
        lost = row["lost"]
        if isinstance(lost, list) and lost:
            yield f"  the summary does not tell {len(lost)} of the things that were looked for:"  # pyright: ignore[reportUnknownArgumentType]
            yield from (f"    {one}" for one in lost[:20])  # pyright: ignore[reportUnknownVariableType]
        yield from _places(row["dropped"], files)


def _places(dropped: object, files: SessionFiles) -> Iterator[str]:
    for place in dropped if isinstance(dropped, list) else ():  # pyright: ignore[reportUnknownVariableType]
        path = files.paths[place["part"]] if place["part"] < len(files.paths) else files.paths[-1]
        yield f"  summarised bytes {place['offset']:,} to {place['offset'] + place['length']:,} of {path}"


def _stored(found: FoundSession) -> StoredSession:
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

"""``slowwave sessions context``: what the client would send if a session were resumed now.

Only the end of a compacted session is read where that is surely enough, in time and memory that do not depend on the
size of the file; so this module is apart from the other readers and imports what this one command needs. The damage
that it tells is that of the part which was read.
"""

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from slowwave.cli.output import bold, say, say_json, tell_damage, warn
from slowwave.cli.sessions_target import Target, opened, readable_session
from slowwave.errors import DONE, NotFoundError
from slowwave.formats.lines import relaxed_collector
from slowwave.formats.messages import normal_form
from slowwave.formats.model import SessionFiles, Transcript
from slowwave.formats.registry import Dialect, Notes, read_for_context
from slowwave.stores.catalogue import FileNotes, context_notes


def context(args: argparse.Namespace) -> int:
    """Print what the client would send if the session were resumed now."""
    with relaxed_collector():
        return _context(args)


def _context(args: argparse.Namespace) -> int:
    with readable_session(args, args.id) as target:
        return _context_of(args, target)


def _context_of(args: argparse.Namespace, target: Target) -> int:
    dialect, files = opened(target.found, args.mode)
    # of what is laid out for this one command nothing is kept
    notes = FileNotes(Path(target.base, "contexts")) if target.base else context_notes(os.environ)
    transcript = _read(dialect, files, args.session, notes)
    name = transcript.files.id
    if args.session and args.session != name:
        raise NotFoundError(f"{target.path} holds session {name!r} and not {args.session!r}; leave --session out")
    messages = normal_form(dialect.context(transcript))
    if args.json:
        say_json([{"dialect": dialect.name, "session": name, "messages": messages}])
    else:
        _print_messages(messages)
    tell_damage([target.told(str(problem)) for problem in transcript.problems])
    for warning in notes.warnings:
        warn(warning)
    return DONE


def _read(dialect: Dialect, files: SessionFiles, session: str, notes: Notes) -> Transcript:
    """Read the session that ``session`` names in a file that may hold several."""
    if session and dialect.name in ("opencode", "openclaw"):
        files = SessionFiles(session, files.paths, files.problems)
    return read_for_context(dialect, files, notes)


def _print_messages(messages: Iterable[dict[str, object]]) -> None:
    for message in messages:
        say(bold(f"\n{message['role']}"))
        for name, value in message.items():
            if name != "role":
                say(str(value) if name == "text" else f"  {name}: {value}")


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"context": context}

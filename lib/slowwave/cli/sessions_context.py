"""``slowwave sessions context|resume|export``: what a client would send, and how it goes on with a session.

Of a compacted session only the end is read where that is surely enough, in time and memory that do not depend on the
size of the file; so this module imports what that needs and nothing else. The damage that it tells is that of the part
which was read.
"""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from slowwave.cli.output import bold, say, say_json, tell_damage, warn
from slowwave.cli.sessions_target import Target, chosen_session, opened, readable_session
from slowwave.errors import DONE, NotFoundError, UsageError
from slowwave.formats.client import Dialect, Notes
from slowwave.formats.lines import relaxed_collector
from slowwave.formats.messages import normal_form
from slowwave.formats.model import SessionFiles, Transcript
from slowwave.formats.registry import client_of, read_for_context
from slowwave.formats.sessions import StoreProblem
from slowwave.formats.tail import FileNotes, context_notes
from slowwave.stores.roots import read_head


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
    if session and client_of(dialect.name).has_databases:
        files = SessionFiles(session, files.paths, files.problems)
    return read_for_context(dialect, files, notes)


def _print_messages(messages: Iterable[dict[str, object]]) -> None:
    for message in messages:
        say(bold(f"\n{message['role']}"))
        for name, value in message.items():
            if name != "role":
                say(str(value) if name == "text" else f"  {name}: {value}")


def resume(args: argparse.Namespace) -> int:
    """Print the command that goes on with a session, in its working folder.

    Raises:
        UsageError: its client has none.
    """
    import shlex  # noqa: PLC0415 - only what prints a command

    found = chosen_session(args, args.id)
    dialect, files = opened(found)
    resuming = client_of(dialect.name).resume
    if not resuming:
        raise UsageError(f"{found.id}: {dialect.name} has no command that resumes a session")
    head = read_head(found)
    cwd = "" if isinstance(head, StoreProblem) else head.cwd
    own = {"ID": found.id, "PATH": os.fspath(files.paths[0])}
    command = [own.get(word, word) for word in resuming]
    if args.json:
        say_json([{"session": found.id, "dialect": dialect.name, "cwd": cwd, "command": command}])
    else:
        say((f"cd {shlex.quote(cwd)} && " if cwd else "") + shlex.join(command))
    return DONE


def export(args: argparse.Namespace) -> int:
    """Write the file, and tell the command that adds it.

    Raises:
        UsageError: the session is none of an opencode database; other clients' are written to directly.
    """
    import json  # noqa: PLC0415 - a context needs none of these
    import shlex  # noqa: PLC0415 - as above

    from slowwave.clock import SystemClock  # noqa: PLC0415 - as above
    from slowwave.files import atomic_write  # noqa: PLC0415 - as above
    from slowwave.formats.opencode.dialect import Said, exported  # noqa: PLC0415 - as above

    found = chosen_session(args, args.id)
    if client_of(found.dialect).writer is not None or not found.in_database:
        raise UsageError(
            f"{found.id}: is not in opencode's database; `slowwave sessions append` adds to other sessions"
        )
    more = [Said("user", args.say)] if args.say else []
    more += [Said("assistant", args.answer)] if args.answer else []
    if args.answer and not args.say:
        raise UsageError("--answer answers what --say says: give both")
    made = exported(Path(found.path), found.id, more, SystemClock())
    target: Path = args.into.expanduser().absolute()
    atomic_write(target, json.dumps(made, indent=2, ensure_ascii=False).encode("utf-8", "replace"))
    head = read_head(found)
    # its import gives the session the folder that it runs in
    cwd = "" if isinstance(head, StoreProblem) else head.cwd
    command = (f"cd {shlex.quote(cwd)} && " if cwd else "") + shlex.join([found.dialect, "import", os.fspath(target)])
    if args.json:
        say_json(
            [{"session": found.id, "path": os.fspath(target), "messages": len(made["messages"]), "command": command}]
        )
    else:
        say(command)
    return DONE

"""``slowwave sessions context|resume|export``: what a client would send, and how it goes on with a session.

Of a compacted session only the end is read where that is surely enough, in time and memory that do not depend on the
size of the file; so this module imports what that needs and nothing else. The damage that it tells is that of the part
which was read. Which session a command means is told here for all of them.
"""

import argparse
import json
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from slowwave.cli.terminal import answer, bold, say, say_json, settings_of, tell_damage, warn
from slowwave.errors import DONE, NotFoundError, RefusedError, UnknownDialectError, UnreadableError, UsageError
from slowwave.files import archive_folder, atomic_write
from slowwave.formats import Problem, SessionFiles, Transcript
from slowwave.formats.client import Dialect, Notes
from slowwave.formats.lines import relaxed_collector
from slowwave.formats.messages import normal_form
from slowwave.formats.registry import EXPECTED, by_name, client_of, read_for_context
from slowwave.formats.sessions import SUFFIX, FoundSession, StoreProblem
from slowwave.formats.tail import FileNotes, context_notes
from slowwave.stores.roots import found_sessions, meant_session, newest_session, read_head, session_of_path

if TYPE_CHECKING:
    from slowwave.stores.archive import Archived


def path_of(name: str) -> Path | None:
    """Return the file that ``name`` is the path of, absolute; None when it looks like a session id."""
    path = Path(name).expanduser()
    if name and (os.sep in name or name.endswith(SUFFIX) or path.exists()):
        return path.absolute()
    return None


def chosen_session(args: argparse.Namespace, name: str) -> FoundSession:
    """Return the session that a person means by an id, a file, or nothing (the most recent one), to work with it."""
    found, archived = _chosen(args, name)
    if archived is not None:
        refuse_archived(archived.row.id)
    return found


@contextmanager
def readable_session(args: argparse.Namespace, name: str, *, around: bool = False) -> Generator["Target"]:
    """Yield the session that a person means, to read it; one that is archived is there as long as the block runs.

    ``around`` asks for what lies beside an archived one as well.
    """
    found, archived = _chosen(args, name)
    if archived is None:
        yield Target(found, "", found.path)
        return
    from slowwave.stores.archive import laid_out  # noqa: PLC0415  # few sessions are archived

    with laid_out(archived.shelved, archived.row, os.environ, around=around) as (there, base):
        yield Target(there, base, archived.row.path)


def refuse_archived(session: str) -> NoReturn:
    """Say that a session must be restored first."""
    raise RefusedError(f"session {session} is archived; `slowwave sessions restore {session}` brings it back")


class Target(NamedTuple):
    """A session that can be read."""

    found: FoundSession
    base: str  # the folder in which the paths of an archived one begin anew; "" for one that lies in its place
    path: str  # where its first file lies, or lay

    def told(self, value: Any) -> Any:
        """Return what is to be told with all paths as they are in their place; containers are made anew."""
        if not self.base:
            return value
        if isinstance(value, dict):
            return {key: self.told(item) for key, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self.told(item) for item in cast("list[Any]", value)]
        return value.replace(self.base, "") if isinstance(value, str) else value


def _chosen(args: argparse.Namespace, name: str) -> "tuple[FoundSession, Archived | None]":
    """Return the session that is meant; of an archived one how it was found, and how it lay."""
    path = path_of(name)
    has_archive = archive_folder(os.environ).is_dir()
    if path is not None:
        archived = None
        if has_archive and not os.path.lexists(path):
            from slowwave.stores.archive import archived_at  # noqa: PLC0415  # few sessions are archived

            archived = archived_at(path, os.environ)
        return (archived.as_found(), archived) if archived else (_of_file(path), None)
    problems: list[StoreProblem] = []
    sessions = found_sessions(settings_of(args), os.environ, problems)
    packed: list[tuple[FoundSession, Archived]] = []
    if name and has_archive and all(session.id != name for session in sessions):
        from slowwave.stores.archive import archived_sessions  # noqa: PLC0415  # as above

        packed = [(one.as_found(), one) for one in archived_sessions(settings_of(args), os.environ, sessions, problems)]
    every = [*sessions, *(found for found, _ in packed)]
    if not every and problems:
        raise NotFoundError(f"no session {name!r}: {problems[0]}")
    here = os.fspath(Path.cwd()) if getattr(args, "here", False) else ""
    meant = _meant(name, every) if name else newest_session(every, here)
    return meant, next((one for found, one in packed if found is meant), None)


def _meant(name: str, sessions: list[FoundSession]) -> FoundSession:
    """Return the session with an id, else the one that its client knows by this name."""
    try:
        return meant_session(name, sessions)
    except NotFoundError:
        from slowwave.stores.roots import known_by  # noqa: PLC0415  # most names are ids

        found = known_by(name, sessions)
        if found is None:
            raise
        return found


def _of_file(path: Path) -> FoundSession:
    try:
        path.stat()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read", "name a transcript or a session id") from error
    if path.is_dir():
        raise UnreadableError(path, "is a folder, not a transcript", "name a file in it, or list it with --store")
    if not path.is_file():
        raise UnreadableError(path, "is not a regular file", "name a transcript or a session id")
    return session_of_path(path)


def opened(found: FoundSession, mode: str = "seed") -> tuple[Dialect, SessionFiles]:
    """Return the dialect and the files of a session that is to be read."""
    head = read_head(found)
    if isinstance(head, StoreProblem):
        if head.kind == "unreadable":
            raise UnreadableError(head.path, head.detail, "check its permissions")
        raise UnknownDialectError(head.path, f"{head.kind}: {head.detail}", EXPECTED)
    notes = tuple(
        Problem("gap", Path(found.path), 0, 0, 0, f"part {n} is missing; later parts are read all the same")
        for n in found.missing_parts()
    )
    files = SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files), notes)
    dialect = _cersei_code() if head.dialect == "cersei" and mode == "code" else by_name(head.dialect)
    return dialect, files


def _cersei_code() -> Dialect:
    from slowwave.formats.cersei.dialect import Cersei  # noqa: PLC0415  # rarely asked for

    return Cersei("code")


def context(args: argparse.Namespace) -> int:
    """Print what the client would send if the session were resumed now."""
    with relaxed_collector(), readable_session(args, args.id) as target:
        return _context(args, target)


def _context(args: argparse.Namespace, target: Target) -> int:
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
    """Print the command that goes on with a session, in its working folder."""
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
    told = {"session": found.id, "dialect": dialect.name, "cwd": cwd, "command": command}
    return answer(args, told, (f"cd {shlex.quote(cwd)} && " if cwd else "") + shlex.join(command))


def export(args: argparse.Namespace) -> int:
    """Write the file, and tell the command that adds it."""
    import shlex  # noqa: PLC0415 - a context needs none of these

    from slowwave.context import SystemClock  # noqa: PLC0415 - as above
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
    told = {"session": found.id, "path": os.fspath(target), "messages": len(made["messages"]), "command": command}
    return answer(args, told, command)

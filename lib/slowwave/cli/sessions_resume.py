"""``slowwave sessions resume``: the command with which a session's own client goes on with it."""

import argparse
import os
import shlex
from collections.abc import Callable, Mapping

from slowwave.cli.output import say, say_json
from slowwave.cli.sessions_target import chosen_session, opened
from slowwave.errors import DONE, UsageError
from slowwave.stores.model import StoreProblem
from slowwave.stores.roots import read_head

# ID and PATH stand for the session's; each was taken from the client's own help, Cersei's from its document
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude", "--resume", "ID"),
    "codex": ("codex", "resume", "ID"),
    "pi": ("pi", "--session", "PATH"),
    "opencode": ("opencode", "--session", "ID"),
    "cersei": ("abstract", "--resume", "ID"),
}


def resume(args: argparse.Namespace) -> int:
    """Print the command that goes on with a session, in its working folder.

    Raises:
        UsageError: its client has none.
    """
    found = chosen_session(args, args.id)
    dialect, files = opened(found)
    if dialect.name not in _COMMANDS:
        raise UsageError(f"{found.id}: {dialect.name} has no command that resumes a session")
    head = read_head(found)
    cwd = "" if isinstance(head, StoreProblem) else head.cwd
    own = {"ID": found.id, "PATH": os.fspath(files.paths[0])}
    command = [own.get(word, word) for word in _COMMANDS[dialect.name]]
    if args.json:
        say_json([{"session": found.id, "dialect": dialect.name, "cwd": cwd, "command": command}])
    else:
        say((f"cd {shlex.quote(cwd)} && " if cwd else "") + shlex.join(command))
    return DONE


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"resume": resume}

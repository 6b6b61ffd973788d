"""``slowwave sessions export``: a session of opencode for ``opencode import``, with more messages at its end."""

import argparse
import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

from slowwave.cli.output import say, say_json
from slowwave.cli.sessions_target import chosen_session
from slowwave.clock import SystemClock
from slowwave.errors import DONE, UsageError
from slowwave.files import atomic_write
from slowwave.stores.model import StoreProblem
from slowwave.stores.roots import read_head
from slowwave.stores.writing.opencode import Said, exported


def export(args: argparse.Namespace) -> int:
    """Write the file, and tell the command that adds it.

    Raises:
        UsageError: the session is none of an opencode database; other clients' are written to directly.
    """
    found = chosen_session(args, args.id)
    if found.dialect != "opencode" or not found.in_database:
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
    command = (f"cd {shlex.quote(cwd)} && " if cwd else "") + shlex.join(["opencode", "import", os.fspath(target)])
    if args.json:
        say_json(
            [{"session": found.id, "path": os.fspath(target), "messages": len(made["messages"]), "command": command}]
        )
    else:
        say(command)
    return DONE


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"export": export}

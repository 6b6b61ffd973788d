"""``slowwave sessions diff``: in what two sessions differ, or a session and the copy of it that was put by."""

import argparse
import difflib
import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import cast

from slowwave.cli.output import harmless, say, say_json
from slowwave.cli.sessions_target import Target, opened, readable_session
from slowwave.cli.sessions_trash import copy_of
from slowwave.errors import DONE, NotFoundError
from slowwave.formats.messages import normal_form, state_of
from slowwave.stores.archive.sessions import laid_out_copy


def diff(args: argparse.Namespace) -> int:
    """Print the messages in which two sessions differ, with some around them."""
    other = readable_session(args, args.other) if args.other else _put_by(args.id)
    with readable_session(args, args.id) as one, other as two:
        old, new = _lines(two), _lines(one)
        names = [f"{target.path} ({target.found.id})" for target in (two, one)]
    found = list(difflib.unified_diff(old, new, names[0], names[1], lineterm=""))
    if args.json:
        changed = found[2:]
        counts = {"added": sum(line[0] == "+" for line in changed), "removed": sum(line[0] == "-" for line in changed)}
        say_json([{"from": names[0], "to": names[1], **counts, "lines": found}])
    elif found:
        for line in found:
            say(harmless(line))
    else:
        say("both say the same")
    return DONE


@contextmanager
def _put_by(name: str) -> Generator[Target]:
    """Yield the copy of a session in the trash or the archive.

    Raises:
        NotFoundError: there is none.
    """
    found = copy_of(name)
    if found is None:
        raise NotFoundError(f"neither trash nor archive has a copy of {name!r}; name the other session, too")
    with laid_out_copy(found, os.environ) as (session, base):
        yield Target(session, base, str(session.path).removeprefix(base))


def _lines(target: Target) -> list[str]:
    """Return what is said in a session, line by line, with every call and every result."""
    dialect, files = opened(target.found)
    transcript = dialect.read(files)
    lines: list[str] = []
    for form in normal_form(m for m in transcript.messages if state_of(m, transcript) == "active"):
        lines += [f"{form['role']}: {text}" for text in str(form.get("text", "")).splitlines()]
        for kind in ("calls", "results"):
            lines += [f"{form['role']}: {text}" for text in _told(form.get(kind))]
    return lines


def _told(parts: object) -> Iterator[str]:
    for part in cast("list[object]", parts or []):
        yield json.dumps(part, ensure_ascii=False, sort_keys=True, default=str)


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"diff": diff}

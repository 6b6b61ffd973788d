"""What slowwave does to a session, all through the command line, as a person would; each returns the file to resume."""

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from slowwave.cli import main

SUMMARY = "SLOWWAVE-SUMMARY: the person said hello, files were read, all is well so far."
NOTE = "SLOWWAVE-NOTE: remember the blue door."
ANSWER = "SLOWWAVE-ANSWER: I will."
# A part of the summary that slowwave makes itself.
PLANNED = "## Critical Context"


class RefusedError(Exception):
    """A command of slowwave failed, or did not do what its row is about."""


def run(*words: str) -> str:
    """Run a command of slowwave and return what it prints.

    Raises:
        RefusedError: its exit code is not 0.
    """
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    if code:
        raise RefusedError(f"{' '.join(words)}: exit {code}: {err.getvalue()[-300:]}")
    out.seek(0)
    return out.read().strip()


def context(path: Path) -> list[dict[str, Any]]:
    """Return the context of a session file as the command prints it."""
    messages: list[dict[str, Any]] = json.loads(run("sessions", "context", str(path), "--json"))["messages"]
    return messages


def append(path: Path) -> Path:
    """Append what a person says and an answer."""
    run("sessions", "append", str(path), "--role", "user", NOTE)
    run("sessions", "append", str(path), "--role", "assistant", ANSWER)
    return path


def lengthen(path: Path) -> Path:
    """Add turns whose words are long enough to be worth a summary."""
    for number in range(4):
        run("sessions", "append", str(path), "--role", "user", f"{NOTE} {number} " + "more and more words " * 60)
        run("sessions", "append", str(path), "--role", "assistant", f"{ANSWER} {number} " + "and as many again " * 60)
    return path


def tear(path: Path) -> Path:
    """Cut the last line in half, as a crash does."""
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(whole[: last + (len(whole) - last) // 2])
    return path


def summarise(path: Path) -> Path:
    """Append a compaction with a summary of one's own that keeps nothing."""
    run("sessions", "compact", str(path), "--summary", SUMMARY)
    return path


def summarise_keeping(path: Path) -> Path:
    """Append a compaction with a summary of one's own that keeps the last turn."""
    form = json.loads(run("sessions", "show", str(path), "--json"))
    asked = [m["id"] for m in form["messages"] if m["origin"] == "typed" and m["active"] and not m["sidechain"]]
    run("sessions", "compact", str(path), "--summary", SUMMARY, "--keep-from", asked[-1])
    return path


def compact(path: Path, keep: int = 60) -> Path:
    """Let slowwave decide what is summarised and what stays.

    Sessions of the corpus are small: so little stays that every one of them is worth a compaction.
    """
    small = ("--set", "compaction.context_window=1000", "--set", f"compaction.keep_recent_tokens={keep}")
    run("sessions", "compact", str(path), *small)
    return path


def compact_to_the_last(path: Path) -> Path:
    """Keep the last message alone: the turn that it ends is split."""
    return compact(path, 1)


def compact_widely(path: Path) -> Path:
    """Keep several turns."""
    return compact(path, 200)


def compact_lengthened(path: Path) -> Path:
    """Keep several turns of a session that is made long enough: a third summary of a few turns would gain nothing."""
    return compact_widely(lengthen(path))


def compact_surely(path: Path, keep: int) -> Path:
    """Compact with a planned summary; where that would gain nothing, with one of one's own."""
    before = path.stat().st_size
    unless_refused(path, partial(compact, keep=keep))
    return path if path.stat().st_size > before else summarise(path)


def compact_within(path: Path, limits: Sequence[str]) -> Path:
    """Let slowwave decide by other limits, written as settings."""
    run("sessions", "compact", str(path), *(word for limit in limits for word in ("--set", limit)))
    return path


def unless_refused(path: Path, change: Callable[[Path], Path]) -> Path:
    """Make a change that slowwave may refuse; then no byte changes.

    Raises:
        RefusedError: it failed for another reason, or wrote something and said that it had not.
    """
    before = path.read_bytes()
    try:
        return change(path)
    except RefusedError as error:
        if "nothing was written" not in str(error) or path.read_bytes() != before:
            raise
    return path


def prune(path: Path) -> Path:
    """Clear old outputs of tools."""
    run("sessions", "prune", str(path))
    return path


def take_back(path: Path) -> Path:
    """Compact, and take it back: the file is what it was, byte for byte.

    Raises:
        RefusedError: it is not.
    """
    before = path.read_bytes()
    run("sessions", "uncompact", str(compact(path)))
    if path.read_bytes() != before:
        raise RefusedError("what was taken back left other bytes than there were")
    return path


def fail_to_take_back(path: Path) -> Path:
    """Ask for the last compaction back where something follows it: it is refused, and no byte changes.

    Raises:
        RefusedError: it was not refused, or the file changed.
    """
    before = path.read_bytes()
    with contextlib.suppress(RefusedError):
        run("sessions", "uncompact", str(path))
        raise LookupError("the compaction was taken back with what followed it")
    if path.read_bytes() != before:
        raise RefusedError("a refusal changed the file")
    return path


def name(path: Path) -> Path:
    """Give the session a name."""
    run("sessions", "name", str(path), "a better name")
    return path


def label(path: Path) -> Path:
    """Label the first message."""
    form = json.loads(run("sessions", "show", str(path), "--json"))
    run("sessions", "label", str(path), form["messages"][0]["id"], "start here")
    return path


def branch(path: Path) -> Path:
    """Go back to the first answer, with a summary of what is left behind."""
    run("sessions", "branch", str(path), "--from", _first_answer(path), "--summary", SUMMARY)
    return path


def rewind(path: Path) -> Path:
    """Go on from the first answer: what followed it is left behind."""
    run("sessions", "append", str(path), "--role", "user", "--parent", _first_answer(path), NOTE)
    run("sessions", "append", str(path), "--role", "assistant", ANSWER)
    return path


def fork(path: Path) -> Path:
    """Copy the whole session."""
    return _file_of(path, run("sessions", "fork", str(path), "--store", str(path.parent)))


def extract(path: Path) -> Path:
    """Copy the way to the first answer."""
    at = _first_answer(path)
    return _file_of(path, run("sessions", "fork", str(path), "--at", at, "--store", str(path.parent)))


def _first_answer(path: Path) -> str:
    form = json.loads(run("sessions", "show", str(path), "--json"))
    own = [m for m in form["messages"] if m["active"] and not m["sidechain"]]
    return next(str(m["id"]) for m in own if m["role"] == "assistant" and not m.get("calls"))


def _file_of(path: Path, session_id: str) -> Path:
    made = session_id.rsplit(maxsplit=1)[-1]
    (found,) = [p for p in path.parent.iterdir() if made in p.name and p.suffix == ".jsonl"]
    return found

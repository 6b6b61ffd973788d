"""What is done to a session before its client resumes it, all through the command line, as a person would."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from slowwave.cli import main

SUMMARY = "SLOWWAVE-SUMMARY: the person said hello, files were read, all is well so far."
NOTE = "SLOWWAVE-NOTE: remember the blue door."
ANSWER = "SLOWWAVE-ANSWER: I will."
CLAUDE = ("claude", "claude-2.0.76", "claude-1.0.128")
ALL = (*CLAUDE, "codex", "pi")
# Clawdbot takes a minute a session, so only for this.
COMPACTED = (*ALL, "clawdbot")
# A part of the summary that slowwave makes itself.
PLANNED = "## Critical Context"
# Sessions of the corpus are small: so little stays that every one of them is worth a compaction.
_TINY = ("compaction.context_window=1000", "compaction.keep_recent_tokens=60")


class RefusedError(Exception):
    """A command of slowwave failed."""


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


class Operation(NamedTuple):
    """One thing that is done to a session.

    Attributes:
        name: what it is called in the report.
        clients: whose sessions take it.
        apply: does it, and returns the file that is then resumed.
        shows: a text that the client must send afterwards, or "".
    """

    name: str
    clients: tuple[str, ...]
    apply: Callable[[Path], Path]
    shows: str = ""


def _untouched(path: Path) -> Path:
    return path


def _append(path: Path) -> Path:
    run("sessions", "append", str(path), "--role", "user", NOTE)
    run("sessions", "append", str(path), "--role", "assistant", ANSWER)
    return path


def _heal(path: Path) -> Path:
    """Cut the last line in half, as a crash does, and append: the torn half must not take the new record with it."""
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(whole[: last + (len(whole) - last) // 2])
    return _append(path)


def _compact(path: Path) -> Path:
    run("sessions", "compact", str(path), "--summary", SUMMARY)
    return path


def _compact_keeping(path: Path) -> Path:
    form = json.loads(run("sessions", "show", str(path), "--json"))
    asked = [m["id"] for m in form["messages"] if m["origin"] == "typed" and m["active"] and not m["sidechain"]]
    run("sessions", "compact", str(path), "--summary", SUMMARY, "--keep-from", asked[-1])
    return path


def _twice(path: Path) -> Path:
    return _append(_compact(_append(_compact(path))))


def _planned(path: Path) -> Path:
    """Let slowwave decide what is summarised and what stays."""
    run("sessions", "compact", str(path), *(word for key in _TINY for word in ("--set", key)))
    return path


def _long(path: Path) -> Path:
    """Add turns whose words are long enough to be worth a summary."""
    for number in range(4):
        run("sessions", "append", str(path), "--role", "user", f"{NOTE} {number} " + "more and more words " * 60)
        run("sessions", "append", str(path), "--role", "assistant", f"{ANSWER} {number} " + "and as many again " * 60)
    return path


def _planned_once(path: Path) -> Path:
    return _planned(_long(path))


def _planned_twice(path: Path) -> Path:
    return _planned(_long(_planned_once(path)))


def _planned_thrice(path: Path) -> Path:
    return _append(_planned(_long(_planned_twice(path))))


def _name(path: Path) -> Path:
    run("sessions", "name", str(path), "a better name")
    return path


def _label(path: Path) -> Path:
    form = json.loads(run("sessions", "show", str(path), "--json"))
    run("sessions", "label", str(path), form["messages"][0]["id"], "start here")
    return path


def _branch(path: Path) -> Path:
    """Go back to the first answer, with a summary of what is left behind."""
    form = json.loads(run("sessions", "show", str(path), "--json"))
    at = next(m["id"] for m in form["messages"] if m["role"] == "assistant" and m["active"] and not m.get("calls"))
    run("sessions", "branch", str(path), "--from", at, "--summary", SUMMARY)
    return _append(path)


def _fork(path: Path) -> Path:
    return _file_of(path, run("sessions", "fork", str(path), "--store", str(path.parent)))


def _fork_at(path: Path) -> Path:
    form = json.loads(run("sessions", "show", str(path), "--json"))
    own = [m for m in form["messages"] if m["active"] and not m["sidechain"]]
    at = next(m["id"] for m in own if m["role"] == "assistant" and not m.get("calls"))
    return _file_of(path, run("sessions", "fork", str(path), "--at", at, "--store", str(path.parent)))


def _file_of(path: Path, session_id: str) -> Path:
    (found,) = [
        p for p in path.parent.iterdir() if session_id.rsplit(maxsplit=1)[-1] in p.name and p.suffix == ".jsonl"
    ]
    return found


OPERATIONS = (
    Operation("unchanged", ALL, _untouched),
    Operation("two messages appended", ALL, _append, NOTE),
    Operation("torn tail healed by an append", ALL, _heal, NOTE),
    Operation("compaction appended", ALL, _compact, SUMMARY),
    Operation("compaction that keeps the last turn", ("claude", "pi", "codex"), _compact_keeping, SUMMARY),
    Operation("compacted twice, with messages between", ALL, _twice, NOTE),
    Operation("compacted by slowwave once", COMPACTED, _planned_once, PLANNED),
    Operation("compacted by slowwave twice", COMPACTED, _planned_twice, PLANNED),
    Operation("compacted by slowwave three times", COMPACTED, _planned_thrice, PLANNED),
    Operation("session named", ALL, _name),
    Operation("message labelled", ("pi",), _label),
    Operation("gone back to an older message, with a summary", ("pi",), _branch, SUMMARY),
    Operation("forked whole", (*CLAUDE, "pi"), _fork),
    Operation("branch extracted", (*CLAUDE, "pi"), _fork_at),
)

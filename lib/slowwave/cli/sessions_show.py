"""``slowwave sessions show|diff``: the messages of a session, its branches as a tree, and how two differ."""

import argparse
import json
import os
import re
import unicodedata
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from slowwave.cli.sessions_context import Target, opened, readable_session
from slowwave.cli.terminal import (
    bold,
    harmless,
    say,
    say_json,
    screen_width,
    settings_of,
    tell_damage,
    warn,
)
from slowwave.errors import DONE, NotFoundError
from slowwave.formats import Message, Problem, Transcript
from slowwave.formats.messages import State, children_of, normal_form, parents_of, state_of
from slowwave.formats.openclaw.dialect import is_silent
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoreProblem
from slowwave.quantities import counted
from slowwave.stores.roots import ClientFacts

if TYPE_CHECKING:
    from slowwave.settings import Settings
    from slowwave.stores.search.kin import Agent
    from slowwave.stores.summary import SessionRow

_WIDTH = 100


def show(args: argparse.Namespace) -> int:
    """Print the messages of one session, what is read in them, or what is known of its compactions."""
    if args.compactions:
        from slowwave.cli.sessions_explain import compactions  # noqa: PLC0415 - only here

        return compactions(args)
    if args.reading:
        from slowwave.cli.sessions_explain import reading  # noqa: PLC0415 - only here

        return reading(args)
    with readable_session(args, args.id, around=args.tree) as target:
        _tell_erased(args, target)
        return _show(args, target)


def _show(args: argparse.Namespace, target: Target) -> int:
    dialect, files = opened(target.found, args.mode)
    transcript = dialect.read(files)
    everything = args.all or args.tree
    messages = [m for m in transcript.messages if everything or state_of(m, transcript) == "active"]
    problems: list[Problem] = []
    around = _Around(args, transcript, target, problems) if args.tree else None
    told = _told(transcript, target)
    if args.json:
        form = _session_form(transcript, messages) | ({"client": told} if told else {})
        say_json([target.told(form if around is None else form | around.form())])
        return DONE
    say(bold(f"{transcript.dialect} {transcript.files.id}" + (f": {transcript.title}" if transcript.title else "")))
    for name, value in told.items():
        say(f"  {name}: {harmless(str(value))}")
    for path in transcript.files.paths[:1] if around else files.paths:
        say(f"  {target.told(os.fspath(path))}")
    if around is not None:
        for line in tree_lines(transcript, around.marks(), around.notes()):
            say(target.told(line))
    else:
        for message in messages:
            _print_message(message, transcript, told=args.all)
    tell_damage([target.told(str(problem)) for problem in (*transcript.problems, *problems)])
    return DONE


def _told(transcript: Transcript, target: Target) -> Mapping[str, Any]:
    """Return what the client notes of the session beside it."""
    return ClientFacts().of(transcript.dialect, target.path, transcript.files.id)


def _tell_erased(args: argparse.Namespace, target: Target) -> None:
    """Say when somebody had the session erased: whoever names it sees it, and nobody else does."""
    from slowwave.secrets.blocklist import any_blocked  # noqa: PLC0415 - --help stays fast

    if not any_blocked(os.environ):
        return
    from slowwave.secrets import blocked_by  # noqa: PLC0415 - most people never erased anything
    from slowwave.stores.catalogue import PROBLEM, is_erased  # noqa: PLC0415 - as above

    if is_erased(target.found, blocked_by(settings_of(args), os.environ)):
        warn(f"session {target.found.id}: {PROBLEM}")


class _Around:
    """What belongs to a session and does not stand among its messages."""

    def __init__(
        self, args: argparse.Namespace, transcript: Transcript, target: Target, problems: list[Problem]
    ) -> None:
        from slowwave.stores.search.kin import agents_of, forks_of  # noqa: PLC0415  # only a tree needs the stores

        self._dialect = transcript.dialect
        rows = _rows_around(settings_of(args), transcript, target, problems)
        self.agents = agents_of(transcript, rows, problems)
        self.forks = forks_of(transcript, rows, problems)
        self.labels = cast("Mapping[str, str]", getattr(transcript, "labels", {}))

    def form(self) -> dict[str, Any]:
        return {
            "agents": [agent._asdict() for agent in self.agents],
            "forks": [fork._asdict() for fork in self.forks],
            "labels": dict(self.labels),
        }

    def marks(self) -> dict[str, list[str]]:
        """Return what is told on the line of a message."""
        return {target: [f"[{label}]"] for target, label in self.labels.items()}

    def notes(self) -> dict[int, list[str]]:
        """Return what branches off at a message, by its number, and lies elsewhere."""
        found: dict[int, list[str]] = {}
        for fork in self.forks:
            found.setdefault(fork.at, []).append(f"⑂ {fork.relation}: {fork.session}")
        for agent in self.agents:
            task = f": {agent.task}" if agent.task else ""
            words = [counted(agent.messages, "message"), *self._place(agent)]
            found.setdefault(agent.at, []).append(f"◇ sub-agent {agent.name}{task} ({', '.join(words)})")
        return found

    def _place(self, agent: "Agent") -> list[str]:
        """Return by what a person finds a sub-agent, where its name does not say it: Claude Code's have files."""
        place = Path(agent.path).name if client_of(self._dialect).has_agent_notes else agent.session
        return [place] if place != agent.name else []


def _rows_around(
    settings: "Settings", transcript: Transcript, target: Target, problems: list[Problem]
) -> "list[SessionRow]":
    """Return the sessions among which those are that belong to one."""
    from slowwave.secrets import blocked_by  # noqa: PLC0415  # only a tree needs the stores
    from slowwave.stores.catalogue import Catalogue, catalogue_path  # noqa: PLC0415  # as above
    from slowwave.stores.search.kin import rows_around  # noqa: PLC0415  # as above

    path = transcript.files.paths[0].absolute()
    odd: list[StoreProblem] = []
    # what is laid out for this one command is nothing to keep
    known = Path(target.base, "catalogue.sqlite") if target.base else catalogue_path(os.environ)
    with Catalogue(known, blocked=blocked_by(settings, os.environ)) as catalogue:
        rows = rows_around(path, transcript.dialect, catalogue, odd)
        for warning in catalogue.warnings:
            warn(warning)
    unread = [problem for problem in odd if problem.kind in ("unreadable", "damaged")]
    problems += [Problem("unreadable", Path(problem.path), 1, 0, 0, problem.detail) for problem in unread]
    return rows


def _print_message(message: Message, transcript: Transcript, *, told: bool) -> None:
    stamp = message.timestamp.strftime("%Y-%m-%d %H:%M") if message.timestamp else ""
    state = state_of(message, transcript) if told else ""
    delivered = "not delivered" if _is_undelivered(message, transcript) else ""
    parts = ("\n" + message.role, f"({message.origin})", delivered, stamp, state, message.id or "")
    say(bold(" ".join(part for part in parts if part)))
    for form in normal_form([message]):
        if "text" in form:
            say(harmless(str(form["text"])))
    most = _WIDTH if screen_width() else None
    for call in message.calls:
        say(f"  -> {call.name} {harmless(str(call.args)[:most])}")
    for result in message.results:
        say(f"  <- {'error: ' if result.is_error else ''}{harmless(' '.join(result.text.split())[:most])}")


def _is_undelivered(message: Message, transcript: Transcript) -> bool:
    """Say whether the client kept an answer from the person (OpenClaw's silent turns)."""
    return transcript.dialect == "openclaw" and message.role == "assistant" and is_silent(message.text)


def _session_form(transcript: Transcript, messages: Sequence[Message]) -> dict[str, Any]:
    return {
        "dialect": transcript.dialect,
        "session": transcript.files.id,
        "kind": transcript.kind,
        "title": transcript.title,
        "paths": [os.fspath(path) for path in transcript.files.paths],
        "records": transcript.records,
        "messages": [_message_form(message, transcript) for message in messages],
        "unknown_types": transcript.unknown_types,
        "problems": [str(problem) for problem in transcript.problems],
    }


def _message_form(message: Message, transcript: Transcript) -> dict[str, Any]:
    form: dict[str, Any] = {"role": message.role}
    for normal in normal_form([message]):
        form |= normal
    return form | {
        "origin": message.origin,
        "id": message.id,
        "parent": message.parent,
        "active": message.active,
        "sidechain": message.sidechain,
        "kind": "compaction" if message.origin == "summary" else "message",
        "state": state_of(message, transcript),
        **({"delivered": False} if _is_undelivered(message, transcript) else {}),
        "timestamp": message.timestamp.isoformat() if message.timestamp else None,
    }


TREE_WIDTH = 100
# Deeper nesting is drawn at this depth; the words would have no room left.
_MOST_DEPTH = 16
_GLYPHS: dict[State, str] = {"active": "●", "abandoned": "○", "sub-agent": "◇"}
_COMPACTION = "◆"
# what is drawn with takes one column a character, as ASCII does
_NARROW = re.compile("[ -~●○◇◆⑂│├─]*")
_RESULT_CHARS = 200
# enough to tell messages apart; --json has whole ids
_ID_CHARS = 16


def tree_lines(
    transcript: Transcript, marks: Mapping[str, Sequence[str]], notes: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """Yield the lines of a tree, none wider than 100 columns.

    Args:
        transcript: the session.
        marks: by id of a message, what is told on its line: labels.
        notes: by number of a message, what branches off there and lies elsewhere: forks, sub-agents' sessions.
    """
    messages = transcript.messages
    roots, below = children_of(parents_of(messages))
    waiting: list[tuple[int, int, bool]] = [(root, 0, False) for root in reversed(roots)]
    while waiting:
        index, depth, is_branch = waiting.pop()
        message = messages[index]
        yield _cut(_stem(depth, begins=is_branch) + _line_of_tree(message, state_of(message, transcript), marks))
        for note in notes.get(index, ()):
            yield _cut(_stem(depth + 1, begins=True) + note)
        under = below[index]
        if not under:
            continue
        goes_on = _continuation(under, message, messages)
        waiting.append((goes_on, depth, False))
        waiting += [(i, depth + 1, True) for i in reversed(under) if i != goes_on]


def _continuation(under: Sequence[int], above: Message, messages: Sequence[Message]) -> int:
    """Return which of the messages under one carries on its branch: the last that is of the same kind."""
    same = [i for i in under if (messages[i].active, messages[i].sidechain) == (above.active, above.sidechain)]
    return (same or under)[-1]


def _stem(depth: int, *, begins: bool) -> str:
    shown = min(depth, _MOST_DEPTH)
    return "│ " * (shown - 1) + ("├─" if begins else "│ ") if shown else ""


def _line_of_tree(message: Message, state: State, marks: Mapping[str, Sequence[str]]) -> str:
    at = message.timestamp
    is_summary = message.origin == "summary"
    words = [
        _COMPACTION if is_summary and state == "active" else _GLYPHS[state],
        message.role,
        at.strftime("%Y-%m-%d %H:%M") if at else "",
        "" if state == "active" else state,
        "compaction" if is_summary else "",
        *(marks.get(message.id, ()) if message.id else ()),
        (message.id or "")[:_ID_CHARS],
    ]
    return " ".join(word for word in words if word) + f"  {_beginning(message)}"


def _beginning(message: Message) -> str:
    """Return the beginning of what a message says, or else what it calls or answers, on one line."""
    text = " ".join(message.text[: 4 * TREE_WIDTH].split())
    if text:
        return text
    if message.calls:
        return "-> " + ", ".join(call.name for call in message.calls)
    results = " ".join(" ".join(r.text[:_RESULT_CHARS].split()) for r in message.results[:1])
    return f"<- {results}" if message.results else ""


def _cut(line: str) -> str:
    """Return a line that takes 100 columns at most and holds nothing that a terminal would obey."""
    clean = line if line.isprintable() else "".join(c if c.isprintable() else " " for c in line)
    if _NARROW.fullmatch(clean, 0, TREE_WIDTH + 1):
        return clean.rstrip() if len(clean) <= TREE_WIDTH else clean[: TREE_WIDTH - 3] + "..."
    columns = 0
    for at, char in enumerate(clean):
        columns += _columns(char)
        if columns > TREE_WIDTH:
            return _shortened(clean[:at])
    return clean.rstrip()


def _shortened(text: str) -> str:
    """Make room for the three dots that say that something is missing."""
    freed = 0
    while text and freed < len("..."):
        freed += _columns(text[-1])
        text = text[:-1]
    return text + "..."


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def diff(args: argparse.Namespace) -> int:
    """Print the messages in which two sessions differ, with some around them."""
    import difflib  # noqa: PLC0415 - only here

    other = readable_session(args, args.other) if args.other else _put_by(args.id)
    with readable_session(args, args.id) as one, other as two:
        old, new = _lines_said(two), _lines_said(one)
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
    """Yield the copy of a session in the trash or the archive."""
    from slowwave.cli.sessions_write import copy_of  # noqa: PLC0415 - what is shown needs no trash
    from slowwave.stores.archive import laid_out_copy  # noqa: PLC0415 - as above

    found = copy_of(name)
    if found is None:
        raise NotFoundError(f"neither trash nor archive has a copy of {name!r}; name the other session, too")
    with laid_out_copy(found, os.environ) as (session, base):
        yield Target(session, base, str(session.path).removeprefix(base))


def _lines_said(target: Target) -> list[str]:
    """Return what is said in a session, line by line, with every call and every result."""
    dialect, files = opened(target.found)
    transcript = dialect.read(files)
    lines: list[str] = []
    for form in normal_form(m for m in transcript.messages if state_of(m, transcript) == "active"):
        lines += [f"{form['role']}: {text}" for text in str(form.get("text", "")).splitlines()]
        for kind in ("calls", "results"):
            lines += [f"{form['role']}: {text}" for text in _parts(form.get(kind))]
    return lines


def _parts(parts: object) -> Iterator[str]:
    for part in cast("list[object]", parts or []):
        yield json.dumps(part, ensure_ascii=False, sort_keys=True, default=str)

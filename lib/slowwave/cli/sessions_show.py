"""``slowwave sessions show``: the messages of one session, or its branches as a tree."""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from slowwave.cli.output import bold, counted, harmless, say, say_json, tell_damage
from slowwave.cli.sessions_target import chosen_session, opened
from slowwave.cli.tree import tree_lines
from slowwave.dialects.branching import state_of
from slowwave.dialects.model import Message, Transcript
from slowwave.dialects.normal import normal_form
from slowwave.errors import DONE
from slowwave.records.model import Problem
from slowwave.stores.search.kin import Agent, Fork, agents_of, forks_of

_WIDTH = 100


def show(args: argparse.Namespace) -> int:
    """Print the messages of one session."""
    dialect, files = opened(chosen_session(args, args.id), args.mode)
    transcript = dialect.read(files)
    everything = args.all or args.tree
    messages = [m for m in transcript.messages if everything or state_of(m, transcript) == "active"]
    problems: list[Problem] = []
    around = _Around(transcript, problems) if args.tree else None
    if args.json:
        form = _session_form(transcript, messages)
        say_json([form if around is None else form | around.form()])
        return DONE
    say(bold(f"{transcript.dialect} {transcript.files.id}" + (f": {transcript.title}" if transcript.title else "")))
    for path in transcript.files.paths[:1] if around else files.paths:
        say(f"  {path}")
    if around is not None:
        for line in tree_lines(transcript, around.marks(), around.notes()):
            say(line)
    else:
        for message in messages:
            _print_message(message, transcript, told=args.all)
    tell_damage([*transcript.problems, *problems])
    return DONE


class _Around:
    """What belongs to a session and does not stand among its messages."""

    def __init__(self, transcript: Transcript, problems: list[Problem]) -> None:
        self._transcript = transcript
        self.agents: list[Agent] = agents_of(transcript.files, problems) if transcript.dialect == "claude" else []
        self.forks: list[Fork] = forks_of(transcript, problems)
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

    def notes(self) -> dict[str, list[str]]:
        """Return what branches off at a message and lies in another file."""
        found: dict[str, list[str]] = {}
        for fork in self.forks:
            found.setdefault(fork.message, []).append(f"⑂ {fork.relation}: {fork.session}")
        for agent in self.agents:
            task = f": {agent.task}" if agent.task else ""
            line = (
                f"◇ sub-agent {agent.name}{task} ({counted(agent.messages, 'message')}, {os.path.basename(agent.path)})"  # noqa: PTH119 - a name
            )
            if (at := self._started(agent)) is not None:
                found.setdefault(at, []).append(line)
        return found

    def _started(self, agent: Agent) -> str | None:
        """Return the message that started a sub-agent: its call, else the last one before it began, else the first."""
        messages = [m for m in self._transcript.messages if m.id]
        for message in messages:
            if agent.call and any(call.id == agent.call for call in message.calls):
                return message.id
        before = [m.id for m in messages if m.timestamp and agent.began and m.timestamp.isoformat() <= agent.began]
        return before[-1] if before else (messages[0].id if messages else None)


def _print_message(message: Message, transcript: Transcript, *, told: bool) -> None:
    stamp = message.timestamp.strftime("%Y-%m-%d %H:%M") if message.timestamp else ""
    state = state_of(message, transcript) if told else ""
    parts = ("\n" + message.role, f"({message.origin})", stamp, state, message.id or "")
    say(bold(" ".join(part for part in parts if part)))
    for form in normal_form([message]):
        if "text" in form:
            say(harmless(str(form["text"])))
    for call in message.calls:
        say(f"  -> {call.name} {harmless(str(call.args)[:_WIDTH])}")
    for result in message.results:
        say(f"  <- {'error: ' if result.is_error else ''}{harmless(' '.join(result.text.split())[:_WIDTH])}")


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
        "timestamp": message.timestamp.isoformat() if message.timestamp else None,
    }


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"show": show}

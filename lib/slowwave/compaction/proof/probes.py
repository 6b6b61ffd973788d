"""Probes made from messages: exact ones from calls and results, words from what was typed and said.

They are made by rules of their own, so that what the ledger overlooks is seen: nothing here is shared with its choice
of lines but the reading of calls (files, outcomes, error lines, task lists), which has tests against plain scans.
"""

import re
from collections.abc import Iterator, Sequence

from slowwave.compaction.exchanges import Exchange, Redact, exchanges
from slowwave.compaction.failures import signatures
from slowwave.compaction.file_operations import files_of_call, of_messages
from slowwave.compaction.paths import shown
from slowwave.compaction.proof.model import Probe, ProbeKind
from slowwave.compaction.proof.statements import identifiers, statements
from slowwave.compaction.todo_lists import tasks_of
from slowwave.formats.model import Message, Span
from slowwave.letters import one_line
from slowwave.secrets.redactor import NAMELESS

_COMMAND_CHARS = 70
_ERROR_CHARS = 60
_MESSAGE = re.compile(r"^git commit .*-m [\"']?(.+?)[\"']?$")
_LEAST_MESSAGE = 12
# commands that change what others see
_PUBLIC = frozenset({"git", "gh", "docker", "kubectl", "terraform", "helm", "psql", "sqlite3", "curl", "ssh", "scp"})


def probes_of(messages: Sequence[Message], cwd: str = "", *, redact: Redact = NAMELESS) -> list[Probe]:
    """Return what a summary of messages should still tell, in a fixed order.

    Args:
        messages: what goes away; earlier summaries among them give no probes, for they were proven in their time.
        cwd: the folder that paths are seen from.
        redact: takes secrets out, as the summary has none either.
    """
    own = [m for m in messages if m.active and not m.sidechain and m.origin != "summary"]
    every = list(exchanges(own))
    return [
        *_files(own, cwd),
        *_errors(every, redact),
        *_commands(every, redact),
        *_tasks(every, redact),
        *statements(own, redact),
        *identifiers(own, every, redact),
    ]


def _files(messages: Sequence[Message], cwd: str) -> Iterator[Probe]:
    cwd = cwd or next((message.cwd for message in messages if message.cwd), "")
    files = of_messages(messages, cwd)
    named = _places_of_names(messages)
    lists: tuple[tuple[ProbeKind, list[str]], ...] = (("modified", files.modified_files), ("read", files.read_files))
    for kind, paths in lists:
        for path in paths:
            sources = next((named[n] for n in (path, path.rsplit("/", 1)[-1]) if n in named), ())
            yield Probe(kind, path, tuple(dict.fromkeys((path, shown(path, cwd)))), sources=sources)


def _places_of_names(messages: Sequence[Message]) -> dict[str, tuple[Span, ...]]:
    """Return the records of the calls that name a file last, by the file's path or its name."""
    found: dict[str, tuple[Span, ...]] = {}
    for exchange in exchanges(messages):
        for touched in files_of_call(exchange.call, exchange.result):
            found[touched.path] = found[touched.path.rsplit("/", 1)[-1]] = exchange.sources
    return found


def _errors(every: Sequence[Exchange], redact: Redact) -> Iterator[Probe]:
    for one in signatures(every, redact):
        yield Probe("error", one.text, (one.text[:_ERROR_CHARS].strip(),), sources=one.sources)


def _commands(every: Sequence[Exchange], redact: Redact) -> Iterator[Probe]:
    """Yield commands with a purpose, and those that others see, with their last outcome."""
    last: dict[str, tuple[Exchange, bool]] = {}
    for exchange in every:
        steps = exchange.done(redact)
        is_one = any(step.outcome == "failed" for step in steps)
        for step in steps:
            if step.purpose or step.program in _PUBLIC:
                text = one_line(step.text).split("$(")[0][:_COMMAND_CHARS].strip(" \"'-")
                last[text] = exchange, step.outcome == "failed" if is_one else exchange.failed
    for text, (exchange, failed) in last.items():
        yield Probe("command", text, _tellings(text), failed, exchange.sources)


def _tellings(command: str) -> tuple[str, ...]:
    """A commit may be told by its message."""
    message = _MESSAGE.search(command)
    return (command, message[1].strip()) if message is not None and len(message[1]) >= _LEAST_MESSAGE else (command,)


def _tasks(every: Sequence[Exchange], redact: Redact) -> Iterator[Probe]:
    for task in tasks_of(every):
        if task.status != "completed":
            yield Probe("task", one_line(redact(task.text)), sources=task.sources)

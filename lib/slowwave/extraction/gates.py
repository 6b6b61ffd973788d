"""The gates of extraction: whether a session has enough that is new, and has come to rest; each with its reason.

The three numbers and their order are those of seed 000 (Cersei asks them in the same order); rest comes on top, so
that a session somebody still works in waits for a later run. They are for sessions that may go on: one that has ended
is read whatever they say, since what a short talk says is worth no less than what a long one does.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import msgspec

from slowwave.extraction.ranges import PartState
from slowwave.formats import Message, Problem, ToolCall, ToolResult
from slowwave.memory import iso
from slowwave.memory.folder import Notes
from slowwave.report import Gate
from slowwave.settings import ExtractionSettings

# hours
_DAY = 24


@dataclass(frozen=True, slots=True)
class Progress:
    """What the gates need to know of a session."""

    messages: int  # messages of the main conversation, of all roles
    new_tool_calls: int  # tool calls since the last extraction
    is_first: bool  # nothing was extracted from this session before
    open_call: str = ""  # name of a tool call of the last assistant message that has no result yet, or ""
    last_at: str = ""  # ISO time of the last message that has one, or ""


def progress_of(messages: Sequence[Message], new: Iterable[Message], *, is_first: bool) -> Progress:
    """Return a session's progress from its messages and those of them that are new.

    Abandoned branches and sub-agents' messages do not count.
    """
    main = [m for m in messages if m.active and not m.sidechain]
    calls = sum(len(m.calls) for m in new if m.active and not m.sidechain)
    last = max((m.timestamp for m in messages if m.timestamp), default=None)
    return Progress(len(main), calls, is_first, _open_call(main), iso(last) if last else "")


def session_gates(
    progress: Progress, settings: ExtractionSettings, *, project: str, session: str, rested: timedelta = timedelta(0)
) -> list[Gate]:
    """Ask the gates in order up to the first that refuses; all passed when the last one did.

    A session that has rested for ``ended_after`` is asked nothing else: nothing will come that could open a gate.

    Args:
        progress: what is known of the session.
        settings: the limits.
        project: key of its project.
        session: its id.
        rested: how long ago anything happened in it.
    """
    if rested >= settings.ended_after:
        reason = f"session {session}: it has ended, nothing happened in it for {_spoken(rested)}"
        return [Gate("ended", project, passed=True, reason=reason)]
    asked: list[Gate] = []
    for name, passed, reason in (
        ("messages", *enough_messages(progress, settings)),
        ("tool_calls", *enough_tool_calls(progress, settings)),
        ("open_call", *no_open_call(progress, settings, rested)),
    ):
        until = "" if passed else f"; all of it is read once nothing happens in it for {_spoken(settings.ended_after)}"
        asked.append(Gate(name, project, passed, f"session {session}: {reason}{until}"))
        if not passed:
            break
    return asked


def enough_messages(progress: Progress, settings: ExtractionSettings) -> tuple[bool, str]:
    """Say whether the conversation is long enough."""
    need = settings.min_messages
    return progress.messages >= need, f"{progress.messages} messages, {need} needed"


def enough_tool_calls(progress: Progress, settings: ExtractionSettings) -> tuple[bool, str]:
    """Say whether enough was done since the last extraction; the first one needs nothing."""
    if progress.is_first:
        return True, "first extraction"
    need = settings.min_tool_calls
    return (
        progress.new_tool_calls >= need,
        f"{progress.new_tool_calls} tool calls since the last extraction, {need} needed",
    )


def no_open_call(progress: Progress, settings: ExtractionSettings, rested: timedelta) -> tuple[bool, str]:
    """Say whether the assistant waits for nothing; without an assistant message the gate is open.

    Seed 000 asks so that a running turn is not cut. A client that was killed never writes the result, so after a rest
    of ``open_call_rest`` the turn counts as ended.
    """
    if not progress.open_call:
        return True, "no tool call is open"
    if rested >= settings.open_call_rest:
        return True, f"the call of {progress.open_call} was never answered, and the session has ended"
    return False, f"the last assistant message waits for the result of {progress.open_call}"


def _spoken(rest: timedelta) -> str:
    """Return a rest in whole hours, or in days once it is that long."""
    hours = rest // timedelta(hours=1)
    return f"{hours} h" if hours < 2 * _DAY else f"{hours // _DAY} days"


def _open_call(messages: Sequence[Message]) -> str:
    """Return the name of a call in the last assistant message that was never answered, or ""."""
    last = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "assistant"), None)
    if last is None:
        return ""
    answered = {b.id for m in messages[last:] for b in m.blocks if isinstance(b, ToolResult)}
    return next((b.name for b in messages[last].blocks if isinstance(b, ToolCall) and b.id not in answered), "")


# What the gates were told of sessions that they refused, so that the same bytes are not decoded to be refused again.
#
# The progress is kept and not the verdict: under other settings the same progress may pass.

REFUSED_FILE = "refused.jsonl"


class Refused(msgspec.Struct, frozen=True):
    """A session that a gate refused after it was decoded."""

    session: str  # the session's id, as :mod:`slowwave.memory` spells it
    stamp: str  # of its files, as :func:`stamp_of` returns it; another stamp means another progress
    extractor: str  # name and version of the extractor
    progress: Progress  # what the gates were told
    at: str  # ISO time


REFUSED = Notes(Refused, REFUSED_FILE)


def stamp_of(states: Sequence[PartState]) -> str:
    """Return what identifies the bytes of a session, and how much of them was read before."""
    parts = [f"{state.path.name!a}:{state.known}:{state.stop}:{state.sha256}" for state in states]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def read_refused(memory: Path) -> tuple[dict[str, Refused], list[Problem]]:
    """Return for each session the last time that it was refused, and what could not be read."""
    every, problems = REFUSED.read(memory)
    return {one.session: one for one in every}, problems


# Sessions that could not be extracted: tried again on later runs, at most three times for the same bytes.

MOST_ATTEMPTS = 3


class Failure(msgspec.Struct, frozen=True):
    """One failed attempt."""

    session: str  # the session's id
    stamp: str  # size and modification time of the session; another stamp starts to count anew
    attempts: int  # how often these bytes have failed
    error: str  # what went wrong
    extractor: str  # name and version of the extractor
    at: str  # ISO time


FAILURES = "failures.jsonl"


def read_failures(memory: Path, file: str = FAILURES) -> tuple[dict[str, Failure], list[Problem]]:
    """Return the last failure of each session, and what could not be read."""
    every, problems = Notes(Failure, file).read(memory)
    return {failure.session: failure for failure in every}, problems

"""The dialect of Codex: rollouts ``~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`` of every era.

The first ``session_meta`` says what the session is; later ones are resumes, or the copied history of a fork. A fork by
reference holds only its own turns: the context adds the parent's, found beside the file or in its Codex home; their
spans have part numbers behind those of the session's own files. In a compressed rollout (``.jsonl.zst``) offsets are
those of its plain bytes.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.client import Told
from slowwave.formats.codex import KNOWN_TYPES, find_rollout, home_of, present, thread_name
from slowwave.formats.codex.messages import CodexMessage, Place
from slowwave.formats.codex.records import (
    DECODER,
    KNOWN_ITEMS,
    UNREADABLE_LINE,
    Envelope,
    Line,
    is_of_sub_agent,
    is_paginated,
    item_of,
    line_of,
    parent_of,
    renumber,
)
from slowwave.formats.codex.replay import History, repaired, replay, rolled_back, summary_of, tail_of
from slowwave.formats.lines import read_records, relaxed_collector
from slowwave.formats.messages import PlainMessage, set_parent
from slowwave.formats.model import (
    Message,
    Other,
    Problem,
    SessionFiles,
    SessionKind,
    Span,
    Text,
    Transcript,
    object_in,
    parse_time,
    text_in,
)

# A fork of a fork of ...: more than this is a circle that somebody made by hand.
_MOST_ANCESTORS = 100


class CodexTranscript(Transcript):
    """A session with its lines, and those that a fork by reference inherits."""

    lines: list[Line] = msgspec.field(default_factory=list[Line])
    inherited: list[Line] = msgspec.field(default_factory=list[Line])
    is_paginated: bool = False


class Codex:
    """Rules of Codex rollouts."""

    name = "codex"
    decoder = DECODER

    def read(self, files: SessionFiles) -> CodexTranscript:
        """Read a session, all messages in file order; rolled-back ones are not active."""
        result = self.read_own(files)
        if result.is_paginated:  # the client looks for a base in no other rollout
            with relaxed_collector():
                result.inherited = _inherited(result.files, _meta(result.lines), result.problems)
        return result

    def read_own(self, files: SessionFiles) -> CodexTranscript:
        """Read only what a session itself holds: all of its messages, but none of the lines that a fork refers to.

        What needs no context reads a chain of forks in this way: each one would read all of its ancestors again.
        """
        files = SessionFiles(files.id, tuple(present(path) for path in files.paths), files.problems)
        result = CodexTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            for part, path in enumerate(files.paths):
                result.lines += _lines(path, part, result.problems)
            meta = _meta(result.lines)
            result.kind, result.parent = _kind(meta), parent_of(meta)
            result.is_paginated = is_paginated(meta)
            renumber(result.lines)
            result.messages, unknown = _messages(result.lines, meta, own_agent=result.kind == "subagent")
        result.records = len(result.lines)
        kinds = Counter(line.kind for line in result.lines)
        result.unknown_types = {k or "(none)": n for k, n in kinds.items() if k not in KNOWN_TYPES} | unknown
        result.title = _title(files, meta, result.lines)
        return result

    def tail(self, files: SessionFiles) -> CodexTranscript | None:
        """Return the end of a compacted rollout, from the turn of its newest compaction on."""
        found = tail_of(files)
        if found is None:
            return None
        problems = [*files.problems, *found.problems]
        return CodexTranscript(
            self.name, files, problems=problems, is_tail=True, lines=found.lines, is_paginated=found.is_paginated
        )

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what Codex would send if the session were resumed now, without its own instructions."""
        whole = transcript if isinstance(transcript, CodexTranscript) else self.read(transcript.files)
        lines = [*whole.inherited, *whole.lines]
        return repaired(replay(lines, is_paginated=whole.is_paginated, is_parsed=whole.is_tail))

    def told(self, span: Span, record: Envelope, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return what a line tells: a header, a name of the thread, or a message."""
        line = line_of(span, record)
        if line.kind == "session_meta":
            meta = line.fields()
            return Told(kind=_kind(meta), cwd=text_in(meta, "cwd"), parent=parent_of(meta))
        if line.kind == "event_msg":
            return Told(title=_renamed(line))
        return Told(_message_of(line, Place(own_agent=by_agent)))


def _lines(path: Path, part: int, problems: list[Problem]) -> list[Line]:
    before = len(problems)
    lines = [line_of(span, env) for span, env in read_records(path, DECODER, problems, part=part)]
    if damaged := {p.line for p in problems[before:] if p.kind in UNREADABLE_LINE}:
        for line in lines:
            line.lost = line.span.number in damaged
    return lines


def _meta(lines: Sequence[Line]) -> dict[str, Any]:
    """Return the canonical header: the first one (client)."""
    first = next((line for line in lines if line.kind == "session_meta"), None)
    return first.fields() if first else {}


def _kind(meta: dict[str, Any]) -> SessionKind:
    if is_of_sub_agent(meta):
        return "subagent"
    return "fork" if meta.get("forked_from_id") or meta.get("history_base") else "main"


def _inherited(files: SessionFiles, meta: dict[str, Any], problems: list[Problem]) -> list[Line]:
    """Return the lines of all ancestors of a fork by reference, oldest first, each cut where its child begins."""
    found: list[Line] = []
    child, base = files.paths[0] if files.paths else Path(), meta.get("history_base")
    seen: set[str] = set()
    while isinstance(base, dict) and len(seen) < _MOST_ANCESTORS:
        fields = cast("dict[str, Any]", base)
        thread = str(fields.get("thread_id"))
        path = find_rollout(child, thread) if thread not in seen else None
        if path is None:
            problems.append(Problem("gap", child, 1, 0, 0, f"the rollout {thread} that it was forked from is missing"))
            break
        seen.add(thread)
        try:
            lines = _lines(path, len(files.paths) + len(seen) - 1, problems)
        except UnreadableError as error:
            problems.append(Problem("unreadable", path, 1, 0, 0, error.reason))
            break
        found = [line for line in lines if _is_before(line, fields)] + found
        child, base = path, _meta(lines).get("history_base")
    else:
        if isinstance(base, dict):
            text = f"a fork with more than {_MOST_ANCESTORS} ancestors; the oldest are left out"
            problems.append(Problem("gap", child, 1, 0, 0, text))
    return found


def _is_before(line: Line, base: dict[str, Any]) -> bool:
    """Say whether a parent's line lies before the fork; the client cuts at a byte offset and at an ordinal."""
    end, ordinal = base.get("end_byte_offset"), base.get("end_ordinal_exclusive")
    if isinstance(end, int) and line.span.offset + len(line.span.raw) > end:
        return False
    return not isinstance(ordinal, int) or line.ordinal is None or line.ordinal < ordinal


def _messages(lines: Sequence[Line], meta: dict[str, Any], *, own_agent: bool) -> tuple[list[Message], dict[str, int]]:
    """Return the messages of all items, and how many items there are of each unknown type."""
    branch = str(object_in(meta, "git").get("branch") or "")
    place = Place(text_in(meta, "cwd"), branch, own_agent)
    found: list[Message] = []
    history = History[Message]()
    unknown: Counter[str] = Counter()
    for line in lines:
        message = _message_of(line, place)
        if message is None and line.kind == "response_item":
            unknown[f"response_item/{item_of(line.body).kind or '(none)'}"] += 1
        elif line.kind == "turn_context":
            place = Place(text_in(line.fields(), "cwd") or place.cwd, branch, own_agent)
        elif turns := rolled_back(line):
            for dropped in history.roll_back(turns):
                if isinstance(dropped, CodexMessage):
                    dropped.live = False
        if message is not None:
            set_parent(message, history.messages[-1].id if history.messages else None)
            found.append(message)
            history.append(message)
    return found, unknown


def _message_of(line: Line, place: Place) -> Message | None:
    """Return the message that a line is, None when it says nothing to the model or is of an unknown type."""
    if line.kind == "compacted":
        return _compaction(line, place)
    item = item_of(line.body) if line.kind == "response_item" else None
    return CodexMessage(item, line.span, line.timestamp, place) if item and item.kind in KNOWN_ITEMS else None


def _compaction(line: Line, place: Place) -> Message:
    summary = summary_of(line)
    block = Text(summary) if summary else Other("compaction")
    at = parse_time(line.timestamp)
    return PlainMessage("user", (block,), (line.span,), "summary", None, at, place.cwd, branch=place.branch)


def _title(files: SessionFiles, meta: dict[str, Any], lines: Sequence[Line]) -> str:
    """Return the name of the thread: the newest in the rollout, or else the index's."""
    for line in reversed(lines):
        if line.kind == "event_msg" and (name := _renamed(line)) is not None:
            return name
    home = home_of(files.paths[0]) if files.paths else None
    return thread_name(home, text_in(meta, "id")) if home and meta.get("id") else ""


def _renamed(line: Line) -> str | None:
    """Return the name that an event gives to its thread, None when it is about something else."""
    fields = line.fields() if line.mentions(b"thread_name_updated") else {}
    return text_in(fields, "thread_name") if fields.get("type") == "thread_name_updated" else None


CODEX = Codex()

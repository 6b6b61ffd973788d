"""The dialect of Codex: rollouts ``~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`` of every era.

The first ``session_meta`` says what the session is; later ones are resumes, or the copied history of a fork. A fork by
reference holds only its own turns: the context adds the parent's, found beside the file or in its Codex home; their
spans have part numbers behind those of the session's own files. In a compressed rollout (``.jsonl.zst``) offsets are
those of its plain bytes.

What Codex would send if a rollout were resumed is a replay of its items, rollbacks and compactions. Rules (formats.md
§8.3 and the client's reconstruction; clients.md §5.3 tried most of them): turns that were rolled back do not count, and
neither do compactions made in them; the newest ``replacement_history`` that is left is the base, and the lines behind
it are replayed on top. A compaction without one keeps the user's messages (newest first, 20,000 tokens) and its
summary. Then every call without an output gets ``aborted``, and outputs without a call are dropped.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats import (
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
from slowwave.formats.client import Told
from slowwave.formats.codex import KNOWN_TYPES, find_rollout, home_of, present, thread_name
from slowwave.formats.codex.records import (
    CALLS,
    DECODER,
    DEFAULT_LIMIT,
    KNOWN_ITEMS,
    OUTPUTS,
    SUMMARY_PREFIX,
    UNREADABLE_LINE,
    Beside,
    CodexMessage,
    Envelope,
    Item,
    Limit,
    Line,
    Place,
    beside_of,
    is_agents_instruction,
    is_context,
    is_instruction,
    is_of_sub_agent,
    is_paginated,
    is_sound,
    is_summary,
    item_of,
    line_of,
    may_instruct,
    middle_cut,
    parent_of,
    parsed,
    renumber,
    replacement_items,
    texts_of,
    tokens_of,
    words_of,
)
from slowwave.formats.lines import read_records, relaxed_collector
from slowwave.formats.messages import PlainMessage, Verbatim, set_parent
from slowwave.formats.tail import Suffix, first_record

USER_TOKENS = 20_000
_CUT = ("function_call_output", "custom_tool_call_output")
_NO_SUMMARY = "(no summary available)"
# Which outputs answer which calls; any other output is an orphan (client: normalize).
_ANSWERS = {
    "function_call_output": ("function_call", "local_shell_call"),
    "custom_tool_call_output": ("custom_tool_call",),
    "tool_search_output": ("tool_search_call",),
}
Sent = CodexMessage | PlainMessage


def replay(lines: Sequence[Line], *, is_paginated: bool = False, is_parsed: bool = False) -> list[Sent]:
    """Return the messages after all lines, without the client's repairs and with the harness's own.

    ``lines``: the rollout, or its end. ``is_paginated``: its header says so. ``is_parsed``: what the client cannot
    parse was left out before.
    """
    lines = lines if is_parsed else parsed(lines)
    window = None
    if is_paginated:
        lines = own_lines(lines)
        window = window_start(lines)
        lines = lines[window or 0 :]
    base, skipped = base_of(lines)
    if window is not None:
        skipped.discard(0)  # no rollback reaches over the beginning of a window
    history = History[Sent]()
    for index in range(base or 0, len(lines)):
        line = lines[index]
        if line.kind == "response_item":
            history.extend(_recorded(line))
        elif is_from_agent(line):
            history.append(CodexMessage(Item("agent_message"), line.span, line.timestamp, Place(), as_sent=True))
        elif line.kind == "compacted":
            kept = replacement_items(line)
            if kept is None:
                history = History(_compacted(history.messages, line))
            elif index not in skipped:
                history = History[Sent](_sent(kept, line))
        elif (turns := rolled_back(line)) > 0:
            history.roll_back(turns)
    return history.messages


def repaired(history: Iterable[Sent]) -> list[Message]:
    """Return what is sent of a history: calls answered, orphans and the harness's own messages left out.

    Messages of the roles developer and system are the client's instructions; a context is what was said.
    """
    kept = [m for m in history if _kind_of(m) != "ghost_snapshot"]
    called = {(_kind_of(m), m.item.call_id) for m in kept if isinstance(m, CodexMessage) and _kind_of(m) in CALLS}
    answered = {(_kind_of(m), m.item.call_id) for m in kept if isinstance(m, CodexMessage) and _kind_of(m) in OUTPUTS}
    found: list[Message] = []
    for message in kept:
        kind = _kind_of(message)
        if not isinstance(message, CodexMessage):
            found.append(message)
        elif kind in OUTPUTS:
            if _is_free(message) or any((call, message.item.call_id) in called for call in _ANSWERS[kind]):
                found.append(message)
        elif message.role != "system":
            found.append(message)
            if kind in CALLS and not _is_answered(message, answered):
                found.append(_aborted(message))
    return found


def _recorded(line: Line) -> Iterator[CodexMessage]:
    """Yield the message of a line unless the client cannot parse it; outputs as far as its history takes them."""
    item = item_of(line.body)
    is_bare = not line.mentions(b'"payload"')
    beside = Beside() if is_bare else beside_of(line)
    if not is_bare and (beside is None or not is_sound(item, line.body)):
        return
    for message in _sent([item], line):
        if item.kind in _CUT and beside is not None:
            message.limit = DEFAULT_LIMIT if beside.token_limit is None else Limit(beside.token_limit)
        yield message


def _sent(items: Iterable[Item], line: Line) -> Iterator[CodexMessage]:
    """Yield the messages of items; the client ignores items of a type that it does not know."""
    for item in items:
        if item.kind in KNOWN_ITEMS:
            yield CodexMessage(item, line.span, line.timestamp, Place(), as_sent=True)


def _kind_of(message: Message) -> str:
    return message.item.kind if isinstance(message, CodexMessage) else "message"


def _compacted(history: Sequence[Sent], line: Line) -> list[Sent]:
    """Return what a compaction without a replacement leaves: the user's messages and its summary."""
    asked = [m for m in history if is_boundary(m) and _kind_of(m) == "message"]
    kept: list[Sent] = []
    room = USER_TOKENS
    for message in reversed(asked):
        text = "".join(words_of(message.item)) if isinstance(message, CodexMessage) else message.text
        size = tokens_of(text)
        if size > room:
            text = middle_cut(text, room)
        kept.append(PlainMessage("user", (Text(text),), message.sources[:1] or (line.span,), "typed"))
        room -= size
        if room <= 0:
            break
    said = line.fields().get("message")
    summary = said if isinstance(said, str) and said else _NO_SUMMARY
    return [*reversed(kept), PlainMessage("user", (Text(summary),), (line.span,), "summary")]


def _is_answered(call: CodexMessage, answered: set[tuple[str, str | None]]) -> bool:
    """Say whether a call has an output; the client looks for none when the call has no id."""
    own = call.item.call_id
    return own is None or any((out, own) in answered for out, calls in _ANSWERS.items() if _kind_of(call) in calls)


def _is_free(output: CodexMessage) -> bool:
    """Say whether an output needs no call: the API itself found the tools, or it names none."""
    item = output.item
    return item.kind == "tool_search_output" and (item.execution == "server" or item.call_id is None)


def _aborted(call: CodexMessage) -> Message:
    said = "" if _kind_of(call) == "tool_search_call" else "aborted"  # of a search, that it found nothing
    answer = Verbatim(call.item.call_id or "", said, is_error=True)
    return PlainMessage("tool", (answer,), (call.span,), "tool")


def summary_of(line: Line) -> str:
    """Return the summary that a compaction shows to a reader, without the client's introduction; "" when opaque."""
    said = line.fields().get("message")
    return said.removeprefix(SUMMARY_PREFIX).strip() if isinstance(said, str) else ""


# Where the history of a Codex rollout begins: the newest whole compaction that no rollback took back.
#
# Source: tried on client 0.169, whose reconstruction reads a rollout from its end. Lines belong to a turn by the ids in
# its marks. In a paginated rollout the client never reads further back than the newest compaction that numbers its
# window, or a later header; a rollback cannot reach over it.

_ENDS = ("task_complete", "turn_complete", "turn_aborted")
_STARTS = ("task_started", "turn_started")
# What a header needs to be one for the client.
_HEADER = ("id", "timestamp", "cwd", "originator", "cli_version")


def window_start(lines: Sequence[Line]) -> int | None:
    """Return the index of the compaction before which the client does not look in a paginated rollout, or None.

    It is the newest compaction or none: behind one without a history or a number, the client reads everything.
    """
    for index in range(len(lines) - 1, -1, -1):
        if lines[index].kind == "compacted":
            return index if _has_window(lines[index]) else None
    return None


def own_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that count in a paginated rollout: of each file, those behind its last header."""
    headers = (index for index, line in enumerate(lines) if line.kind == "session_meta" and is_header(line))
    last = {lines[index].span.part: index for index in headers}
    return [line for index, line in enumerate(lines) if index > last.get(line.span.part, -1)]


def _has_window(line: Line) -> bool:
    fields = line.fields()
    numbers = (fields.get("window_number"), fields.get("window_id"))  # older clients numbered it by its id
    is_numbered = any(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    return is_numbered and replacement_items(line) is not None


def is_header(line: Line) -> bool:
    """Say whether a header is one for the client: it has every field that it needs."""
    fields = line.fields()
    return all(isinstance(fields.get(name), str) for name in _HEADER) and len(fields["id"]) == len(_AN_ID)


_AN_ID = "00000000-0000-0000-0000-000000000000"


class _Turn:
    """The lines of one turn as they are met from the end: its id, its compactions, and whether somebody spoke."""

    def __init__(self) -> None:
        self.id: object = None
        self.compactions: list[int] = []
        self.is_spoken = False

    def is_of(self, turn: object) -> bool:
        return self.id is None or turn is None or self.id == turn

    def joined(self, older: "_Turn") -> "_Turn":
        """Return this turn with what was taken for another one in it."""
        self.compactions += older.compactions
        self.is_spoken = self.is_spoken or older.is_spoken
        return self


def base_of(lines: Sequence[Line], *, is_whole: bool = True) -> tuple[int | None, set[int]]:
    """Return the index of the newest compaction that holds the whole history, and those that were rolled back.

    The first is None when no such compaction is left. ``lines``: the rollout, or its end. ``is_whole``: whether nothing
    stands before them; else a turn counts only when its beginning is among them.
    """
    # a rollback before the end of a rollout may be of the very turn that this end begins in
    if is_whole and not any(rolled_back(line) for line in lines):
        found = (i for i in range(len(lines) - 1, -1, -1) if lines[i].kind == "compacted")
        return next((i for i in found if replacement_items(lines[i]) is not None), None), set()
    return _surviving(lines, is_whole=is_whole)


class _Search:
    """The search for a base from the end: turns still to be taken back, and the compactions that went with them."""

    def __init__(self) -> None:
        self.pending = 0
        self.skipped: set[int] = set()
        self.base: int | None = None

    def judge(self, turn: _Turn) -> None:
        """Take a turn back when one is due; else its newest compaction is the base."""
        if self.pending > 0:
            self.pending -= turn.is_spoken
            self.skipped.update(turn.compactions)
        elif turn.compactions:
            self.base = turn.compactions[0]


def _surviving(lines: Sequence[Line], *, is_whole: bool) -> tuple[int | None, set[int]]:
    search = _Search()
    turn: _Turn | None = None
    outer: list[_Turn] = []  # turns in which the present one ended, so it also began in them
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        search.pending += rolled_back(line)
        started = started_turn(line)
        if started is None:
            if turn is not None and _ends_another(turn, line):
                outer.append(turn)
                turn = None
            turn = _taken(turn, index, line)
            continue
        if turn is not None and not turn.is_of(started) and outer and outer[-1].is_of(started):
            turn = outer.pop().joined(turn)  # what ended in it never began
        if turn is not None and turn.is_of(started):
            search.judge(turn)
            turn = outer.pop() if outer else None
            if search.base is not None:
                return search.base, search.skipped
    for left in [turn, *reversed(outer)] if is_whole else []:
        if left is not None and search.base is None:
            search.judge(left)
    return search.base, search.skipped


def _ends_another(turn: _Turn, line: Line) -> bool:
    """Say whether another turn ends with this line."""
    if line.kind != "event_msg" or turn.id is None or not any(line.mentions(end.encode()) for end in _ENDS):
        return False
    fields = line.fields()
    return fields.get("type") in _ENDS and fields.get("turn_id") not in (None, turn.id)


def _taken(turn: _Turn | None, index: int, line: Line) -> _Turn | None:
    """Return the turn with one more line in front; lines that say nothing of turns belong to none."""
    if line.kind == "response_item":
        turn = turn or _Turn()
        turn.is_spoken = turn.is_spoken or is_boundary(_message(line))
    elif line.kind == "compacted":
        turn = turn or _Turn()
        if replacement_items(line) is not None:
            turn.compactions.append(index)
    elif is_from_agent(line):
        turn = turn or _Turn()
        turn.is_spoken = True
    elif line.kind in ("turn_context", "event_msg"):
        fields = line.fields()
        if line.kind == "turn_context" or fields.get("type") in _ENDS:
            turn = turn or _Turn()
            turn.id = fields.get("turn_id") if turn.id is None else turn.id
        elif fields.get("type") == "user_message":
            turn = turn or _Turn()
            turn.is_spoken = True
    return turn


def _message(line: Line) -> CodexMessage:
    return CodexMessage(item_of(line.body), line.span, line.timestamp, Place())


def is_from_agent(line: Line) -> bool:
    """Say whether a line is what another agent tells this one."""
    return line.kind == "inter_agent_communication" and is_agents_instruction(line.body)


def rolled_back(line: Line) -> int:
    """Return how many turns a line takes back; 0 for lines that are no rollback."""
    if line.kind != "event_msg" or not line.mentions(b"thread_rolled_back"):
        return 0
    fields = line.fields()
    turns = fields.get("num_turns")
    return turns if fields.get("type") == "thread_rolled_back" and isinstance(turns, int) else 0


def started_turn(line: Line) -> object:
    """Return the id of the turn that begins with this line, "" for one without, None when none begins."""
    if not starts_turn(line):
        return None
    return line.fields().get("turn_id", "")


def starts_turn(line: Line) -> bool:
    """Say whether a turn begins with this line."""
    if line.kind != "event_msg" or not (line.mentions(b"task_started") or line.mentions(b"turn_started")):
        return False
    return line.fields().get("type") in _STARTS


# A Codex conversation that grows, loses turns by rollbacks and is replaced by compactions.

T = TypeVar("T", bound=Message)


class History(Generic[T]):
    """The messages that count, and where turns begin among them (so that many rollbacks stay cheap)."""

    def __init__(self, messages: Iterable[T] = ()) -> None:
        self.messages: list[T] = []
        self._starts: list[int] = []
        self.extend(messages)

    def __iter__(self) -> Iterator[T]:
        return iter(self.messages)

    def append(self, message: T) -> None:
        """Add a message at the end."""
        if is_boundary(message):
            self._starts.append(len(self.messages))
        self.messages.append(message)

    def extend(self, messages: Iterable[T]) -> None:
        """Add messages at the end."""
        for message in messages:
            self.append(message)

    def roll_back(self, turns: int) -> list[T]:
        """Take the last ``turns`` turns back and return their messages.

        What stands before the first turn stays; context that the harness put in front of a dropped turn goes with it
        (client).
        """
        if not self._starts or turns <= 0:
            return []
        first = self._starts[0]
        kept = max(0, len(self._starts) - turns)
        cut = self._starts[kept]
        while cut > first and is_renewed(self.messages[cut - 1]):
            cut -= 1
        dropped = self.messages[cut:]
        del self.messages[cut:], self._starts[kept:]
        return dropped


def is_boundary(message: Message) -> bool:
    """Say whether a rollback counts this message as the start of a turn: a person's words, or another agent's."""
    if not isinstance(message, CodexMessage):
        # What a compaction left; the client knows its summaries by their introduction only.
        return not is_context(message.text) and not is_summary(message.text)
    kind = message.item.kind
    if kind == "agent_message":
        return True
    if kind == "message" and message.item.role == "assistant":
        return _is_from_agent(message)
    if kind != "message" or message.item.role != "user":
        return False
    return not any(is_context(t) or is_summary(t) for t in texts_of(message.item))


def _is_from_agent(message: CodexMessage) -> bool:
    if not may_instruct(message.item.content):
        return False
    texts = texts_of(message.item)
    return len(texts) == 1 and is_agents_instruction(texts[0].encode("utf-8", "replace"))


def is_renewed(message: Message) -> bool:
    """Say whether this is context that the harness puts in front of a turn; a summary is none."""
    if not isinstance(message, CodexMessage) or message.item.kind != "message":
        return False
    is_own = {"user": is_context, "developer": is_instruction}.get(message.item.role or "")
    return is_own is not None and any(is_own(text) for text in texts_of(message.item))


# The end of a compacted Codex rollout that alone determines its context.
#
# It begins where a turn begins at or before the newest surviving compaction with a whole history. The search for that
# compaction goes from the last line backward and parts the lines at the starts of turns, so it finds the same one in
# the suffix; the replay then begins at it. Rollouts without marks of turns, and compressed ones, are read as a whole.

_COMPACTED = b'"replacement_history"'
_STARTED = b'_started"'
# Each try looks at the suffix anew; a session with so many turns taken back is read as a whole.
_MOST_TRIES = 50


class Tail(NamedTuple):
    """The last lines of a rollout, and what was no clean record among them."""

    lines: list[Line]
    problems: list[Problem]
    is_paginated: bool


def tail_of(files: SessionFiles) -> Tail | None:
    """Return the last lines of a rollout when they hold the base of its context and the turn around it, else None."""
    if any(path.suffix != ".jsonl" or not path.is_file() for path in files.paths):
        return None
    header = first_record(files.paths[0], DECODER) if len(files.paths) == 1 else None
    first = line_of(*header) if header is not None else None
    suffix = Suffix(files.paths, DECODER)
    if first is None or first.kind != "session_meta" or not suffix.back_to(_COMPACTED):
        return None
    paged = is_paginated(first.fields())
    suffix.back_to(_STARTED)  # nearly always the turn around it is all that is missing, and saves a try
    for _ in range(_MOST_TRIES):
        lines = parsed([line_of(span, env) for span, env in suffix.records])
        if any(p.kind in UNREADABLE_LINE for p in suffix.problems) or any(x.kind == "session_meta" for x in lines):
            return None
        if base_of(lines, is_whole=False)[0] is not None or (paged and window_start(lines) is not None):
            return Tail(lines, suffix.problems, paged) if suffix.is_steady() else None
        if not suffix.back_to(_STARTED):
            return None
    return None


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

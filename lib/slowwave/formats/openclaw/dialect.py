"""The dialect of Clawdbot and OpenClaw: session files of pi with entries of their own, and the database of 2026.

Files and databases are only read. In a database ``SessionFiles.id`` names the session; any other id means its oldest
session that no other one started.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from slowwave.formats import Block, Content, Message, SessionFiles, Span, Text, Transcript, object_in
from slowwave.formats.client import Told
from slowwave.formats.database import is_database
from slowwave.formats.lines import relaxed_collector
from slowwave.formats.messages import parted
from slowwave.formats.openclaw import OWN_TYPES
from slowwave.formats.openclaw.sessions import About, opened_session
from slowwave.formats.pi.dialect import (
    Model,
    PiTranscript,
    Said,
    compared,
    describe,
    said,
    session_entries,
    tail_of,
    told_by,
    wire,
)
from slowwave.formats.pi.records import (
    DECODER,
    KNOWN_TYPES,
    Entry,
    Envelope,
    Loaded,
    PiMessage,
    content_of,
    entry_of,
    links_of,
    live_entries,
    load,
    migrated,
    path_of,
)

# What Clawdbot and OpenClaw send when a session is resumed, before it takes the form of the model's API.
#
# Beside pi's rules: a ``reset`` entry ends the conversation before it as a compaction does, without a summary, and may
# keep the end of it (``firstKeptEntryId``). What the client adds from its surroundings (the time in front of a prompt,
# its runtime, running sub-agents) stands in no session and is not here.

_ODD_IN_ID = re.compile(r"[^a-zA-Z0-9]")
# From this version of the header on OpenClaw wrote the file: it sends ids of calls in letters and digits only.
OPENCLAW_VERSION = 4
# APIs that refuse calls without results and results without calls, so the client puts both right first.
_PAIRED = ("anthropic", "google", "bedrock")

LEAF, RESET = "leaf", "reset"

_BOUNDARIES = ("compaction", RESET)


def kept_entries(path: list[Entry], loaded: Loaded, hidden: frozenset[int] = frozenset()) -> list[Entry]:
    """Return the entries whose messages are in the context.

    ``path``: the entries from the root to the leaf. ``hidden``: identities of entries that the client's index leaves
    out, unless a reset kept them by name.
    """
    last = max((i for i, e in enumerate(path) if e.type in _BOUNDARIES), default=-1)
    if last < 0 or path[last].type != RESET:
        behind = max((i for i, e in enumerate(path) if e.type == RESET), default=-1)
        return [e for e in session_entries(path[behind + 1 :], loaded) if id(e) not in hidden]
    first = path[last].fields().get("firstKeptEntryId")
    begin = next((i for i, e in enumerate(path[:last]) if e.id is not None and e.id == first), last)
    after = [e for e in path[last + 1 :] if id(e) not in hidden]
    return [e for e in path[begin:last] + after if e.type not in _BOUNDARIES]


def messages_for(
    path: list[Entry], loaded: Loaded, model: Model | None, hidden: frozenset[int] = frozenset()
) -> list[Said]:
    """Return the messages of a session in the three roles that a model knows."""
    messages = said(kept_entries(path, loaded, hidden))
    is_openclaw = loaded.version >= OPENCLAW_VERSION
    if model is not None and model.api.startswith(_PAIRED):
        messages = repaired(messages, MISSING if is_openclaw else MISSING_CLAWDBOT).messages
    return [_with_strict_ids(item) for item in messages] if is_openclaw else messages


def _with_strict_ids(item: Said) -> Said:
    own = item.fields.get("toolCallId")
    if isinstance(own, str):
        return item._replace(fields=item.fields | {"toolCallId": _strict(own)})
    if item.role != "assistant":
        return item
    parts = [
        part | {"id": _strict(part["id"])}
        if part.get("type") == "toolCall" and isinstance(part.get("id"), str)
        else part
        for part in item.parts
    ]
    return item._replace(parts=parts)


def _strict(own: str) -> str:
    return _ODD_IN_ID.sub("", own) or "defaulttoolid"


# Which entries OpenClaw goes on from: pi's tree, whose leaf a record of its own can move, and the client's own index.
#
# A ``leaf`` entry names the entry to go on from (``targetId``, null for none); it counts only when the file has that
# entry before it, as the client demands. The next entry of any other type is the leaf again. Source: OpenClaw 2026.9.6.


def active_path(loaded: Loaded) -> list[Entry]:
    """Return the entries from the root to the leaf."""
    by_id: dict[str, Entry] = {}
    behind: dict[str, str | None] = {}
    told: list[Entry] = []
    leaf: Entry | None = None
    for entry in loaded.seen:
        if entry.parent in behind:
            entry.parent = behind[entry.parent]  # written under the record that moved the leaf
        if entry.type != LEAF:
            told.append(entry)
            leaf = entry
            if entry.id is not None:
                by_id[entry.id] = entry
            continue
        fields = entry.fields()
        target, appended = fields.get("targetId"), fields.get("appendParentId", fields.get("targetId"))
        if "targetId" in fields and all(
            name is None or (isinstance(name, str) and name in by_id) for name in (target, appended)
        ):
            leaf = by_id[target] if target is not None else None
            behind[entry.id or ""] = appended
    if leaf is None:
        return []
    if leaf is told[-1]:
        return path_of(told)
    return path_of([*(e for e in told if e is not leaf), leaf])


def resumed_path(path: list[Entry], entries: list[Entry]) -> list[Entry]:
    """Return the path that Clawdbot goes on from: without a last prompt that nobody answered.

    The client looks for it after it has noted which model it goes on with, when that is not noted yet; then the note
    is the last entry, and the prompt stays. Source: Clawdbot 2026.1.24.
    """
    if not path or path[-1].type != "message" or path[-1].role != "user":
        return path
    return path[:-1] if any(_is_model_note(entry) for entry in reversed(entries)) else path


def _is_model_note(entry: Entry) -> bool:
    if entry.type != "custom":
        return False
    fields = entry.fields()
    return fields.get("customType") == "model-snapshot" and isinstance(fields.get("data"), dict)


def active_entries(loaded: Loaded, path: list[Entry]) -> set[int] | None:
    """Return the identities of the entries that no rewind left behind, or None when that is all of them."""
    entries = [e for e in loaded.entries if e.type != "session"]
    if all(e.parent is None for e in entries):
        return None  # written without a tree: nothing can have been left
    if any(e.type == LEAF for e in entries):
        return {id(e) for e in path}
    return live_entries(loaded)


# Calls and results put right before a model sees them, in memory only: the client does not write this back.
#
# Results come directly behind the answer that called for them, in the order of the calls; a call without a result gets
# one that says so; a second result of the same call and results that nobody called for are left out. Source:
# ``session-transcript-repair`` of Clawdbot 2026.1.27; answers that failed keep their calls as they are, as later
# versions do, since such answers are not sent.

_MISSING = "missing tool result in session history; inserted synthetic error result for transcript repair."
# The client calls itself by its own name here; OpenClaw is Clawdbot's later one.
MISSING = f"[openclaw] {_MISSING}"
MISSING_CLAWDBOT = f"[clawdbot] {_MISSING}"
_FAILED = ("error", "aborted")


class Repaired(NamedTuple):
    """Messages, and what was done to them."""

    messages: list[Said]  # every call directly followed by its one result
    added: list[Said]  # results that stand for missing ones
    duplicates: int  # further results of a call that had one, left out
    orphans: int  # results that no answer called for, left out
    moved: bool  # whether results stood behind somebody else's words


class _Repair:
    def __init__(self, missing: str) -> None:
        self.missing = missing
        self.messages: list[Said] = []
        self.added: list[Said] = []
        self.seen: set[object] = set()
        self.duplicates = 0
        self.orphans = 0
        self.moved = False

    def answer(self, item: Said, calls: list[dict[str, Any]], span: list[Said]) -> None:
        """Take an answer with its calls, and all that was said up to the next answer."""
        wanted = {compared(call.get("id")) for call in calls}
        results: dict[object, Said] = {}
        others: list[Said] = []
        for other in span:
            own = compared(other.fields.get("toolCallId"))
            if other.role != "toolResult":
                others.append(other)
            elif own not in wanted:
                self.orphans += 1
            elif own in self.seen or own in results:
                self.duplicates += 1
            else:
                results[own] = other
                self.moved = self.moved or bool(others)
        self.messages.append(item)
        for call in calls:
            own = compared(call.get("id"))
            result = results.get(own) or _missing(item, call, self.missing)
            if own not in results:
                self.added.append(result)
            self.seen.add(own)
            self.messages.append(result)
        self.messages += others


def _missing(item: Said, call: dict[str, Any], text: str) -> Said:
    fields = {"toolCallId": call.get("id"), "toolName": call.get("name"), "isError": True}
    return Said("toolResult", [{"type": "text", "text": text}], fields, item.entry)


def repaired(messages: list[Said], missing: str = MISSING) -> Repaired:
    """Return messages in which every call has exactly one result, right behind the answer that called.

    ``messages``: what was said. ``missing``: what stands for a result that is not there.
    """
    repair = _Repair(missing)
    at = 0
    while at < len(messages):
        item = messages[at]
        at += 1
        calls = [part for part in item.parts if part.get("type") == "toolCall"] if item.role == "assistant" else []
        if item.role == "toolResult":
            if compared(item.fields.get("toolCallId")) in repair.seen:
                repair.duplicates += 1
            else:
                repair.orphans += 1
        elif not calls or item.fields.get("stopReason") in _FAILED:
            repair.messages.append(item)
        else:
            end = next((i for i in range(at, len(messages)) if messages[i].role == "assistant"), len(messages))
            repair.answer(item, calls, messages[at:end])
            at = end
    return Repaired(repair.messages, repair.added, repair.duplicates, repair.orphans, repair.moved)


# Silent turns: an answer that begins or ends with a token is not delivered to anybody.
#
# Source: seed 004 and ``isSilentReplyText`` of Clawdbot 2026.1.24: the exact token, with white space before it and no
# letter, digit or underscore of English behind it; or the same at the end, with none of these around it.

TOKEN = "NO_REPLY"  # noqa: S105 - the client's word for it
_FIRST = re.compile(rf"[\s\ufeff]*{TOKEN}(?![A-Za-z0-9_])")
_LAST = re.compile(rf"(?<![A-Za-z0-9_]){TOKEN}[^A-Za-z0-9_]*\Z")


def is_silent(text: str) -> bool:
    """Say whether an answer is kept from the person that it would go to."""
    return TOKEN in text and bool(_FIRST.match(text) or _LAST.search(text))


_TYPES = KNOWN_TYPES.union(OWN_TYPES)


class OpenclawTranscript(PiTranscript):
    """A session with its entries."""

    about: About = msgspec.field(default_factory=About)  # what the database says of it beside its transcript
    # identities (``id()``) of entries on the path that the client's index keeps out of the context
    hidden: frozenset[int] = frozenset()


class Openclaw:
    """Rules of the sessions of Clawdbot and OpenClaw."""

    name = "openclaw"
    decoder = DECODER

    def read(self, files: SessionFiles) -> OpenclawTranscript:
        """Read a session, all messages in file order.

        Raises UnreadableError: the file cannot be opened, or is a database without sessions.
        """
        result = OpenclawTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            if is_database(files.paths[0]):
                loaded = _from_rows(result)
            else:
                loaded = load(files, result.problems)
                result.path = active_path(loaded)
            result.loaded = loaded
            cwd = describe(result, loaded, _TYPES)
            result.about.describe(result)
            live = active_entries(loaded, result.path)
            links = links_of(loaded.entries)
            result.messages = [
                OpenclawMessage(e, cwd, live is None or id(e) in live, links=links) for e in loaded.entries if e.kind
            ]
        return result

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database, of which no more than one is held.

        Raises UnreadableError: it is no database with such a session, or it cannot be read.
        """
        with opened_session(files.paths[0], files.id) as session:
            about.files = SessionFiles(session.id, files.paths, files.problems)
            first = session.header()
            header = told_by(first, OpenclawMessage) if first is not None else Told()
            about.kind, about.parent = header.kind or "main", header.parent
            session.about.describe(about)
            for entry in session.entries(about.problems):
                about.records += 1
                if entry.kind:
                    yield OpenclawMessage(entry, header.cwd, True), True  # noqa: FBT003 - fields of a struct
                elif (title := told_by(entry, OpenclawMessage).title) is not None:
                    about.title = title
            session.about.describe(about)

    def tail(self, files: SessionFiles) -> OpenclawTranscript | None:
        """Return the end of a compacted file, from the first entry on that its last compaction keeps."""
        if is_database(files.paths[0]):
            return None
        tail = tail_of(OpenclawTranscript(self.name, files, problems=list(files.problems), is_tail=True))
        if tail is None or any(e.type in OWN_TYPES for e in tail.loaded.entries):
            return None
        # whether a last prompt counts is told by entries that may lie further back
        return None if tail.path[-1].role == "user" else tail

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what the client would send if this session were resumed now."""
        whole = transcript if isinstance(transcript, OpenclawTranscript) else self.read(transcript.files)
        is_modern = whole.loaded.version >= OPENCLAW_VERSION
        path = whole.path if is_modern else resumed_path(whole.path, whole.loaded.entries)
        return wire(messages_for(path, whole.loaded, whole.model, whole.hidden), whole.model, is_modern=is_modern)

    def told(self, span: Span, record: Envelope, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return what an entry of a file tells: the header, a name of the session, or a message."""
        return told_by(entry_of(record, span), OpenclawMessage)


def _from_rows(result: OpenclawTranscript) -> Loaded:
    """Load the session that a transcript names from its database."""
    with opened_session(result.files.paths[0], result.files.id) as session:
        result.files = SessionFiles(session.id, result.files.paths, result.files.problems)
        result.about = session.about
        loaded = migrated(list(session.entries(result.problems)))
        by_seq: dict[int, Entry] = {entry.span.offset: entry for entry in loaded.entries}
        active = session.active_path(max(by_seq, default=-1))
    if active is None:
        result.path = active_path(loaded)
    else:
        result.path = [by_seq[seq] for seq in active.sequences if seq in by_seq]
        result.hidden = frozenset(id(by_seq[seq]) for seq in active.hidden if seq in by_seq)
    return loaded


# Messages of Clawdbot and OpenClaw, and which part of a user's message a person really wrote.
#
# The gateway puts the sender and the time in front of what arrives over a channel, its own notes around it, and passes
# on messages of other sessions in the user's role (``provenance``).

_OTHERS = ("inter_session", "internal_system")
# Notes of the client: marked blocks, what others said before in a group, the envelope of a channel, a line of the
# system, the sender and the id of a message.
_NOTES = re.compile(
    r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?(?:<<<END_OPENCLAW_INTERNAL_CONTEXT>>>|\Z)"
    r"|<<<EXTERNAL_UNTRUSTED_CONTENT[^>\n]*>>>.*?(?:<<<END_EXTERNAL_UNTRUSTED_CONTENT[^>\n]*>>>|\Z)"
    r"|\A\[Chat messages since your last reply - for context\].*?(?:\[Current message - respond to this\]\n|\Z)"
    r"|(?:\A|(?<=\[Current message - respond to this\]\n))\[[^\]\n]*\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}[^\]\n]*\][ ]?"
    r"|^System: \[[^\]\n]*\][^\n]*$"
    r"|^\[(?:message_id|from): [^\]\n]*\]$",
    re.DOTALL | re.MULTILINE,
)
# What the client itself asks in the user's role: heartbeats, jobs, the turn before a compaction, a new session.
_CLIENT_ASKS = re.compile(
    r"\s*(?:Read HEARTBEAT\.md if it exists|Pre-compaction memory flush\.|\[(?:cron|hook):[^\]\n]*\]"
    r"|A new session was started via /new or /reset)"
)


class OpenclawMessage(PiMessage, gc=False, eq=False):
    """A message entry, a message of an extension, or a summary."""

    def _content(self) -> Content:
        return _content(self.entry)


def _content(entry: Entry) -> Content:
    content = content_of(entry)
    if entry.kind != "user":
        return content
    if _is_of_others(entry.message()) or _CLIENT_ASKS.match(_words(content)):
        return content._replace(origin="injected")
    blocks = [piece for block in content.blocks for piece in _split(block)]
    says = any(isinstance(block, Text) for block in blocks) or not blocks
    return Content(tuple(blocks), (entry.span,) * len(blocks), "typed" if says else "injected")


def _words(content: Content) -> str:
    return next((block.text for block in content.blocks if isinstance(block, Text)), "")


def _is_of_others(message: dict[str, Any]) -> bool:
    """Say whether somebody else than the agent's owner wrote a user's message: another session, or a guest."""
    is_passed_on = object_in(message, "provenance").get("kind") in _OTHERS
    return is_passed_on or object_in(message, "__openclaw").get("senderIsOwner") is False


def _split(block: Block) -> list[Block]:
    """Return what a person typed and the client's notes in it, in order."""
    if not isinstance(block, Text) or _NOTES.search(block.text) is None:
        return [block]
    return parted(block.text, _NOTES.finditer(block.text))


OPENCLAW = Openclaw()

"""The trail of a pi session of version 3, which Clawdbot writes, too: the path from its last entry to the root.

The walk goes backward through the file, since no entry stands before its parent; it holds one id.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from slowwave.compaction.files import NO_FILES, of_details, without_tags
from slowwave.compaction.items import Item, has_failed, item_of, usage_of
from slowwave.compaction.items import Kind as ItemKind
from slowwave.compaction.job.reading import Reading
from slowwave.compaction.live.trail import BEGINS, SPEAKS, TURN, About, Kind, Records, Scales, Trail
from slowwave.compaction.live.window import Block, Window, backward
from slowwave.compaction.tokens import IMAGE_LENGTH, PI, stringify, units
from slowwave.errors import UsageError
from slowwave.formats.client import Dialect
from slowwave.formats.model import SessionFiles, Span, Transcript
from slowwave.formats.openclaw.context import OWN_TYPES
from slowwave.formats.pi.dialect import PiTranscript, header_of, session_entries, settings_of
from slowwave.formats.pi.records import (
    DECODER,
    Entry,
    Loaded,
    PiMessage,
    entry_of,
    loses_entries,
    parts_of,
    text_or_empty,
)
from slowwave.formats.salvage import clean
from slowwave.formats.writing import first_record

# around the words of a block: names of fields, an id
_SCALES = Scales(PI, 35)
_NOT_WALKED = frozenset({"session", *OWN_TYPES})
# Ids of branches that were left: with more of them it is no longer cheap to see that an id stands there twice.
_MOST_BESIDE = 100_000
# How most answers end; others may have failed, and are not sent.
_SOUND_ENDS = (None, "stop", "toolUse")
_PLAIN_ROLES = ("user", "assistant", "toolResult")


class _Body(msgspec.Struct, gc=False):
    role: Any = None
    stop: Any = msgspec.field(default=None, name="stopReason")
    content: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    id: Any = None
    parent: Any = msgspec.field(default=None, name="parentId")
    # pi reads entries whose message is anything else, too
    message: _Body | str | int | float | bool | list[msgspec.Raw] | None = None


_LINES = msgspec.json.Decoder(_Line)


def pi_trail(files: SessionFiles) -> Trail | None:
    """Return the trail of a session whose path has no compaction.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    if header_of(files) is None:
        return None
    trail, walk = Trail(_SCALES), _Walk()
    for block in backward(files.paths[0], _LINES, loses_entries):
        chosen = walk.passes(block.values)
        if chosen is None:
            return None
        _add(trail, block if all(chosen) else block.only(chosen))
    if walk.is_lost:
        return None
    trail.reverse()
    return trail


class _Walk:
    """The way from the last entry to the root, which holds the id of the next one and hashes of those beside it."""

    def __init__(self) -> None:
        self._wanted: str | None = None
        self._begins = True
        self._is_headed = False
        self._beside = set[int]()

    @property
    def is_lost(self) -> bool:
        """Whether the next entry was passed already, since it stands behind its child."""
        return self._wanted is not None and hash(self._wanted) in self._beside

    def passes(self, lines: Sequence[_Line]) -> list[bool] | None:
        """Say of lines, the last one first, whether they are on the way; None where this walk does not know it."""
        chosen: list[bool] = []
        wanted, beside = self._wanted, self._beside
        for line in lines:
            kind = line.type
            if type(kind) is str and kind in _NOT_WALKED:
                # behind a second header entries may stand twice, and the first of them is the one that counts
                if kind != "session" or self._is_headed:
                    return None
                self._is_headed = True
                chosen.append(False)
                continue
            own = line.id
            if self._begins:
                if type(own) is not str:
                    return None
                wanted, self._begins = own, False
            is_on = own == wanted and wanted is not None
            chosen.append(is_on)
            if is_on:
                if kind == "compaction" or (beside and (hash(wanted) in beside or len(beside) > _MOST_BESIDE)):
                    return None
                parent = line.parent
                wanted = parent if type(parent) is str and parent else None
            elif type(own) is str:
                beside.add(hash(own))
        self._wanted = wanted
        return chosen


def _mark_of(kind: str) -> int:
    return (SPEAKS if kind != "setting" else 0) | (TURN if kind == "user" else 0) | (BEGINS if kind != "result" else 0)


KINDS: Mapping[str, ItemKind] = {
    "user": "user",
    "bashExecution": "user",
    "custom_message": "user",
    "branch_summary": "user",
    "branchSummary": "user",
    "compactionSummary": "user",
    "assistant": "assistant",
    "toolResult": "result",
    "custom": "note",
    "hookMessage": "note",
    "compaction": "compaction",
}

_MARKS = {role: _mark_of(KINDS[role]) for role in _PLAIN_ROLES}


def _add(trail: Trail, block: Block[_Line]) -> None:
    """Add entries with what they weigh, and what they are to a plan."""
    sizes: list[int] = []
    marks: list[int] = []
    odd: list[int] = []
    for line in block.values:
        body = line.message
        if line.type == "message" and type(body) is _Body and body.stop in _SOUND_ENDS and body.role in _PLAIN_ROLES:
            sizes.append(len(body.content))
            marks.append(_MARKS[body.role])
        else:
            odd.append(len(marks))
            sizes.append(0)
            marks.append(0)

    def entry(at: int) -> Entry:
        raw = block.raws[at]
        return entry_of(DECODER.decode(clean(raw)), Span(0, 0, block.offsets[at], raw))

    def large(at: int) -> int:
        body = block.values[at].message
        return 0 if type(body) is not _Body else _SCALES.of_large(body.content, lambda: PiMessage(entry(at), "", True))  # noqa: FBT003 - a struct's field

    weights = _SCALES.weights(sizes, large)
    for at in odd:
        item = pi_items([entry(at)], Loaded([], 3))[0]
        weights[at], marks[at] = _SCALES.of_tokens(item.tokens), _mark_of(item.kind)
    trail.add(0, block.offsets, block.lengths, weights, marks)


def _items(records: Records, about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    entries = [entry_of(env, span) for span, env in records]
    return pi_items(entries, Loaded(entries, 3), about.cwd)


PI_SESSION = Kind(pi_trail, DECODER, _items)


# The path of a pi session as items, with the estimates of pi itself.
#
# Source: ``estimateTokens``, ``getMessageFromEntry`` and ``findValidCutPoints`` of pi 0.58.3. Unlike there, images that
# a person sent count, and so do messages of extensions and summaries of branches; answers that failed or were aborted
# do not, since neither pi nor Clawdbot sends them again, and what they called for was never done.


def pi_items(path: Sequence[Entry], loaded: Loaded, cwd: str = "") -> list[Item]:
    """Return the items of a path: the latest compaction first, then what it kept, then what followed.

    Older compactions are not among them, so the region of the next compaction begins where the last one's kept range
    does; pi 0.58.3 begins behind the compaction and forgets what it kept (its issue 2608).
    """
    last = max((i for i, entry in enumerate(path) if entry.type == "compaction"), default=-1)
    before = {id(entry) for entry in path[: last + 1]}
    return [_item(entry, cwd, is_stale=id(entry) in before) for entry in session_entries(list(path), loaded)]


def message_tokens(kind: str, body: Mapping[str, object]) -> int:
    """Return the estimate of a message in pi's own form; ``kind`` is its role, or the type of its entry."""
    match kind:
        case "bashExecution":
            length = units(text_or_empty(body.get("command"))) + units(text_or_empty(body.get("output")))
        case "compaction" | "branch_summary" | "compactionSummary" | "branchSummary":
            length = units(text_or_empty(body.get("summary")))
        case _:
            length = sum(map(_part_length, parts_of(body.get("content"))))
    return PI.tokens(length)


def _part_length(part: Mapping[str, object]) -> int:
    match part.get("type"):
        case "text":
            return units(text_or_empty(part.get("text")))
        case "thinking":
            return units(text_or_empty(part.get("thinking")))
        case "toolCall":
            arguments = part.get("arguments")
            return units(text_or_empty(part.get("name"))) + (0 if arguments is None else units(stringify(arguments)))
        case "image":
            return IMAGE_LENGTH
        case _:
            return 0


def _item(entry: Entry, cwd: str, *, is_stale: bool) -> Item:
    kind = KINDS.get(entry.kind, "setting")
    body = entry.message() if entry.role else entry.fields()
    if kind == "setting" or body.get("excludeFromContext") or (kind == "assistant" and has_failed(body)):
        return Item(entry.id, "setting", is_stale=is_stale)
    item = item_of(PiMessage(entry, cwd, True), message_tokens(entry.kind, body), kind)  # noqa: FBT003  # a struct's field
    item = item._replace(id=entry.id, is_stale=is_stale)
    if kind == "compaction":
        # an extension's details are its own business
        files = NO_FILES if body.get("fromHook") else of_details(body.get("details"))
        return item._replace(summary=without_tags(text_or_empty(body.get("summary"))), files=files)
    return item._replace(usage=usage_of(body)) if kind == "assistant" else item


# A session of this client as compaction looks at it: read as a whole, and from the end that a window holds.


def whole_reading(dialect: Dialect, transcript: Transcript) -> Reading:
    """Return a session that was read as a whole, or from its last compaction on.

    Raises:
        UsageError: nothing can be told of where its client would go on; the message says why.
    """
    whole, files = cast("PiTranscript", transcript), transcript.files
    if any(entry.type in OWN_TYPES for entry in whole.loaded.entries):
        raise UsageError(
            f"{files.id}: holds OpenClaw's own records (leaf, reset), which move the place where a compaction has to"
            " stand: send /compact in OpenClaw to compact it"
        )
    cwd = text_or_empty(first_record(files.paths[0]).get("cwd"))
    model = whole.model.name if whole.model is not None else ""
    return _of_pi(dialect.name, pi_items(whole.path, whole.loaded, cwd), cwd, model)


def _of_pi(dialect: str, items: list[Item], cwd: str, model: str) -> Reading:
    return Reading(dialect, items, PI, cwd=cwd, model=model)


def end_reading(window: Window, files: SessionFiles, dialect: str) -> Reading:
    """Return the end of a context."""
    about = About(text_or_empty(first_record(files.paths[0]).get("cwd")))
    entries = [entry_of(env, span) for span, env in window.records]
    model = settings_of(entries, entries).model
    items = window.items(about)
    return _of_pi(dialect, items, about.cwd, model.name if model is not None else "")._replace(
        earlier=window.earlier(files, about)
    )

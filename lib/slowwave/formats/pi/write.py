"""Writing pi's sessions, and Clawdbot's, which are the same: a header, then entries, each under the one before it.

Any line that is appended becomes the leaf, a label too, so every entry is put under the leaf of that moment. A
session exists on disk only once it has an answer of the assistant: before that pi keeps everything in memory, and it
would write a file without an answer a second time (formats.md 6.9, defect 9).
"""

from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast
from uuid import UUID

import msgspec
import orjson

from slowwave.errors import LockHeldError, UnreadableError, UsageError
from slowwave.formats import SessionFiles, millisecond_time, object_in, parse_time, text_in
from slowwave.formats.locks import held_lock, holder, lock_path
from slowwave.formats.openclaw.store import NAME as CLAWDBOT_STORE
from slowwave.formats.pi.dialect import PI, Model
from slowwave.formats.pi.records import Entry, Loaded, labels_of, load, path_of
from slowwave.formats.sessions import SUFFIX, base_path, checked_id
from slowwave.formats.sessions import session_id as id_in_name
from slowwave.formats.writing import (
    Compaction,
    Content,
    Draft,
    Means,
    Target,
    Writer,
    client_blocks,
    first_record,
    json_line,
    record_with,
    records_backward,
    unknown,
    with_value,
    write_session,
)

# Lines as pi writes them, for appending: one JSON object with its newline, nothing decided here.
#
# Every line but the header has a :class:`Place` in the tree: its own id, the id of the leaf that it follows, the time.
# An appended line becomes the leaf, whatever it is, so a wrong parent would change the branch.
# Names and order of the fields are those of ``session-manager.ts`` of pi 0.73.1.


VERSION = 3
_TRIES = 100


class Place(NamedTuple):
    """Where a line stands in the tree, and when it was written."""

    id: str
    parent: str | None
    at: datetime


def fresh_id(taken: Container[str], make: Callable[[], UUID]) -> str:
    """Return an id that no entry has: eight hexadecimal digits, a whole UUID when those keep colliding."""
    for _ in range(_TRIES):
        short = str(make())[:8]
        if short not in taken:
            return short
    return str(make())


def header_line(session: str, *, cwd: str, at: datetime, parent_session: str | None = None) -> bytes:
    """Return the first line of a session; a fork names the file that it came from."""
    record: dict[str, object] = {"type": "session", "version": VERSION, "id": session}
    record |= {"timestamp": millisecond_time(at), "cwd": cwd}
    return json_line(record | ({} if parent_session is None else {"parentSession": parent_session}))


def user_message(content: Content, *, at: datetime) -> dict[str, object]:
    """Return what a user says."""
    return {"role": "user", "content": _blocks(content), "timestamp": _milliseconds(at)}


def assistant_message(content: Content, *, at: datetime, model: Model) -> dict[str, object]:
    """Return what the assistant says; the last answer of a session names the model that pi goes on with."""
    blocks = _blocks(content)
    counts: dict[str, object] = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0)
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    return {
        "role": "assistant",
        "content": blocks,
        "api": model.api,
        "provider": model.provider,
        "model": model.name,
        "usage": counts | {"cost": cost},
        "stopReason": "toolUse" if any(block.get("type") == "toolCall" for block in blocks) else "stop",
        "timestamp": _milliseconds(at),
    }


def result_message(content: Content, *, at: datetime, call_id: str, tool: str, is_error: bool) -> dict[str, object]:
    """Return the answer of a tool."""
    answer = {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": _blocks(content)}
    return {**answer, "isError": is_error, "timestamp": _milliseconds(at)}


def _blocks(content: Content) -> list[Mapping[str, object]]:
    return client_blocks(content, call=("toolCall", "arguments"))


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def message_line(message: Mapping[str, object], *, place: Place) -> bytes:
    """Return an entry with a message in pi's own form (``role``, ``content``, ``timestamp`` in milliseconds)."""
    return _entry("message", place, {"message": dict(message)})


def compaction_line(compaction: Compaction, *, place: Place, first_kept: str) -> bytes:
    """Return a compaction, which names the first entry that stays."""
    details = compaction.file_lists | ({"slowwave": dict(compaction.remarks)} if compaction.remarks else {})
    fields = {"summary": compaction.summary, "firstKeptEntryId": first_kept, "tokensBefore": compaction.tokens_before}
    return _entry("compaction", place, {**fields, "details": details, "fromHook": False})


def branch_summary_line(summary: str, *, place: Place, branch_from: str | None) -> bytes:
    """Return the summary of a branch that was left for the entry ``branch_from``, which it follows."""
    return _entry("branch_summary", place, {"fromId": branch_from or "root", "summary": summary})


def label_line(target: str, label: str | None, *, place: Place) -> bytes:
    """Return the label of an entry; None clears it."""
    return _entry("label", place, {"targetId": target} | ({"label": label} if label else {}))


def name_line(name: str, *, place: Place) -> bytes:
    """Return the name of the session; an empty one clears it."""
    return _entry("session_info", place, {"name": name.strip()})


def _entry(kind: str, place: Place, fields: Mapping[str, object]) -> bytes:
    head = {"type": kind, "id": place.id, "parentId": place.parent, "timestamp": millisecond_time(place.at)}
    return json_line({**head, **fields})


BRANCH = "slowwave.branch"
# Another writer of ours lets go of a lock at once, a client only when the agent has finished.
_PATIENCE_S = 0.5


# What a new entry of pi's must know of those before it, looked up from the end: the leaf, free ids, the model.


class PiTail:
    """The entries of a session from the last to the first; :func:`on_disk` and :func:`waiting` make one."""

    def __init__(
        self, backward: Callable[[], Iterator[dict[str, Any]]], with_id: Callable[[str], bool], *, large: bool
    ) -> None:
        """Take how entries are read and looked up; of ``large`` sessions not all ids are known."""
        self._backward = backward
        self.has = with_id
        self._large = large

    def leaf(self) -> str | None:
        """Return the last entry with an id: one without would hide everything before it from pi."""
        for record in self._backward():
            if record.get("type") != "session" and isinstance(record.get("id"), str):
                return str(record["id"])
        return None

    def __contains__(self, entry_id: object) -> bool:
        """Say whether an id may be taken; of large sessions any may."""
        return self._large or (isinstance(entry_id, str) and self.has(entry_id))

    def model(self, parent: str | None) -> Model:
        """Return the model of the last answer on the path to ``parent``, or the one that was chosen after it."""
        chosen: tuple[str, str] | None = None
        for record in self._path(parent):
            if record.get("type") == "model_change" and chosen is None:
                chosen = text_in(record, "provider"), text_in(record, "modelId")
            message = _answer(record)
            if message is None:
                continue
            found = Model(*(text_in(message, key) for key in ("provider", "model", "api")))
            if chosen is None:
                return found
            if found.provider == chosen[0]:
                return Model(*chosen, found.api)
        return _NO_MODEL if chosen is None else Model(*chosen, _NO_MODEL.api)

    def _path(self, entry_id: str | None) -> Iterator[dict[str, Any]]:
        """Yield an entry and those above it; pi writes none before its parent."""
        wanted: object = entry_id
        for record in self._backward():
            if wanted is None:
                return
            if record.get("id") == wanted and record.get("type") != "session":
                yield record
                wanted = record.get("parentId")


class PiWriter(Writer):
    """Entries of version 3. A file of version 1 has no ids and is refused: pi migrates it when it opens it."""

    dialect: ClassVar[str] = "pi"

    def __init__(self, means: Means) -> None:
        """Begin without anything that waits for an answer."""
        super().__init__(means)
        self._waiting: dict[Path, list[bytes]] = {}

    def path(self, folder: Path, session_id: str) -> Path:
        """Return ``<time>_<ID>.jsonl``."""
        stamp = millisecond_time(self.means.clock.now()).replace(":", "-").replace(".", "-")
        return base_path(folder, f"{stamp}_{checked_id(session_id)}")

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Hold Clawdbot's lock where it keeps the session; pi itself locks nothing, and a lock there is only obeyed.

        Raises LockHeldError: a running client holds the lock.
        """
        if not target.files:
            yield
        elif (target.path.parent / CLAWDBOT_STORE).exists():
            with held_lock(target.path, timeout_s=_PATIENCE_S):
                yield
        else:
            who = holder(target.path)
            if who:
                raise LockHeldError(f"{lock_path(target.path)}: held by {who}; close the session there first")
            yield

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message under the leaf or under an older entry; before the first answer it waits in memory."""

        def line(tail: PiTail, place: Place) -> bytes:
            return message_line(self._message(tail, draft, place), place=place)

        return self._append(target, line, under=draft.parent, answers=draft.role == "assistant")

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a compaction; without a first kept entry it names itself, and pi keeps nothing before it.

        Raises NotFoundError: the entry that is to stay first is not on the way to the leaf: pi would keep nothing.
        """
        if not target.files:
            raise UsageError(f"{target.id}: holds no answer to summarise yet; nothing was written")

        def line(_tail: PiTail, place: Place) -> bytes:
            first = compaction.keep_from
            if first is not None and all(entry.id != first for entry in PI.read(target.session).path):
                raise unknown(first, target.id)
            return compaction_line(compaction, place=place, first_kept=first or place.id)

        return self._append(target, line)

    def branch(self, target: Target, message_id: str | None, summary: str | None) -> str:
        """Append a branch summary under an older entry, or without a summary an entry that only moves the leaf."""

        def line(_tail: PiTail, place: Place) -> bytes:
            if summary is None:
                return _entry("custom", place, {"customType": BRANCH})  # which is never sent to a model
            return branch_summary_line(summary, place=place, branch_from=message_id)

        return self._append(target, line, under=message_id, from_root=message_id is None)

    def label(self, target: Target, message_id: str, label: str | None) -> str:
        """Append a label of an entry. Raises NotFoundError: there is no such entry."""

        def line(tail: PiTail, place: Place) -> bytes:
            if not tail.has(message_id):
                raise unknown(message_id, target.id)
            return label_line(message_id, label, place=place)

        return self._append(target, line)

    def name(self, target: Target, name: str) -> None:
        """Append the name of the session; an empty one clears it."""
        self._append(target, lambda _tail, place: name_line(name, place=place))

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all entries (``forkFrom``), or the path to one (``createBranchedSession``), under a new header.

        Entries of older versions are migrated first.
        """
        files = target.session
        header = header_line(
            new_id,
            cwd=str(PI.read(files).header.get("cwd") or target.cwd),
            at=self.means.clock.now(),
            parent_session=str(target.path.absolute()),
        )
        entries = copied(files) if at is None else extracted(files, at, self._fresh)
        return write_session(iter([header, *entries]), self._copy_path(target, folder, new_id), None)

    def _copy_path(self, target: Target, folder: Path, new_id: str) -> Path:
        """Return the file of a copy, named in the way of the original."""
        timed = id_in_name(target.path.name) != target.path.name.removesuffix(SUFFIX)
        return self.path(folder, new_id) if timed else base_path(folder, new_id)

    def _append(
        self,
        target: Target,
        line: Callable[[PiTail, Place], bytes],
        *,
        under: str | None = None,
        from_root: bool = False,
        answers: bool = False,
    ) -> str:
        """Append one entry under the leaf, or under another entry, and return its id."""
        made = ""

        def lines(tail: PiTail) -> list[bytes]:
            nonlocal made
            if under is not None and not tail.has(under):
                raise unknown(under, target.id)
            made = self._fresh(tail)
            parent = None if from_root else under or tail.leaf()
            place = Place(made, parent, self.means.clock.now())
            return [line(tail, place)]

        if target.files or target.path.exists():
            self._add(target.path, lambda: lines(on_disk(target.path)))
            return made
        entries = self._waiting.setdefault(target.path, [])
        entries += lines(waiting(entries))
        if answers:
            header = header_line(target.id, cwd=target.cwd, at=self.means.clock.now())
            write_session(iter([header, *entries]), target.path, None)
            del self._waiting[target.path]
        return made

    def _fresh(self, taken: Container[str]) -> str:
        return fresh_id(taken, lambda: UUID(self.means.ids()))

    def _message(self, tail: PiTail, draft: Draft, place: Place) -> dict[str, object]:
        if draft.role == "assistant":
            return assistant_message(draft.content, at=place.at, model=tail.model(place.parent))
        if draft.role == "tool":
            return result_message(
                draft.content, at=place.at, call_id=draft.call_id, tool=draft.tool, is_error=draft.is_error
            )
        return user_message(draft.content, at=place.at)


def on_disk(path: Path) -> PiTail:
    """Return the entries of a file.

    Raises UnreadableError: pi would not take it for a session; UsageError: it is of version 1, whose entries have no
    ids.
    """
    header = first_record(path)
    if header.get("type") != "session" or not isinstance(header.get("id"), str):
        raise UnreadableError(path, "begins with no header", "pi would begin a new session in this file")
    version = header.get("version")
    if version is None or (isinstance(version, (int, float)) and version < _FIRST_WITH_IDS):
        raise UsageError(f"{path}: version 1 of pi has no ids: open it in pi once, which migrates it, or fork it")

    def has(entry_id: str) -> bool:
        return (
            record_with((path,), entry_id, lambda r: r.get("id") == entry_id and r.get("type") != "session") is not None
        )

    return PiTail(lambda: records_backward(path), has, large=path.stat().st_size > _SEARCHED_BYTES)


def waiting(lines: Sequence[bytes]) -> PiTail:
    """Return the entries that wait for an answer."""
    entries = [cast("dict[str, Any]", msgspec.json.decode(line)) for line in lines]
    return PiTail(lambda: reversed(entries), lambda entry_id: any(e["id"] == entry_id for e in entries), large=False)


# The lines of a copy of a pi session: all entries, or the path to one of them with its labels.
#
# Ids stay, and so does every byte of an entry of version 3. Older entries are brought to version 3 first, since pi
# migrates no file whose header says 3 (its own ``forkFrom`` loses messages that way, formats.md 6.9, defect 6).


def copied(files: SessionFiles) -> Iterator[bytes]:
    """Yield every entry that pi would see, migrated, without the header.

    Raises UnreadableError: pi would not take the file for a session.
    """
    loaded = _loaded(files)
    for entry in loaded.seen:
        if entry.type != "session":
            yield _migrated(entry, loaded)


def extracted(files: SessionFiles, entry_id: str, fresh: Callable[[Container[str]], str]) -> list[bytes]:
    """Return the entries on the path to one entry, then the labels of these entries, as ``createBranchedSession``.

    Label entries on the path are left out, as in pi; unlike there, what hung under one is hung under the entry before
    it, since a lost parent would hide everything before. ``fresh``: gives an id that is none of these. Raises
    NotFoundError: no entry has this id; UsageError: the path holds no answer of the assistant: pi keeps no such file;
    UnreadableError: pi would not take the file for a session.
    """
    loaded = _loaded(files)
    entries = [e for e in loaded.seen if e.type != "session" and e.id is not None]
    path = [e for e in path_of(entries, entry_id) if e.type != "label"]
    if not path:
        raise unknown(entry_id, files.id)
    if not any(e.role == "assistant" for e in path):
        raise UsageError(f"{files.id}: pi keeps no session without an answer; name a message after the first answer")
    lines: list[bytes] = []
    parent: str | None = None
    for entry in path:
        raw = _migrated(entry, loaded)
        lines.append(raw if entry.parent == parent else with_value(raw, "parentId", entry.parent, parent))
        parent = entry.id
    taken = {e.id for e in path if e.id is not None}
    for target, (label, stamp) in labels_of(entries).items():
        if target in taken:
            own = fresh(taken)
            taken.add(own)
            at = parse_time(stamp)
            if at is not None:
                lines.append(label_line(target, label, place=Place(own, parent, at)))
                parent = own
    return lines


# Writing Clawdbot's transcripts, which are pi's files; OpenClaw's databases are never written.


class OpenclawWriter(PiWriter):
    """Entries as pi writes them, under the client's ``.lock``.

    A session is begun by the client alone, which notes it in its ``sessions.json``. A fork is noted nowhere: the
    client finds it by its id.
    """

    dialect: ClassVar[str] = "openclaw"

    def path(self, folder: Path, session_id: str) -> Path:
        """Refuse: the client begins its sessions itself."""
        return Writer.path(self, folder, session_id)

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Hold the client's lock of a transcript. Raises UsageError: the session is rows of a database."""
        self._refuse_others(target)
        with super().alone(target):
            yield

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy a transcript; a session in a database is not copied."""
        self._refuse_others(target)
        return super().fork(target, folder, new_id, at)

    def _copy_path(self, target: Target, folder: Path, new_id: str) -> Path:
        del target
        return base_path(folder, new_id)

    def _refuse_others(self, target: Target) -> None:
        if target.path.suffix != SUFFIX:
            what = f"{target.path.name} is a database of {self.dialect}, or a transcript that it has put aside"
            raise UsageError(f"{target.id}: {what}, which only its client writes; nothing was written")


# Larger files are not searched for an id of eight digits; the new one is a whole UUID then, which cannot collide.
_SEARCHED_BYTES = 8 << 20
_FIRST_WITH_IDS = 2
# a session without an answer names no model; pi says so and takes its default one
_NO_MODEL = Model("slowwave", "none", "openai-completions")


def _answer(record: dict[str, Any]) -> dict[str, Any] | None:
    message = object_in(record, "message")
    return message if record.get("type") == "message" and message.get("role") == "assistant" else None


_V2, _V3 = 2, 3


def _loaded(files: SessionFiles) -> Loaded:
    loaded = load(files, [])
    if not loaded.seen:
        raise UnreadableError(files.paths[0], "begins with no header", "pi would begin a new session in this file")
    return loaded


def _migrated(entry: Entry, loaded: Loaded) -> bytes:
    """Return an entry as version 3 has it; only what the migration adds or renames changes."""
    raw = entry.span.raw
    if not loaded.version < _V3:
        return raw
    if entry.role == "custom" and b'"hookMessage"' in raw:
        raw = _renamed_role(raw, entry)
    if loaded.version < _V2:
        added: dict[str, object] = {"id": entry.id, "parentId": entry.parent}
        if entry.type == "compaction":
            added["firstKeptEntryId"] = loaded.kept.get(entry.id or "")
        raw = raw[:-1].rstrip() + b"," + orjson.dumps(added)[1:]
    return raw


def _renamed_role(raw: bytes, entry: Entry) -> bytes:
    message = bytes(entry.env.message)
    renamed = with_value(message, "role", "hookMessage", "custom")
    at = raw.find(message)
    if at >= 0:
        return raw[:at] + renamed + raw[at + len(message) :]
    return orjson.dumps(entry.fields() | {"message": orjson.loads(renamed)})

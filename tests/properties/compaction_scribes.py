"""Writes sessions record by record as each client does, from steps that know no client; nothing of slowwave is used."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tests.properties.compaction_scan import records

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
CWD = "/home/ann/shop"
PICTURE = "iVBORw0KGgo="
# the end of a record that was broken off
TORN = b'"torn'
# by this sentence Codex knows a summary
_HANDED_OVER = (
    "Another language model started to solve this problem and produced a summary of its thinking process."
    " You also have access to the state of the tools that were used by that language model. Use this to build on"
    " the work that has already been done and avoid duplicating work. Here is the summary produced by the other"
    " language model, use the information in this summary to assist with your own analysis:\n"
)


class Call(NamedTuple):
    """A call with what came of it; ``output`` is None where nothing did."""

    id: str
    tool: str
    arguments: dict[str, str]
    output: str | None
    failed: bool = False


@dataclass
class Scribe:
    """A session in the making.

    Attributes:
        path: its file.
        id: its id.
        lines: its records so far.
    """

    path: Path
    id: str
    lines: list[bytes] = field(default_factory=list[bytes])

    def put(self, record: dict[str, Any]) -> None:
        """Add a record."""
        self.lines.append(json.dumps(record, ensure_ascii=len(self.lines) % 2 == 0).encode())

    def save(self) -> None:
        """Append what is new since the last time, as one client would; a torn end is closed first."""
        data = self.path.read_bytes() if self.path.exists() else b""
        with self.path.open("ab") as file:
            file.write(b"\n" * (bool(data) and not data.endswith(b"\n")))
            file.write(b"\n".join(self.lines) + b"\n" * (bool(self.lines) and not self.lines[-1].endswith(TORN)))
        self.lines.clear()

    def resume(self) -> None:
        """Go on from what the file holds now, as a client that was started again does."""
        self.found(list(records(self.path.read_bytes())))

    def found(self, records: list[dict[str, Any]]) -> None:
        """Take the place to go on from out of the records of the file; most clients only append."""

    def now(self) -> datetime:
        """Return a time that is later at every call."""
        self._ticks = getattr(self, "_ticks", 0) + 1
        return START + timedelta(seconds=self._ticks)

    def stamp(self) -> str:
        """Return that time as JavaScript writes it."""
        return self.now().strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def ask(self, text: str, *, image: bool = False) -> None:
        """Add what a person typed."""
        raise NotImplementedError

    def answer(self, text: str, calls: Sequence[Call] = ()) -> None:
        """Add an answer, and what its calls gave, the last one first."""
        raise NotImplementedError

    def back(self) -> None:
        """Go back to the person's last question and leave what came of it, where the client can."""

    def branch_summary(self, text: str) -> None:
        """Add the summary of a branch that was left, where the client writes one."""

    def own_summary(self, text: str) -> None:
        """Add a compaction of the client's own that keeps nothing."""
        raise NotImplementedError


class Claude(Scribe):
    """Claude Code: parallel calls are records of their own, each result hangs below its call."""

    version = "2.1.330"

    def _add(self, kind: str, **fields: Any) -> str:
        self._number = getattr(self, "_number", 0) + 1
        own = f"00000000-0000-4000-8000-{self._number:012d}"
        head = {"parentUuid": getattr(self, "_last", None), "isSidechain": False, "userType": "external", "cwd": CWD}
        more = {"sessionId": self.id, "version": self.version, "type": kind, "uuid": own, "timestamp": self.stamp()}
        self.put(head | more | fields)
        self._last: str | None = own
        return own

    def ask(self, text: str, *, image: bool = False) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
        shown: Any = [{"type": "text", "text": text}, {"type": "image", "source": source}] if image else text
        self._before: str | None = getattr(self, "_last", None)
        self._add("user", message={"role": "user", "content": shown})

    def answer(self, text: str, calls: Sequence[Call] = ()) -> None:
        number = f"msg_{getattr(self, '_number', 0)}"

        def says(block: dict[str, Any]) -> str:
            return self._add("assistant", message={"id": number, "role": "assistant", "content": [block]})

        says({"type": "text", "text": text})
        places = {
            call.id: says({"type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments})
            for call in calls
        }
        for call in reversed(calls):
            if call.output is not None:
                content = [{"type": "text", "text": call.output}]
                block = {"type": "tool_result", "tool_use_id": call.id, "content": content, "is_error": call.failed}
                self._add("user", parentUuid=places[call.id], message={"role": "user", "content": [block]})

    def found(self, records: list[dict[str, Any]]) -> None:
        self._last = next((r["uuid"] for r in reversed(records) if "uuid" in r), None)
        self._before = self._last

    def back(self) -> None:
        self._last = getattr(self, "_before", getattr(self, "_last", None))

    def own_summary(self, text: str) -> None:
        last = getattr(self, "_last", None)
        boundary = {"subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": last}
        self._add("system", parentUuid=None, **boundary, compactMetadata={"trigger": "auto", "preTokens": 9_000})
        self._before = self._add("user", message={"role": "user", "content": text}, isCompactSummary=True)


class OldClaude(Claude):
    """Claude Code before 2.1, which keeps nothing before a compaction."""

    version = "2.0.76"


class Cersei(Scribe):
    """Cersei: bare text, or blocks in messages that stand in a row."""

    def _add(self, kind: str, message: dict[str, Any]) -> None:
        self._number = getattr(self, "_number", 0) + 1
        when = self.now().strftime("%Y-%m-%dT%H:%M:%S.000000+00:00")
        head = {"type": kind, "uuid": f"c0ffee00-0000-4000-8000-{self._number:012d}", "timestamp": when}
        self.put(head | {"session_id": self.id, "cwd": CWD, "message": message, "is_sidechain": False})

    def ask(self, text: str, *, image: bool = False) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
        shown: Any = [{"type": "text", "text": text}, {"type": "image", "source": source}] if image else text
        self._add("user", {"role": "user", "content": shown})

    def answer(self, text: str, calls: Sequence[Call] = ()) -> None:
        used = [{"type": "tool_use", "id": c.id, "name": c.tool, "input": c.arguments} for c in calls]
        self._add("assistant", {"role": "assistant", "content": [{"type": "text", "text": text}, *used]})
        given = [
            {"type": "tool_result", "tool_use_id": c.id, "content": c.output, "is_error": c.failed}
            for c in reversed(calls)
            if c.output is not None
        ]
        if given:
            self._add("user", {"role": "user", "content": given})

    def back(self) -> None:
        """Delete the last entry, where it is a question."""
        last = next(records(self.lines[-1] if self.lines else b""), dict[str, Any]())
        if last.get("type") == "user" and isinstance(last["message"]["content"], str):
            self.put({"type": "tombstone", "deleted_uuid": last["uuid"], "timestamp": last["timestamp"]})

    def own_summary(self, text: str) -> None:
        """Hide all messages so far: a number larger than there are hides all."""
        stamp = self.now().strftime("%Y-%m-%dT%H:%M:%S.000000+00:00")
        head = {"type": "summary", "uuid": f"5c0ffee0-0000-4000-8000-{len(stamp + text):012d}", "timestamp": stamp}
        self.put(head | {"session_id": self.id, "summary": text, "messages_compacted": 10_000})


class Pi(Scribe):
    """pi: a tree of entries under a header."""

    version = 3

    def _add(self, kind: str, **fields: Any) -> str:
        self._number = getattr(self, "_number", 0) + 1
        own = f"{self._number:08x}"
        self.put(
            {"type": kind, "id": own, "parentId": getattr(self, "_last", None), "timestamp": self.stamp()} | fields
        )
        self._last: str | None = own
        return own

    def _message(self, message: dict[str, Any]) -> None:
        if not getattr(self, "_number", 0):
            head = {"type": "session", "version": self.version, "id": self.id, "timestamp": self.stamp(), "cwd": CWD}
            self.put(head)
            self._add("model_change", provider="fake", modelId="fake-1")
        self._add("message", message=message | {"timestamp": 1})

    def ask(self, text: str, *, image: bool = False) -> None:
        self._before: str | None = getattr(self, "_last", None)
        picture = [{"type": "image", "data": PICTURE, "mimeType": "image/png"}] * image
        self._message({"role": "user", "content": [{"type": "text", "text": text}, *picture]})

    def answer(self, text: str, calls: Sequence[Call] = ()) -> None:
        used = [{"type": "toolCall", "id": c.id, "name": c.tool, "arguments": c.arguments} for c in calls]
        model = {"api": "openai-completions", "provider": "fake", "model": "fake-1", "stopReason": "stop"}
        self._message({"role": "assistant", "content": [{"type": "text", "text": text}, *used]} | model)
        for call in reversed(calls):
            if call.output is not None:
                told = {"toolCallId": call.id, "toolName": call.tool, "isError": call.failed}
                self._message({"role": "toolResult", "content": [{"type": "text", "text": call.output}]} | told)

    def found(self, records: list[dict[str, Any]]) -> None:
        self._last = next((r["id"] for r in reversed(records) if "id" in r and r.get("type") != "session"), None)
        self._before = self._last

    def back(self) -> None:
        self._last = getattr(self, "_before", getattr(self, "_last", None))

    def branch_summary(self, text: str) -> None:
        if getattr(self, "_last", None) is not None:
            self._add("branch_summary", fromId=self._last, summary=text)

    def own_summary(self, text: str) -> None:
        details = {"readFiles": ["earlier/read.md"], "modifiedFiles": ["earlier/changed.py"]}
        first = f"{getattr(self, '_number', 0) + 1:08x}"
        self._before = self._add(
            "compaction", summary=text, firstKeptEntryId=first, tokensBefore=9_000, details=details
        )


class OldPi(Pi):
    """pi's second version: the tree is the same."""

    version = 2


class OldestPi(Pi):
    """pi's first version: entries in a row, without ids."""

    def put(self, record: dict[str, Any]) -> None:
        missing = ("version",) if record["type"] == "session" else ("id", "parentId")
        Scribe.put(self, {name: value for name, value in record.items() if name not in missing})


class Codex(Scribe):
    """Codex: one response item a line; a person's words are taken back turn by turn."""

    has_ids = True

    def _row(self, kind: str, payload: dict[str, Any]) -> None:
        if not hasattr(self, "_number"):
            self._number = 0
            self._row("session_meta", {"id": self.id, "timestamp": self.stamp(), "cwd": CWD, "source": "cli"})
        self.put({"timestamp": self.stamp(), "type": kind, "payload": payload})

    def _item(self, kind: str, **fields: Any) -> None:
        own = {"id": f"{kind}_{len(self.stamp())}_{self._ticks}"} if self.has_ids else {}
        self._row("response_item", {"type": kind} | own | fields)

    def ask(self, text: str, *, image: bool = False) -> None:
        picture = [{"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}] * image
        self._item("message", role="user", content=[{"type": "input_text", "text": text}, *picture])

    def answer(self, text: str, calls: Sequence[Call] = ()) -> None:
        self._item("message", role="assistant", content=[{"type": "output_text", "text": text}])
        for call in calls:
            self._item("function_call", name=call.tool, arguments=json.dumps(call.arguments), call_id=call.id)
        for call in reversed(calls):
            if call.output is not None:
                code = {"exit_code": int(call.failed), "duration_seconds": 0.1}
                output = json.dumps({"output": call.output, "metadata": code}, separators=(",", ":"))
                self._item("function_call_output", call_id=call.id, output=output)

    def back(self) -> None:
        self._row("event_msg", {"type": "thread_rolled_back", "num_turns": 1})

    def own_summary(self, text: str) -> None:
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": _HANDED_OVER + text}]}
        self._row("compacted", {"message": _HANDED_OVER + text, "replacement_history": [said]})


class OldCodex(Codex):
    """Codex before its items had ids."""

    has_ids = False


class Crabtalk(Scribe):
    """crabtalk: OpenAI's messages one after the other under a line about the session."""

    def _say(self, **fields: Any) -> None:
        if not getattr(self, "_begun", False):
            self._begun = True
            self.put({"agent": "bot", "created_by": "ann", "created_at": "2026-11-20T09:00:00+00:00", "title": ""})
        self.put(fields)

    def ask(self, text: str, *, image: bool = False) -> None:
        del image
        self._say(role="user", content=text)

    def answer(self, text: str, calls: Sequence[Call] = ()) -> None:
        used = [
            {"id": c.id, "type": "function", "function": {"name": c.tool, "arguments": json.dumps(c.arguments)}}
            for c in calls
        ]
        self._say(role="assistant", content=text, **({"tool_calls": used} if used else {}))
        for call in reversed(calls):
            if call.output is not None:
                self._say(role="tool", content=call.output, tool_call_id=call.id)

    def own_summary(self, text: str) -> None:
        self._say(compact=text)


class Ulid(Scribe):
    """The specification's log: numbered records."""

    def found(self, records: list[dict[str, Any]]) -> None:
        self._number = max((r.get("seq", 0) for r in records), default=0)

    def _record(self, kind: str, **fields: Any) -> None:
        self._number = getattr(self, "_number", 0) + 1
        head = {"recordType": kind, "schemaVersion": 1, "seq": self._number}
        self.put(head | fields | {"timestamp": self.stamp()})

    def ask(self, text: str, *, image: bool = False) -> None:
        picture = [{"type": "image", "data": PICTURE, "mimeType": "image/png"}] * image
        self._record("message", role="user", content=[{"type": "text", "text": text}, *picture])

    def answer(self, text: str, calls: Sequence[Call] = ()) -> None:
        used = [{"type": "toolCall", "id": c.id, "name": c.tool, "arguments": c.arguments} for c in calls]
        self._record("message", role="assistant", content=[{"type": "text", "text": text}, *used])
        for call in reversed(calls):
            if call.output is not None:
                content = [{"type": "text", "text": call.output}]
                self._record("message", role="toolResult", content=content, toolCallId=call.id, isError=call.failed)

    def own_summary(self, text: str) -> None:
        lists = {"readFiles": ["earlier/read.md"], "modifiedFiles": ["earlier/changed.py"]}
        first = getattr(self, "_number", 0) + 1
        self._record("compaction", firstKeptSeq=first, summary=text, tokensBefore=9_000, **lists)


# name of a case: the dialect, the scribe, the id, and where its file lies in the store
CLIENTS: dict[str, tuple[str, Callable[[Path, str], Scribe], str, str]] = {
    "claude 2.1": ("claude", Claude, "4f0c2b9e-0d5b-4d3c-9a54-0d8a7f3f2c11", "{}.jsonl"),
    "claude 2.0": ("claude", OldClaude, "4f0c2b9e-0d5b-4d3c-9a54-0d8a7f3f2c11", "{}.jsonl"),
    "cersei": ("cersei", Cersei, "s1", "{}.jsonl"),
    "pi 3": ("pi", Pi, "4f0c2b9e-0d5b-4d3c-9a54-0d8a7f3f2c12", "2026-11-20T09-00-00-000Z_{}.jsonl"),
    "pi 2": ("pi", OldPi, "4f0c2b9e-0d5b-4d3c-9a54-0d8a7f3f2c12", "2026-11-20T09-00-00-000Z_{}.jsonl"),
    "pi 1": ("pi", OldestPi, "4f0c2b9e-0d5b-4d3c-9a54-0d8a7f3f2c12", "2026-11-20T09-00-00-000Z_{}.jsonl"),
    "openclaw": ("openclaw", Pi, "4f0c2b9e-0d5b-4d3c-9a54-0d8a7f3f2c13", "{}.jsonl"),
    "codex": ("codex", Codex, "01a1ffe2-70a4-7cb3-ab90-7e7c940d626d", "rollout-2026-11-20T09-00-00-{}.jsonl"),
    "codex, no ids": (
        "codex",
        OldCodex,
        "01a1ffe2-70a4-7cb3-ab90-7e7c940d626d",
        "rollout-2026-11-20T09-00-00-{}.jsonl",
    ),
    "crabtalk": ("crabtalk", Crabtalk, "bot_ann_1", "{}.jsonl"),
    "ulid": ("ulid", Ulid, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "{}/session.jsonl"),
}

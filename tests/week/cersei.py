"""A script as Cersei would have left it: snake_case entries, summaries, tombstones, numbered part files."""

from dataclasses import dataclass, field
from datetime import datetime

from tests.week.claude import Written
from tests.week.script import (
    Answer,
    Call,
    Delegation,
    Identity,
    Say,
    Script,
    Watch,
    call_input,
    result_text,
    turns,
)

CLIENT = "cersei"

Json = dict[str, object]
MODEL = "claude-sonnet-4-5"


@dataclass
class _Parts:
    """The entries of one session over its part files."""

    session: str
    cwd: str
    ids: Identity
    watch: Watch
    parts: list[list[Json]] = field(default_factory=lambda: [[]])
    last_uuid: str = ""

    def add(self, line: Json) -> None:
        self.parts[-1].append(line)

    def entry(self, role: str, message: Json) -> str:
        """Append a message; the client names a parent on the agent's entries only."""
        uuid = self.ids.uuid()
        line: Json = {"type": role, "uuid": uuid}
        if role == "assistant" and self.last_uuid:
            line["parent_uuid"] = self.last_uuid
        line |= {"timestamp": self.watch.rfc3339(), "session_id": self.session, "cwd": self.cwd}
        self.add(line | {"message": {"role": role, **message}, "is_sidechain": False})
        self.last_uuid = uuid
        return uuid


def write_cersei(script: Script, began: datetime, cwd: str) -> Written:
    """Return the entries of every part file of the session."""
    ids = Identity(script.name)
    parts = _Parts(ids.uuid(), cwd, ids, Watch(began, ids))
    for turn in turns(script.steps):
        if isinstance(turn, Answer):
            _answer(parts, turn)
        else:
            _say(parts, turn)
    names = [f"{parts.session}.jsonl", *(f"{parts.session}_part{n}.jsonl" for n in range(2, len(parts.parts) + 1))]
    return Written(dict(zip(names, parts.parts, strict=True)), {}, parts.session, parts.watch.at)


def _say(parts: _Parts, say: Say) -> None:
    match say.kind:
        case "user":
            parts.watch.seconds(35, 190)
            parts.entry("user", {"content": say.text})
        case "retract":
            parts.watch.seconds(30, 60)
            uuid = parts.entry("user", {"content": say.text})
            parts.watch.seconds(5, 25)
            parts.add({"type": "tombstone", "deleted_uuid": uuid, "timestamp": parts.watch.rfc3339()})
        case "pause":
            parts.watch.minutes(int(say.text))
        case "part":
            parts.parts.append([])
        case "summary":
            parts.add(_summary(parts, say.text))
        case _:
            raise ValueError(f"Cersei has no {say.kind!r}")


def _summary(parts: _Parts, text: str) -> Json:
    entries = [line for part in parts.parts for line in part]
    gone = {line["deleted_uuid"] for line in entries if line["type"] == "tombstone"}
    messages = sum(line["type"] in ("user", "assistant") and line["uuid"] not in gone for line in entries)
    line: Json = {"type": "summary", "uuid": parts.ids.uuid(), "timestamp": parts.watch.rfc3339()}
    return line | {"session_id": parts.session, "summary": text, "messages_compacted": messages}


def _answer(parts: _Parts, answer: Answer) -> None:
    parts.watch.seconds(3, 14)
    calls = {parts.ids.token("toolu_01", 22): call for call in answer.calls if isinstance(call, Call)}
    if any(isinstance(call, Delegation) for call in answer.calls):
        raise ValueError("Cersei writes no sub-agents")
    blocks: list[Json] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": ""})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for call_id, call in calls.items():
        blocks.append({"type": "tool_use", "id": call_id, "name": call.tool, "input": call_input(call, parts.cwd)})
    parts.entry("assistant", {"content": blocks, "metadata": _metadata(answer)})
    if calls:
        parts.watch.seconds(1, 9)
        parts.entry("user", {"content": [_result(call_id, call, parts.cwd) for call_id, call in calls.items()]})


def _metadata(answer: Answer) -> Json:
    written = len(answer.text) // 4 + 40 * len(answer.calls) + 5
    usage = {"input_tokens": 9_000, "output_tokens": written, "total_tokens": 9_000 + written, "provider_usage": None}
    stop = "tool_use" if answer.calls else "end_turn"
    return {"model": MODEL, "usage": usage, "stop_reason": stop, "provider_data": None}


def _result(call_id: str, call: Call, cwd: str) -> Json:
    text = result_text(call, cwd, modern=True)
    return {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": call.failed}

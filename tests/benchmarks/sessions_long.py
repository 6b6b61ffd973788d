"""Made sessions of 200 MB that were never compacted: ten megabytes again and again, each time with ids of their own.

To make every record anew would take longer than all that is measured with them.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
from sessions_compacted import codex_lines
from sessions_data import Maker, cersei_lines, claude_lines, pi_lines, write_lines

STRETCH_BYTES = 10_000_000
_TOMBSTONES = 12
# The first digits of what numbers ids within a stretch.
_FIRST_SEQ = 10


class LongMaker(Maker):
    """A maker whose ids have room for the number of their stretch."""

    def id(self) -> str:
        """Return a fresh id."""
        return f"{super().id()[:24]}c0de{0:04x}{self.chance.getrandbits(16):04x}"


def long_session(path: Path, dialect: str, size: int) -> Path:
    """Write a session of about ``size`` bytes once."""
    return path if path.exists() else write_lines(path, _stretches(dialect, size))


def _stretches(dialect: str, size: int) -> Iterator[bytes]:
    lines = list(_MAKERS[dialect](LongMaker(7), STRETCH_BYTES))
    heads = lines[: _HEADS.get(dialect, 0)]
    stretch = b"".join(lines[len(heads) :])
    yield from heads
    last = re.findall(_IDS[dialect], lines[-1])[-1] if dialect in _IDS else b""
    before: bytes | None = None
    for number in range(-(-size // len(stretch))):
        own = _numbered(stretch, number)
        if before is not None:
            key = b'"parentUuid":' if dialect == "claude" else b'"parentId":'
            own = re.sub(key + rb'(null|"[^"]*")', key + b'"' + before + b'"', own, count=1)
        yield own
        before = _numbered(b'"id":"' + last + b'"', number)[6:-1] if last else None


def _numbered(stretch: bytes, number: int) -> bytes:
    """Return a stretch with ids of its own, each as long as before."""
    stretch = stretch.replace(b"c0de0000", b"c0de%04x" % number).replace(b'"toolu_', b'"t%04x_' % number)
    for key in (b'"id":"', b'"parentId":"'):
        stretch = stretch.replace(key + b"0000", key + b"%04x" % number)
    return stretch.replace(b'"seq":%d' % _FIRST_SEQ, b'"seq":%d' % (_FIRST_SEQ + number))


def _openclaw(make: Maker, size: int) -> Iterator[bytes]:
    """Yield pi's lines with a snapshot of the model in front of every turn, as OpenClaw writes it."""
    shift = 0x8000
    for line in pi_lines(make, size):
        record: dict[str, Any] = orjson.loads(line)
        if record.get("message", {}).get("role") == "user":
            own = f"{int(record['id'], 16) + shift:08x}"
            data = {"timestamp": make.clock * 1000, "provider": "local", "modelApi": "messages", "modelId": "m"}
            snapshot = {"type": "custom", "customType": "model-snapshot", "data": data, "id": own}
            yield orjson.dumps({**snapshot, "parentId": record["parentId"], "timestamp": make.time()}) + b"\n"
            record["parentId"] = own
        yield orjson.dumps(record) + b"\n"


def _ulid(make: Maker, size: int) -> Iterator[bytes]:
    """Yield the records of a log of the specification with ULIDs."""
    total, seq = 0, _FIRST_SEQ * 1_000_000
    while total < size:
        for role, blocks in make.turn():
            seq += 1
            record: dict[str, Any] = {"recordType": "message", "schemaVersion": 1, "seq": seq, "role": role}
            if blocks[0]["type"] == "tool_result":
                text = [{"type": "text", "text": blocks[0]["content"]}]
                record |= {"role": "toolResult", "content": text, "toolCallId": blocks[0]["tool_use_id"]}
            else:
                record["content"] = [
                    {"type": "toolCall", "id": block["id"], "name": block["name"], "arguments": block["input"]}
                    if block["type"] == "tool_use"
                    else block
                    for block in blocks
                ]
            line = orjson.dumps({**record, "timestamp": make.time()}) + b"\n"
            total += len(line)
            yield line


def _crabtalk(make: Maker, size: int) -> Iterator[bytes]:
    """Yield the lines of a crabtalk session."""
    meta = {"agent": "crab", "created_by": "TG:user-7", "created_at": make.time(), "title": "Release notes"}
    yield orjson.dumps({**meta, "uptime_secs": 42}) + b"\n"
    total = 0
    while total < size:
        for role, blocks in make.turn():
            line = orjson.dumps(_crabtalk_line(role, blocks)) + b"\n"
            total += len(line)
            yield line


def _crabtalk_line(role: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    if blocks[0]["type"] == "tool_result":
        return {"role": "tool", "content": blocks[0]["content"], "tool_call_id": blocks[0]["tool_use_id"]}
    found: dict[str, Any] = {"role": role, "content": ""}
    for block in blocks:
        match block["type"]:
            case "tool_use":
                function = {"name": block["name"], "arguments": orjson.dumps(block["input"]).decode()}
                found["tool_calls"] = [{"id": block["id"], "type": "function", "function": function}]
            case "thinking":
                found["reasoning_content"] = block["thinking"]
            case _:
                found["content"] += block["text"]
    return found


_MAKERS: dict[str, Callable[[Maker, int], Iterator[bytes]]] = {
    "claude": claude_lines,
    "cersei": lambda make, size: cersei_lines(make, size, _TOMBSTONES),
    "pi": pi_lines,
    "openclaw": _openclaw,
    "codex": codex_lines,
    "crabtalk": _crabtalk,
    "ulid": _ulid,
}
DIALECTS = tuple(_MAKERS)
# lines that stand once, where the file begins
_HEADS = {"pi": 1, "openclaw": 1, "codex": 1, "crabtalk": 1}
# how a record names itself, where the next one names it as its parent
_IDS = {"claude": rb'"uuid":"([^"]+)"', "pi": rb'"id":"(0000[^"]+)"', "openclaw": rb'"id":"(0000[^"]+)"'}

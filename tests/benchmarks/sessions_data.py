"""Made sessions for the benchmarks: the shape of real ones, texts cut from this Python's own library.

Of the bytes more than half are tool results and their structured duplicates, a third tool inputs and the envelope, a
few per cent what people typed; a line has 1.7 KB on average, as in the sessions that were counted for it.
Everything is derived from one seed, so that every run measures the same bytes.
"""

import os
import random
import sysconfig
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

VERSION = "4"  # written into the data folder: other data is made anew
_TOOLS = ("Bash", "Read", "Edit", "Grep")


def _texts() -> str:
    """Return a few megabytes of code and prose, also with characters beyond ASCII."""
    library = Path(sysconfig.get_path("stdlib"))
    chosen = sorted(library.glob("*.py"))[:120] + sorted(library.glob("encodings/*.py"))[:10]
    body = "".join(path.read_text(encoding="utf-8", errors="replace") for path in chosen)
    return body + "Zwölf Boxkämpfer \u2014 \u201cquoted\u201d \U0001f600\n" * 200


class Maker:
    """Makes turns: a prompt, then thinking, text and calls with their results."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.texts = _texts()
        self.clock = 1_760_000_000

    def slice(self, low: int, high: int) -> str:
        """Return a piece of text of random length."""
        length = self.chance.randint(low, high)
        at = self.chance.randrange(len(self.texts) - length)
        return self.texts[at : at + length]

    def id(self) -> str:
        """Return a fresh id."""
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def time(self) -> str:
        """Return the next time stamp."""
        self.clock += 3
        day, second = divmod(self.clock, 86_400)
        return (
            f"2026-{day % 12 + 1:02}-{day % 28 + 1:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"
        )

    def turn(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield (role, blocks) of one turn."""
        yield "user", [{"type": "text", "text": self.slice(30, 400)}]
        for _ in range(self.chance.randint(3, 12)):
            call = f"toolu_{self.chance.getrandbits(64):x}"
            said: list[dict[str, Any]] = []
            if self.chance.random() < 0.3:
                said.append({"type": "thinking", "thinking": self.slice(50, 600), "signature": "s" * 300})
            if self.chance.random() < 0.4:
                said.append({"type": "text", "text": self.slice(40, 500)})
            name = self.chance.choice(_TOOLS)
            said.append({"type": "tool_use", "id": call, "name": name, "input": {"command": self.slice(40, 900)}})
            yield "assistant", said
            output = self.slice(50, self.chance.choice((300, 1500, 4000, 9000)))
            yield "user", [{"type": "tool_result", "tool_use_id": call, "content": output}]
        yield "assistant", [{"type": "text", "text": self.slice(100, 900)}]


_USAGE = {"input_tokens": 12, "output_tokens": 345, "cache_read_input_tokens": 45_678, "service_tier": "standard"}


def claude_lines(make: Maker, size: int) -> Iterator[bytes]:
    """Yield the lines of a Claude Code session of about ``size`` bytes."""
    session, parent, total = make.id(), None, 0
    while total < size:
        for role, blocks in make.turn():
            record: dict[str, Any] = {
                "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/dev/project",
                "sessionId": session, "version": "2.1.80", "gitBranch": "main", "type": role,
                "message": {"role": role, "content": blocks}, "uuid": make.id(), "timestamp": make.time(),
            }  # fmt: skip
            if role == "assistant":
                record["message"] |= {
                    "id": f"msg_{make.id()[:24]}",
                    "model": "claude",
                    "type": "message",
                    "usage": _USAGE,
                }
            elif blocks[0]["type"] == "tool_result":
                record["toolUseResult"] = {"stdout": blocks[0]["content"], "stderr": "", "interrupted": False}
            else:
                record["message"]["content"] = blocks[0]["text"]
            parent = record["uuid"]
            line = orjson.dumps(record) + b"\n"
            total += len(line)
            yield line


def cersei_lines(make: Maker, size: int, tombstones: int) -> Iterator[bytes]:
    """Yield the lines of a Cersei session of about ``size`` bytes in which some entries are deleted."""
    session, total, ids = make.id(), 0, list[str]()
    step = size // (tombstones + 1)
    while total < size:
        for role, blocks in make.turn():
            ids.append(make.id())
            content = blocks[0]["text"] if blocks[0]["type"] == "text" and role == "user" else blocks
            record = {
                "type": role, "uuid": ids[-1], "timestamp": make.time(), "session_id": session,
                "cwd": "/home/dev/project", "message": {"role": role, "content": content}, "is_sidechain": False,
            }  # fmt: skip
            lines = [orjson.dumps(record) + b"\n"]
            if total // step != (total + len(lines[0])) // step:
                gone = make.chance.choice(ids)
                lines.append(
                    orjson.dumps({"type": "tombstone", "deleted_uuid": gone, "timestamp": make.time()}) + b"\n"
                )
            total += sum(map(len, lines))
            yield from lines


def pi_lines(make: Maker, size: int) -> Iterator[bytes]:
    """Yield the lines of a pi session, version 3, of about ``size`` bytes."""
    now = make.time()
    yield (
        orjson.dumps({"type": "session", "version": 3, "id": make.id(), "timestamp": now, "cwd": "/home/dev/project"})
        + b"\n"
    )
    parent, total, number = None, 0, 0
    while total < size:
        for role, blocks in make.turn():
            number += 1
            record = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": make.time()}
            line = orjson.dumps(record | {"message": _pi_message(role, blocks, make.clock * 1000)}) + b"\n"
            parent = record["id"]
            total += len(line)
            yield line


def _pi_message(role: str, blocks: list[dict[str, Any]], at: int) -> dict[str, Any]:
    first = blocks[0]
    if first["type"] == "tool_result":
        text = [{"type": "text", "text": first["content"]}]
        return {
            "role": "toolResult",
            "toolCallId": first["tool_use_id"],
            "toolName": "bash",
            "content": text,
            "isError": False,
            "timestamp": at,
        }
    if role == "user":
        return {"role": "user", "content": first["text"], "timestamp": at}
    content: list[dict[str, Any]] = []
    for block in blocks:
        match block["type"]:
            case "tool_use":
                content.append(
                    {"type": "toolCall", "id": block["id"], "name": block["name"], "arguments": block["input"]}
                )
            case "thinking":
                content.append(
                    {"type": "thinking", "thinking": block["thinking"], "thinkingSignature": block["signature"]}
                )
            case _:
                content.append(block)
    usage = {"input": 12, "output": 345, "cacheRead": 45_678, "cacheWrite": 0, "totalTokens": 46_035}
    return {
        "role": "assistant",
        "content": content,
        "api": "messages",
        "provider": "local",
        "model": "m",
        "usage": usage,
        "stopReason": "toolUse",
        "timestamp": at,
    }


def write_lines(path: Path, lines: Iterator[bytes]) -> Path:
    """Write a file once; a half-made one is made again."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".part").open("wb") as file:
            file.writelines(lines)
        path.with_suffix(".part").rename(path)
    return path


def fleet(folder: Path, files: int, median: int, *, projects: int) -> Path:
    """Make ``files`` Claude Code sessions of log-normal sizes over some project folders."""
    done = folder / f".made-{VERSION}-{files}"
    if not done.exists():
        make = Maker(5)
        pool = list(claude_lines(make, 24_000_000))
        for number in range(files):
            home = folder / f"-home-dev-project{number % projects}"
            home.mkdir(parents=True, exist_ok=True)
            session = make.id()
            size = int(min(make.chance.lognormvariate(0, 0.9) * median, 3_000_000))
            _write_slice(home / f"{session}.jsonl", session, pool, make.chance, size)
        done.touch()
    return folder


def _write_slice(path: Path, session: str, pool: list[bytes], chance: random.Random, size: int) -> None:
    """Write a session from a stretch of the pool under a session id of its own."""
    at, total = chance.randrange(len(pool)), 0
    old = orjson.loads(pool[0])["sessionId"].encode()
    lines: list[bytes] = []
    while total < size or not lines:
        line = pool[at % len(pool)].replace(old, session.encode(), 1)
        lines.append(line)
        total += len(line)
        at += 1
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.writev(fd, lines) if len(lines) < 1000 else os.write(fd, b"".join(lines))
    finally:
        os.close(fd)

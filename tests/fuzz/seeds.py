"""What the fuzzer starts from: the clients' own sample files with long strings cut, and small sessions of each form."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from slowwave.formats import ToolCall
from slowwave.formats.cersei import write as cersei
from slowwave.formats.registry import NAMES
from tests.fuzz.layout import SEPARATOR
from tests.unit.formats import claude_files, codex_files, opencode_files, pi_files

SAMPLES = Path(__file__).parents[1] / "samples"
FINDINGS = SAMPLES / "fuzz"
TARGETS = ("records", *NAMES)
MOST_BYTES = 4_096
_LONGEST_TEXT = 24
_MOST_ALIKE = 1
# values, but for those that say what a record is
_TEXT = re.compile(r'(?<!"type"):(?:"[^"]*"|-?[0-9.]+)')
_AT = datetime(2026, 4, 3, 12, tzinfo=UTC)


def seeds(target: str) -> list[bytes]:
    """Return the inputs that one target starts from, the smallest first."""
    if target == "records":
        found = [data for name in NAMES for data in seeds(name)[:3]]
        found += [b'{"a":1}{"b":2}\n', b'{"a":"x{"b":1}\n', b'\0\0{"a":1}\r\n\n{"a":NaN}', b"\xef\xbb\xbf[1]\n{}\n{"]
    else:
        found = [*_samples(target), *_BUILT.get(target, list)()]
    return sorted({data[:MOST_BYTES] for data in found} | set(findings(target)), key=len)


def findings(target: str) -> list[bytes]:
    """Return the inputs by which the fuzzer once showed a defect."""
    return [path.read_bytes() for path in sorted((FINDINGS / target).glob("*"))]


def _samples(dialect: str) -> Iterator[bytes]:
    for path in sorted((SAMPLES / dialect).rglob("*.json*")):
        if not path.name.endswith(".context.json"):
            yield _shortened(path.read_bytes())


def _shortened(data: bytes) -> bytes:
    """Return a sample whose strings are cut, since a fuzzer learns more from small inputs."""
    try:
        return json.dumps(_short(json.loads(data)), ensure_ascii=False, indent=1).encode()
    except ValueError:  # one object a line
        return b"\n".join(_unlike(data.splitlines()))


def _unlike(lines: list[bytes]) -> Iterator[bytes]:
    """Yield the lines in short, of those of one shape the first few only."""
    shapes = Counter[str]()
    for line in lines:
        short = _short_line(line)
        shape = _TEXT.sub("", short.decode("utf-8", "replace"))
        shapes[shape] += 1
        if shapes[shape] <= _MOST_ALIKE:
            yield short


def _short_line(line: bytes) -> bytes:
    try:
        return json.dumps(_short(json.loads(line)), ensure_ascii=False, separators=(",", ":")).encode()
    except ValueError:  # a sample may be damaged on purpose
        return line


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_LONGEST_TEXT]
    if isinstance(value, list):
        return [_short(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _short(item) for key, item in cast("dict[str, object]", value).items()}
    return value


def _claude() -> list[bytes]:
    session = claude_files.Session()
    asked = session.user("fix <system-reminder>x</system-reminder> it")
    session.says("m1", "ok", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}})
    session.result("t1", [{"type": "text", "text": "a.py"}])
    session.user("other way", parent=asked)
    session.bare("last-prompt", leafUuid=session.last)
    session.bare("summary", summary="A title", leafUuid=session.last)
    return ["\n".join(session.lines).encode()]


def _cersei() -> list[bytes]:
    calls: list[dict[str, object]] = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
    first = cersei.entry_line("user", "hello", uuid="1", session="s", cwd="/w", at=_AT)
    answer = cersei.entry_line("assistant", calls, uuid="2", parent="1", session="s", cwd="/w", at=_AT)
    summary = cersei.summary_line("so far", uuid="3", session="s", compacted=2, at=_AT)
    system = cersei.entry_line("system", "rules", uuid="4", session="s", cwd="/w", at=_AT)
    later = cersei.entry_line("user", "<context_summary>x", uuid="5", session="s", cwd="/w", at=_AT)
    return [first + answer + summary + system + SEPARATOR[1:] + later + cersei.tombstone_line("4", at=_AT)]


def _bare() -> list[bytes]:
    blocks: list[dict[str, object]] = [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image"}]}]
    rows = [("user", "hello"), ("assistant", [{"type": "thinking", "thinking": "hm"}]), ("user", blocks)]
    return [b"".join(cersei.bare_line(role, cast("Any", said)) for role, said in rows)]


def _codex() -> list[bytes]:
    files = codex_files
    wrapped = [
        files.meta(git={"branch": "main"}),
        files.said("user", files.ENVIRONMENT),
        *files.turn("one", "1"),
        files.call(),
        files.output(),
        files.item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        files.compacted("s", files.message("user", "kept")),
        *files.turn("two", "2"),
        files.event("thread_rolled_back", num_turns=1),
        files.event("thread_name_updated", thread_name="T"),
    ]
    base = {"thread_id": "parent", "end_byte_offset": 300, "end_ordinal_exclusive": 3}
    fork = [files.meta("child", history_base=base), *files.turn("three", "3")]
    parent = [files.meta("parent"), *files.turn("zero", "0")]
    bare: list[dict[str, Any]] = [
        {"id": "x", "timestamp": files.STAMP, "instructions": None, "git": {}},
        {"record_type": "state"},
        files.message("user", "hello"),
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"x","metadata":{"exit_code":0}}'},
    ]
    return [_lines(wrapped), _lines(fork) + SEPARATOR[1:] + _lines(parent), _lines(bare)]


def _opencode() -> list[bytes]:
    session = opencode_files.Session("ses_a")
    session.user("hello")
    session.answer(opencode_files.words("ok"), opencode_files.done("a.py", time={"compacted": 1}), finish="stop")
    session.compact("sum", tail="msg_es_a000")
    parts = [part for message in session.messages for part in message["parts"]]
    pieces = [json.dumps(row).encode() for row in (session.info, *(m["info"] for m in session.messages), *parts)]
    with TemporaryDirectory() as folder:
        database = _packed(opencode_files.database(Path(folder), session))
        session.info["revert"] = {"messageID": "msg_es_a001", "partID": "x"}
        export = session.export(Path(folder), indent=None).read_bytes()
    return [SEPARATOR.join(pieces), database, export]


def _packed(path: Path) -> bytes:
    """Return a database with the smallest pages that SQLite has."""
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("PRAGMA page_size = 512")
        rows.execute("VACUUM")
    return path.read_bytes()


def _pi() -> list[bytes]:
    found: list[bytes] = []
    for version in (3, 2, 1):
        session = pi_files.Session(header={**pi_files.HEADER, "version": version})
        first = session.user("hello")
        session.model("ok", {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}})
        session.result("c1", "a.py", {"type": "image", "data": "", "mimeType": "image/png"})
        session.add("branch_summary", parent=first, fromId=first, summary="left")
        session.compact(first, firstKeptEntryIndex=1)
        session.add("custom_message", customType="x", content="note", display=True)
        session.add("message", message={"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0})
        session.add("message", message={"role": "hookMessage", "content": "x"})
        session.add("label", targetId=first, label="L")
        session.add("session_info", name="N")
        session.add("model_change", provider="anthropic", modelId="m")
        found.append(session.data())
    return found


def _openclaw() -> list[bytes]:
    """Return pi's sessions with the marks of its descendants."""
    note = {"type": "custom", "customType": "model-snapshot", "data": {"provider": "x"}, "id": "n", "parentId": None}
    marked = [data.replace(b"\n", b"\n" + json.dumps(note).encode() + b"\n", 1) for data in _pi()]
    newest = pi_files.Session(header={**pi_files.HEADER, "version": 4})
    newest.user("hello", __openclaw={"seq": 1})
    newest.add("leaf", targetId="e1")
    newest.add("reset", reason="daily")
    return [*marked, newest.data()]


def _crabtalk() -> list[bytes]:
    from slowwave.formats.crabtalk import write as crabtalk  # noqa: PLC0415 - beside its only use

    lines = [
        crabtalk.meta_line("crab", "user", at=_AT, title="T"),
        crabtalk.message_line("user", "old"),
        crabtalk.compact_line("so far", title="t", archived_at=_AT),
        crabtalk.message_line("assistant", "", reasoning="hm", calls=[ToolCall("c1", "ls", {"path": "."})]),
        crabtalk.message_line("tool", "a.py", call_id="c1"),
    ]
    return [b"".join(lines)]


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


_BUILT = {
    "claude": _claude,
    "cersei": _cersei,
    "cersei-bare": _bare,
    "codex": _codex,
    "opencode": _opencode,
    "pi": _pi,
    "openclaw": _openclaw,
    "crabtalk": _crabtalk,
}

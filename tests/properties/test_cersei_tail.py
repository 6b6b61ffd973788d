"""The context of a Cersei session is the same from its end, however odd what stands before its last summary is."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats import tail as formats_tail
from slowwave.formats.cersei import dialect as cersei_tail
from slowwave.formats.registry import by_name, read_for_context
from tests.properties.damage import damaged
from tests.properties.test_tail_context import forms

CONTENTS: tuple[Any, ...] = (
    *("hi", "}{", "\u00e9x", '"summary"', [{"type": "text", "text": "a"}]),
    [{"type": "tombstone", "deleted_uuid": "u3"}],
)
ODD = (b"", b"  ", b'{"type":"user",', b"[", b'{"type":"user","uuid":"\xff","message":{"role":"user"}}')


def message(chance: random.Random, number: int) -> dict[str, Any]:
    """Return a message, now and then one without an id, without a body, of a type of tomorrow, or none at all."""
    role = chance.choice(("user", "assistant", "system"))
    body = {"role": role, "content": chance.choice(CONTENTS)} if chance.random() < 0.96 else None
    uuid = f"u{number}" if chance.random() < 0.95 else None
    record: dict[str, Any] = {"type": role, "uuid": uuid, "session_id": "s", "message": body}
    if chance.random() < 0.03:
        record["cwd"] = 5
    if chance.random() < 0.03:
        record["type"] = "progress"
    fields = list(record.items())
    if chance.random() < 0.1:
        chance.shuffle(fields)
    return dict(fields)


def summary(chance: random.Random, number: int) -> dict[str, Any]:
    """Return a summary that hides all, some or none of the messages so far."""
    count = chance.choice((number + 1, number, chance.randrange(50), None, 0, -3, 100, "7"))
    return {"type": "summary", "uuid": f"s{number}", "summary": "x", "messages_compacted": count}


def tombstone(chance: random.Random, total: int) -> dict[str, Any]:
    """Return a tombstone of something that may stand before or behind it, or of nothing."""
    target = chance.choice((f"u{chance.randrange(total)}", f"s{chance.randrange(total)}", "nowhere", None))
    record: dict[str, Any] = {"type": "tombstone", "deleted_uuid": target}
    return record | ({"cwd": 3} if chance.random() < 0.1 else {})


def written(chance: random.Random, record: dict[str, Any]) -> bytes:
    """Return a line, in one of the ways in which JSON lets it be spelled."""
    separators = chance.choice([(",", ":")] * 6 + [(", ", ": ")])
    line = json.dumps(record, separators=separators, ensure_ascii=chance.random() < 0.5).encode()
    if chance.random() < 0.05:
        for plain, escaped in (
            (b'"type"', rb'"t\u0079pe"'),
            (b"deleted_uuid", rb"deleted\u005fuuid"),
            (b"summ", rb"s\u0075mm"),
        ):
            line = line.replace(plain, escaped, 1)
    return line


def session(chance: random.Random) -> bytes:
    """Return a session of three to forty-five turns."""
    lines: list[bytes] = []
    total = chance.randrange(3, 45)
    for number in range(total):
        lines.append(written(chance, message(chance, number)))
        if chance.random() < 0.12:
            lines.append(written(chance, summary(chance, number)))
        if chance.random() < 0.12:
            lines.append(written(chance, tombstone(chance, total)))
        if chance.random() < 0.02:
            lines.append(chance.choice(ODD))
    end = chance.choice([b"\n"] * 9 + [b"\r\n"])
    return end.join(lines) + (end if chance.random() < 0.9 else b"")


def parts(chance: random.Random, raw: bytes, folder: Path) -> SessionFiles:
    """Write a session in one to three files, cut at the ends of lines or anywhere."""
    cuts = sorted(chance.randrange(len(raw) + 1) for _ in range(chance.choice((0, 0, 1, 2))))
    if chance.random() < 0.8:
        cuts = [raw.rfind(b"\n", 0, cut) + 1 for cut in cuts]
    paths: list[Path] = []
    for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        paths.append(folder / f"s{len(paths)}.jsonl")
        paths[-1].write_bytes(raw[begin:end])
    return SessionFiles("s", tuple(paths))


@pytest.mark.parametrize("block", range(6))
def test_odd_sessions_give_the_same_from_their_end(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats_tail, "STEP_BYTES", 200)
    cersei = by_name("cersei")
    tails = 0
    for seed in range(block * 100, block * 100 + 100):
        chance = random.Random(seed)
        monkeypatch.setattr(cersei_tail, "_BLOCK_BYTES", chance.choice((1, 100, 400, 1 << 17)))
        monkeypatch.setattr(cersei_tail, "_PACKED", chance.choice((1, 3, 4096)))
        monkeypatch.setattr(cersei_tail, "_ODD_LINES", chance.choice((1, 2, 5, 100)))
        raw = session(chance)
        files = parts(chance, damaged(raw, seed) if chance.random() < 0.6 else raw, tmp_path)
        short = read_for_context(cersei, files)
        assert forms(cersei.context(short)) == forms(cersei.context(cersei.read(files))), seed
        tails += short.is_tail
    assert tails >= 15


def test_a_deleted_summary_hides_nothing(tmp_path: Path) -> None:
    says = [{"type": "user", "uuid": f"u{n}", "message": {"role": "user", "content": "x"}} for n in range(3)]
    first = {"type": "summary", "uuid": "s1", "summary": "a", "messages_compacted": 2}
    second = {"type": "summary", "uuid": "s2", "summary": "b", "messages_compacted": 1}
    gone = {"type": "tombstone", "deleted_uuid": "s1"}
    path = tmp_path / "s.jsonl"
    files, cersei = SessionFiles("s", (path,)), by_name("cersei")
    for records, left in (
        ([*says[:2], first, says[2], second], 1),
        ([*says[:2], first, says[2], second, gone], 3),
    ):
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        short = read_for_context(cersei, files)
        assert short.is_tail
        assert len(cersei.context(short)) == left


def test_the_messages_that_a_summary_leaves_are_read_from_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats_tail, "STEP_BYTES", 500)
    says = [{"type": "user", "uuid": f"u{n}", "message": {"role": "user", "content": "x" * 900}} for n in range(60)]
    first = {"type": "summary", "uuid": "s1", "summary": "a", "messages_compacted": 30}
    second = {"type": "summary", "uuid": "s2", "summary": "b", "messages_compacted": 15}
    gone = {"type": "tombstone", "deleted_uuid": "u50"}
    path = tmp_path / "s.jsonl"
    records = [*says[:40], first, *says[40:55], second, *says[55:], gone]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    cersei = by_name("cersei")
    short = read_for_context(cersei, SessionFiles("s", (path,)))
    assert short.is_tail
    assert [m.id for m in cersei.context(short)] == ["s2", *(f"u{n}" for n in range(45, 60) if n != 50)]

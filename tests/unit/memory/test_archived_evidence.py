"""What a memory rests on is proven by the archive, too: by single ranges of bytes, and nothing is unpacked."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
import zstandard

from slowwave.memory import Evidence
from slowwave.memory.evidence import check_all, said_at, sources_of, unproven
from slowwave.secrets import NAMELESS, Redactor
from slowwave.secrets.blocklist import Blocked, block, read_blocked
from slowwave.stores.archive.pack import Pack, PackedSession, Wanted, write_pack

ROLLOUT = "rollout-2026-11-20T10-00-00-019a0000-0000-7000-8000-000000000001.jsonl"


def lines(number: int) -> list[bytes]:
    return [
        b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"We always use tabs in %d"}}' % (n, n)
        for n in range(number)
    ]


def evidence(path: Path, record: bytes, offset: int) -> Evidence:
    return Evidence(
        path=str(path), record="u", offset=offset, length=len(record), sha256=hashlib.sha256(record).hexdigest(),
        quote="We always use tabs",
    )  # fmt: skip


def pieces(path: Path, records: list[bytes]) -> list[Evidence]:
    found: list[Evidence] = []
    at = 0
    for record in records:
        found.append(evidence(path, record, at))
        at += len(record) + 1
    return found


def archived(folder: Path, *paths: Path) -> Path:
    every = [Wanted(PackedSession(p.stem, "claude", "app", "", "2026-11-22T03:30:00+00:00", 1, ()), [p]) for p in paths]
    write_pack(folder / "p.swpack", every)
    for path in paths:
        path.unlink()
    return folder


def test_archived_evidence_is_moved_and_says_where(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "s.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"\n".join(records := lines(500)))
    every = pieces(path, records)
    assert [c.finding for c in check_all(every, [path.parent])] == ["ok"] * 500
    folder = archived(tmp_path / "archive", path)
    assert {c.finding for c in check_all(every, [path.parent])} == {"lost"}
    checked = check_all(every, [path.parent, folder])
    assert {c.finding for c in checked} == {"moved"}
    assert all(c.is_archived for c in checked)
    assert [c.offset for c in checked] == [e.offset for e in every]
    assert {c.path for c in checked} == {f"{folder}/p.swpack{path}"}
    assert said_at(checked[7], NAMELESS) == "We always use tabs in 7"
    assert unproven({"m": every}, [path.parent, folder]) == {}


def test_only_the_frames_that_are_needed_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(records := lines(900)))
    monkeypatch.setattr("slowwave.stores.archive.pack.CHUNK", 1 << 10)
    folder = archived(tmp_path / "archive", path)
    every = pieces(path, records)
    seen: list[int] = []
    frame = Pack._frame  # pyright: ignore[reportPrivateUsage]

    def counted(self: Pack, decompressor: zstandard.ZstdDecompressor, place: int, packed: int, plain: int) -> bytes:
        seen.append(place)
        return frame(self, decompressor, place, packed, plain)

    monkeypatch.setattr(Pack, "_frame", counted)
    assert [c.finding for c in check_all([every[450]], [folder])] == ["moved"]
    assert 0 < len(set(seen)) < 70  # what a reader reads ahead


def test_a_rollout_that_was_packed_by_its_client_is_found_under_its_plain_name(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "2026" / "11" / "20" / ROLLOUT
    path.parent.mkdir(parents=True)
    data = b"\n".join(records := lines(50))
    cold = path.with_name(path.name + ".zst")
    cold.write_bytes(zstandard.compress(data))
    folder = archived(tmp_path / "archive", cold)
    checked = check_all(pieces(path, records), [folder])
    assert {(c.finding, c.is_archived) for c in checked} == {("moved", True)}
    assert said_at(checked[3], NAMELESS) == "We always use tabs in 3"


def test_a_session_that_was_renamed_before_it_was_archived_is_found_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "renamed.jsonl"
    path.write_bytes(b"\n".join(records := lines(20)))
    folder = archived(tmp_path / "archive", path)
    every = pieces(tmp_path / "old.jsonl", records)
    checked = check_all(every, [folder])
    assert {(c.finding, c.path) for c in checked} == {("moved", f"{folder}/p.swpack{path}")}


def test_a_changed_file_is_proven_by_what_was_archived_of_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(records := lines(20)))
    folder = archived(tmp_path / "archive", path)
    path.write_bytes(b"\n".join(lines(3)))
    checked = check_all(pieces(path, records), [folder])
    assert [c.finding for c in checked] == ["ok"] * 3 + ["moved"] * 17
    assert [c.is_archived for c in checked] == [False] * 3 + [True] * 17


def test_what_a_damaged_pack_held_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(records := lines(20)))
    folder = archived(tmp_path / "archive", path)
    pack = folder / "p.swpack"
    data = bytearray(pack.read_bytes())
    data[20] ^= 255
    pack.write_bytes(bytes(data))
    assert {c.finding for c in check_all(pieces(path, records), [folder])} <= {"changed", "lost"}
    pack.write_bytes(b"")
    assert {c.finding for c in check_all(pieces(path, records), [folder])} == {"lost"}


@pytest.mark.parametrize("seed", range(5))
def test_random_ranges_read_alike_in_place_and_archived(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    paths = [tmp_path / f"s{n}.jsonl" for n in range(4)]
    every: list[Evidence] = []
    for path in paths:
        data = b"\n".join(lines(chance.randrange(1, 300)))
        path.write_bytes(data)
        for _ in range(20):
            at = chance.randrange(len(data))
            every.append(evidence(path, data[at : at + chance.randrange(1, 200)], at))
    chance.shuffle(every)
    folder = archived(tmp_path / "archive", *paths)
    checked = check_all(every, [folder])
    assert [(c.finding, c.offset) for c in checked] == [("moved", e.offset) for e in every]


ODD = "cactus-walnut-anchor-orbit"
ANSWER = f"use {ODD} as the passphrase for the key, and tell nobody of Ottilie Kreuzbaum"


@pytest.mark.parametrize(
    "content",
    [
        ANSWER,
        f'User has answered your questions: "Which one?"="{ANSWER}". You can now continue.',
        json.dumps({"answers": {"q1": {"answers": [f"{ANSWER} \u2014 \u201cnow\u201d"]}}}),
        ANSWER.replace("walnut", "wal\u200bnut"),
    ],
    ids=["as typed", "in the client's sentence", "in JSON", "with a character that nobody sees"],
)
def test_a_source_is_shown_without_secrets_and_without_what_was_erased_however_its_client_wraps_it(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "s.jsonl"
    told: dict[str, Any] = {"type": "assistant", "message": {"role": "assistant", "content": f"noted:\n{ANSWER}"}}
    record = json.dumps({"type": "user", "message": {"role": "user", "content": content}}).encode()
    before = json.dumps(told).encode() + b"\n"
    path.write_bytes(before + record + b"\n")
    piece = Evidence(str(path), "", len(before), len(record), hashlib.sha256(record).hexdigest(), "tell nobody of")
    environ, key = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}, b"k" * 32
    block(environ, key, ["Ottilie Kreuzbaum"], [])
    (source,) = sources_of([piece], [tmp_path], 1, Redactor(key, Blocked(key, read_blocked(environ))))
    assert source.finding == "ok"
    for shown in (source.around, source.before):
        assert "tell nobody of" in shown
        assert not [word for word in ("walnut", "wal\u200bnut", "Kreuzbaum") if word in shown]

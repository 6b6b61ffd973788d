"""What the end of a session gives as its context is what the whole session gives, whatever the damage."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave.errors import SlowwaveError
from slowwave.formats import Message, SessionFiles, Transcript, tail
from slowwave.formats.registry import by_name, detect, read_for_context
from tests.properties.damage import damaged

HERE = Path(__file__).parents[1]
SAMPLES = sorted(
    path
    for path in (HERE / "samples").rglob("*.jsonl")
    if any(mark in path.read_bytes() for mark in (b"compact_boundary", b'"compact', b"replacement_history"))
)
SHARED = HERE.parents[1] / "shared"
REAL = sorted(path for root in ("corpus", "clients/corpus") for path in (SHARED / root).rglob("*.jsonl"))
SMALL = 200


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a suffix grow by few bytes, so that it stops inside of small files, too."""
    monkeypatch.setattr(tail, "STEP_BYTES", SMALL)


def cersei_session() -> bytes:
    """Return a Cersei session with two summaries, tombstones before and behind what they delete, and a partial one."""
    lines: list[dict[str, Any]] = []
    for number in range(30):
        message = {"role": "user" if number % 2 == 0 else "assistant", "content": f"message {number}"}
        uuid, at = f"00000000-{number:04}", f"2026-01-01T00:00:{number:02}Z"
        lines.append({"type": message["role"], "uuid": uuid, "timestamp": at, "session_id": "s", "message": message})
        if number in (9, 20):
            summary = {"type": "summary", "uuid": f"s{number}", "summary": f"up to {number}", "messages_compacted": 11}
            lines.append(summary)
        if number in (4, 12, 25):
            lines.append({"type": "tombstone", "deleted_uuid": f"00000000-{number - 1:04}", "timestamp": at})
            lines.append({"type": "tombstone", "deleted_uuid": f"00000000-{number + 2:04}", "timestamp": at})
    return b"\n".join(json.dumps(line, separators=(",", ":")).encode() for line in lines) + b"\n"


def forms(messages: Sequence[Message]) -> list[tuple[Any, ...]]:
    """Return everything about messages but the numbers of their lines, which count from where a reading began."""
    return [
        (m.role, m.blocks, m.origin, m.id, m.timestamp, m.cwd, m.branch, [(s.offset, s.raw) for s in m.sources])
        for m in messages
    ]


def contexts(path: Path) -> tuple[Transcript, object, object]:
    """Return what was read for a context, the context it gives, and that of the whole session; refusals as texts."""
    dialect = detect(path)
    files = SessionFiles(path.stem, (path,))
    found: list[object] = []
    short = read_for_context(dialect, files)
    for transcript in (short, dialect.read(files)):
        try:
            found.append(forms(dialect.context(transcript)))
        except SlowwaveError as error:
            found.append(str(error))
    return short, found[0], found[1]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_the_end_of_a_sound_session_is_enough(path: Path) -> None:
    short, tail, whole = contexts(path)
    assert tail == whole
    assert short.is_tail


def test_there_are_samples_of_many_dialects() -> None:
    assert len({detect(path).name for path in SAMPLES}) >= 6


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}-{p.stem}")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_damage_changes_both_in_the_same_way(path: Path, seed: int, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(damaged(path.read_bytes(), seed))
    try:
        _, tail, whole = contexts(copy)
    except SlowwaveError:
        return  # nothing of any client is left
    assert tail == whole


def test_a_summary_that_hides_all_needs_nothing_before_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(cersei_session())
    short, tail, whole = contexts(path)
    assert short.is_tail
    assert tail == whole


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_damaged_part_files_give_the_same(seed: int, tmp_path: Path) -> None:
    raw = damaged(cersei_session(), seed)
    at = raw.rfind(b"\n", 0, len(raw) // 2) + 1
    paths = (tmp_path / "s.jsonl", tmp_path / "s_part2.jsonl")
    for path, part in zip(paths, (raw[:at], raw[at:]), strict=True):
        path.write_bytes(part)
    dialect, files = by_name("cersei"), SessionFiles("s", paths)
    short = read_for_context(dialect, files)
    assert forms(dialect.context(short)) == forms(dialect.context(dialect.read(files)))


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="the public transcripts are not beside the checkout")
def test_real_sessions_give_the_same_from_their_end() -> None:
    tails = 0
    for path in REAL:
        try:
            short, tail, whole = contexts(path)
        except SlowwaveError:
            continue  # of no client's, or none that is read
        assert tail == whole, path
        tails += short.is_tail
    assert tails >= 15


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="the public transcripts are not beside the checkout")
@pytest.mark.parametrize("seed", range(6))
def test_damaged_real_sessions_give_the_same_from_their_end(seed: int, tmp_path: Path) -> None:
    for number, path in enumerate(REAL):
        raw = path.read_bytes()
        if len(raw) > 1_000_000 or b"compact" not in raw:
            continue
        copy = tmp_path / path.name
        copy.write_bytes(damaged(raw, seed * 1000 + number))
        try:
            _, tail, whole = contexts(copy)
        except SlowwaveError:
            continue
        assert tail == whole, (path, seed)

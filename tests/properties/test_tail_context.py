"""What the end of a session gives as its context is what the whole session gives, whatever the damage."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave.dialects import detect
from slowwave.dialects.base import read_for_context
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.errors import SlowwaveError
from slowwave.records import suffix
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
    monkeypatch.setattr(suffix, "STEP_BYTES", SMALL)


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
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_damage_changes_both_in_the_same_way(path: Path, seed: int, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(damaged(path.read_bytes(), seed))
    try:
        _, tail, whole = contexts(copy)
    except SlowwaveError:
        return  # nothing of any client is left
    assert tail == whole


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

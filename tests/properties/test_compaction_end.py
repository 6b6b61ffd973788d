"""The plan of a session of which only the end is held is that of the session read as a whole."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from slowwave.compaction.items import Item
from slowwave.compaction.job.planning import dropped_by, planned
from slowwave.compaction.job.reading import Reading, read_session
from slowwave.compaction.plan import Budget, NoPlan, Plan
from slowwave.errors import SlowwaveError, UsageError
from slowwave.formats.model import SessionFiles
from slowwave.formats.registry import sniff
from tests.properties.damage import damaged
from tests.unit.compaction.job.talks import IDS, Talk

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
WHOLE = 1 << 40
# of the session: never all of it
WINDOWS = (2_000, 20_000)
# Clawdbot writes pi's files
DIALECTS = sorted([*IDS, "openclaw"])
# values that no client writes where it writes objects, texts or numbers
FOREIGN = ["x", "", 7, 1.5, True, None, [], ["x"], {}, {"x": 1}]


def talk_of(folder: Path, dialect: str, size: int) -> Talk:
    return Talk(folder, "pi" if dialect == "openclaw" else dialect, size)


def shown(items: Sequence[Item]) -> list[object]:
    return [
        (i._replace(message=None), i.message and (i.message.role, i.message.blocks, i.message.origin)) for i in items
    ]


def both(dialect: str, files: SessionFiles, keep: int, window: int) -> tuple[Reading, Reading] | None:
    end = read_session(dialect, files, keep=keep, window_bytes=window)
    return None if end.earlier is None else (read_session(dialect, files, keep=keep, window_bytes=WHOLE), end)


def check(whole: Reading, end: Reading, keep: int) -> None:
    assert end.earlier is not None
    assert shown([*end.earlier.items(), *end.items]) == shown(whole.items)
    assert end.size == whole.size or whole.size.counted == 0
    one, other = (planned(reading, Budget(keep_recent_tokens=keep)) for reading in (whole, end))
    if isinstance(one, NoPlan) or isinstance(other, NoPlan):
        assert one == other
        return
    assert shown(list(other.gone)) == shown([*one.history, *one.prefix])
    assert shown(other.kept) == shown(one.kept)
    assert (other.first_kept, other.is_split) == (one.first_kept, one.is_split)
    assert covered(other) >= covered(one)


def covered(plan: Plan) -> set[tuple[int, int]]:
    return {(part, at) for part, offset, length in dropped_by(plan) for at in range(offset, offset + length)}


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(3, 14), st.integers(50, 1500), st.sampled_from([5, 200, 900]), st.sampled_from(WINDOWS))
def test_the_end_of_a_session_gives_the_plan_of_all_of_it(
    tmp_path_factory: pytest.TempPathFactory, dialect: str, turns: int, keep: int, size: int, window: int
) -> None:
    folder = tmp_path_factory.mktemp("talk")
    talk = talk_of(folder, dialect, size).grow(turns)
    if found := both(dialect, SessionFiles(talk.id, tuple(talk.paths)), keep, window):
        check(*found, keep)
    shutil.rmtree(folder)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_session_is_not_held_as_a_whole(tmp_path: Path, dialect: str) -> None:
    talk = talk_of(tmp_path, dialect, 900).grow(40)
    found = both(dialect, SessionFiles(talk.id, tuple(talk.paths)), 300, 8_000)
    assert found is not None
    whole, end = found
    check(whole, end, 300)
    assert len(end.items) < len(whole.items) / 2
    assert end.earlier is not None
    assert end.earlier.messages + sum(item.speaks for item in end.items) == sum(item.speaks for item in whole.items)
    # what was not decoded is told by its size
    assert end.guess == pytest.approx(whole.guess, rel=0.35)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from([50, 400]))
def test_the_end_of_a_damaged_session_gives_the_same_plan(
    tmp_path_factory: pytest.TempPathFactory, dialect: str, seed: int, keep: int
) -> None:
    folder = tmp_path_factory.mktemp("talk")
    talk = talk_of(folder, dialect, 60).grow(8)
    talk.path.write_bytes(damaged(talk.path.read_bytes(), seed))
    check_both(talk, dialect, keep)
    shutil.rmtree(folder)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0), st.integers(0), st.sampled_from(FOREIGN))
@example(30, 0, "x")
@example(30, 1, "x")
@example(30, 2, "x")
@example(30, 3, "x")
@example(30, 4, "x")
def test_a_value_of_another_type_gives_the_same_plan(
    tmp_path_factory: pytest.TempPathFactory, dialect: str, number: int, field: int, value: object
) -> None:
    folder = tmp_path_factory.mktemp("talk")
    talk = talk_of(folder, dialect, 60).grow(8)
    lines = talk.path.read_bytes().splitlines()
    at = number % len(lines)
    row = json.loads(lines[at])
    row[sorted(row)[field % len(row)]] = value
    lines[at] = json.dumps(row).encode()
    talk.path.write_bytes(b"\n".join(lines) + b"\n")
    check_both(talk, dialect, 50)
    shutil.rmtree(folder)


def check_both(talk: Talk, dialect: str, keep: int) -> None:
    """Check that both readings give the same plan, or the same error."""
    files = SessionFiles(talk.id, tuple(talk.paths))
    try:
        whole = read_session(dialect, files, keep=keep, window_bytes=WHOLE)
    except SlowwaveError as error:
        with pytest.raises(type(error)):
            read_session(dialect, files, keep=keep, window_bytes=2_000)
    else:
        end = read_session(dialect, files, keep=keep, window_bytes=2_000)
        if end.earlier is not None:
            check(whole, end, keep)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_damage_in_the_middle_does_not_make_a_session_be_read_as_a_whole(tmp_path: Path, dialect: str) -> None:
    talk = talk_of(tmp_path, dialect, 400).grow(20)
    lines = talk.path.read_bytes().splitlines()
    talk.path.write_bytes(b"\n".join([*lines[:40], b'{"type": torn', *lines[40:]]) + b"\n")
    found = both(dialect, SessionFiles(talk.id, tuple(talk.paths)), 300, 8_000)
    assert found is not None
    check(*found, 300)


@pytest.mark.real
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout (../shared/corpus)")
@pytest.mark.parametrize("window", WINDOWS)
def test_the_ends_of_real_sessions_give_the_same_plans(window: int) -> None:
    done = dict[str, int]()
    for path in sorted(CORPUS.rglob("*.jsonl"))[::3]:
        dialect = sniff(path) if window < path.stat().st_size < 1_000_000 else None
        if dialect is None:
            continue
        try:
            found = both(dialect, SessionFiles(path.stem, (path,)), window // 8, window)
        except UsageError:
            continue
        if found is not None:
            check(*found, window // 8)
            done[dialect] = done.get(dialect, 0) + 1
    assert done.keys() >= {"claude", "codex"}

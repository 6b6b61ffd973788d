"""How much of a long session is decoded for its plan: no more than the plan looks at."""

import json
from pathlib import Path

from slowwave.compaction.job.planning import planned
from slowwave.compaction.job.reading import Reading, read_session
from slowwave.compaction.plan import Budget, Plan
from slowwave.compaction.requests import EARLIER, NO_HISTORY, joined, requests
from slowwave.formats.model import SessionFiles
from tests.unit.compaction.job.talks import Talk

WINDOW = 8_000
KEEP = 300


def read(talk: Talk, window: int = WINDOW) -> Reading:
    return read_session(talk.dialect, SessionFiles(talk.id, tuple(talk.paths)), keep=KEEP, window_bytes=window)


def held(reading: Reading) -> int:
    return sum(len(span.raw) for item in reading.items if item.message for span in item.message.sources)


def gone(reading: Reading) -> list[object]:
    plan = planned(reading, Budget(keep_recent_tokens=KEEP))
    assert isinstance(plan, Plan)
    return [(item.kind, item.message and item.message.blocks) for item in plan.gone]


def without_its_last_calls(talk: Talk) -> None:
    rows = [json.loads(line) for line in talk.path.read_bytes().splitlines()]
    last = max(i for i, row in enumerate(rows) if b"step 40 begins" in json.dumps(row).encode())
    rows.append({"type": "tombstone", "deleted_uuid": rows[last]["uuid"], "timestamp": rows[-1]["timestamp"]})
    talk.path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_results_whose_calls_were_deleted_do_not_make_more_of_a_session_be_decoded(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "cersei", 900).grow(40)
    without_its_last_calls(talk)
    end = read(talk)
    assert end.earlier is not None
    assert held(end) < 3 * WINDOW
    assert gone(end) == gone(read(talk, 1 << 40))


def one_turn(talk: Talk, after: int) -> None:
    """Make everything behind the first lines one turn."""
    lines = talk.path.read_bytes().splitlines()
    kept = [line for n, line in enumerate(lines) if n < after or b"please do" not in line]
    talk.path.write_bytes(b"\n".join(kept) + b"\n")


def test_of_a_turn_that_is_longer_than_the_window_only_the_end_is_decoded(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "ulid", 900).grow(40)
    one_turn(talk, 6)
    end = read(talk)
    assert end.earlier is not None
    assert held(end) < 3 * WINDOW
    assert gone(end) == gone(read(talk, 1 << 40))


def test_a_model_is_told_that_a_turn_longer_than_the_window_has_a_past(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "ulid", 900).grow(40)
    one_turn(talk, 6)
    plan = planned(read(talk), Budget(keep_recent_tokens=KEEP))
    assert isinstance(plan, Plan)
    assert (plan.history, plan.is_split) == ((), True)
    (asked,) = requests(plan, Budget())
    assert "the middle of a turn" in asked.task
    assert NO_HISTORY not in (told := joined(plan, {"prefix": "the middle"}))
    assert EARLIER in told
    assert "the middle" in told


def test_a_giant_result_at_the_end_does_not_make_more_of_a_session_be_decoded(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "ulid", 900).grow(40)
    lines = talk.path.read_bytes().splitlines()
    last = max(n for n, line in enumerate(lines) if b'"toolResult"' in line)
    giant = lines[last].replace(b"r" * 900, b"r" * 4 * KEEP * 2)
    talk.path.write_bytes(b"\n".join([*lines[:last], giant]) + b"\n")
    end = read(talk)
    assert end.earlier is not None
    assert held(end) < 3 * WINDOW
    assert gone(end) == gone(read(talk, 1 << 40))

"""Folding records one by one gives what reading the whole session gives, however the file grew."""

import os
from pathlib import Path

import pytest

from slowwave.formats.registry import sniff
from slowwave.formats.sessions import PACKED_SUFFIX
from slowwave.stores.roots import session_of_path
from slowwave.stores.summary import Summary, fold_of, scan, summary_of_whole

SAMPLES = Path(__file__).parents[2] / "samples"
OTHERS = ("pi", "openclaw", "codex", "crabtalk", "ulid")


def samples() -> list[Path]:
    found = [path for path in sorted(SAMPLES.rglob("*.jsonl")) if sniff(path) in OTHERS]
    assert {sniff(path) for path in found} >= {"pi", "codex", "crabtalk", "ulid"}
    return found


def shown(summary: Summary) -> dict[str, object]:
    """Return what a listing takes from a summary; times to the second, since only their form differs."""
    fields = ("records", "messages", "side_messages", "tool_calls", "bad_lines", "first_prompt", "side_prompt")
    return {
        **{field: getattr(summary, field) for field in fields},
        "side": summary.is_side,
        "fork": summary.is_fork,
        "title": summary.title,
        "times": (summary.created[:19], summary.last_activity[:19]),
    }


@pytest.mark.parametrize("path", samples(), ids=lambda p: str(p.relative_to(SAMPLES)))
def test_a_fold_equals_a_full_reading(path: Path):
    found = session_of_path(path)
    dialect = sniff(path)
    assert dialect is not None
    folded = shown(scan(found, dialect).summary)
    whole = shown(summary_of_whole(found, dialect))
    if dialect in ("codex", "ulid"):
        del folded["title"], whole["title"]  # may stand beside the session, which a fold does not look at
    assert folded == whole


@pytest.mark.parametrize("path", samples(), ids=lambda p: str(p.relative_to(SAMPLES)))
def test_folding_the_new_bytes_only_gives_the_same_as_folding_all(path: Path, tmp_path: Path):
    whole = path.read_bytes()
    dialect = sniff(path)
    assert dialect is not None
    copy = tmp_path / path.name
    cut = whole.find(b"\n", len(whole) // 2) + 1
    copy.write_bytes(whole[:cut])
    first = scan(session_of_path(copy), dialect)
    with copy.open("ab") as file:
        file.write(whole[cut:])
    os.utime(copy, ns=(1, 2))
    grown = scan(session_of_path(copy), dialect, first.mark)
    assert first.mark.cursor == cut
    assert shown(grown.summary) == shown(scan(session_of_path(copy), dialect).summary)


def test_what_no_fold_can_do_is_read_as_a_whole():
    assert fold_of("opencode") is None
    assert PACKED_SUFFIX.endswith(".zst")


def test_a_session_whose_messages_tell_no_time_was_created_when_its_first_line_says(tmp_path: Path):
    path = tmp_path / "crab_user_1.jsonl"
    meta = b'{"agent":"crab","created_by":"user","created_at":"2026-02-25T11:00:00.5+01:00"}\n'
    path.write_bytes(meta + b'{"role":"user","content":"hello"}\n')
    found = session_of_path(path)
    for summary in (scan(found, "crabtalk").summary, summary_of_whole(found, "crabtalk")):
        assert (summary.created, summary.last_activity) == ("2026-02-25T10:00:00.500Z", "")

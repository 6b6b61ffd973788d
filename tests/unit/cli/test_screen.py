"""What a person reads after a run."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.cli.screen import MOST_ROWS, WIDTH, lines
from slowwave.jobs.outcome import outcome_of
from slowwave.report import Gate, Item, Report


def screen(report: Report, *, dry_run: bool = False) -> str:
    return "\n".join(lines(report.to_builtins(), dry_run=dry_run))


def candidate(text: str, confidence: float) -> Item:
    return Item("s1", "candidate", "why", project="p", text=text, category="preference", confidence=confidence)


def test_a_closed_gate_is_shown_with_its_reason_and_that_there_is_nothing_to_do():
    shown = screen(Report("nightly", gates=[Gate("time", "p", passed=False, reason="1 h since the last dream")]))
    assert "stop  p  time: 1 h since the last dream" in shown
    assert shown.endswith("Nothing to do.")


def test_failures_do_not_read_as_nothing_to_do():
    shown = screen(Report("nightly", failures=["p: extract: disk full"]))
    assert "Failed: 1" in shown
    assert "Nothing to do." not in shown


def test_a_parked_dream_does_not_read_as_nothing_to_do():
    shown = screen(Report("consolidate", parked=["d1"]))
    assert "Parked for review" in shown
    assert "Nothing to do." not in shown


def test_an_erasure_tells_what_went_and_in_full_what_stays() -> None:
    why = "held: h1234 (a dispute over the contract of last autumn; set by ann), and released with slowwave retain"
    items = [Item("s1", "erased", "the whole session: 3 files and folders"), Item("s2", "refused", why * 2)]
    shown = screen(Report("erase", items=items, counts={"sessions_erased": 1, "refused": 1}))
    assert "the whole session: 3 files and folders" in shown
    assert why * 2 in shown
    assert "Nothing" not in shown
    shown = screen(Report("erase", items=items[1:], counts={"refused": 1}))
    assert shown.endswith("Nothing was done.")
    assert screen(Report("erase")).endswith("Nothing to do.")


def test_candidates_stand_by_confidence_and_the_rest_is_counted():
    items = [candidate(f"fact {n:02}", n / 100) for n in range(MOST_ROWS + 3)]
    shown = screen(Report("extract", counts={"candidates": len(items)}, items=items))
    assert f"Candidates found: {len(items)}" in shown
    assert shown.index("fact 10") < shown.index("fact 09")
    assert "fact 00" not in shown
    assert "and 3 more" in shown


def test_every_operation_of_a_dream_is_shown_with_its_reason():
    items = [
        Item("m1", action, f"because {action}", project="p", text=f"text {action}")
        for action in ("add", "merge", "supersede", "wait", "drop")
    ]
    shown = screen(Report("consolidate", dream_ids=["d1"], items=items))
    for action in ("add", "merge", "supersede", "wait", "drop"):
        assert f"text {action}" in shown
        assert f"because {action}" in shown


def test_what_a_parked_dream_and_a_dry_run_would_do_does_not_read_as_done():
    kept = Item("m1", "add", "why", project="p", text="Use uv")
    planned = Item("m2", "add", "why", project="q", text="Use npm")
    parked = Item("q/memory", "skip", "parked for review: consolidation.mode is review", project="q")
    shown = screen(Report("nightly", dream_ids=["d1"], parked=["d2"], items=[kept, planned, parked]))
    done, _, would = shown.partition("Would be kept as new memories: 1")
    assert "Kept as new memories: 1" in done
    assert "Use uv" in done
    assert "Use npm" in would
    dry = screen(Report("nightly", items=[kept]), dry_run=True)
    assert "Would be kept as new memories: 1" in dry
    assert "Kept as new memories" not in dry


def test_the_index_is_shown_where_a_memory_folder_has_one(tmp_path: Path):
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- use pnpm\n")
    (tmp_path / ".slowwave" / "undo" / "d1").mkdir(parents=True)
    report = Report("nightly", dream_ids=["d1", "d2"], memories={"p": str(tmp_path), "q": str(tmp_path / "none")})
    shown = screen(report)
    assert "| - use pnpm" in shown
    assert str(tmp_path / "MEMORY.md") in shown
    assert f"slowwave memory undo d1 --memory {tmp_path}" in shown
    assert "undo d2" not in shown


def test_a_dry_run_says_so_and_shows_no_index(tmp_path: Path):
    (tmp_path / "MEMORY.md").write_text("# Memory\n")
    shown = screen(Report("nightly", counts={"candidates": 1}, memories={"p": str(tmp_path)}), dry_run=True)
    assert "nothing was changed" in shown
    assert "# Memory" not in shown


def test_no_line_but_the_index_is_wider_than_the_screen():
    items: list[Item] = [candidate("x" * 500, 0.9)]
    data: dict[str, Any] = Report("extract", items=items, warnings=["w" * 400]).to_builtins()
    assert max(len(line) for line in lines(data, dry_run=False)) <= WIDTH


def test_what_never_became_a_candidate_is_counted_with_its_reason():
    shown = screen(Report("extract", counts={"redacted": 2, "too_weak": 1, "bytes_read": 9}))
    assert "Refused on the way:" in shown
    assert "   2  places where a secret stood" in shown
    assert "   1  candidates below extraction.min_confidence" in shown
    assert "Refused" not in screen(Report("extract", counts={"bytes_read": 9}))


@pytest.mark.parametrize("deed", ["rescued", "purged", "openclaw_entries", "taken_back"])
def test_a_run_that_only_rescued_purged_or_tidied_did_something(deed: str) -> None:
    report = Report("retain", counts={deed: 1})
    assert "Nothing to do." not in screen(report)
    assert outcome_of(report).name == "Completed"


def test_what_was_rescued_purged_tidied_and_gone_is_told_with_its_reason() -> None:
    items = [
        Item("s1", action, f"why {action}") for action in ("rescued", "purged", "tidied", "gone", "rescue", "purge")
    ]
    shown = screen(Report("retain", items=items))
    assert [item.reason in shown for item in items] == [True] * len(items)
    assert "Removed, to be built anew" not in shown

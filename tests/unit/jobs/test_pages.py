"""What people read in the scheduler's pages."""

from dataclasses import replace
from typing import Any

import msgspec

from slowwave.jobs.story import MOST_ROWS, Plan, Tally, funnel, memory_diff, plan_rows
from slowwave.observability.lessons import Change, Learned
from slowwave.report import Gate, Item, Phases, Report


def tally(sessions: dict[str, int]) -> Tally:
    return Tally(Plan("nightly", dry_run=False, sessions=sessions, report=Report("nightly", "r1")))


def done(project: str, action: str, text: str = "Use uv", reason: str = "said so") -> Item:
    return Item("t", action, reason, project, text, "preference", 0.9)


PARKED = [
    *(done("parked", action) for action in ("add", "merge", "supersede")),
    done("parked", "skip", reason="parked for review: consolidation.mode is review"),
]


def test_the_funnel_has_a_row_for_each_project_the_busiest_first() -> None:
    counted = tally({"quiet": 4, "busy": 9})
    counted.add({"busy": Report("extract", items=[done("busy", "candidate"), done("busy", "candidate")])})
    counted.add({"busy": Report("consolidate", items=[done("busy", "add"), done("busy", "merge")])})
    counted.add({"quiet": Report("extract", gates=[Gate("time", "quiet", passed=False, reason="1 h")])})
    busy, quiet = funnel(counted)
    assert busy == {
        "project": "busy",
        "sessions": 9,
        "candidates": 2,
        "memories": 1,
        "merged": 1,
        "superseded": 0,
        "dropped": 0,
        "refused": "",
        "failed": 0,
    }
    assert (quiet["project"], quiet["sessions"], quiet["refused"]) == ("quiet", 4, "time 1")


def test_the_plan_of_a_parked_dream_and_of_a_dry_run_does_not_count_as_memories() -> None:
    counted = tally({"done": 1, "parked": 1})
    counted.add({"parked": Report("extract", items=[done("parked", "candidate")])})
    counted.add({"parked": Report("consolidate", parked=["d2"], items=PARKED)})
    counted.add({"done": Report("consolidate", dream_ids=["d1"], items=[done("done", "add")])})
    first, second = funnel(counted)
    assert (first["project"], first["memories"]) == ("done", 1)
    assert (second["candidates"], second["memories"], second["merged"], second["superseded"]) == (1, 0, 0, 0)
    assert second["refused"] == "parked for review"
    dry = Tally(replace(counted.plan, dry_run=True), counted.projects)
    assert [row["memories"] for row in funnel(dry)] == [0, 0]


def learned(text: str, project: str = "a", **more: Any) -> dict[str, Any]:
    return msgspec.to_builtins(Learned([Change(kind="new", project=project, memory="m1", text=text, **more)]))


def test_the_memory_diff_tells_a_parked_plan_from_what_was_done() -> None:
    report = Report("nightly", parked=["d2"], items=PARKED, phases={"parked": Phases({}, 3, 2, 0)})
    page = memory_diff(report, {})
    assert "- parked (parked for review, not done): " in page
    assert "nothing new" in page


def test_tables_stay_short_and_say_what_they_leave_out() -> None:
    rows = funnel(tally({f"p{i}": 1 for i in range(500)}))
    assert len(rows) == MOST_ROWS
    assert rows[-1]["project"] == "and 301 more"
    assert len(plan_rows(Report("nightly", items=[done("a", "add")] * 300))) == MOST_ROWS


def test_the_memory_diff_tells_what_was_learned_and_the_undo() -> None:
    report = Report("nightly", "r1", dream_ids=["d1"], learned=learned("Use uv", before="Use pip"))
    page = memory_diff(report, {"d1": "--- a/MEMORY.md\n+++ b/MEMORY.md\n"})
    assert "- Use uv *(before: Use pip)*" in page
    assert "`slowwave memory undo d1`" in page
    assert "```diff\n--- a/MEMORY.md\n+++ b/MEMORY.md\n```" in page


def test_words_from_transcripts_stay_words() -> None:
    hostile = "![x](http://evil.example/p.png) <img src=x>\n# Title"
    page = memory_diff(Report("nightly", learned=learned(hostile)), {"d": "+ ```\n+# out\n"})
    assert "![" not in page
    assert "<img" not in page.replace("\\<", "")
    assert "\n# Title" not in page
    assert "````diff\n+ ```\n+# out\n````" in page


def test_names_that_are_not_utf8_can_be_shown() -> None:
    page = memory_diff(Report("nightly", learned=learned("Use uv", "\udcff")), {})
    assert "udcff" in page
    page.encode()


def test_the_total_keeps_the_order_of_the_plan_and_names_lost_portions() -> None:
    counted = tally({"a": 1, "b": 1})
    counted.add({"b": Report("extract", items=[done("b", "candidate")])})
    counted.add({"a": Report("extract", items=[done("a", "candidate")])})
    counted.lose("extract_batch 3", MemoryError("no room"))
    total = counted.total({"HOME": "/nonexistent"})
    assert [item.project for item in total.items] == ["a", "b"]
    assert total.failures == ["extract_batch 3: MemoryError: no room"]
    assert (total.job, total.run_id) == ("nightly", "r1")

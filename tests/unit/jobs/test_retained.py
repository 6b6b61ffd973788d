"""What the scheduler's pages show of retention."""

from slowwave.jobs.story import MOST_ROWS, reclaimed, retained_rows
from slowwave.report import Item, Report, RetainItem
from slowwave.retention.audit import Action, Line


def line(action: Action, at: str, size: int) -> Line:
    return Line(action=action, at=at, size=size, n=1, prev="")


def test_bytes_are_added_up_by_week_and_drawn_beside_each_other() -> None:
    text = reclaimed(
        [
            line("trash", "2026-11-02T03:30:00+00:00", 5_000),
            line("free", "2026-11-09T03:30:00+00:00", 1_000),
            line("free", "2026-11-15T23:30:00+00:00", 1_000),
            line("hold", "2026-11-16T03:30:00+00:00", 9_999),
            line("free", "2026-11-16T03:30:00+00:00", 4_000),
        ]
    )
    rows = [row for row in text.splitlines() if row.startswith("| 2026")]
    assert rows == [
        "| 2026-11-02 | 5,000 | 0 |  |",
        f"| 2026-11-09 | 0 | 2,000 | {'█' * 20} |",
        f"| 2026-11-16 | 0 | 4,000 | {'█' * 40} |",
    ]
    assert text.startswith("Freed in all: 6,000 bytes\n")
    assert reclaimed([]) == "Nothing was removed yet.\n"


def test_the_table_names_rule_guard_and_bytes_and_ends_somewhere() -> None:
    items = [
        RetainItem(f"s{n}", "refused", "live: just now", "p", rule="max_age", guard="live", bytes=n) for n in range(300)
    ]
    rows = retained_rows(Report("retain", items=[Item("p", "skip", "not about a session"), *items]))
    assert len(rows) == MOST_ROWS
    assert rows[7] == {
        "project": "p",
        "session": "s7",
        "action": "refused",
        "rule": "max_age",
        "guard": "live",
        "bytes": 7,
        "reason": "live: just now",
    }
    assert rows[-1]["project"] == "and 101 more"

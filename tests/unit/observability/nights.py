"""Builders for nights of a history: what a run recorded, without a run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from slowwave.observability.night import Alarm, Footprint, Limits, Night, Spent
from slowwave.report import Span

FIRST = datetime(2026, 3, 1, 3, 30, tzinfo=UTC)
ALARMS = [
    Alarm("failures", "1 failure in nightly, first: -p: session s1: " + "torn " * 40, 1),
    Alarm("unknown-records", "records of unknown types appeared: claude hologram", 1),
]


def a_night(number: int = 0, **fields: Any) -> Night:
    """Return the night ``number`` days after the first, a quiet one unless it is told otherwise."""
    at = FIRST + timedelta(days=number)
    usual: dict[str, Any] = {"job": "nightly", "run_id": f"r{number}", "at": at.isoformat(), "sessions": 100}
    return Night(**{**usual, **fields})


def a_busy_month() -> list[Night]:
    """Return thirty nights that have something in every part of the report, names that are hard to draw among it."""
    long = "-home-somebody-with-a-very-long-name-src-github.com-organisation-monorepo-packages-frontend"
    folders = [
        Footprint("-home-ann-shop", 180, 190, 24_100, 3, FIRST.isoformat()),
        Footprint(long, 40, 60, 9_000),
        Footprint("<script>alert(1)</script>", 4, 9, 700),
    ]
    spans = [Span("extract", long, 1.0, 63.5), Span("consolidate", "-home-ann-shop", 70.0, 0.25)]
    nights = [
        a_night(
            day,
            seconds=70.0 + day,
            outcome="PartlyFailed" if day == 17 else "Completed",
            projects=3,
            sessions=10_000 + day,
            changed=40,
            dreams=2,
            counts={"extracted": 40 + day, "candidates": 25, "added": 12, "merged": 3, "waiting": 2, "parked": 4},
            refusals={"idle": 12, "messages": 31, "time": 1},
            failed=int(day == 17),
            failures=["-p: session s1: torn"] if day == 17 else [],
            spent=Spent(1_200_000 * (day % 5), 40_000 * (day % 5), 1.25 * (day % 5)),
            memories=224,
            backlog=day,
            oldest=(FIRST - timedelta(days=3)).isoformat() if day else "",
            folders=folders,
            limits=Limits(200, 25_000),
            steps={"extract": 63.5, "consolidate": 0.25},
            slowest=spans,
        )
        for day in range(30)
    ]
    nights[-1] = msgspec.structs.replace(nights[-1], alarms=ALARMS, unknown={"claude hologram": 3})
    return nights

"""Tokens that a preview of thousands of sessions foresees from a sample, against those that are metered then."""

import os
from pathlib import Path

import pytest

from tests.faults.backfilled import NOW, fill
from tests.model_server.scripted import serving
from tests.unit.jobs.backfill.rig import World
from tests.unit.jobs.backfill.test_with_model import metered, thrifty, with_model

DRILL = os.environ.get("DRILLS", "")
SESSIONS = int(os.environ.get("SESSIONS", "10000" if DRILL == "all" else "1500"))

pytestmark = [
    pytest.mark.drill,
    pytest.mark.timeout(4 * 3600),
    pytest.mark.skipif(not DRILL, reason="the long form: make drills; the short one is in test_with_model.py"),
]


def test_a_sample_foresees_what_is_metered_over_thousands_of_sessions(tmp_path: Path):
    world = World(tmp_path)
    fill(tmp_path, SESSIONS)
    with serving(thrifty) as server:
        how = {"overrides": with_model(server, price_input=2, price_output=8), "now": NOW}
        # the first backfill with a model tells what its answers come to, of some fifty sessions at least
        world.backfill("b1", limit=max(50, SESSIONS // 40), **how)
        asked = len(server.requests)
        foreseen = world.backfill("b2", action="preview", **how)
        assert len(server.requests) == asked
        report = world.backfill("b3", **how)
    assert foreseen.counts["sessions"] == report.counts["sessions"] == report.counts["extracted"]
    assert foreseen.counts["tokens_foreseen"] == pytest.approx(metered(report), rel=0.1)
    assert foreseen.counts["questions_foreseen"] == pytest.approx(report.counts["model_answers"], rel=0.1)
    assert foreseen.counts["micro_usd_foreseen"] == pytest.approx(report.counts["model_micro_usd"], rel=0.1)
    print(f"foreseen {foreseen.counts['tokens_foreseen']:,} tokens, metered {metered(report):,}")

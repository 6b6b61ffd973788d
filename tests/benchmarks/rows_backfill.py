"""What the preview of a backfill says it will take, against what the backfill then takes: 10,000 sessions."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from measure import Row
from peers import HERE
from rows_orchestration import MOST_LOAD

sys.path.insert(0, str(HERE.parents[1]))
from tests.faults.backfilled import fill

SESSIONS = int(os.environ.get("SESSIONS", "10000"))
# how far off a preview may be, in either direction
MOST_OFF = 1.10


def backfill(build: Path, rounds: int) -> list[Row]:
    """Preview a backfill and run it, once: each is minutes long.

    The demand on wall time is not judged on a busy machine; that on processor time is judged anywhere.
    """
    del rounds
    is_busy = os.getloadavg()[0] > MOST_LOAD * (os.cpu_count() or 1)
    place = build / "backfill"
    store = place / f"{SESSIONS}" / "projects"
    if not store.exists():
        fill(store.parent, SESSIONS)
    home = place / "home"
    shutil.rmtree(home, ignore_errors=True)
    foreseen, used = (_done(action, store, home) for action in ("preview", "run"))
    shutil.rmtree(home)
    for memory in store.glob("*/memory"):
        shutil.rmtree(memory)
    assert used["counts"]["sessions"] == foreseen["counts"]["sessions"], used["counts"]
    cpu = _row("processor time", foreseen["counts"]["cpu_seconds_foreseen"], used["cpu"])
    wall = _row("wall", foreseen["counts"]["seconds_foreseen"], used["wall"])
    return [cpu, replace(wall, ratio=None) if is_busy else wall]


def _row(what: str, foreseen: float, used: float) -> Row:
    off = max(foreseen / used, used / foreseen)
    return Row(
        f"preview of a backfill of {SESSIONS:,}, {what}", f"{foreseen:.0f} s", "took", f"{used:.0f} s", off, MOST_OFF
    )


def _done(action: str, store: Path, home: Path) -> dict[str, Any]:
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, HERE / "backfill_one.py", action, store, home]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["failures"] == [], said
    return said

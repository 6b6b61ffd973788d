"""Sessions come back while retention runs, begun at random moments: nothing is lost, and both say what they did."""

import os
import random
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.errors import LockHeldError, NotFoundError
from slowwave.locks import retaining
from slowwave.retention.audit import AuditLog
from slowwave.retention.removal import bring_back
from slowwave.stores.trash import trash_folder, trash_items
from tests.faults.retain_homes import copied, leftovers, prepared, saved
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.retention.homes import Home

STARTS = 50 if os.environ.get("DRILLS") else 3


def begun(work: Callable[[], None]) -> int:
    """Begin something in a process of its own and return its id."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - of a child nothing else is told
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(70)
    return child


def all_back(home: Home) -> None:
    for item in trash_items(trash_folder(home.environ)):
        try:
            bring_back(item, home.environ, home.clock)
        except NotFoundError as error:
            assert "the archive" in str(error)  # noqa: PT017 - in a child, where nothing else tells


@pytest.mark.drill
def test_nothing_is_lost_where_sessions_come_back_beside_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    root, kept = tmp_path / "home", tmp_path / "kept"
    like = prepared(root)
    shutil.copytree(root, kept, symlinks=True)
    contents = saved(like)
    start = time.monotonic()
    assert like.run().failures == []
    takes, chance = time.monotonic() - start, random.Random(18)
    for number in range(STARTS):
        home = copied(kept, root, like)
        before = {item.session for item in trash_items(trash_folder(home.environ))}
        delay = chance.uniform(-0.2, 1) * takes

        def retained(home: Home = home) -> None:
            report = home.run()
            assert report.failures == []
            assert all(gate.passed for gate in report.gates)

        works = [lambda home=home: all_back(home), retained]
        first, second = works if delay < 0 else works[::-1]
        children = [begun(first)]
        time.sleep(abs(delay))
        children.append(begun(second))
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0], (number, delay)
        assert contents - saved(home) == set(), (number, delay)
        log = AuditLog(home.environ)
        assert log.verify() == []
        told = {line.session for line in log.lines() if line.action in ("restore", "free")}
        assert before <= told, (number, delay)
        assert home.run().failures == []
        assert contents - saved(home) == set(), (number, delay)
        assert leftovers(home) == []


def test_a_run_waits_for_a_session_that_comes_back_and_else_says_why_it_did_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40)
    monkeypatch.setattr("slowwave.locks.COMES_BACK_S", 0.0)
    with retaining(home.environ):
        report = home.run()
    (gate,) = report.gates
    assert (gate.gate, gate.passed) == ("lock", False)
    assert "or a restore, is still at work" in gate.reason
    assert not report.counts.get("removed")
    assert home.run().counts["removed"] == 1


def test_a_session_comes_back_only_when_no_run_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40)
    home.run()
    (item,) = trash_items(trash_folder(home.environ))
    monkeypatch.setattr("slowwave.retention.removal.WAIT_S", 0.0)
    with retaining(home.environ), pytest.raises(LockHeldError, match="another run of retain"):
        bring_back(item, home.environ, home.clock)
    assert bring_back(item, home.environ, home.clock) == []
    with pytest.raises(NotFoundError, match="left the trash meanwhile"):
        bring_back(item, home.environ, home.clock)

"""What nobody expected of one session: counted, told, an exit code of its own, and no other session's matter."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from slowwave.cli import main
from slowwave.context import Run
from slowwave.errors import PARTLY_FAILED
from slowwave.jobs import steps
from slowwave.jobs.run import for_all
from slowwave.retention import purge as purging
from slowwave.retention import removal, rescue
from slowwave.stores.trash import trash_folder, trash_items
from tests.unit.retention.fleets import ADD
from tests.unit.retention.homes import Home

BAD = str(UUID(int=1))


class _OddError(Exception):
    pass


def breaking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that breaks on everything about one session."""

    def broken(*args: Any, **more: Any) -> Any:
        if any(
            BAD in repr([getattr(one, name) for name in ("id", "files") if hasattr(one, name)] or one) for one in args
        ):
            raise _OddError("odd")
        return function(*args, **more)

    return broken


@pytest.mark.parametrize("name", ["as_found", "plan_removal", "remove", "with_rows"])
def test_a_bug_over_one_session_costs_no_other_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    home = Home(tmp_path)
    for number in (1, 2, 3):
        home.add("claude", number, 40)
    monkeypatch.setattr(removal, name, breaking(getattr(removal, name)))
    report = home.run()
    assert (report.counts["removed"], report.counts["refused"], report.counts["unexpected"]) == (2, 1, 1)
    assert report.failures == [f"-home-ann-shop: session {BAD}: _OddError: odd"]
    monkeypatch.undo()
    assert home.run().counts["removed"] == 1


def test_a_bug_while_freeing_costs_no_other_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    for number in (1, 2, 3):
        home.add("pi", number, 40)
    home.run()
    home.clock.advance(days=8)
    home.add("pi", 4, 1)
    monkeypatch.setattr(removal, "free", breaking(removal.free))
    report = home.run()
    assert (report.counts["freed"], report.counts["unexpected"], len(report.failures)) == (2, 1, 1)
    monkeypatch.undo()
    assert home.run().counts["freed"] == 1
    assert trash_items(trash_folder(home.environ)) == []


def test_a_bug_while_rescuing_or_purging_costs_no_other_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path, max_age="unlimited", purge=True)
    for number in (1, 2):
        ADD["cersei"](home, number, 29)
    monkeypatch.setattr(rescue, "belongings_of", breaking(rescue.belongings_of))
    monkeypatch.setattr(purging, "plan_purge", breaking(purging.plan_purge))
    report = home.run()
    assert (report.counts["rescued"], report.counts["purged"]) == (1, 1)
    assert len(report.failures) == 2
    monkeypatch.undo()
    assert (home.run().counts["purged"], home.run().failures) == (1, [])


def test_a_bug_in_a_step_about_all_projects_keeps_the_report_of_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home(tmp_path)

    def odd(_projects: object, _run: Run) -> Any:
        raise _OddError("odd")

    report = for_all(odd, [], Run("r1", home.settings, home.clock, home.environ))
    assert report.failures == ["odd: _OddError: odd"]
    assert "_OddError" in caplog.text


def test_a_bug_ends_with_its_exit_code(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(own_home)
    home.add("claude", 1, 40)

    def odd(*_: object) -> Any:
        raise _OddError("odd")

    monkeypatch.setitem(steps.RETAINING, "retain", odd)
    assert main(["run", "retain", "--direct", "--apply"]) == PARTLY_FAILED
    said = capsys.readouterr()
    assert "Nothing was done." in said.out
    assert "_OddError: odd" in said.err

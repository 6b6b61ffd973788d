"""``slowwave nights``: which nights are told one by one, and which together."""

import json
import os
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.observability.night import append_night
from tests.unit.observability.nights import a_night
from tests.unit.stores.store_builder import claude, write


@pytest.mark.usefixtures("own_home")
def test_nights_without_news_are_one_line_until_somebody_asks_for_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "projects").mkdir()
    for day in range(40):
        news = {0: {"counts": {"candidates": 3}}, 31: {"outcome": "PartlyFailed", "failures": ["-p: torn"]}}.get(
            day, {}
        )
        append_night(os.environ, a_night(day, **{"counts": {"projects": 3, "would_free": 2}} | news))
    store = ["--store", str(tmp_path)]
    assert main(["nights", *store]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "8 nights without news, 2 to 9 April 2026 (--all shows each)",
        "2026-04-01 03:30  r31",
        "  nightly, failed in part, 0 ms: nothing new",
        "  failed: -p: torn",
        "30 nights without news, 2 to 31 March 2026 (--all shows each)",
        "2026-03-01 03:30  r0",
        "  nightly, completed, 0 ms: 3 facts noted, nothing remembered yet",
    ]
    main(["nights", "--limit", "2", *store])
    assert len(capsys.readouterr().out.splitlines()) == 4
    main(["nights", "--all", "--limit", "40", *store])
    told = capsys.readouterr().out
    assert [n for n in range(40) if f"  r{n}\n" not in told] == []
    main(["nights", "--json", "--limit", "40", *store])
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [
        f"r{39 - n}" for n in range(40)
    ]


@pytest.mark.usefixtures("own_home")
def test_only_nights_are_counted_as_nights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "projects").mkdir()
    for day, job in enumerate(("nightly", "backfill", "retain", "backfill", "nightly")):
        append_night(os.environ, a_night(day, job=job))
    assert main(["nights", "--store", str(tmp_path)]) == 0
    told = "2 nights, 2 runs of backfill, 1 run of retain without news, 1 to 5 March 2026 (--all shows each)\n"
    assert capsys.readouterr().out == told


@pytest.mark.usefixtures("own_home")
def test_one_night_tells_what_it_left_out_as_its_own_screen_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "projects").mkdir()
    append_night(os.environ, a_night(0, counts={"too_unsure": 2, "quarantined": 1}))
    assert main(["nights", "show", "r0", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "Left out: 1 message that tries to steer an agent, 2 remarks too unsure to be noted, kept nowhere",
        f"          slowwave memory quarantine --store {tmp_path} shows the messages that were kept out",
    ]


@pytest.mark.usefixtures("own_home")
def test_of_one_project_is_not_told_what_the_night_left_out_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "projects" / "-shop" / "s.jsonl", claude("user", "hi", cwd="/shop"))
    append_night(os.environ, a_night(0, counts={"too_unsure": 2}))
    assert main(["nights", "show", "r0", "--project", "shop", "--store", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("nightly r0 ")
    assert "Left out" not in told


@pytest.mark.usefixtures("own_home")
def test_nights_without_news_of_one_day_are_told_apart_by_their_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "projects").mkdir()
    for number, at in enumerate(("03:30", "09:15", "10:00", "21:40")):
        more = {"failed": 1, "failures": ["torn"], "outcome": "PartlyFailed"} if at == "10:00" else {}
        append_night(os.environ, a_night(number, at=f"2026-03-01T{at}:00+00:00", **more))
    assert main(["nights", "--store", str(tmp_path)]) == 0
    folded = [line for line in capsys.readouterr().out.splitlines() if "without news" in line]
    assert folded == [
        "1 night without news, 1 March 2026 21:40 (--all shows each)",
        "2 nights without news, 1 March 2026 03:30 to 09:15 (--all shows each)",
    ]

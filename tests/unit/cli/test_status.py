"""``slowwave status``: what it says of nights, of dreams to come, and where the report is."""

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowwave.cli import main
from slowwave.cli.status import every, of_nights, retention_lines, short
from slowwave.context import SystemClock
from slowwave.jobs.status import Budget, Kept, Lately, Standing, standings
from slowwave.observability.night import Alarm, append_night, history_path
from slowwave.report import Gate
from slowwave.samples import build
from slowwave.settings import Settings
from tests.unit.observability.nights import a_night


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}


def test_the_last_night_its_alarms_and_its_budget_are_said() -> None:
    night = a_night(1, failed=2, outcome="PartlyFailed")
    past = Lately(night, "2026-03-01T03:30:00+00:00", 5.0, [Alarm("failures", "2 failures in nightly", 2)])
    past.budget = Budget(1_000_000, 2.5, 912_345, 0.8)
    assert list(of_nights(past)) == [
        "",
        (
            "Last run: nightly of 2026-03-02 03:30, 5.0 h ago: failed in part; "
            "the last without a failure began 2026-03-01 03:30"
        ),
        "  alarm      failures: 2 failures in nightly",
        "  budget     the last run spent 912,345 of 1,000,000 tokens, 0.8000 of 2.5 USD",
    ]


def test_a_night_long_ago_is_told_in_days_and_without_a_model_no_budget() -> None:
    lines = list(of_nights(Lately(a_night(), "", 80.0)))
    assert lines[1:] == ["Last run: nightly of 2026-03-01 03:30, 3 days ago: completed"]


def test_nothing_is_said_before_the_first_night() -> None:
    assert list(of_nights(Lately())) == []


FEW = "1 session changed since the last dream: the next dream comes with 5"


def a_project(name: str, **more: Any) -> Standing:
    gates = [Gate("sessions", name, passed=False, reason=FEW)]
    return Standing(f"-home-ann-{name}", "/m", 3, gates=gates, memories=1, **more)


def test_of_many_projects_those_that_need_somebody_come_first_and_the_rest_is_counted() -> None:
    rows = [a_project(f"p{n:02}") for n in range(32)]
    rows += [
        a_project("due", due=True),
        a_project("parked", parked=["d1"]),
        a_project("gone", problem="no such folder"),
    ]
    told = short(rows, 24)
    assert len(told) <= 24 + 1
    assert [line.split()[0] for line in told[1:5]] == ["parked", "gone", "due", "p00"]
    assert told[1] == "  parked  1 dream waiting for you (slowwave review)"
    assert told[2] == "  gone    problem: no such folder"
    assert told[3] == "  due     due for a dream (3 sessions, 1 memory)"
    assert told[4] == "  p00     too few sessions for a dream yet (3 sessions, 1 memory)"
    assert "  projects with too few sessions: the next dream comes with 5" in told
    assert told[-1].startswith("  and 13 more  (--all")
    assert len(short(rows, None)) == 1 + 35 + 1 + 1


def test_a_terminal_shows_as_much_as_it_has_room_for_and_a_pipe_everything(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(35):
        folder = own_home / ".claude" / "projects" / f"-home-ann-p{number:02}"
        folder.mkdir(parents=True)
        line = {"type": "user", "sessionId": f"s{number}", "uuid": "u", "message": {"role": "user", "content": "hi"}}
        (folder / f"s{number}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert main(["status"]) == 0
    piped = capsys.readouterr().out
    assert all(f"  p{number:02}  " in piped for number in range(35))
    assert "  last dream" not in piped
    assert main(["status", "--all"]) == 0
    assert capsys.readouterr().out.count("  last dream never") == 35
    assert main(["status", "--project", "p07"]) == 0
    assert "  last dream never" in capsys.readouterr().out
    for height in ("24", "50"):
        monkeypatch.setenv("LINES", height)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert main(["status"]) == 0
        seen = capsys.readouterr().out
        assert seen.count("\n") < int(height)
        assert max(map(len, seen.splitlines())) <= 120
    assert "and " not in seen


def test_what_waits_holds_what_no_dream_has_looked_at_and_nothing_that_was_taken_back(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(own_home, datetime.now(UTC))

    def waiting() -> dict[str, tuple[int, int]]:
        assert main(["status", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["projects"]
        return {row["project"]: (row["waiting"], row["backlog"]) for row in rows}

    assert main(["run", "extract", "--direct"]) == 0
    capsys.readouterr()
    number = sum(one for one, _ in waiting().values())
    assert number > 20
    assert all(one == new for one, new in waiting().values())
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert f", {number} facts not looked at yet\n" in said
    assert main(["run", "consolidate", "--direct", "--force"]) == 0
    assert f"The report, for a browser: {own_home / 'state' / 'slowwave' / 'report.html'}\n" in capsys.readouterr().out
    left = waiting()
    assert {new for _, new in left.values()} == {0}
    assert main(["nights", "--json"]) == 0
    night = json.loads(capsys.readouterr().out.splitlines()[0])["id"]
    assert main(["memory", "undo", night]) == 0
    capsys.readouterr()
    # what it took in is not learned again, so it waits for nothing
    assert {name: one for name, (one, _) in waiting().items()} == {name: one for name, (one, _) in left.items()}
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert "\nThe report, for a browser: " in said
    assert "not looked at yet" not in said


def test_html_writes_the_report_and_prints_where_it_is(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append_night(environ(own_home), a_night(alarms=[Alarm("loss", "a dream was parked", 1)]))
    assert main(["status", "--html"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == own_home / "state" / "slowwave" / "report.html"
    assert "a dream was parked" in path.read_text()


def test_html_without_a_history_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--html"]) == 3
    assert "no night was recorded yet" in capsys.readouterr().err


def test_json_has_what_the_history_says(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    night = a_night(dreams=2)
    append_night(environ(own_home), night)
    assert main(["status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"projects", "problems", "retention", "lately", "backfills", "learned"}
    assert told["lately"]["last"] == msgspec.to_builtins(night)


def test_a_damaged_history_is_told_and_ends_with_code_6(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append_night(environ(own_home), a_night())
    with history_path(environ(own_home)).open("a") as file:
        file.write("{torn\n")
    assert main(["status"]) == 6
    assert "line 2 does not parse" in capsys.readouterr().out
    assert main(["status", "--html"]) == 6


def test_a_dream_is_promised_for_a_time_only_where_the_time_is_all_that_it_waits_for() -> None:
    closed = Gate("time", "p", passed=False, reason="1 h since the last dream")
    waits = a_project("waits", due_at="2026-03-02T22:00:00Z")
    waits.gates = [closed, *waits.gates]
    comes = a_project("comes", due_at="2026-03-02T22:00:00Z")
    comes.gates = [closed, Gate("sessions", "p", passed=True, reason="5 sessions changed")]
    told = "\n".join([*short([waits, comes], None), *every([waits, comes])])
    assert "waits  next dream from 2026-03-02 22:00 on, with more sessions (" in told
    assert "comes  next dream from 2026-03-02 22:00 on (" in told
    assert [line for line in told.splitlines() if "next due" in line] == [
        "  next due   from 2026-03-02 22:00 on, with more sessions",
        "  next due   from 2026-03-02 22:00 on",
    ]


def test_what_is_archived_before_a_client_deletes_it_is_told_with_its_room() -> None:
    room = "what Claude Code or OpenClaw would delete within 8d is archived first"
    assert list(retention_lines(Kept(rescue="8d", rescue_max_bytes=5_000_000_000)))[2] == (
        f"  rescue     {room}: nothing yet, at most 5.0 GB (retention.rescue_max_bytes)"
    )
    assert list(retention_lines(Kept(rescue="8d", rescued=1, rescued_bytes=2000)))[2] == (
        f"  rescue     {room}: 2.0 kB so far"
    )


def test_what_waits_is_what_review_lists_whatever_ran_last(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elsewhere = (build(tmp_path / name, datetime.now(UTC)).home for name in ("here", "elsewhere"))

    def waiting(*more: str) -> tuple[int, int]:
        capsys.readouterr()
        main(["review", "list", "--json", "--store", str(here), *more])
        listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        main(["status", "--json", "--store", str(here), *more])
        told = json.loads(capsys.readouterr().out)["learned"]["needs"]
        return told, sum(one["is_worth_it"] for one in listed)

    assert own_home != here
    main(["run", "nightly", "--direct", "--store", str(here)])
    told, listed = waiting()
    assert told == listed > 1
    main(["run", "nightly", "--direct", "--store", str(elsewhere), "--project", "quill"])
    assert waiting() == (listed, listed)
    of_one, in_list = waiting("--project", "quill")
    assert of_one == in_list < listed
    main(["review", "list", "--json", "--store", str(here)])
    one = json.loads(capsys.readouterr().out.splitlines()[0])["id"]
    main(["review", "reject", one, "--store", str(here)])
    assert waiting() == (listed - 1, listed - 1)
    # what nobody touched is not planned again
    monkeypatch.setattr("slowwave.observability.lessons.asks_of", None)
    capsys.readouterr()
    main(["status", "--store", str(here)])
    assert f"Waiting for you: {listed - 1}  (slowwave review --store {here})\n" in capsys.readouterr().out


@pytest.fixture
def told(own_home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return what a command says of the project ``shop``, where four sessions of small talk lie."""
    folder = own_home / ".claude" / "projects" / "-home-ann-shop"
    folder.mkdir(parents=True)
    for number in range(4):
        path = folder / f"s{number}.jsonl"
        content = {"role": "user", "content": "have a look at the tests"}
        line = {"type": "user", "sessionId": f"s{number}", "uuid": "u", "cwd": "/home/ann/shop", "message": content}
        path.write_text(json.dumps(line) + "\n", encoding="utf-8")
        os.utime(path, (number + 1, number + 1))

    def run(*arguments: str) -> str:
        assert main([*arguments]) == 0
        return capsys.readouterr().out

    return run


NOTHING = "4 sessions were read, and nothing worth a line was found"


def test_where_nothing_was_noted_every_screen_says_so_and_advises_no_forced_night(
    own_home: Path, told: Callable[..., str]
) -> None:
    unread = "Nothing is remembered yet.\nslowwave run nightly reads a session once it has come to rest.\n"
    assert told("memory", "list", "--project", "shop") == unread
    assert "  stop       sessions: no session was read yet\n" in told("status")
    assert f"  shop: {NOTHING}\n" in told("run", "nightly", "--direct")
    for how in ((), ("--force",), ()):
        night = told("run", "nightly", "--direct", *how)
        assert "--force" not in night
        assert "Nothing to do.\n" in night
        assert how == () or night.endswith(f"Nothing to do.\n  shop: {NOTHING}\n")
        assert told("memory", "list") == f"Nothing is remembered yet:\n  shop: {NOTHING}\n"
        status = told("status")
        assert f"  stop       sessions: {NOTHING}\n" in status
        assert "next due" not in status
        assert "comes with" not in status
        assert f"<p>shop: {NOTHING}</p>" in (own_home / "state" / "slowwave" / "report.html").read_text()


def test_a_short_line_about_a_project_without_notes_promises_no_dream(told: Callable[..., str]) -> None:
    told("run", "nightly", "--direct", "--force")
    rows, _ = standings(Settings(), os.environ, SystemClock())
    assert short(rows, None)[1:-1] == [f"  shop  {NOTHING} (4 sessions, 0 memories)"]


def test_what_waits_for_a_dream_is_told_with_what_makes_one(own_home: Path, told: Callable[..., str]) -> None:
    path = own_home / ".claude" / "projects" / "-home-ann-shop" / "s3.jsonl"
    path.write_text(path.read_text().replace("have a look at the tests", "we use pnpm in this repository, not npm"))
    at = time.time() - 2 * 86_400
    os.utime(path, (at, at))
    assert "once something noted here is a week old" in told("run", "nightly", "--direct")
    assert told("memory", "list") == (
        "Nothing is remembered yet:\n  shop: 1 fact was noted, and no dream has looked at it yet\n"
        "slowwave status says when a dream comes; slowwave run nightly --force makes one now.\n"
    )
    told("run", "nightly", "--direct", "--force")
    index = own_home / ".claude" / "projects" / "-home-ann-shop" / "memory" / "MEMORY.md"
    assert "we use pnpm in this repository" in (listed := told("memory", "list"))
    assert f"\nIt stands in {index}\n" in listed
    since = "Claude Code loads MEMORY.md from version 2.1.59 on, and no session names its version"
    assert (
        f"  memory     {index}\n  folder     /home/ann/shop (not on this machine)\n"
        f"  claude     not loaded: {since}; update it\n" in told("status")
    )
    assert "  stop       sessions: nothing new since the last dream\n" in told("status")

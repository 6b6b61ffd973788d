"""``slowwave sessions list`` with filters, and ``slowwave sessions search``."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.errors import UsageError
from slowwave.formats.registry import NAMES
from slowwave.quantities import moment
from tests.unit.stores.store_builder import add, cersei, claude, write

Capture = pytest.CaptureFixture[str]
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def store_in(folder: Path) -> Path:
    """Make a store with a session on the 10th, one from the 18th to the 20th, and a sub-agent's."""
    store = folder / "projects"
    early: dict[str, Any] = {"timestamp": "2026-11-10T10:00:00.000Z", "uuid": "e0"}
    lines = [claude("user", "tests are red", timestamp="2026-11-18T10:00:00.000Z"), claude("assistant", "outbox", 1)]
    title = {"type": "custom-title", "customTitle": "Überprüfung", "sessionId": "s"}
    write(store / "-home-ann-shop" / "late.jsonl", *lines, title)
    write(store / "-home-ann-shop" / "agent-1.jsonl", claude("user", "count the outbox", 3, isSidechain=True))
    write(store / "-home-bob-mail" / "mail.jsonl", cersei("user", "send it", cwd="/home/bob/mail"))
    add(store / "-home-bob-mail" / "mail.jsonl", cersei("assistant", "sent", 1, cwd="/home/bob/mail"))
    write(store / "-home-ann-shop" / "early.jsonl", claude("user", "Fix the Outbox", **early))
    return store


def run(capsys: Capture, *args: object) -> list[dict[str, Any]]:
    assert main(["sessions", *map(str, args), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--text outbox", {"early", "agent-1"}),
        ("--text ÜBERprüf", {"late"}),
        ("--text nothing", set[str]()),
        ("--kind subagent", {"agent-1"}),
        ("--kind main --project shop", {"early", "late"}),
        ("--dialect cersei", {"mail"}),
        ("--dialect opencode", set[str]()),
        ("--since 2026-11-19", {"late", "agent-1", "mail"}),
        ("--until 2026-11-18", {"early", "late"}),
        ("--since 2026-11-11 --until 2026-11-17", set[str]()),
        ("--since 2026-11-19 --until 2026-11-19", {"late"}),
        ("--limit 1 --kind main --project shop", {"late"}),
    ],
)
def test_a_listing_holds_what_was_asked_for(tmp_path: Path, capsys: Capture, options: str, expected: set[str]):
    store = store_in(tmp_path)
    assert {row["id"] for row in run(capsys, "list", "--store", store, *options.split())} == expected


def test_a_listing_says_how_many_it_leaves_out(tmp_path: Path, capsys: Capture):
    assert main(["sessions", "list", "--store", str(store_in(tmp_path)), "--limit", "1"]) == 0
    shown = capsys.readouterr().out
    assert "1 session, and 2 older (--limit), and 1 of sub-agents" in shown
    assert main(["sessions", "list", "--store", str(store_in(tmp_path)), "--kind", "subagent"]) == 0
    assert "agent-1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("list --dialect nope", "write one of"),
        ("list --since yesteryear", "--since 'yesteryear'"),
        ("list --since 01/02/2026", "could mean two days"),
        ("list --since 26-11-20", "could mean two days"),
        ("list --since 6m", "6 months"),
        ("list --until 2026-11", "not a whole date"),
        ("list --since 2026-11-20 --until 2026-11-19", "is after --until"),
        ("search x --since soon", "--since 'soon'"),
        ("search x --dialect nope", "write one of"),
    ],
)
def test_filters_that_cannot_be_meant_are_one_line(tmp_path: Path, capsys: Capture, line: str, says: str):
    assert main(["sessions", *line.split(), "--store", str(tmp_path / "none")]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert (printed.err.count("\n"), printed.out) == (1, "")


@pytest.mark.parametrize("number", ["0", "-1", "many", "1.5"])
def test_a_limit_is_a_number_above_zero(number: str):
    with pytest.raises(SystemExit) as stopped:
        main(["sessions", "list", f"--limit={number}"])
    assert stopped.value.code == 2


def test_a_wrong_name_names_every_dialect(capsys: Capture):
    assert main(["sessions", "list", "--dialect", "?"]) == 2
    told = capsys.readouterr().err
    assert [name for name in NAMES if name not in told] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("2 weeks", NOW - timedelta(weeks=2)),
        ("2 months", datetime(2026, 9, 22, 12, tzinfo=UTC)),
        ("2026-11-20T10:30:00Z", datetime(2026, 11, 20, 10, 30, tzinfo=UTC)),
        ("2026-11-20 10:30+02:00", datetime(2026, 11, 20, 8, 30, tzinfo=UTC)),
    ],
)
def test_a_moment_is_a_date_or_how_long_ago(text: str, expected: datetime):
    assert moment("--since", text, NOW) == expected


@pytest.mark.parametrize("text", ["2026-11-20", "20261120", "20 Nov 2026", "Nov 20, 2026", "20.11.2026"])
def test_a_date_is_its_whole_day_here(text: str):
    start, end = moment("--since", text, NOW), moment("--until", text, NOW, ends=True)
    assert (start.year, start.month, start.day, start.hour) == (2026, 11, 20, 0)
    assert timedelta(hours=22) < end - start < timedelta(hours=26)


@pytest.mark.parametrize("text", ["", "x", "7", "2026", "2026-11", "may", "10:30", "31 Feb 2026", "9" * 30 + "d", "\0"])
def test_what_is_no_moment_is_refused(text: str):
    with pytest.raises(UsageError, match="write a date"):
        moment("--since", text, NOW)


def test_a_search_prints_the_best_first_with_the_promised_fields(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    first, second = run(capsys, "search", "outbox", "--store", store)
    assert (first["id"], second["id"]) == ("early", "late")
    assert first["score"] > second["score"] > 0
    hit = {key: second[key] for key in ("snippet", "message", "role", "field", "project", "title", "dialect")}
    assert hit == {
        "snippet": "outbox",
        "message": "msg_1",
        "role": "assistant",
        "field": "assistant",
        "project": "-home-ann-shop",
        "title": "Überprüfung",
        "dialect": "claude",
    }
    assert second["time"].startswith("2026-11-20T10:00:01")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("outbox --since 2026-11-15", ["late"]),
        ("outbox --until 2026-11-15", ["early"]),
        ("outbox --limit 1", ["early"]),
        ("outbox --kind subagent", ["agent-1"]),
        ("outbox --dialect cersei", []),
        ("sent outbox --project mail", ["mail"]),
        ("überprüf*", ["late"]),
        ("fix red", ["early", "late"]),
    ],
)
def test_a_search_keeps_to_its_filters(tmp_path: Path, capsys: Capture, options: str, expected: list[str]):
    store = store_in(tmp_path)
    assert [row["id"] for row in run(capsys, "search", *options.split(), "--store", store)] == expected


def test_a_search_finds_sub_agents_only_with_all(tmp_path: Path, capsys: Capture):
    store = store_in(tmp_path)
    assert run(capsys, "search", "count", "--store", store) == []
    assert [row["id"] for row in run(capsys, "search", "count", "--all", "--store", store)] == ["agent-1"]


def test_a_search_for_people_has_no_colours_and_nothing_a_terminal_obeys(tmp_path: Path, capsys: Capture):
    write(tmp_path / "s.jsonl", claude("user", "outbox \x1b[31mred\x1b[0m \x07"))
    assert main(["sessions", "search", "outbox", "--store", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "1 session of 1" in shown
    assert all(char.isprintable() or char == "\n" for char in shown)


@pytest.mark.parametrize("damage", ["DELETE FROM words_data WHERE id > 10", "UPDATE segments SET body = x'00'"])
def test_damage_that_shows_while_searching_is_mended_and_said(
    tmp_path: Path, capsys: Capture, own_home: Path, damage: str
):
    store = store_in(tmp_path)
    assert run(capsys, "search", "outbox", "--store", store)
    with sqlite3.connect(own_home / "state" / "slowwave" / "search.sqlite") as database:
        database.execute(damage)
    assert main(["sessions", "search", "outbox", "--json", "--store", str(store)]) == 0
    printed = capsys.readouterr()
    assert "is built anew" in printed.err
    assert [json.loads(line)["id"] for line in printed.out.splitlines()] == ["early", "late"]


def test_a_search_beside_one_that_writes_answers_from_what_is_there(
    tmp_path: Path, capsys: Capture, own_home: Path, monkeypatch: pytest.MonkeyPatch
):
    store = store_in(tmp_path)
    run(capsys, "search", "outbox", "--store", store)
    add(store / "-home-bob-mail" / "mail.jsonl", cersei("user", "outbox", 2))
    monkeypatch.setattr("slowwave.stores.catalogue._WAIT_S", 0)
    with closing(sqlite3.connect(own_home / "state" / "slowwave" / "search.sqlite")) as database:
        database.execute("BEGIN IMMEDIATE")
        assert main(["sessions", "search", "outbox", "--json", "--store", str(store)]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert "another search" in printed.err
    assert len(run(capsys, "search", "outbox", "--store", store)) == 3


def test_a_search_without_words_finds_nothing(tmp_path: Path, capsys: Capture):
    assert run(capsys, "search", "***", "--store", store_in(tmp_path)) == []


def test_a_listing_loads_neither_the_index_nor_dateutil_nor_the_rules_of_secrets(tmp_path: Path):
    code = (
        "import sys\nfrom slowwave.cli import main\nmain(sys.argv[1:])\n"
        "heavy = {'dateutil', 'slowwave.stores.search.index', 'slowwave.secrets.finder'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    run_it = [sys.executable, "-c", code, "sessions", "list", "--store", str(store_in(tmp_path))]
    subprocess.run(run_it, check=True, capture_output=True)

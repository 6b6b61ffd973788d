"""``sessions compact``, ``uncompact`` and ``show --compactions``, ``run compact``, and what status says of it."""

import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.compaction.book import Book, content_stamp, folder_of, read_book, write_book
from slowwave.errors import DONE, REFUSED, UNREADABLE, USAGE
from tests.unit.compaction.job.talks import Talk

Capture = pytest.CaptureFixture[str]
SMALL = ("compaction.context_window=3000", "compaction.reserve_tokens=500", "compaction.keep_recent_tokens=1200")
SET = [word for key in SMALL for word in ("--set", key)]


def slowwave(*args: object) -> int:
    return main([*map(str, args)])


def printed(capsys: Capture) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)


def talk_in(tmp_path: Path, dialect: str = "claude") -> Talk:
    talk = Talk(tmp_path / "projects" / "-home-ann-shop", dialect).grow(6)
    yesterday = time.time() - 86_400
    os.utime(talk.path, (yesterday, yesterday))
    return talk


def test_compact_without_a_summary_makes_one_and_uncompact_takes_it_back(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    before = talk.path.read_bytes()
    assert slowwave("sessions", "compact", talk.path, *SET, "--json") == DONE
    made = printed(capsys)
    assert "## Goal" in made["summary"]
    assert made["compaction"]
    assert talk.path.read_bytes().startswith(before)
    assert slowwave("sessions", "uncompact", talk.path, "--json") == DONE
    assert printed(capsys)["compaction"] == made["compaction"]
    assert talk.path.read_bytes() == before


def test_a_dry_run_shows_the_plan_and_the_summary(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    before = talk.path.read_bytes()
    assert slowwave("sessions", "compact", talk.path, *SET, "--dry-run") == DONE
    shown = capsys.readouterr().out
    assert "summarises" in shown
    assert "please do step 1" in shown
    assert talk.path.read_bytes() == before


def test_what_cannot_be_done_is_said(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    assert slowwave("sessions", "uncompact", talk.path) == UNREADABLE
    assert "has appended no compaction" in capsys.readouterr().err
    assert slowwave("sessions", "compact", talk.path) == USAGE
    assert "fits into the 20,000 kept" in capsys.readouterr().err
    assert slowwave("sessions", "compact", talk.path, "--keep-from", "u1") == USAGE
    assert "goes with --summary" in capsys.readouterr().err
    assert slowwave("sessions", "compact", talk.path, "--summary", "x", "--dry-run") == USAGE
    slowwave("sessions", "compact", talk.path, *SET)
    talk.grow()
    assert slowwave("sessions", "uncompact", talk.path) == REFUSED
    assert "appended behind it" in capsys.readouterr().err


@pytest.mark.parametrize("dialect", ["claude", "cersei", "pi", "crabtalk"])
def test_every_compaction_is_explained(tmp_path: Path, capsys: Capture, dialect: str):
    talk = talk_in(tmp_path, dialect)
    slowwave("sessions", "compact", talk.path, "--summary", "by a person")
    talk.grow(6)
    slowwave("sessions", "compact", talk.path, *SET)
    capsys.readouterr()
    assert slowwave("sessions", "show", talk.path, "--compactions", "--json") == DONE
    first, second = printed(capsys)["compactions"]
    assert (first["by"], second["by"]) == ("person", "slowwave")
    assert second["tokens_after"] < second["tokens_before"]
    assert second["dropped"]
    assert slowwave("sessions", "show", talk.path, "--compactions", *SET) == DONE
    shown = capsys.readouterr().out
    assert "messages summarised by the ledger" in shown
    assert re.search(r"^now: [\d,]+ tokens estimated of 3,000, limit ", shown, re.MULTILINE)
    assert f"{len(second['dropped'])} intact" in shown
    assert "of what was looked for" in shown


def test_what_was_summarised_is_told_intact_until_a_byte_of_it_changes(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    slowwave("sessions", "compact", talk.path, *SET)
    noted = json.loads(talk.path.read_bytes().splitlines()[-2])["compactMetadata"]["slowwave"]
    assert show_conditions(talk, capsys) == {"intact"}

    raw = bytearray(talk.path.read_bytes())
    at = raw.index(b"please do step 2")
    raw[at : at + 6] = b"PLEASE"
    talk.path.write_bytes(raw)

    assert "changed" in show_conditions(talk, capsys)
    slowwave("sessions", "show", talk.path, "--compactions")
    assert "changed since or gone" in capsys.readouterr().out
    # the record itself says from where to where, and by what it can be told
    ((part, offset, length, sha256),) = noted["dropped"]
    whole = raw.replace(b"PLEASE", b"please")[offset : offset + length]
    assert (part, hashlib.sha256(whole).hexdigest()) == (0, sha256)


def test_a_window_that_is_nearly_full_is_told(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    slowwave("sessions", "show", talk.path, "--compactions", "--set", "compaction.context_window=2500")
    assert capsys.readouterr().out.splitlines()[0].endswith("(critical)")
    slowwave("sessions", "show", talk.path, "--compactions")
    assert capsys.readouterr().out.splitlines()[0].endswith("limit 183,616")


def show_conditions(talk: Talk, capsys: Capture) -> set[str]:
    capsys.readouterr()
    assert slowwave("sessions", "show", talk.path, "--compactions", "--json") == DONE
    (done,) = printed(capsys)["compactions"]
    return {one["condition"] for one in done["dropped"]}


def test_the_job_prints_its_plan_compacts_and_has_nothing_left_to_do(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    before = talk.path.read_bytes()
    job = ("run", "compact", "--direct", "--store", tmp_path / "projects", *SET)
    assert slowwave(*job, "--dry-run") == DONE
    planned = capsys.readouterr().out
    assert "Would be compacted: 1" in planned
    assert talk.path.read_bytes() == before
    assert slowwave(*job, "--json") == DONE
    report = printed(capsys)
    assert report["job"] == "compact"
    (item,) = [item for item in report["items"] if item["action"] == "compact"]
    assert item["reason"] in planned
    assert talk.path.read_bytes() != before
    once = talk.path.read_bytes()
    assert slowwave(*job) == DONE
    assert capsys.readouterr().out.endswith("Nothing to do.\n")
    assert talk.path.read_bytes() == once


def test_a_night_compacts_only_where_the_settings_say_so(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    before = talk.path.read_bytes()
    night = ("run", "nightly", "--direct", "--store", tmp_path / "projects", *SET)
    assert slowwave(*night) == DONE
    assert talk.path.read_bytes() == before
    assert slowwave(*night, "--set", "compaction.nightly=true") == DONE
    assert talk.path.read_bytes() != before
    assert "Compacted" in capsys.readouterr().out


def test_status_names_what_is_compacted_no_more(tmp_path: Path, own_home: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    folder = folder_of({"XDG_STATE_HOME": str(own_home / "state")})
    book = read_book(folder, talk.id, "claude", talk.path)
    for _ in range(3):
        book.fail("a bug", content_stamp(talk.paths))
    write_book(folder, book)
    assert slowwave("status", "--store", tmp_path / "projects") == DONE
    assert f"compaction of {talk.id}: a bug" in capsys.readouterr().out
    assert slowwave("run", "compact", "--direct", "--store", tmp_path / "projects", *SET, "--require") == REFUSED
    assert "stopped after 3 failures in a row" in capsys.readouterr().out
    talk.grow()
    slowwave("status", "--store", tmp_path / "projects")
    assert "a bug" not in capsys.readouterr().out


def test_a_damaged_book_is_told_and_never_taken_for_none(tmp_path: Path, own_home: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    folder = folder_of({"XDG_STATE_HOME": str(own_home / "state")})
    write_book(folder, Book(talk.id, "claude", str(talk.path)))
    (file,) = folder.glob("*.json")
    file.write_text("{")
    assert slowwave("sessions", "uncompact", talk.path) == UNREADABLE
    assert "not a record of compactions" in capsys.readouterr().err


def test_by_hand_the_memories_are_saved_first(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    rule = "Always use pnpm here, never npm."
    assert slowwave("sessions", "append", talk.path, "--role", "user", rule, "--answer", "I will.") == DONE
    talk.rest()
    assert slowwave("sessions", "compact", talk.path, *SET, "--dry-run") == DONE
    folder = talk.path.parent / "memory"
    assert not folder.exists()
    assert slowwave("sessions", "compact", talk.path, *SET) == DONE
    capsys.readouterr()
    candidates = (folder / ".slowwave" / "candidates.jsonl").read_text("utf-8")
    assert "pnpm" in candidates


def test_a_focus_needs_a_model_and_a_summary_that_it_tells(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    before = talk.path.read_bytes()
    assert slowwave("sessions", "compact", talk.path, *SET, "--focus", "the door") == USAGE
    assert "model.base_url" in capsys.readouterr().err
    assert slowwave("sessions", "compact", talk.path, "--summary", "x", "--focus", "the door") == USAGE
    assert slowwave("run", "extract", "--direct", "--focus", "the door", "--store", tmp_path / "projects") == USAGE
    assert talk.path.read_bytes() == before


def test_prune_shows_clears_explains_and_is_taken_back(tmp_path: Path, capsys: Capture):
    talk = Talk(tmp_path / "rollouts", "codex", 11_900).grow(14)
    before = talk.path.read_bytes()
    assert slowwave("sessions", "prune", talk.path, "--dry-run") == DONE
    assert "clears 11 old outputs of tools" in capsys.readouterr().out
    assert talk.path.read_bytes() == before
    assert slowwave("sessions", "prune", talk.path, "--json") == DONE
    made = printed(capsys)
    assert len(made["calls"]) == 11
    assert made["tokens_freed"] > 20_000
    assert slowwave("sessions", "show", talk.path, "--compactions") == DONE
    shown = capsys.readouterr().out
    assert "11 outputs of tools cleared" in shown
    assert "cleared by slowwave" in shown
    assert " intact\n" in shown
    assert slowwave("sessions", "show", talk.path, "--compactions", "--json") == DONE
    (row,) = printed(capsys)["compactions"]
    assert (row["source"], row["by"]) == ("prune", "slowwave")
    assert slowwave("sessions", "uncompact", talk.path) == DONE
    assert talk.path.read_bytes() == before


def test_summaries_and_prunings_are_explained_each_once_and_in_their_order(tmp_path: Path, capsys: Capture):
    talk = Talk(tmp_path / "rollouts", "codex", 11_900).grow(14)
    for action in ("compact", "prune", "compact"):
        assert slowwave("sessions", action, talk.path) == DONE
        talk.grow(14)
    capsys.readouterr()
    assert slowwave("sessions", "show", talk.path, "--compactions", "--json") == DONE
    rows = printed(capsys)["compactions"]
    assert [(row["by"], row["source"]) for row in rows] == [
        ("slowwave", "ledger"),
        ("slowwave", "prune"),
        ("slowwave", "ledger"),
    ]
    assert {one["condition"] for row in rows for one in row["dropped"]} == {"intact"}
    assert rows[0]["characters"] is not rows[1]["characters"] is None


def test_where_a_client_has_no_record_for_it_prune_says_why(tmp_path: Path, capsys: Capture):
    talk = talk_in(tmp_path)
    assert slowwave("sessions", "prune", talk.path) == USAGE
    told = capsys.readouterr().err
    assert "Claude Code takes no later record" in told
    assert "a compaction clears them" in told

"""``slowwave memory``: output, contracts and exit codes."""

import hashlib
import json
import re
import sqlite3
import sys
import time
from pathlib import Path

import msgspec
import pytest

from slowwave.cli import main, memory
from slowwave.cli import review as cli_review
from slowwave.cli.nights import one_alone
from slowwave.consolidation.inbox import accept_fact, drop_memories, inbox
from slowwave.errors import MovedError
from slowwave.jobs import review
from slowwave.memory import PASTED, Evidence
from slowwave.memory.book import read_book
from slowwave.memory.delivery import REFUSED
from slowwave.memory.evidence import sources_of
from slowwave.memory.folder import MemoryFolder, visible_files
from slowwave.memory.ledger import read_ledger
from slowwave.observability.lessons import remembered
from slowwave.report import Item
from slowwave.secrets import NAMELESS
from slowwave.settings import ConsolidationSettings
from tests.unit.consolidation.dreams import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    made.extract(
        made.candidate("We use npm", session="a", key="pref:pm", value="npm", at="2026-11-01T00:00:00Z"),
        made.candidate("We use bun", session="b", key="pref:pm", value="bun", at="2026-11-02T00:00:00Z"),
    )
    made.dream()
    return made


def _run(capsys: pytest.CaptureFixture[str], house: House, *arguments: str, code: int = 0) -> str:
    assert main(["memory", arguments[0], "--memory", str(house.memory), *arguments[1:]]) == code
    captured = capsys.readouterr()
    return captured.out or captured.err


def test_list_prints_one_object_a_line_with_every_promised_field(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [json.loads(line) for line in _run(capsys, house, "list", "--json", "--all").splitlines()]
    promised = {"id", "category", "text", "confidence", "file", "status", "valid_from", "valid_to", "evidence"}
    assert all(promised <= row.keys() for row in rows)
    assert {row["text"]: (row["status"], row["valid_to"]) for row in rows} == {
        "We use npm": ("superseded", "2026-11-02T00:00:00Z"),
        "We use bun": ("active", None),
    }
    text = _run(capsys, house, "list")
    assert "We use bun" in text
    assert "We use npm" not in text
    assert "  Not remembered any more\n" in (every := _run(capsys, house, "list", "--all"))
    assert "We use npm [replaced]" in every
    assert "%" not in every
    alike = "those with the same score by the rules, judged by people who read them"
    for command in ("why", "show"):
        told = _run(capsys, house, command, _id_of(house, "We use bun"))
        assert f"almost surely worth keeping (90 in 100 facts like it are: {alike})\n" in told


def test_the_list_as_json_holds_what_the_list_shows(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    _run(capsys, house, "drop", _id_of(house, "We use bun"))
    house.extract(house.candidate("Never push on a Friday", session="c"))
    house.dream()
    for more in ((), ("--all",), ("--at", "2026-11-01T12:00:00Z")):
        rows = [json.loads(line) for line in _run(capsys, house, "list", "--json", *more).splitlines()]
        shown = _run(capsys, house, "list", *more)
        every = read_book(house.memory).memories
        assert {row["id"] for row in rows} == {name for name in every if f"  {name}  " in shown}, more
        assert len(rows) == (3 if more == ("--all",) else 1)


def test_why_takes_several_memories(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.extract(house.candidate("Never push on a Friday", session="c"))
    house.dream()
    ids = [_id_of(house, text) for text in ("We use bun", "Never push on a Friday")]
    one_by_one = [_run(capsys, house, "why", name) for name in ids]
    assert _run(capsys, house, "why", *ids) == "\n".join(one_by_one)
    rows = [json.loads(line) for line in _run(capsys, house, "why", *ids, "--json").splitlines()]
    assert [row["id"] for row in rows] == ids
    # nothing is told of some where one is unknown
    assert _run(capsys, house, "why", ids[0], "mnothing", code=3).startswith("slowwave: no memory mnothing")


def test_show_and_why_explain_a_memory_by_its_evidence(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    memory = _run(capsys, house, "list").splitlines()[1].split()[0]
    assert "We use bun" in _run(capsys, house, "show", memory[:5])
    why = _run(capsys, house, "why", memory)
    assert '"We use bun"' in why
    # what it says itself is told once
    replaced = why.partition("takes the place of ")[2]
    assert ("which said: We use npm (" in replaced, "We use bun" in replaced) == (True, False)
    data = json.loads(_run(capsys, house, "why", memory, "--json"))
    assert data["evidence"][0]["finding"] == "ok"
    assert [e["event"] for e in data["events"]] == ["add", "supersede"]
    assert "no memory nothing" in _run(capsys, house, "show", "nothing", code=3)


def test_verify_counts_and_fails_when_evidence_is_gone(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(_run(capsys, house, "verify", "--json"))
    assert {name: data[name] for name in ("checked", "ok", "moved", "changed", "lost")} == {
        "checked": 1, "ok": 1, "moved": 0, "changed": 0, "lost": 0,
    }  # fmt: skip
    (house.folder / "b.jsonl").unlink()
    assert "1 lost with their transc" in _run(capsys, house, "verify", code=6)


def test_diff_and_undo_take_a_dream_back(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    dream = next((house.memory / ".slowwave" / "undo").iterdir()).name
    diff = _run(capsys, house, "diff", dream)
    assert "+++ b/MEMORY.md\n" in diff
    assert "+- We use bun\n" in diff
    # lines of pages come first, and of what no person reads only how much there is
    assert diff.startswith("--- /dev/null\n+++ b/MEMORY.md\n")
    assert diff.splitlines()[-1] == f"and 2 files of slowwave's own: slowwave memory diff {dream} --json shows all"
    assert "b/.consolidation_state.json" in json.loads(_run(capsys, house, "diff", dream, "--json"))["diff"]
    assert "no dream d0" in _run(capsys, house, "diff", "d0", code=3)
    assert "no dream ../" in _run(capsys, house, "diff", "../undo", code=3)
    (house.memory / "MEMORY.md").write_text("mine")
    assert "--force" in _run(capsys, house, "undo", dream, code=4)
    assert "edited/" in _run(capsys, house, "undo", dream, "--force")
    assert set(visible_files(house.memory)) == {"extracted.md"}
    assert "was taken back already, " in _run(capsys, house, "undo", dream, code=3)


def test_what_was_taken_back_is_there_again_byte_for_byte_and_can_be_taken_back_again(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.extract(house.candidate("Never push on a Friday", session="c"))
    run = house.dream().run_id
    first, dream = read_book(house.memory).dreams  # both of them of this run
    before, book = visible_files(house.memory), read_book(house.memory)
    told = _run(capsys, house, "undo", run)
    assert f"To have it again: slowwave memory undo {run} --again --memory {house.memory}" in told
    assert read_book(house.memory).active == []
    for name in (run, dream):
        assert f"{name} was taken back already, 20" in _run(capsys, house, "undo", name, code=3)
    assert f"There again: {first}, and with it {dream}." in _run(capsys, house, "undo", run, "--again")
    assert visible_files(house.memory) == before
    after = read_book(house.memory)
    assert (after.memories, after.dreams, after.done, after.undone) == (book.memories, book.dreams, book.done, {})
    assert "was not taken back" in _run(capsys, house, "undo", dream, "--again", code=3)
    assert house.dream().dream_ids == []
    _run(capsys, house, "undo", dream)
    assert "Friday" not in house.read("MEMORY.md")
    _run(capsys, house, "undo", dream, "--again")
    assert visible_files(house.memory) == before


@pytest.mark.parametrize("command", [["memory", "undo"], ["review", "undo"]])
def test_who_takes_a_decision_back_is_told_before_what_else_goes_with_it(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    house.extract(house.candidate("Never push on a Friday", session="c"), house.candidate("Use tabs", session="c"))
    house.dream()
    for text in ("Never push on a Friday", "Use tabs"):
        _run(capsys, house, "drop", _id_of(house, text))
    first, last = read_book(house.memory).dreams[-2:]
    asked: list[str] = []
    answers = iter(("", "yes"))

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return next(answers)

    monkeypatch.setattr("builtins.input", answer)
    for module in (memory, cli_review):
        monkeypatch.setattr(module, "is_attended", lambda: True)
    undo = [*command, first, "--memory", str(house.memory)]
    assert main(undo) == 4
    out, err = capsys.readouterr()
    assert f"{last}  you decided: dropped " in out
    assert "your lines stay" in out
    assert "nothing was taken back" in err
    assert read_book(house.memory).dreams[-1] == last
    assert main(undo) == 0
    assert asked == ["Take all of that back? [y/N] "] * 2
    assert len(read_book(house.memory).active) == 3
    _run(capsys, house, "undo", first, "--again")
    assert main([*command, last, "--memory", str(house.memory)]) == 0  # nothing rests on it: nobody is asked
    assert main([*command, first, "--memory", str(house.memory), "--yes"]) == 0


@pytest.mark.parametrize("command", [["memory", "undo"], ["review", "undo"]])
def test_where_nobody_can_be_asked_nothing_goes_that_was_not_named(
    house: House, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    house.extract(house.candidate("Never push on a Friday", session="c"), house.candidate("Use tabs", session="c"))
    (night,) = house.dream().dream_ids
    names = [_id_of(house, text) for text in ("Never push on a Friday", "Use tabs")]
    for name in names:
        _run(capsys, house, "drop", name)
    first, last = read_book(house.memory).dreams[-2:]
    before = visible_files(house.memory)
    undo = [*command, first, "--memory", str(house.memory)]
    for more in ([], ["--json"]):
        assert main([*undo, *more]) == 4
        assert f"with it goes {last}: nothing was taken back; --yes" in capsys.readouterr().err
    assert main([*command, night, "--memory", str(house.memory)]) == 4
    assert f"with it go {first}, {last}: nothing" in capsys.readouterr().err
    assert visible_files(house.memory) == before
    assert main([*undo, "--yes"]) == 0
    out, _ = capsys.readouterr()
    for dream, name in ((first, names[0]), (last, names[1])):
        assert f"\n  {dream}  you decided: dropped {name}: " in out
    assert f"To drop it again: slowwave memory undo {first} --again" in out


def test_undo_takes_the_id_of_a_memory_for_the_last_decision_about_it(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.extract(house.candidate("Never push on a Friday", session="c"), house.candidate("Use tabs", session="c"))
    house.dream()
    friday, tabs = (_id_of(house, text) for text in ("Never push on a Friday", "Use tabs"))
    _run(capsys, house, "drop", friday)
    (drop,) = read_book(house.memory).dreams[-1:]
    assert f"{drop}  you decided: dropped {friday}: Never" in _run(capsys, house, "undo", friday[:8])
    assert _id_of(house, "Never push on a Friday") == friday
    _run(capsys, house, "undo", friday, "--again")
    assert friday not in _run(capsys, house, "list")
    _run(capsys, house, "undo", friday)
    _run(capsys, house, "drop", friday, tabs)  # one decision about both
    assert main(["memory", "undo", friday, "--memory", str(house.memory)]) == 4
    assert f"with it goes {tabs}: nothing" in capsys.readouterr().err


def test_what_was_taken_back_is_not_put_over_what_came_since(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.extract(house.candidate("Never push on a Friday", session="c"))
    (later,) = house.dream().dream_ids
    first = read_book(house.memory).dreams[0]
    _run(capsys, house, "undo", later)
    _run(capsys, house, "undo", first)
    assert f"{later} rests on {first}" in _run(capsys, house, "undo", later, "--again", code=4)
    _run(capsys, house, "undo", first, "--again")
    house.extract(house.candidate("Use tabs", session="d"))
    (new,) = house.dream().dream_ids
    assert f"dream {new} came after" in _run(capsys, house, "undo", later, "--again", code=4)
    _run(capsys, house, "undo", new)
    assert f"There again: {later}" in _run(capsys, house, "undo", later, "--again")
    assert sorted(m.text for m in read_book(house.memory).active) == ["Never push on a Friday", "We use bun"]


def test_review_shows_accepts_and_rejects(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Nothing waits for you" in _run(capsys, house, "review")
    house.extract(house.candidate("Never push on a Friday", session="c"))
    parked = house.dream(mode="review").parked[0]
    assert parked in _run(capsys, house, "review", code=5)
    assert json.loads(_run(capsys, house, "review", "--json", code=5))["id"] == parked
    assert "Applied" in _run(capsys, house, "review", "--accept", parked)
    assert "Never push" in house.read("MEMORY.md")
    house.extract(house.candidate("Never pull on a Monday", session="d"))
    parked = house.dream(mode="review").parked[0]
    assert "Rejected: 1" in _run(capsys, house, "review", "--reject", parked)
    assert "nothing called" in _run(capsys, house, "review", "--reject", parked, code=3)


def test_a_missing_folder_and_a_corrupt_ledger_are_one_clear_line(
    tmp_path: Path, house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "list", "--memory", str(tmp_path / "none")]) == 3
    assert capsys.readouterr().err.count("\n") == 1
    (house.memory / ".slowwave" / "ledger.jsonl").write_text("{")
    assert "is not a ledger event" in _run(capsys, house, "list", code=3)


def _held_at(capsys: pytest.CaptureFixture[str], house: House, at: str) -> list[str]:
    rows = [json.loads(line) for line in _run(capsys, house, "list", "--at", at, "--json").splitlines()]
    return sorted(row["text"] for row in rows)


def test_list_at_tells_what_was_believed_then(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    house.extract(house.candidate("We use npm", session="c", key="pref:pm", value="npm", at="2026-11-05T12:00:00Z"))
    house.dream()
    assert _held_at(capsys, house, "2026-10-31") == []
    assert _held_at(capsys, house, "2026-11-01") == ["We use npm"]
    assert _held_at(capsys, house, "1 November 2026") == ["We use npm"]
    assert _held_at(capsys, house, "2026-11-02") == ["We use bun"]
    assert _held_at(capsys, house, "5 Nov 2026 11:59") == ["We use bun"]
    assert _held_at(capsys, house, "2026-11-05T13:00:00+01:00") == ["We use npm"]
    assert _held_at(capsys, house, "2030-01-01") == ["We use npm"]
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    assert _held_at(capsys, house, "2026-11-01T00:00") == ["We use npm"]
    assert _held_at(capsys, house, "2026-11-01T18:59") == ["We use npm"]
    assert _held_at(capsys, house, "2026-11-01T19:00") == ["We use bun"]
    monkeypatch.undo()
    time.tzset()
    for wrong in ("yesterday-ish", "March", "1 March", ""):
        assert "write a date such as" in _run(capsys, house, "list", "--at", wrong, code=2)


def test_why_shows_the_words_around_a_quote_and_names_rows_by_their_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house = House(tmp_path)
    said = "Before I forget it: use pnpm for installs, the lock file of npm is nobody's. key AKIAIOSFODNN7EXAMPLQ"
    candidate = house.candidate(said)
    piece = msgspec.structs.replace(candidate.evidence[0], quote="use pnpm for installs")
    house.extract(msgspec.structs.replace(candidate, text="use pnpm for installs", evidence=(piece,)))
    house.dream()
    name = _run(capsys, house, "list").splitlines()[1].split()[0]
    why = _run(capsys, house, "why", name)
    assert "it says there: Before I forget it: use pnpm for installs, the lock file of npm is nobody's." in why
    assert "AKIAIOSFODNN7EXAMPLQ" not in why
    assert "at byte 0" in why


def _weak(house: House, text: str, session: str, confidence: float = 0.45) -> None:
    house.extract(house.candidate(text, session=session, category="project", confidence=confidence))
    house.dream()


def test_facts_between_the_thresholds_are_shown_with_reason_and_evidence(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    _weak(house, "The cache is slow", "c")
    _weak(house, "The mailer is old", "d", 0.15)
    rows = [json.loads(line) for line in _run(capsys, house, "review", "--json").splitlines()]
    assert [(row["kind"], row["text"]) for row in rows] == [("fact", "The cache is slow")]
    assert rows[0]["reason"] == "confidence 0.45 is below 0.55: waits for more evidence"
    assert rows[0]["evidence"][0]["quote"] == "The cache is slow"
    shown = _run(capsys, house, "review", "show", rows[0]["id"][:6])
    assert "worth keeping" not in shown.partition("why it waits")[0]  # that is said once
    assert "    | The cache is slow" in shown
    assert "claude c" in shown


def test_an_accepted_fact_is_remembered_and_can_be_undone(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    _weak(house, "The cache is slow", "c")
    before = visible_files(house.memory)
    name = json.loads(_run(capsys, house, "review", "--json"))["id"]
    dream = json.loads(_run(capsys, house, "review", "accept", name, "--json"))["dream"]
    assert "- The cache is slow\n" in house.read("MEMORY.md")
    assert "Nothing waits for you" in _run(capsys, house, "review")
    _run(capsys, house, "undo", dream)
    assert visible_files(house.memory) == before


def test_an_edited_fact_says_what_the_person_said_and_keeps_its_evidence(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    _weak(house, "The cache is slow", "c")
    name = json.loads(_run(capsys, house, "review", "--json"))["id"]
    assert "write what it shall say" in _run(capsys, house, "review", "edit", name, code=2)
    _run(capsys, house, "review", "edit", name, "The", "cache is slow on the first request only")
    rows = [json.loads(line) for line in _run(capsys, house, "list", "--json").splitlines()]
    row = next(r for r in rows if "cache" in r["text"])
    assert row["text"] == "The cache is slow on the first request only"
    assert row["confidence"] > 0.9
    assert row["evidence"][0]["quote"] == "The cache is slow"
    _weak(house, "the cache is slow!", "e", 0.95)
    texts = [m.text for m in read_book(house.memory).active if "cache" in m.text]
    assert texts == ["The cache is slow on the first request only"]


def test_a_rejected_fact_never_comes_back_in_other_words_or_from_another_extractor(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "The cache of the price service is slow after a deploy"
    first = house.candidate(said, session="c", category="project", confidence=0.45)
    house.extract(first)
    house.dream()
    name = json.loads(_run(capsys, house, "review", "--json"))["id"]
    assert "Rejected: 1" in _run(capsys, house, "review", "reject", name)
    again = msgspec.structs.replace(
        first,
        id="f" * 16,
        text="After a deploy the price service has a slow cache",
        extractor="test/2",
        confidence=0.95,
    )
    house.extract(
        again,
        house.candidate(f"{said}!", session="d", category="project"),
        house.candidate(
            "the cache of the price service is very slow after each deploy", session="e", category="project"
        ),
        house.candidate("The price service cache is slow after a deploy", session="f", category="project"),
    )
    house.dream()
    assert not [m for m in read_book(house.memory).memories.values() if "price service" in m.text]
    house.extract(house.candidate("The cache of the price service holds 500 entries", session="g", category="project"))
    house.dream()
    assert "holds 500 entries" in house.read("MEMORY.md")


def test_export_prints_a_section_or_one_json_object(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(capsys, house, "export").splitlines()[-2:] == ["- We use bun", "<!-- slowwave memory: end -->"]
    whole = json.loads(_run(capsys, house, "export", "--format", "json"))
    assert [m["text"] for m in whole["memories"]] == ["We use bun"]
    assert {
        m["status"] for m in json.loads(_run(capsys, house, "export", "--format", "json", "--all"))["memories"]
    } == {
        "active",
        "superseded",
    }
    assert "--format agents" in _run(capsys, house, "export", "--format", "json", "--into", "x", code=2)


def test_context_gives_what_is_worth_most_within_so_many_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house = House(tmp_path)
    words = [f"{a}{b}" for a in "bcdfghjklmnp" for b in ("ara", "emi", "ido", "ulo")]
    house.extract(
        house.candidate("Never push on a Friday", session="a", category="constraint"),
        *(house.candidate(f"Module {w} is old", session=w, category="project", confidence=0.7) for w in words),
    )
    house.dream()
    whole = _run(capsys, house, "context").splitlines()
    assert sum(line.startswith("- ") for line in whole) == 1 + len(words)
    assert whole[:2] == ["## Working here", "- Never push on a Friday"]
    shown = json.loads(_run(capsys, house, "context", "--tokens", "100", "--json"))
    assert (shown["memories"], shown["lines"][1]) == (1 + len(words), "- Never push on a Friday")
    assert 200 < len("\n".join(shown["lines"])) <= 300


def test_why_names_a_row_of_a_database_and_not_a_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = House(tmp_path)
    database = house.folder / "opencode.db"
    house.folder.mkdir(parents=True)
    data = '{"type":"text","text":"Use pnpm for installs"}'
    with sqlite3.connect(database) as rows:
        rows.execute("CREATE TABLE part (id TEXT PRIMARY KEY, data TEXT)")
        rows.execute("INSERT INTO part VALUES ('prt_1', ?)", (data,))
    candidate = house.candidate("Use pnpm for installs")
    piece = Evidence(
        str(database), "part/prt_1", 0, len(data), hashlib.sha256(data.encode()).hexdigest(), "Use pnpm for installs"
    )
    house.extract(msgspec.structs.replace(candidate, evidence=(piece,)))
    house.dream()
    why = _run(capsys, house, "why", _run(capsys, house, "list").splitlines()[1].split()[0])
    assert f"ok       {database} row part/prt_1" in why
    assert "at byte" not in why
    assert "it says there: Use pnpm for installs" in why


def test_an_edited_fact_holds_no_secret(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    _weak(house, "The cache is slow", "c")
    name = json.loads(_run(capsys, house, "review", "--json"))["id"]
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    _run(capsys, house, "review", "edit", name, f"The cache is slow without {secret}")
    assert "- The cache is slow without [secret:" in house.read("MEMORY.md")
    assert secret.encode() not in b"".join(p.read_bytes() for p in house.memory.rglob("*") if p.is_file())


def test_a_fact_that_a_dream_took_meanwhile_is_said_to_be_gone(house: House) -> None:
    _weak(house, "The cache is slow", "c")
    settings = ConsolidationSettings()
    (waiting,) = inbox(house.memory, (), settings, house.clock.now())
    accept_fact(house.memory, waiting, settings, house.clock.now())
    with pytest.raises(MovedError, match="is no longer waiting"):
        accept_fact(house.memory, waiting, settings, house.clock.now())


def test_words_behind_an_option_belong_to_the_text_and_others_are_refused(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    _weak(house, "The cache is slow", "c")
    name = json.loads(_run(capsys, house, "review", "--json"))["id"]
    _run(capsys, house, "review", "edit", name, "--json", "The cache", "is cold")
    assert "- The cache is cold\n" in house.read("MEMORY.md")
    with pytest.raises(SystemExit):
        main(["memory", "list", "--memory", str(house.memory), "surplus"])
    assert "too many words: surplus" in capsys.readouterr().err


def _id_of(house: House, text: str) -> str:
    return next(m.id for m in read_book(house.memory).active if m.text == text)


@pytest.mark.parametrize("word", ["drop", "remove", "delete"])
def test_drop_takes_one_memory_out_at_once_for_good_and_undo_brings_it_back(
    house: House, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    house.extract(house.candidate("Never push on a Friday", session="c"))
    house.dream()
    before = visible_files(house.memory)
    name = _id_of(house, "We use bun")
    told = _run(capsys, house, word, name[:6])
    assert "Dropped: We use bun" in told
    assert "We use bun" not in house.read("MEMORY.md")
    assert "Never push on a Friday" in house.read("MEMORY.md")
    assert "We use bun" not in _run(capsys, house, "list")
    assert "We use bun" not in _run(capsys, house, "context")
    assert "is over already" in _run(capsys, house, "drop", name, code=3)
    # from another session, in other words, and with the evidence that it had
    house.extract(house.candidate("we use bun.", session="d", confidence=0.99))
    house.dream()
    assert [m.text for m in read_book(house.memory).active] == ["Never push on a Friday"]
    dream = re.findall(r"memory undo (\S+)", told)[0]
    assert f"Taken back: {dream}" in _run(capsys, house, "undo", dream, "--yes")
    assert visible_files(house.memory)["MEMORY.md"] == before["MEMORY.md"]
    assert _id_of(house, "We use bun") == name


def _gone(house: House, text: str) -> str:
    return next(event.memory for event in read_ledger(house.memory) if event.text == text)


@pytest.mark.parametrize(
    ("by", "doubt", "said"),
    [
        ("offline/9:said", "", "typed in the session"),
        ("offline/9:choice", "", "chosen in a dialog of the session"),
        ("offline/9:said", PASTED, "pasted in the session, as it seems"),
        ("model/9:small", "", "typed, pasted or chosen in the session"),
    ],
)
def test_why_says_how_it_was_said(
    house: House, capsys: pytest.CaptureFixture[str], by: str, doubt: str, said: str
) -> None:
    note = msgspec.structs.replace(house.candidate("Use tabs", session="c"), extractor=by, doubt=doubt)
    house.extract(note)
    house.dream()
    args = ("review", "--memory", str(house.memory))
    if doubt:
        assert main([args[0], "show", note.id, *args[1:]]) == 0
        assert f"claude c  {said}\n" in capsys.readouterr().out
        assert main([args[0], "accept", note.id, *args[1:]]) == 0
        capsys.readouterr()
    assert f"claude c  {said}\n" in _run(capsys, house, "why", _id_of(house, "Use tabs"))


def test_why_shows_what_the_agent_had_said_before_as_review_does(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    doubted = msgspec.structs.replace(house.candidate("Use tabs", session="c"), doubt=PASTED)
    house.extract(doubted)
    house.dream()
    path = Path(doubted.evidence[0].path)
    asked = {"role": "assistant", "content": [{"type": "text", "text": "Tabs or spaces? My token is sk-no"}]}
    path.write_bytes(json.dumps({"type": "assistant", "message": asked}).encode() + b"\n" + path.read_bytes())
    args = ("--memory", str(house.memory))
    assert main(["review", "show", doubted.id, *args]) == 0
    (line,) = [one.strip() for one in capsys.readouterr().out.splitlines() if "the agent said: Tabs" in one]
    assert main(["review", "accept", doubted.id, *args]) == 0
    capsys.readouterr()
    told = _run(capsys, house, "why", _id_of(house, "Use tabs"))
    assert [one.strip() for one in told.splitlines() if "the agent said:" in one] == [line]
    assert line.startswith("before that the agent said: ")
    assert told.index(line) < told.index("           it says there: Use tabs")


def test_why_tells_each_decision_in_order_also_what_was_taken_back_and_brought_back(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _id_of(house, "We use bun")
    (night,) = read_book(house.memory).dreams
    (drop,) = re.findall(r"memory undo (\S+)", _run(capsys, house, "drop", name))
    for words in ((drop,), (drop, "--again"), (drop,), (night,), (night, "--again"), (night,)):
        _run(capsys, house, "undo", *words)
    told = _run(capsys, house, "why", name)
    assert "taken back, true from" in told
    assert re.findall(r"^  \S+ \S+  (.*? \(\S+\))", told.partition("What happened to it:\n")[2], re.MULTILINE) == [
        f"new ({night})",
        f"takes the place of {_gone(house, 'We use npm')}, which said: We use npm ({night})",
        *(f"{what} ({drop})" for what in ("dropped by you", "taken back", "brought back", "taken back")),
        *(f"{what} ({night})" for what in ("taken back", "brought back", "taken back")),
    ]
    row = json.loads(_run(capsys, house, "why", name, "--json"))
    assert (row["status"], [event["event"] for event in row["events"]][-3:]) == ("taken-back", ["undo"] * 3)


def test_what_a_person_took_out_stays_out_when_the_night_that_learnt_it_is_taken_back(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = _id_of(house, "We use bun")
    house.extract(house.candidate("Never push on a Friday", session="c"), house.candidate("Use tabs", session="c"))
    (night,) = house.dream().dream_ids
    _run(capsys, house, "drop", _id_of(house, "Never push on a Friday"), earlier)
    told = _run(capsys, house, "undo", night, "--yes")
    assert "it stays dropped: Never push on a Friday" in told
    assert f"it is there again: We use bun (slowwave memory drop {earlier})" in told
    house.extract(
        house.candidate("never push on a Friday.", session="d", confidence=0.99),
        house.candidate("use tabs.", session="d"),
    )
    house.dream()
    assert sorted(m.text for m in read_book(house.memory).active) == ["We use bun", "use tabs."]


def test_what_was_dropped_is_not_read_out_of_the_same_bytes_in_other_words(house: House) -> None:
    gone = next(m for m in read_book(house.memory).active if m.text == "We use bun")
    drop_memories(house.memory, {gone.id}, ConsolidationSettings(), house.clock.now())
    again = house.candidate("The package manager we use is bun", session="e")
    house.extract(msgspec.structs.replace(again, evidence=gone.evidence))
    house.dream()
    assert read_book(house.memory).active == []


def test_drop_names_what_it_cannot_find_and_changes_nothing(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = visible_files(house.memory)
    name = _id_of(house, "We use bun")
    assert "no memory is called 'zz'; slowwave memory list" in _run(capsys, house, "drop", name, "zz", code=3)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "a person decides" in _run(capsys, house, "drop", name, code=4)
    assert visible_files(house.memory) == before


def test_drop_leaves_a_line_that_is_a_persons_and_says_where_it_is(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _id_of(house, "We use bun")
    index = house.memory / "MEMORY.md"
    index.write_text(house.read("MEMORY.md").replace("We use bun", "We use bun here"))
    assert "it is yours: delete it in MEMORY.md" in _run(capsys, house, "drop", name, code=4)
    assert "We use bun here" in house.read("MEMORY.md")


def test_what_looks_like_a_way_to_take_a_memory_out_names_the_right_one(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _id_of(house, "We use bun")
    right = f"slowwave memory drop {name}"
    assert right in _run(capsys, house, "undo", name, code=3)
    assert right in _run(capsys, house, "review", "reject", name, code=3)
    assert right in _run(capsys, house, "why", name)
    assert right in _run(capsys, house, "show", name)
    assert main(["memory", "forget", "use", "bun"]) == 2
    assert "slowwave memory drop ID" in capsys.readouterr().err


def test_a_line_that_was_taken_out_or_reworded_by_hand_is_said_to_be_so_at_once(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.extract(house.candidate("Never push on a Friday", session="c"))
    house.dream()
    bun, friday = _id_of(house, "We use bun"), _id_of(house, "Never push on a Friday")
    assert "by_hand" not in _run(capsys, house, "list", "--json")
    index = house.memory / "MEMORY.md"
    index.write_text(house.read("MEMORY.md").replace("- We use bun\n", "").replace("on a Friday", "on any Friday"))
    out, reworded = "its line was deleted from MEMORY.md; the next dream drops it", "was reworded; the next night"
    for action in (("list",), ("show", bun), ("why", bun), ("list", "--json"), ("show", bun, "--json")):
        assert out in _run(capsys, house, *action), action
    assert reworded in _run(capsys, house, "why", friday)
    assert "We use bun" not in _run(capsys, house, "context")
    assert "We use bun" not in _run(capsys, house, "export")
    # who does not want to wait for the night ends it now
    assert "Dropped: We use bun" in _run(capsys, house, "drop", bun)
    assert "We use bun" not in _run(capsys, house, "list")
    shown = _run(capsys, house, "show", bun)
    assert "dropped by you" in shown
    assert "MEMORY.md" not in shown


def test_the_list_says_what_was_taken_back_and_how_to_have_it_again(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    (dream,) = read_book(house.memory).dreams
    _run(capsys, house, "undo", dream)
    told = _run(capsys, house, "list")
    assert f"you took 1 memory back (slowwave nights show {dream})" in told
    assert "--force" not in told
    house.dream()
    assert read_book(house.memory).active == []
    house.extract(house.candidate("We use bun", session="later", key="pref:pm", value="bun"))
    house.dream()
    assert [m.text for m in read_book(house.memory).active] == ["We use bun"]
    assert "you took" not in _run(capsys, house, "list")


def test_the_list_says_that_what_was_accepted_and_taken_back_waits(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    _weak(house, "Never push on a Friday", "c")
    house.dream()
    ask = json.loads(_run(capsys, house, "review", "--json"))["id"]
    _run(capsys, house, "review", "accept", ask)
    _run(capsys, house, "undo", read_book(house.memory).dreams[-1])
    assert f"it waits in slowwave review --memory {house.memory} again" in _run(capsys, house, "list")
    assert "Never push on a Friday" in _run(capsys, house, "review", "list", "--all")


def test_what_was_dropped_leaves_the_files_that_agents_read(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # refresh brings every file of a folder up to date; what it finds there when it is called is what agents get
    given: list[list[str]] = []

    def refresh(memory: Path, *_: object) -> list[Item]:
        given.append([m.text for m in read_book(memory).own])
        return [Item("AGENTS.md", REFUSED, "somebody changed the section", "-p")]

    monkeypatch.setattr(review, "refresh", refresh)
    assert main(["memory", "drop", "--memory", str(house.memory), _id_of(house, "We use bun")]) == 0
    assert given == [[]]
    assert "not delivered: AGENTS.md: somebody changed the section" in capsys.readouterr().err


def test_one_decision_of_a_night_alone_is_taken_back_as_its_screen_says(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = MemoryFolder("-p", house.memory, (house.folder,))
    (one,) = remembered([folder])[0]
    options = " --store X"
    told = "\n".join(one_alone(one.dreams[0], options))
    assert f"  one memory alone: slowwave memory drop ID{options}" in told
    house.extract(house.candidate("We use pnpm", session="c", key="pref:pm", value="pnpm", at="2026-11-03T00:00:00Z"))
    house.extract(house.candidate("Use tabs", session="d"))
    house.dream()
    told = "\n".join(one_alone(remembered([folder])[0][0].dreams[-1], options))
    index = house.memory / "MEMORY.md"
    assert f"  what it replaced or dropped stands again once you write the line into {index}: it is yours then" in told
    _run(capsys, house, "drop", _id_of(house, "We use pnpm"))
    index.write_text(f"{index.read_text()}- We use bun\n")
    house.extract(house.candidate("Answer in English", session="e"))
    house.dream()
    lines = index.read_text().splitlines()
    assert {"- We use bun", "- Use tabs", "- Answer in English"} <= set(lines)
    assert "- We use pnpm" not in lines


def test_why_tells_the_call_beside_its_answer_and_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tmp_path)
    answer = "error: unrecognized subcommand 'test'\n" + "\n".join(f"usage, line {n}" for n in range(9))
    text = "`acme test` fails (error: unrecognized subcommand 'test'); `acme check` works"
    candidate = house.candidate(text, session="s1", category="pattern", origin="command_outcome")
    pieces: list[Evidence] = []
    for name, said in (("call", "acme test 2>&1"), ("a1", answer), ("a2", answer), ("cure", "acme check")):
        seen = house.candidate(said, session=name).evidence[0]
        pieces.append(msgspec.structs.replace(seen, quote="error: unrecognized subcommand 'test'"))
    house.extract(msgspec.structs.replace(candidate, evidence=tuple(pieces)))
    house.dream()
    why = _run(capsys, house, "why", _run(capsys, house, "list").splitlines()[1].split()[0])
    assert "it says there: acme test 2>&1" in why
    assert "it says there: acme check" in why
    # a pipe is not cut
    assert (why.count("  usage, line 8"), "as above" in why, "more line" in why) == (1, False, False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "  (and 4 more lines)" in _run(capsys, house, "why", read_book(house.memory).active[0].id)
    assert "commands showed it" in why
    assert "command_outcome" not in why


def test_context_is_that_of_the_project_that_one_is_in(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        root = tmp_path / f"p{number:02}"
        (root / "src").mkdir(parents=True)
        folder = own_home / ".claude" / "projects" / str(root).replace("/", "-")
        (folder / "memory").mkdir(parents=True)
        message = {"role": "user", "content": "hi"}
        line = {"type": "user", "sessionId": f"s{number}", "uuid": "u", "cwd": str(root), "message": message}
        (folder / f"s{number}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "p07" / "src")
    assert main(["memory", "context", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["project"].endswith("-p07")
    monkeypatch.chdir(tmp_path)
    assert main(["memory", "context"]) == 2
    said = capsys.readouterr().err
    assert "12 projects have a memory, and this folder is in none of them; choose one with --project: " in said
    assert said.endswith("-p07 and 4 more\n")


def test_why_says_what_a_call_gave_back_and_why_evidence_has_no_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house = House(tmp_path)
    candidate = house.candidate("`acme check` works", session="s1", category="pattern", origin="command_outcome")
    pieces: list[Evidence] = []
    for name, said in (
        ("call", "acme check"),
        ("full", "1 2 3\nall is well\n"),
        ("empty", " "),
        ("gone", "acme check"),
    ):
        seen = house.candidate(said, session=name).evidence[0]
        pieces.append(msgspec.structs.replace(seen, quote="acme check"))
    house.extract(msgspec.structs.replace(candidate, evidence=tuple(pieces)))
    house.dream()
    Path(pieces[-1].path).unlink()
    why = _run(capsys, house, "why", read_book(house.memory).active[0].id)
    told = [line.strip() for line in why.splitlines() if line.startswith("           ") and line[11] != '"']
    assert told == [
        "it says there: acme check",
        "it printed, at the end: all is well",
        "its transcript is gone",
    ]


def test_why_tells_in_words_what_was_run_that_it_passed_and_what_came_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house = House(tmp_path)
    text = "Before a commit: `make lint`, `make test`"
    candidate = house.candidate(text, session="s1", category="pattern", origin="command_outcome", confidence=0.9)
    said = "Lint and test before you commit"
    ran = ("make lint", " ", "make test", "3 passed\nin 2 s", "git commit -m x", "1 file changed")
    path = house.session("run", *ran, said)
    shown = ("`make lint` passed", "", "`make test` passed", "", "`git commit` worked", "", "")
    pieces: list[Evidence] = []
    offset = 0
    for line, shows in zip(path.read_bytes().splitlines(), shown, strict=True):
        digest = hashlib.sha256(line).hexdigest()
        quote = said if said in line.decode() else "make lint; make test"
        pieces.append(Evidence(str(path), "", offset, len(line), digest, quote, shows))
        offset += len(line) + 1
    house.extract(msgspec.structs.replace(candidate, evidence=tuple(pieces)))
    house.dream()
    why = _run(capsys, house, "why", read_book(house.memory).active[0].id).splitlines()
    at = why.index(f"  ok       {path}")
    places = [piece.offset for piece in pieces[:-1:2]]
    assert why[at + 1 : at + 6] == [
        f"           at byte {places[0]}: `make lint` passed",
        f"           at byte {places[1]}: then `make test` passed",
        "           it printed, at the end: in 2 s",
        f"           at byte {places[2]}: then `git commit` worked",
        "           it printed, at the end: 1 file changed",
    ]
    # what somebody said in the same session is no answer to the last call
    assert why[at + 6 : at + 8] == [f"  ok       {path} at byte {pieces[-1].offset}", f'           "{said}"']
    assert why[at + 9] == "What happened to it:"
    assert why[1].startswith("  believed, true from ")
    # what happened is told in the same numbers as what it is worth
    assert re.search(r"  new \(d\S+\): from 1 session; 90 in 100 facts like it are worth keeping", "\n".join(why))
    source = sources_of(pieces, [house.folder], 3, NAMELESS)[-1]
    assert source.around == "`make lint` passed; then `make test` passed; then `git commit` worked"


def test_why_shows_beside_what_failed_the_words_that_the_memory_quotes_and_as_many_places_as_it_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house = House(tmp_path)
    cause = "error: unrecognized subcommand 'acme'"
    text = f"`rtk acme test` fails ({cause}); `acme test` works"
    candidate = house.candidate(text, session="s1", category="pattern", origin="command_outcome", confidence=0.9)
    pieces: list[Evidence] = []
    for session in ("one", "two"):
        path = house.session(session, "rtk acme test", f"{cause}\n\nUsage: rtk COMMAND", "acme test", "9 passed")
        offset = 0
        shown = ("`rtk acme test` failed", "", "`acme test` in `src` passed", "")
        for line, shows in zip(path.read_bytes().splitlines(), shown, strict=True):
            pieces.append(Evidence(str(path), "", offset, len(line), hashlib.sha256(line).hexdigest(), cause, shows))
            offset += len(line) + 1
    house.extract(msgspec.structs.replace(candidate, evidence=tuple(pieces)))
    house.dream()
    name = read_book(house.memory).active[0].id
    why = _run(capsys, house, "why", name).splitlines()
    assert "Evidence at 4 places, read again just now:" in why
    for first in (0, 4):
        at = why.index(f"  ok       {pieces[first].path}")
        assert why[at + 1 : at + 4] == [
            f"           at byte {pieces[first].offset}: `rtk acme test` failed",
            f"           it printed: {cause}",
            f"           at byte {pieces[first + 2].offset}: then `acme test` in `src` passed",
        ]
    assert sum("at byte" in line for line in why) == 4
    known = "evidence     4 places, a command with what it printed being one; slowwave memory why "
    assert known + name in _run(capsys, house, "show", name)


def test_why_names_a_place_also_where_its_words_stand_above(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = House(tmp_path)
    path = house.session("s1", "Use tabs", "Use tabs")
    one, other = path.read_bytes().splitlines()
    pieces = [
        Evidence(str(path), "", offset, len(line), hashlib.sha256(line).hexdigest(), "Use tabs")
        for offset, line in ((0, one), (len(one) + 1, other))
    ]
    house.extract(msgspec.structs.replace(house.candidate("Use tabs", session="s1"), evidence=tuple(pieces)))
    house.dream()
    name = read_book(house.memory).active[0].id
    why = _run(capsys, house, "why", name)
    assert f"           at byte {pieces[1].offset}: nothing that does not stand above\n" in why
    assert "Evidence at 2 places, read again" in why
    assert "evidence     2 places; slowwave memory why" in _run(capsys, house, "show", name)


def test_why_tells_the_end_of_what_codex_gives_back_in_json_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house = House(tmp_path)
    back = json.dumps({"output": "....\n4 passed in 0.09s\n", "metadata": {"exit_code": 0}})
    pieces: list[Evidence] = []
    offset, path = 0, house.session("rollout")
    for output, shows in (("", "`acme test` passed"), (back, "")):
        line = json.dumps({"type": "response_item", "payload": {"output": output}}).encode()
        pieces.append(Evidence(str(path), "", offset, len(line), hashlib.sha256(line).hexdigest(), "acme test", shows))
        with path.open("ab") as file:
            offset += file.write(line + b"\n")
    house.extract(msgspec.structs.replace(house.candidate("`acme test` works"), evidence=tuple(pieces)))
    house.dream()
    why = _run(capsys, house, "why", read_book(house.memory).active[0].id)
    assert "           it printed, at the end: 4 passed in 0.09s\n" in why

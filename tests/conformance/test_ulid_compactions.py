"""S7.6, S7.11 and S7.13 to S7.18 of seed 002, of what the job appends to sessions of the specification.

``test_ulid_sessions`` holds them of the writer and the rules; here the raw records are looked at that a night leaves.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.compaction.summary import by_model
from tests.unit.compaction.job.talks import Talk, compacted, job
from tests.unit.compaction.job.test_narrative import Scripted

SECTIONS = (
    *("Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context"),
    *("Done", "In Progress", "Blocked"),
)


def records(talk: Talk) -> list[dict[str, Any]]:
    return [json.loads(line) for line in talk.path.read_bytes().splitlines()]


def compactions(talk: Talk) -> list[dict[str, Any]]:
    return [record for record in records(talk) if record["recordType"] == "compaction"]


def run_of(folder: Path, **fields: Any) -> Talk:
    """Return a session that was compacted twice."""
    talk = Talk(folder / "store", "ulid").grow(6)
    for _ in range(2):
        assert compacted(talk, job(folder, **fields)).counts["compacted"] == 1
        talk.grow(5)
    return talk


def of_calls(found: list[dict[str, Any]], *tools: str) -> list[str]:
    calls = (block for record in found for block in record.get("content", ()) if block["type"] == "toolCall")
    return [call["arguments"]["path"] for call in calls if call["name"] in tools]


def test_s7_6_a_night_appends_one_record_and_rewrites_nothing(tmp_path: Path) -> None:
    talk = Talk(tmp_path / "store", "ulid").grow(6)
    inode, before = talk.path.stat().st_ino, talk.path.read_bytes()
    compacted(talk, job(tmp_path))
    assert talk.path.stat().st_ino == inode
    appended = talk.path.read_bytes().removeprefix(before)
    assert [json.loads(line)["recordType"] for line in appended.splitlines()] == ["compaction"]


def test_s7_11_the_context_is_the_summary_and_what_stands_from_first_kept_on(tmp_path: Path) -> None:
    talk = run_of(tmp_path)
    last = compactions(talk)[-1]
    assert last["summary"] in talk.context()[0].text
    stays = [str(r["seq"]) for r in records(talk) if r["recordType"] == "message" and r["seq"] >= last["firstKeptSeq"]]
    assert [message.id for message in talk.context()][1:] == stays


def test_s7_13_no_kept_range_begins_behind_a_call_whose_result_it_holds(tmp_path: Path) -> None:
    talk = run_of(tmp_path)
    for done in compactions(talk):
        before = [r for r in records(talk) if r["recordType"] == "message" and r["seq"] < done["firstKeptSeq"]]
        after = [r for r in records(talk) if r["recordType"] == "message" and r["seq"] >= done["firstKeptSeq"]]
        called = {b["id"] for r in before for b in r["content"] if b["type"] == "toolCall"}
        assert called.isdisjoint(r.get("toolCallId") for r in after)
        assert after[0]["role"] != "toolResult"


@pytest.mark.parametrize("number", [0, 1])
def test_s7_14_the_summary_has_the_sections_in_their_order(tmp_path: Path, number: int) -> None:
    summary = compactions(run_of(tmp_path))[number]["summary"]
    headings = [line.lstrip("# ") for line in summary.splitlines() if line.startswith("#")]
    assert sorted(headings) == sorted(SECTIONS)
    assert [name for name in headings if name in SECTIONS[:6]] == list(SECTIONS[:6])


def test_s7_15_the_second_record_lists_the_files_of_the_first(tmp_path: Path) -> None:
    first, second = compactions(run_of(tmp_path))
    for name in ("readFiles", "modifiedFiles"):
        assert first[name]
        assert set(first[name]) < set(second[name])


def test_s7_16_a_file_that_was_read_and_changed_is_listed_as_changed_only(tmp_path: Path) -> None:
    talk = Talk(tmp_path / "store", "ulid").grow(6)
    data = talk.path.read_bytes().replace(b"docs/step2.md", b"src/step1.py")  # read a turn after it was written
    talk.path.write_bytes(data)
    talk.rest()
    compacted(talk, job(tmp_path))
    (done,) = compactions(talk)
    gone = [r for r in records(talk) if r["recordType"] == "message" and r["seq"] < done["firstKeptSeq"]]
    assert "src/step1.py" in of_calls(gone, "read")
    assert set(done["modifiedFiles"]) == set(of_calls(gone, "write"))
    assert set(done["readFiles"]) == set(of_calls(gone, "read")) - {"src/step1.py"}


def test_s7_17_the_second_time_a_model_is_asked_to_update_what_the_first_said(tmp_path: Path) -> None:
    model = Scripted("## Goal\nThe SHOP is to be rebuilt.")
    run_of(tmp_path, summarise=by_model(model))
    first, second = (ask.user for ask in (model.asked[0], model.asked[-1]))
    assert "<previous-summary>" not in first
    assert "The SHOP is to be rebuilt." in second.partition("<previous-summary>")[2]


def test_s7_18_a_model_is_shown_flat_text(tmp_path: Path) -> None:
    model = Scripted("## Goal\nThe SHOP is to be rebuilt.")
    run_of(tmp_path, summarise=by_model(model))
    shown = model.asked[0].user
    assert "\n[Assistant]: step 1 begins\n[Assistant tool calls]: write(path=" in shown
    assert "\n[Tool result]: rrr" in shown
    assert '"role"' not in shown

"""The dream of one project from gates to commit."""

import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from slowwave.consolidation.gates import render_state
from slowwave.consolidation.inbox import accept, accept_fact, drop_memories, inbox, parked_dreams, reject, reject_facts
from slowwave.consolidation.lock import held
from slowwave.consolidation.model import Gathered, Operation, State
from slowwave.errors import CorruptStateError, MovedError, NotFoundError, RefusedError, UnreadableError
from slowwave.memory import ExtractedRange
from slowwave.memory.book import read_book
from slowwave.memory.candidates import write_extraction
from slowwave.memory.folder import LOCK_FILE, STATE_FILE, visible_files
from slowwave.memory.undo import undo
from slowwave.settings import ConsolidationSettings
from tests.unit.consolidation.dreams import House

WORDS = ("alpha", "beta", "gamma", "delta", "kappa")


def _everything(house: House) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(house.memory.rglob("*")) if p.is_file()}


def _house(tmp_path: Path, number: int = 5) -> House:
    house = House(tmp_path)
    facts = [house.candidate(f"Fact {w} of the house", session=w, category="project") for w in WORDS[:number]]
    house.extract(*facts)
    return house


def test_gates_are_asked_in_order_and_say_why(tmp_path: Path) -> None:
    house = _house(tmp_path, 4)
    report = house.dream(force=False)
    assert [(g.gate, g.passed) for g in report.gates] == [("time", True), ("sessions", False)]
    few = "4 sessions: a first dream comes with 5"
    when = "the oldest: 0.7 days, so from 2026-11-26 10:00 UTC on"
    assert report.gates[1].reason == f"{few}, or once something noted here is a week old ({when})"
    house.session("e", "one more")
    report = house.dream(force=False)
    assert [(g.gate, g.passed) for g in report.gates] == [("time", True), ("sessions", True), ("lock", True)]
    assert report.dream_ids
    house.clock.advance(hours=19)
    report = house.dream(force=False)
    assert [(g.gate, g.passed) for g in report.gates] == [("time", False)]
    assert report.gates[0].reason.startswith(
        "not before 2026-11-20 23:30 UTC: a project dreams at most every 20 hours, "
    )
    assert report.gates[0].reason.endswith("and nothing new was noted since the last dream (2026-11-20 03:30 UTC)")
    late = house.candidate("Fact delta of the house", session="f", category="project")
    read = ExtractedRange(late.session, 0, 1, "", "test/1", "2026-11-20T22:00:00Z")
    write_extraction(house.memory, [([late], [read])], house.clock.now())
    (gate,) = house.dream(force=False).gates
    assert gate.reason.startswith("not before 2026-11-20 23:30 UTC: a project dreams at most every 20 hours (")
    # a night that comes to the project sooner than the one before
    house.clock.advance(hours=4, minutes=50)
    assert house.dream(force=False).gates[0].passed


def test_a_candidate_that_waits_for_a_week_needs_no_further_sessions(tmp_path: Path) -> None:
    house = _house(tmp_path, 3)
    house.clock.advance(days=6)
    assert not house.dream(force=False).dream_ids
    house.clock.advance(days=1)
    report = house.dream(force=False)
    assert len(report.dream_ids) == 1
    few = "3 sessions: a first dream comes with 5"
    assert report.gates[1].reason == f"{few}, or once something noted here is a week old (the oldest: 7.7 days)"
    # what that dream has looked at waits for nothing
    before = _everything(house)
    house.clock.advance(days=30)
    report = house.dream(force=False)
    assert (report.gates[-1].passed, report.gates[-1].reason) == (False, "nothing new since the last dream")
    house.session("later", "thanks")
    (reason,) = (gate.reason for gate in house.dream(force=False).gates if not gate.passed)
    assert reason == "1 session changed since the last dream, and nothing new was noted"
    assert _everything(house) == before


def test_what_waits_for_a_week_still_waits_for_the_time_gate_and_the_lock(tmp_path: Path) -> None:
    house = _house(tmp_path, 3)
    house.clock.advance(days=8)
    (house.memory / STATE_FILE).write_bytes(render_state(int(house.clock.now().timestamp()) - 3600))
    assert [(g.gate, g.passed) for g in house.dream(force=False).gates] == [("time", False)]
    (house.memory / STATE_FILE).unlink()
    with held(house.memory, timedelta(hours=1)):
        assert [(g.gate, g.passed) for g in house.dream(force=False).gates][1:] == [("sessions", True), ("lock", False)]


def test_what_a_dream_let_wait_for_more_evidence_opens_no_gate(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("Fact of the house", category="project", confidence=0.3))
    for days, gates in ((8, 3), (8, 2)):
        house.clock.advance(days=days)
        report = house.dream(force=False)
        assert (len(report.gates), report.dream_ids) == (gates, [])


def test_a_candidate_noted_late_is_looked_at_once_although_no_session_has_changed(tmp_path: Path) -> None:
    house = _house(tmp_path)
    house.dream()
    house.clock.advance(days=8)
    late = house.candidate("Fact of the house", category="project", confidence=0.3)
    os.utime(late.session.path, (0, 0))
    write_extraction(
        house.memory,
        [([late], [ExtractedRange(late.session, 0, 1, "", "test/1", "2026-11-28T03:00:00Z")])],
        house.clock.now(),
    )
    for gates in (3, 2):
        assert len(house.dream(force=False).gates) == gates
        house.clock.advance(days=2)


def test_a_second_dream_changes_nothing_and_says_so(tmp_path: Path) -> None:
    house = _house(tmp_path)
    house.dream()
    before = _everything(house)
    house.clock.advance(days=2)
    report = house.dream()
    assert _everything(house) == before
    assert not report.dream_ids
    assert "nothing to do" in report.items[-1].reason


def test_sessions_without_anything_new_are_looked_at_once(tmp_path: Path) -> None:
    house = _house(tmp_path)
    house.dream()
    house.clock.advance(days=2)
    for name in "vwxyz":
        house.session(name, "small talk")
    house.dream(force=False)
    assert house.read(STATE_FILE).encode() == render_state(int(house.clock.now().timestamp()))
    house.clock.advance(days=2)
    assert not house.dream(force=False).gates[-1].passed


def test_the_state_is_stamped_with_the_start_of_the_scan(tmp_path: Path) -> None:
    house = _house(tmp_path)
    start = int(house.clock.now().timestamp())

    def slow(state: State, gathered: Gathered, settings: ConsolidationSettings) -> Sequence[Operation]:
        from slowwave.consolidation.plan import offline  # noqa: PLC0415 - only here

        house.clock.advance(minutes=30)
        return offline(state, gathered, settings)

    house.dream(planner=slow)
    assert house.read(STATE_FILE).encode() == render_state(start)


@pytest.mark.parametrize("how", ["accept", "drop", "reject"])
def test_what_a_person_decides_moves_no_clock(tmp_path: Path, how: str) -> None:
    house = _house(tmp_path)
    house.extract(house.candidate("Never rename a table", confidence=0.5))
    house.dream()
    before = house.read(STATE_FILE)
    house.clock.advance(hours=5)
    settings, now = ConsolidationSettings(), house.clock.now()
    if how == "drop":
        drop_memories(house.memory, {read_book(house.memory).active[0].id}, settings, now)
    else:
        waiting = inbox(house.memory, (house.folder,), settings, now)
        if how == "accept":
            accept_fact(house.memory, waiting[0], settings, now)
        else:
            reject_facts(house.memory, waiting, now)
    assert house.read(STATE_FILE) == before


def test_an_accepted_dream_is_of_the_time_that_it_was_planned_at(tmp_path: Path) -> None:
    house = _house(tmp_path)
    (parked,) = house.dream(mode="review").parked
    planned = int(house.clock.now().timestamp())
    house.clock.advance(hours=5)
    accept(house.memory, parked, ConsolidationSettings(), house.clock.now())
    assert house.read(STATE_FILE).encode() == render_state(planned)


def test_a_dry_run_shows_the_plan_and_changes_nothing(tmp_path: Path) -> None:
    house = _house(tmp_path)
    before = _everything(house)
    planned = house.dream(dry_run=True)
    assert _everything(house) == before
    assert planned.items == house.dream().items


def test_a_project_without_anything_extracted_is_left_alone(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.session("a", "hello")
    report = house.dream()
    assert not house.memory.exists()
    assert "nothing to do" in report.items[0].reason


def test_a_corrupt_state_stops_the_dream(tmp_path: Path) -> None:
    house = _house(tmp_path)
    stamps = ('"x"', "true", "-1", "1795145400000", "9999999999999999999")
    for content in ("", "{", "[]", "{}", *(f'{{"last_consolidated_at": {stamp}}}' for stamp in stamps)):
        (house.memory / STATE_FILE).write_text(content)
        before = _everything(house)
        with pytest.raises(CorruptStateError, match="repair or remove it"):
            house.dream(force=False)
        with pytest.raises(CorruptStateError, match="repair or remove it"):
            house.dream()
        assert _everything(house) == before


def test_a_corrupt_ledger_stops_the_dream(tmp_path: Path) -> None:
    house = _house(tmp_path)
    house.dream()
    ledger = house.memory / ".slowwave" / "ledger.jsonl"
    whole = ledger.read_bytes()
    for content, says in ((whole[:-9], "line 7"), (b'{"v":2,"event":"x"}\n', "newer slowwave")):
        ledger.write_bytes(content)
        with pytest.raises(CorruptStateError, match=says):
            house.dream()
        assert not (house.memory / LOCK_FILE).exists()


def test_a_link_in_place_of_a_file_is_never_replaced(tmp_path: Path) -> None:
    house = _house(tmp_path)
    index = house.memory / "MEMORY.md"
    (tmp_path / "notes.md").write_text("- mine\n")
    for target in (tmp_path / "notes.md", tmp_path / "nowhere.md"):
        index.unlink(missing_ok=True)
        index.symlink_to(target)
        before = _everything(house)
        with pytest.raises(RefusedError, match=r"MEMORY\.md: is a link"):
            house.dream()
        assert _everything(house) == before
        assert index.readlink() == target
        assert not list(house.folder.glob(".slowwave-*"))


def test_a_folder_in_place_of_a_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    house = _house(tmp_path)
    for name in (STATE_FILE, "MEMORY.md", LOCK_FILE):
        (house.memory / name).mkdir()
        with pytest.raises(UnreadableError, match=rf"{name}: is a folder where .* expected; (move it away|remove it)"):
            house.dream()
        (house.memory / name).rmdir()
    assert house.dream().dream_ids


def test_a_file_in_place_of_the_memory_folder_is_named(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.session("a", "hello")
    house.memory.write_text("no folder")
    with pytest.raises(UnreadableError, match="is a file where a memory folder is expected"):
        house.dream()


def test_a_clock_that_ran_backwards_closes_the_time_gate(tmp_path: Path) -> None:
    house = _house(tmp_path)
    house.dream()
    house.clock.advance(days=-3)
    report = house.dream(force=False)
    assert not report.gates[0].passed
    assert "ran backwards" in report.gates[0].reason


def test_a_link_to_a_memory_folder_stays_a_link(tmp_path: Path) -> None:
    house = _house(tmp_path)
    house.memory.rename(tmp_path / "elsewhere")
    house.memory.symlink_to(tmp_path / "elsewhere")
    assert house.dream().dream_ids
    assert house.memory.is_symlink()
    assert "Fact alpha of the house" in (tmp_path / "elsewhere" / "MEMORY.md").read_text()


def test_files_that_a_dream_does_not_change_stay_the_same_files(tmp_path: Path) -> None:
    house = _house(tmp_path)
    (house.memory / "sub").mkdir()
    (house.memory / "sub" / "notes.md").write_text("mine")
    (house.memory / "link").symlink_to("sub/notes.md")
    inode = (house.memory / "sub" / "notes.md").stat().st_ino
    house.dream()
    assert (house.memory / "sub" / "notes.md").stat().st_ino == inode
    assert (house.memory / "link").read_text() == "mine"


def _drop_all(state: State, gathered: Gathered, _settings: ConsolidationSettings) -> Sequence[Operation]:
    dropped = [Operation("DROP", m.id, (), "not worth it") for m in state.standing]
    return dropped + [Operation("DROP", "", (c.id,), "not worth it") for c in gathered.waiting]


def test_a_dream_that_would_lose_too_much_is_parked_and_can_be_accepted(tmp_path: Path) -> None:
    house = _house(tmp_path)
    house.dream()
    house.clock.advance(days=1)
    before = visible_files(house.memory)
    report = house.dream(planner=_drop_all)
    assert not report.dream_ids
    assert visible_files(house.memory) == before
    assert "it would lose 5 of 5 memories (100%), more than 25%" in report.items[-1].reason
    everything = _everything(house)
    house.clock.advance(days=1)
    assert house.dream(planner=_drop_all).parked == report.parked
    assert _everything(house) == everything
    accept(house.memory, report.parked[0], ConsolidationSettings(), house.clock.now())
    assert read_book(house.memory).active == []
    assert parked_dreams(house.memory) == []
    undo(house.memory, read_book(house.memory).dreams[-1], house.clock.now())
    assert visible_files(house.memory) == before


def test_in_review_mode_every_dream_is_parked_and_a_rejected_one_never_comes_back(tmp_path: Path) -> None:
    house = _house(tmp_path)
    before = visible_files(house.memory)
    report = house.dream(mode="review")
    assert visible_files(house.memory) == before
    assert report.counts == {"parked": 5}
    assert len(reject(house.memory, report.parked[0], house.clock.now())) == 5
    assert "confidence" not in house.read("extracted.md")
    assert parked_dreams(house.memory) == []
    again = house.dream(mode="review")
    assert not again.parked
    with pytest.raises(NotFoundError, match="no parked dream"):
        reject(house.memory, report.parked[0], house.clock.now())


def test_a_parked_dream_that_no_longer_fits_is_not_applied(tmp_path: Path) -> None:
    house = _house(tmp_path)
    parked = house.dream(mode="review").parked[0]
    done = house.dream().dream_ids[0]
    with pytest.raises(NotFoundError):
        accept(house.memory, parked, ConsolidationSettings(), house.clock.now())
    house.extract(house.candidate("Fact omega of the house", session="z", category="project"))
    parked = house.dream(mode="review").parked[0]
    undo(house.memory, done, house.clock.now())
    with pytest.raises(MovedError, match="no longer fits"):
        accept(house.memory, parked, ConsolidationSettings(), house.clock.now())


def test_the_order_of_candidates_makes_no_difference(tmp_path: Path) -> None:
    files: list[dict[str, bytes]] = []
    for name, step in (("x", 1), ("y", -1)):
        house = House(tmp_path / name)
        (tmp_path / name).mkdir()
        facts = [
            house.candidate(f"Use {tool} for installs", session=tool, key="pref:pm", value=tool, at=f"2026-11-0{n}")
            for n, tool in enumerate(("npm", "pnpm", "bun"), 1)
        ]
        facts += [house.candidate(f"Fact {w} of the house", session=w, category="project") for w in WORDS]
        house.extract(*facts[::step])
        house.dream()
        files.append({n: d for n, d in visible_files(house.memory).items() if n.endswith(".md")})
    assert files[0] == files[1]

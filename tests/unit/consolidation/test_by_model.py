"""What a model may take out, change and end in a dream, what waits for a person, and that nothing is lost by it."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowwave.consolidation.inbox import Waiting, accept_fact, inbox
from slowwave.context import FixedClock
from slowwave.memory import DROPS, RETRACTS, Candidate, Replaces, candidate_id
from slowwave.memory.book import Memory, read_book
from slowwave.memory.undo import undo
from slowwave.settings import ConsolidationSettings
from tests.unit.consolidation.dreams import House
from tests.unit.consolidation.nights import Nights, said

LATER = "2026-11-20T10:00:00Z"
BYTES = ("MEMORY.md", "extracted.md", ".slowwave/candidates.jsonl")


def dropping(note: Candidate, why: str = "an order of the moment") -> Candidate:
    """What takes a note out, as the model's extraction writes it."""
    name = candidate_id(note.session, note.category, f"{DROPS} {note.id}", note.evidence)
    return msgspec.structs.replace(
        note, id=name, text=why, confidence=0.0, extractor="model/3:m", key=DROPS, value=note.id
    )


def with_replaces(candidate: Candidate, *replaced: tuple[str, Any], **more: Any) -> Candidate:
    return msgspec.structs.replace(
        candidate, extractor="model/3:m", replaces=tuple(Replaces(i, how) for i, how in replaced), **more
    )


def retiring(why: Candidate, *memories: Memory) -> Candidate:
    named = [(m.id, "retire") for m in memories]
    return with_replaces(why, *named, key=RETRACTS, value=memories[0].text)


def active(house: House) -> dict[str, Memory]:
    return {m.text: m for m in read_book(house.memory).active}


def waiting(house: House) -> list[Waiting]:
    return inbox(house.memory, (), ConsolidationSettings(), house.clock.now())


def texts(waiting: Sequence[Waiting]) -> set[str]:
    return {w.fact.lead.text for w in waiting}


def tomorrow(house: House) -> None:
    house.clock = FixedClock(house.clock.now() + timedelta(days=1))


def every_byte(memory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(memory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(memory.rglob("*"))
        if path.is_file() and (".slowwave" not in path.parts or path.name == "candidates.jsonl")
    }


def test_a_note_that_nobody_said_is_dropped_with_the_models_reason_and_undo_brings_everything_back(tmp_path: Path):
    house = House(tmp_path)
    note = house.candidate("The build is slow", category="project", origin="command_outcome")
    kept = house.candidate("Use npm for installs", session="s2")
    house.extract(note, kept, dropping(note))
    before = every_byte(house.memory)
    report = house.dream()
    assert set(active(house)) == {"Use npm for installs"}
    (item,) = (i for i in report.items if i.target == note.id)
    assert (item.action, item.reason) == ("drop", "the model: an order of the moment")
    assert "slow" not in house.read("MEMORY.md") + house.read("extracted.md")
    assert waiting(house) == []
    undo(house.memory, report.dream_ids[0], house.clock.now())
    assert every_byte(house.memory) == before


def test_what_a_person_said_waits_for_them_when_a_model_drops_it_night_after_night(tmp_path: Path):
    house = House(tmp_path)
    rule = house.candidate("Never push on Fridays", category="constraint")
    house.extract(rule, dropping(rule))
    # agents do not read it meanwhile
    assert not (house.memory / "extracted.md").exists()
    for _ in range(3):
        house.dream()
        tomorrow(house)
        assert [(w.fact.lead.text, w.reason) for w in waiting(house)] == [
            ("Never push on Fridays", "the model would drop it: an order of the moment")
        ]
        assert active(house) == {}
    (found,) = waiting(house)
    accept_fact(house.memory, found, ConsolidationSettings(), house.clock.now())
    assert set(active(house)) == {"Never push on Fridays"}
    assert waiting(house) == []
    assert house.dream().dream_ids == []


def test_twice_is_once(tmp_path: Path):
    house = House(tmp_path)
    note = house.candidate("The build is slow", category="project", origin="command_outcome")
    rule = house.candidate("Never push on Fridays", session="s2", category="constraint")
    house.extract(note, rule, dropping(note), dropping(rule))
    house.dream()
    before = every_byte(house.memory)
    tomorrow(house)
    assert house.dream().dream_ids == []
    assert every_byte(house.memory) == before


def test_a_drop_of_what_was_dreamt_already_does_nothing(tmp_path: Path):
    house = House(tmp_path)
    note = house.candidate("The build needs a lock", category="project", origin="command_outcome")
    house.extract(note)
    house.dream()
    before = house.read("MEMORY.md")
    house.extract(dropping(note))
    tomorrow(house)
    house.dream()
    assert set(active(house)) == {"The build needs a lock"}
    assert house.read("MEMORY.md") == before


def said_better(note: Candidate, text: str, **more: Any) -> Candidate:
    better = msgspec.structs.replace(note, text=text, id=candidate_id(note.session, note.category, text, note.evidence))
    return with_replaces(better, (note.id, "drop"), **more)


def test_what_is_said_better_takes_the_place_of_the_note(tmp_path: Path):
    house = House(tmp_path)
    note = house.candidate("never do that on Fridays", category="constraint")
    house.extract(note, said_better(note, "Never push to main on a Friday"))
    report = house.dream()
    assert set(active(house)) == {"Never push to main on a Friday"}
    (item,) = (i for i in report.items if i.target == note.id)
    assert item.reason == "the model says it better: Never push to main on a Friday"


@pytest.mark.parametrize(
    "more",
    [
        {"confidence": 0.45},  # nobody judged it
        {"doubt": "no words of the person show it"},
        {"origin": "assistant"},
        {"origin": "assistant", "category": "project"},
        {"evidence": "other"},  # words from another message
        {"text": "Push to main on any Friday"},  # the other way round
    ],
)
def test_what_waits_itself_or_is_not_theirs_replaces_no_word_of_a_person(tmp_path: Path, more: dict[str, Any]):
    house = House(tmp_path)
    note = house.candidate("Never push to main on Fridays", category="constraint")
    if more.get("evidence"):
        more = {"evidence": house.candidate("hello", session="s2").evidence}
    house.extract(note, said_better(note, **{"text": "Never ever push to main late in the week", **more}))
    house.dream()
    assert "Never push to main on Fridays" in active(house)


def remembered(house: House, *facts: Candidate) -> list[Memory]:
    house.extract(*facts)
    house.dream()
    tomorrow(house)
    return [active(house)[c.text] for c in facts]


def test_an_update_ends_the_memory_before_it_with_the_time(tmp_path: Path):
    house = House(tmp_path)
    facts = [house.candidate(f"Rule number {n} holds", session=f"a{n}", category="constraint") for n in range(4)]
    (old, *_) = remembered(house, *facts)
    new = house.candidate("Rule number zero is softer now", session="s9", category="constraint", at=LATER)
    house.extract(with_replaces(new, (old.id, "update")))
    report = house.dream()
    after = read_book(house.memory).memories[old.id]
    assert (after.status, after.held) == ("superseded", (("2026-11-19T10:00:00Z", LATER),))
    assert after.successor == active(house)["Rule number zero is softer now"].id
    assert "Rule number 0 holds" not in house.read("MEMORY.md")
    undo(house.memory, report.dream_ids[0], house.clock.now())
    assert read_book(house.memory).memories[old.id].status == "active"


@pytest.mark.parametrize("origin", ["user_explicit", "assistant", "command_outcome"])
def test_a_retirement_ends_what_nobody_said_also_beside_a_memory_of_the_same_words(tmp_path: Path, origin: Any):
    house = House(tmp_path)
    texts = ("Tests run in Docker", "Tests run in Docker on the old runner", "The port is 7", "The cache is in Oslo")
    facts = [
        house.candidate(t, session=f"a{n}", category="project", origin="command_outcome") for n, t in enumerate(texts)
    ]
    (old, *_) = remembered(house, *facts)
    over = house.candidate("It was given up", session="s9", category="project", origin=origin, at=LATER)
    house.extract(retiring(over, old))
    house.dream()
    assert set(active(house)) == set(texts[1:])
    after = read_book(house.memory).memories[old.id]
    assert (after.status, after.held[-1][1]) == ("superseded", LATER)
    assert "given up" not in house.read("MEMORY.md")
    tomorrow(house)
    assert house.dream().dream_ids == []
    # and so it stays whatever else comes in
    house.extract(house.candidate("Another fact", session="s10", category="project", at="2026-11-21T10:00:00Z"))
    house.dream()
    assert read_book(house.memory).memories[old.id].status == "superseded"


@pytest.mark.parametrize("how", ["update", "retire"])
def test_what_a_person_said_only_a_person_ends_by_words_or_by_accepting(tmp_path: Path, how: str):
    house = House(tmp_path)
    facts = [house.candidate(f"Rule number {n} holds", session=f"a{n}", category="constraint") for n in range(4)]
    (old, *_) = remembered(house, *facts)
    claim = house.candidate("It is over, I found", session="s9", category="project", origin="assistant", at=LATER)
    doubt = "no words of the person show it"
    made = retiring(claim, old) if how == "retire" else with_replaces(claim, (old.id, "update"))
    # with the doubt that the verification gives it, and without
    house.extract(made if how == "retire" else msgspec.structs.replace(made, doubt=doubt))
    house.dream()
    assert old.text in active(house)
    (found,) = waiting(house)
    assert found.reason in ("only a person ends what a person said", f"{doubt}: waits for a person")
    tomorrow(house)
    accept_fact(house.memory, found, ConsolidationSettings(), house.clock.now())
    assert old.text not in active(house)
    assert read_book(house.memory).memories[old.id].held[-1][1] == LATER
    house.extract(house.candidate("Another fact", session="s10", category="project", at="2026-11-21T10:00:00Z"))
    tomorrow(house)
    house.dream()
    assert old.text not in active(house)


def test_a_statement_after_its_end_holds_again():
    first = [said(f"Rule number {n} holds", "2026-11-01T09:00:00Z", category="constraint") for n in range(4)]
    nights = Nights()
    nights.dream(first)
    old = next(m for m in nights.book.active if m.text == "Rule number 0 holds")
    over = said("Rule number zero is over", "2026-11-02T09:00:00Z", category="constraint")
    nights.dream([retiring(over, old)])
    assert nights.book.memories[old.id].status == "superseded"
    nights.dream([said("Rule number 0 holds", "2026-11-03T09:00:00Z", category="constraint")])
    assert nights.book.memories[old.id].held == (
        ("2026-11-01T09:00:00Z", "2026-11-02T09:00:00Z"),
        ("2026-11-03T09:00:00Z", ""),
    )


def test_what_is_older_than_the_memory_ends_nothing():
    first = [said(f"Rule number {n} holds", "2026-11-05T09:00:00Z", category="constraint") for n in range(4)]
    nights = Nights()
    nights.dream(first)
    old = nights.book.active[0]
    nights.dream([retiring(said("It is over", "2026-11-02T09:00:00Z", category="constraint"), old)])
    assert len(nights.book.active) == 4
    assert {o.action for o in nights.dream()} == {"KEEP"}
    assert len(nights.book.active) == 4


def test_two_updates_that_name_each_other_leave_one_of_them():
    one, two = (said(f"Rule number {n} holds", "2026-11-01T09:00:00Z", category="constraint") for n in (1, 2))
    nights = Nights()
    nights.dream([one, two])
    ids = {m.text: m.id for m in nights.book.active}
    swapped = [
        with_replaces(said(mine, LATER, category="constraint", session="s9"), (ids[other], "update"))
        for mine, other in ((one.text, two.text), (two.text, one.text))
    ]
    nights.dream(swapped)
    assert len(nights.book.active) == 1


@pytest.mark.parametrize(("number", "ended"), [(1, True), (2, True), (3, False), (8, False)])
def test_a_model_ends_no_more_in_one_night_than_a_dream_may_lose(tmp_path: Path, number: int, *, ended: bool):
    house = House(tmp_path)
    facts = [house.candidate(f"Rule number {n} holds", session=f"a{n}", category="constraint") for n in range(8)]
    memories = remembered(house, *facts)
    over = [
        house.candidate(f"Rule {n} is over", session=f"s{n}", category="constraint", at=LATER) for n in range(number)
    ]
    house.extract(*(retiring(c, m) for c, m in zip(over, memories, strict=False)))
    report = house.dream()
    assert report.parked == []
    assert len(active(house)) == (8 - number if ended else 8)
    reason = f"a model would end {number} of 8 memories, more than 25%: waits for a person"
    assert {w.reason for w in waiting(house)} == (set() if ended else {reason})
    if not ended:
        # one by one a person may
        accept_fact(house.memory, waiting(house)[0], ConsolidationSettings(), house.clock.now())
        assert len(active(house)) == 7


@pytest.mark.parametrize("origin", ["assistant", "command_outcome", "user_explicit"])
@pytest.mark.parametrize("category", ["preference", "constraint", "decision", "project", "pattern"])
def test_what_is_in_doubt_waits_with_its_reason_and_a_person_can_accept_it(tmp_path: Path, origin: Any, category: Any):
    house = House(tmp_path)
    made = house.candidate("Hosts are named after planets", category=category, origin=origin, confidence=0.45)
    house.extract(msgspec.structs.replace(made, doubt="its quotations do not bear it out"))
    house.dream()
    assert active(house) == {}
    (found,) = waiting(house)
    assert found.reason == "its quotations do not bear it out: waits for a person"
    accept_fact(house.memory, found, ConsolidationSettings(), house.clock.now())
    memory = active(house)["Hosts are named after planets"]
    assert memory.is_from_person == (category in ("preference", "constraint", "decision") or origin == "user_explicit")
    assert "Hosts are named after planets" in house.read("MEMORY.md")
    tomorrow(house)
    assert house.dream().dream_ids == []

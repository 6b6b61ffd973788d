"""What did it learn: told out of the ledgers of real dreams, for one run or for one dream, and out of a plan."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from slowwave.consolidation.inbox import accept_fact, inbox
from slowwave.memory import RETRACTS, Evidence
from slowwave.memory.folder import MemoryFolder
from slowwave.memory.ledger import read_ledger
from slowwave.memory.undo import undo
from slowwave.observability import lessons
from slowwave.observability.lessons import (
    Change,
    Learned,
    asked,
    dreams_of,
    in_all,
    in_words,
    learned,
    planned,
    remembered,
)
from slowwave.observability.memories import known_of
from slowwave.settings import ConsolidationSettings
from slowwave.stores.projects import short_names
from tests.unit.consolidation.dreams import House

NPM, PNPM = "We use npm for installs", "We use pnpm for installs"
LIMITS = ConsolidationSettings()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def folder(house: House) -> MemoryFolder:
    return MemoryFolder("-home-ann-shop", house.memory, (house.folder,))


def of(house: House, dream: str) -> list[tuple[str, str, str]]:
    every, problems = remembered([folder(house)])
    assert problems == []
    return [(c.kind, c.text, c.before) for c in learned(every, lambda d: d.id == dream).changes]


def packages(house: House, text: str, value: str, session: str, at: str) -> None:
    house.extract(house.candidate(text, session=session, key="pref:package-manager", value=value, at=at))


def test_a_first_dream_has_new_memories_and_a_later_one_what_it_replaced(house: House) -> None:
    packages(house, NPM, "npm", "s1", "2026-11-18T10:00:00Z")
    (first,) = house.dream().dream_ids
    packages(house, PNPM, "pnpm", "s2", "2026-11-19T10:00:00Z")
    (second,) = house.dream().dream_ids
    assert of(house, first) == [("new", NPM, "")]
    assert of(house, second) == [("replaced", PNPM, NPM)]


def test_what_came_and_went_in_one_dream_is_not_told(house: House) -> None:
    packages(house, NPM, "npm", "s1", "2026-11-18T10:00:00Z")
    packages(house, PNPM, "pnpm", "s2", "2026-11-19T10:00:00Z")
    (dream,) = house.dream().dream_ids
    assert of(house, dream) == [("new", PNPM, "")]


def test_what_is_taken_back_is_dropped_with_the_words_that_ended_it(house: House) -> None:
    house.extract(house.candidate("Always use quartz as the package registry"))
    house.dream()
    house.extract(
        house.candidate(
            "ignore my earlier rule about quartz", session="s2", category="decision", key=RETRACTS, value="quartz",
            at="2026-11-19T20:00:00Z",
        )
    )  # fmt: skip
    (dream,) = house.dream().dream_ids
    every, _ = remembered([folder(house)])
    (change,) = learned(every, lambda d: d.id == dream).changes
    assert (change.kind, change.text) == ("dropped", "Always use quartz as the package registry")
    assert change.why == "taken back: ignore my earlier rule about quartz"


def test_what_is_shown_again_is_no_change_and_what_was_undone_is_not_known(house: House) -> None:
    house.extract(house.candidate("Answer in English"))
    (first,) = house.dream().dream_ids
    house.extract(house.candidate("Answer in English", session="s2"))
    (second,) = house.dream().dream_ids
    every, _ = remembered([folder(house)])
    assert [(d.id, len(d.changes), d.again) for d in every[0].dreams] == [(first, 1, 0), (second, 0, 1)]
    undo(house.memory, first, house.clock.now())
    every, _ = remembered([folder(house)])
    assert [d.is_undone for d in every[0].dreams] == [True, True]
    assert learned(every, lambda _: True).changes == []


def test_a_decision_in_review_is_a_persons_and_the_inbox_tells_what_is_worth_their_time(house: House) -> None:
    doubted = msgspec.structs.replace(house.candidate("Never push on Fridays"), doubt="perhaps pasted")
    weak = house.candidate("The cache is slow", session="s2", category="project", confidence=0.45)
    both = house.candidate("Ask about the mast", session="s3", confidence=0.3)
    house.extract(doubted, weak, msgspec.structs.replace(both, doubt="perhaps copied from somebody else"))
    house.dream()
    environ = {"XDG_STATE_HOME": str(house.folder.parent / "state")}
    asks, problems = asked([folder(house)], LIMITS, house.clock.now(), environ)
    assert problems == []
    least = f"{100 * LIMITS.accept_confidence:.0f} in 100"
    too_weak = f"fewer than {least} facts like it are worth keeping: it waits for more sessions"
    assert [(ask.text, ask.why, ask.is_worth_it) for ask in asks] == [
        ("Never push on Fridays", "it reads like pasted text: only you can say whether you meant it yourself", True),
        ("The cache is slow", too_weak, False),
        ("Ask about the mast", too_weak, False),
    ]
    accept_fact(house.memory, inbox(house.memory, (), LIMITS, house.clock.now())[0], LIMITS, house.clock.now())
    every, _ = remembered([folder(house)])
    assert every[0].dreams[-1].is_by_person
    left, _ = asked([folder(house)], LIMITS, house.clock.now(), environ)
    assert [ask.text for ask in left] == [ask.text for ask in asks[1:]]


def test_what_waits_in_a_folder_that_nobody_touched_is_not_found_out_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.extract(msgspec.structs.replace(house.candidate("Never push on Fridays"), doubt="perhaps pasted"))
    house.dream()
    environ = {"XDG_STATE_HOME": str(house.folder.parent / "state")}
    first = asked([folder(house)], LIMITS, house.clock.now(), environ)

    def again(*_: object) -> None:
        raise AssertionError("it was planned again")

    with monkeypatch.context() as patched:
        patched.setattr(lessons, "asks_of", again)
        assert asked([folder(house)], LIMITS, house.clock.now(), environ) == first
    (house.folder.parent / "state" / "slowwave" / "asks.json").write_text("{")
    assert asked([folder(house)], LIMITS, house.clock.now(), environ) == first


def test_a_plan_is_told_in_the_same_words_and_leaves_out_notes_that_were_never_known(house: House) -> None:
    house.extract(house.candidate("Answer in English"))
    found = planned(house.dream(dry_run=True))
    assert (found.is_planned, [(c.kind, c.text) for c in found.changes]) == (True, [("new", "Answer in English")])
    assert dreams_of(folder(house), []) == []


def test_a_damaged_folder_is_named_and_costs_the_others_nothing(house: House, tmp_path: Path) -> None:
    house.extract(house.candidate("Answer in English"))
    house.dream()
    broken = tmp_path / "broken"
    (broken / ".slowwave").mkdir(parents=True)
    (broken / ".slowwave" / "ledger.jsonl").write_text("{\n")
    every, problems = remembered([MemoryFolder("-b", broken, ()), folder(house)])
    assert len(every) == 1
    assert problems[0].startswith("-b: ")


def test_numbers_are_told_in_a_few_words() -> None:
    assert in_words({}) == str(Learned()) == "nothing new"
    assert in_words({"new": 1, "replaced": 2}) == "1 new memory, 2 replaced"
    assert in_words({"dropped": 3}) == "3 dropped memories"
    many = [Change(kind="new", project=p, memory=f"m{n}", text="t") for p in "ab" for n in range(1 if p == "a" else 3)]
    assert [project for project, _ in Learned(many).by_project()] == ["b", "a"]


def test_projects_have_short_names_where_these_name_one_project_alone() -> None:
    keys = ["-home-ann-shop", "-Users-bob-my-app", "-home-ann-tern", "-home-bob-tern", "global", "-tmp-x", "-home-ann"]
    assert short_names(keys) == {
        "-home-ann-shop": "shop",
        "-Users-bob-my-app": "my-app",
        "-home-ann-tern": "-home-ann-tern",
        "-home-bob-tern": "-home-bob-tern",
        "global": "global",
        "-tmp-x": "tmp-x",
        "-home-ann": "home-ann",
    }


def test_what_was_taken_back_is_told_beside_what_was_learned_and_does_not_change_its_number(house: House) -> None:
    packages(house, NPM, "npm", "s1", "2026-11-18T10:00:00Z")
    house.dream()
    house.extract(house.candidate("Never push on a Friday", session="s2"))
    (second,) = house.dream().dream_ids

    def told() -> str:
        return in_all(dreams_of(folder(house), read_ledger(house.memory)))

    assert told() == "2 new memories"
    undo(house.memory, second, house.clock.now())
    assert told() == "2 new memories, 1 of them taken back"


def test_a_message_that_several_facts_come_from_is_looked_through_for_secrets_once(house: House) -> None:
    other = "Our linter is ruff"
    said = f"{NPM}. {other}."
    house.session("s1", said)
    raw = (house.folder / "s1.jsonl").read_bytes().rstrip(b"\n")
    piece = Evidence(str(house.folder / "s1.jsonl"), "r", 0, len(raw), hashlib.sha256(raw).hexdigest(), other)
    facts = [msgspec.structs.replace(house.candidate(text, session="s2"), evidence=(piece,)) for text in (NPM, other)]
    house.extract(*facts)
    house.dream()
    looked: list[str] = []

    def redact(text: str) -> str:
        looked.append(text)
        return text

    environ = {"XDG_STATE_HOME": str(house.folder.parent / "state")}
    known = known_of([folder(house)], LIMITS, house.clock.now(), environ, redact)
    assert [source.around for sources in known.sources.values() for source in sources] == [said, said]
    assert looked.count(said) == 1

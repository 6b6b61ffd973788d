"""``slowwave memory review``: doubted facts of the miners and of a model, there and back through every answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowwave.cli import main
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.folder import visible_files
from slowwave.memory.model import RETRACTS, Candidate
from tests.unit.consolidation.dreams import House

DOUBT = "perhaps somebody else's words"
RULE, OTHER = "Always use quartz as the package registry", "Never push on Fridays"
REWORDED = "Quartz is the registry of the web packages only"
EXTRACTORS = ["offline/4:preference", "model/small/2"]
Review = Callable[..., str]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def memory(house: House, capsys: pytest.CaptureFixture[str]) -> Review:
    def run(*arguments: str, code: int = 0) -> str:
        assert main(["memory", arguments[0], "--memory", str(house.memory), *arguments[1:]]) == code
        captured = capsys.readouterr()
        return captured.out or captured.err

    return run


def doubted(house: House, extractor: str, text: str = RULE, session: str = "s1", **more: Any) -> Candidate:
    candidate = house.candidate(text, session=session, **more)
    return msgspec.structs.replace(candidate, id=f"{candidate.id[:-1]}d", extractor=extractor, doubt=DOUBT)


def waiting(memory: Review) -> list[dict[str, Any]]:
    return [json.loads(line) for line in memory("review", "--json", code=5).splitlines()]


def active(house: House) -> list[str]:
    return [m.text for m in read_book(house.memory).active]


def next_nights(house: House, extractor: str) -> None:
    """Let the rule come back in each way: doubted, from the other extractor, and as the person's certain word."""
    for number, other in enumerate((extractor, *EXTRACTORS)):
        house.extract(doubted(house, other, session=f"again{number}"))
        house.dream()
    house.extract(house.candidate(RULE.upper(), session="sure", confidence=0.95))
    house.dream()


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_doubted_fact_waits_in_no_file_with_its_reason_and_its_evidence(
    house: House, memory: Review, extractor: str
) -> None:
    house.extract(doubted(house, extractor), house.candidate(OTHER, session="s2"))
    house.dream()
    assert active(house) == [OTHER]
    assert not any(RULE.encode() in data for data in visible_files(house.memory).values())
    (row,) = waiting(memory)
    assert (row["text"], row["reason"]) == (RULE, f"{DOUBT}: waits for a person")
    assert row["evidence"][0]["quote"] == RULE[:40]
    assert RULE in memory("review", "show", row["id"])


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_doubted_fact_that_was_accepted_is_a_memory_and_stays_one(
    house: House, memory: Review, extractor: str
) -> None:
    house.extract(doubted(house, extractor))
    house.dream()
    before = visible_files(house.memory)
    (row,) = waiting(memory)
    dream = json.loads(memory("review", "accept", row["id"], "--json"))["dream"]
    assert active(house) == [RULE]
    after = visible_files(house.memory)
    house.dream()
    assert (active(house), visible_files(house.memory)["MEMORY.md"]) == ([RULE], after["MEMORY.md"])
    assert "waits" in memory("review")
    memory("undo", dream)
    assert visible_files(house.memory) == before
    assert active(house) == []


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_doubted_fact_that_was_rejected_is_gone_in_every_later_night(
    house: House, memory: Review, extractor: str
) -> None:
    house.extract(doubted(house, extractor))
    house.dream()
    (row,) = waiting(memory)
    memory("review", "reject", row["id"])
    assert "waits" in memory("review")
    next_nights(house, extractor)
    assert active(house) == []
    assert "waits" in memory("review")
    assert not any(RULE.encode().lower() in data.lower() for data in visible_files(house.memory).values())


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_doubted_fact_that_was_edited_says_what_the_person_said_and_nothing_else(
    house: House, memory: Review, extractor: str
) -> None:
    house.extract(doubted(house, extractor))
    house.dream()
    (row,) = waiting(memory)
    memory("review", "edit", row["id"], REWORDED)
    assert active(house) == [REWORDED]
    next_nights(house, extractor)
    assert active(house) == [REWORDED]
    (kept,) = read_book(house.memory).active
    assert {e.path for e in kept.evidence} >= {str(house.folder / "s1.jsonl")}
    assert "waits" in memory("review")


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_doubted_repetition_of_what_holds_already_asks_nobody(
    house: House, memory: Review, extractor: str, *, is_first: bool
) -> None:
    one, other = house.candidate(RULE, confidence=0.9), doubted(house, extractor, session="s2")
    house.extract(*([one, other] if is_first else [one]))
    house.dream()
    if not is_first:
        house.extract(other)
        house.dream()
    (kept,) = read_book(house.memory).active
    assert (kept.text, kept.confidence, len(kept.evidence)) == (RULE, 0.9, 1)
    assert "waits" in memory("review")
    before = visible_files(house.memory)
    house.dream()
    assert visible_files(house.memory)["MEMORY.md"] == before["MEMORY.md"]


def test_an_unknown_doubted_fact_is_named(house: House, memory: Review) -> None:
    house.extract(doubted(house, EXTRACTORS[0]))
    house.dream()
    assert "zzz" in memory("review", "reject", "zzz", code=3)
    assert len(waiting(memory)) == 1


def retraction(house: House, **more: Any) -> Candidate:
    return house.candidate(
        "ignore my earlier rule about quartz",
        session="back", category="decision", key=RETRACTS, value="quartz", at="2026-11-19T20:00:00Z", **more,
    )  # fmt: skip


def test_undo_of_a_dream_with_a_retraction_restores_every_byte_and_the_rule(house: House, memory: Review) -> None:
    house.extract(house.candidate(RULE), house.candidate(OTHER, session="s2"))
    house.dream()
    house.extract(retraction(house), house.candidate("Answer in English", session="s3"))
    before = visible_files(house.memory)
    undone = set((house.memory / ".slowwave" / "undo").iterdir())
    house.dream()
    assert active(house) == [OTHER, "Answer in English"]
    assert not any(b"quartz" in data for name, data in visible_files(house.memory).items() if name != "extracted.md")
    (dream,) = set((house.memory / ".slowwave" / "undo").iterdir()) - undone
    memory("undo", dream.name)
    assert visible_files(house.memory) == before
    assert active(house) == [RULE, OTHER]
    house.dream()
    assert active(house) == [RULE, OTHER]
    assert visible_files(house.memory)["MEMORY.md"] == before["MEMORY.md"]


def test_a_doubted_retraction_ends_nothing_until_a_person_accepts_it_and_can_be_undone(
    house: House, memory: Review
) -> None:
    house.extract(house.candidate(RULE))
    house.dream()
    house.extract(msgspec.structs.replace(retraction(house), doubt=DOUBT))
    house.dream()
    before = visible_files(house.memory)
    assert active(house) == [RULE]
    (row,) = waiting(memory)
    dream = json.loads(memory("review", "accept", row["id"], "--json"))["dream"]
    assert active(house) == []
    memory("undo", dream)
    assert (active(house), visible_files(house.memory)) == ([RULE], before)


def test_a_rejected_retraction_leaves_the_rule_in_every_later_night(house: House, memory: Review) -> None:
    house.extract(house.candidate(RULE))
    house.dream()
    house.extract(msgspec.structs.replace(retraction(house), doubt=DOUBT))
    house.dream()
    (row,) = waiting(memory)
    memory("review", "reject", row["id"])
    again = msgspec.structs.replace(retraction(house), id="e" * 16, doubt=DOUBT)
    house.extract(again)
    house.dream()
    assert active(house) == [RULE]
    assert "waits" in memory("review")
    assert len(read_candidates(house.memory)[0]) == 3

"""Hundreds of twins and paraphrases: nothing is merged that differs, and what surely says the same is."""

import pytest

from slowwave.consolidation.facts import Fact
from slowwave.consolidation.likeness import is_like, is_same
from slowwave.consolidation.rivals import held_when, holder_after
from slowwave.consolidation.slots import NONE, claim_of
from slowwave.memory import Candidate, Evidence, SessionRef
from tests.unit.consolidation.sentences import COMPATIBLE, CONTRADICTIONS, paraphrases, twins

LEAST_MERGED = 0.95


def _fact(day: int, text: str) -> Fact:
    evidence = (Evidence("/s", "", day, 1, f"{day:064}"),)
    session = SessionRef("claude", f"s{day}", "/s")
    at = f"2026-11-0{day}"
    return Fact(None, [Candidate(f"{day:016}", "preference", text, 0.9, "user_explicit", "t", session, evidence, at)])


def _same(one: str, other: str) -> bool:
    """Say whether consolidation makes one fact of both: by their meaning or by what they claim."""
    mine, theirs = claim_of(one, "preference"), claim_of(other, "preference")
    return is_same(one, other) or (mine != NONE and mine == theirs)


def test_no_twin_is_ever_merged() -> None:
    every = list(twins())
    assert len(every) > 700
    assert [(kind, one, other) for kind, one, other in every if _same(one, other) or _same(other, one)] == []


def test_a_twin_of_what_was_rejected_is_not_rejected_with_it() -> None:
    different = {"number", "version", "path", "name", "negation"}
    assert [pair for kind, *pair in twins() if kind in different and is_like(*pair)] == []


def test_paraphrases_that_are_certain_are_merged() -> None:
    every = list(paraphrases())
    missed = [pair for pair in every if not _same(*pair)]
    assert len(every) > 700
    assert len(missed) <= (1 - LEAST_MERGED) * len(every), missed[:20]


@pytest.mark.parametrize(("one", "other"), CONTRADICTIONS)
def test_another_answer_to_the_same_question_is_a_contradiction(one: str, other: str) -> None:
    for first, last in ((one, other), (other, one)):
        facts = [_fact(1, first), _fact(2, last)]
        held = held_when(facts)
        assert held[facts[0].id].spans == (("2026-11-01", "2026-11-02"),)
        assert held[facts[1].id].spans == (("2026-11-02", ""),)
        assert holder_after(facts[0].id, held) == facts[1].id


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_statements_about_different_things_do_not_contradict_each_other(one: str, other: str) -> None:
    facts = [_fact(1, one), _fact(2, other)]
    assert [h.ended_by for h in held_when(facts).values()] == ["", ""]

"""Nights in which the model fails: the night ends, the miners' candidates stand, and the next night makes it up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowwave.quantities import parse_duration
from slowwave.report import Report
from tests.model_server.nights import by_model, fact, night, offline, talk, told
from tests.model_server.scripted import (
    LLAMA_OVERFLOW,
    OPENAI_OVERFLOW,
    Reply,
    completion,
    error,
    notes,
    said,
    serving,
)
from tests.unit.extraction.talk import RULES

FACTS = 15
SMALL: dict[str, Any] = {"window_tokens": 500, "overlap_tokens": 100}
BROKEN: dict[str, tuple[Reply, dict[str, Any]]] = {
    "silent": (Reply(b"", hangs=True), {"timeout": parse_duration("1s") / 20}),
    "cut in mid-answer": (Reply(completion('{"operations": []}'), sent=60), {}),
    "garbage": (Reply(b"\x00\xff<html>", 200), {}),
    "prose": (said("I would rather talk about the weather."), {}),
    "an error": (error(500, "boom"), {}),
    "too many requests": (error(429, "slow down", retry_after="3600"), {}),
    "a wrong key": (error(401, "who are you"), {}),
    "over budget": (said({"operations": []}), {"budget_tokens": 50}),
    "over money": (said({"operations": []}), {"budget_usd": 0.001, "price_input": 5.0, "price_output": 10.0}),
}


# what one undisturbed night gives
GOOD = sorted(f"T{fact(100 * number + at)[1:]}" for number in (1, 2) for at in range(FACTS))


def disturbed(tmp_path: Path, base_url: str, **model: Any) -> Report:
    sessions = [talk(n, facts=FACTS).write(tmp_path / "store") for n in (1, 2)]
    return night(tmp_path, sessions, base_url, **SMALL, **model)


def recovered(tmp_path: Path) -> list[str]:
    with serving(told) as server:
        report = disturbed(tmp_path, server.base_url)
        asked = len(server.requests)
        disturbed(tmp_path, server.base_url)
        assert len(server.requests) == asked
    assert "model_postponed" not in report.counts
    return sorted(c.text for c in by_model(tmp_path))


@pytest.mark.parametrize("fault", BROKEN)
def test_a_night_with_a_broken_model_ends_and_the_next_one_makes_it_up(tmp_path: Path, fault: str):
    reply, model = BROKEN[fault]
    with serving(reply) as server:
        report = disturbed(tmp_path, server.base_url, **model)
    assert any(c.text == RULES[0] for c in offline(tmp_path))
    assert by_model(tmp_path) == []
    assert report.failures == []
    assert report.counts["model_postponed"] > 0
    assert {item.target[-1] for item in report.items if item.action == "postponed"} == {"1", "2"}
    assert any("waits for the next run" in warning for warning in report.warnings)
    assert recovered(tmp_path) == GOOD


def test_a_server_that_is_off_costs_a_few_attempts_and_nothing_else(tmp_path: Path):
    report = disturbed(tmp_path, "http://127.0.0.1:9/v1")
    assert report.counts["model_postponed"] > 2
    assert recovered(tmp_path) == GOOD


@pytest.mark.parametrize("answers", [1, 2, 3, 5])
def test_what_was_answered_before_the_server_broke_is_kept_and_not_asked_again(tmp_path: Path, answers: int):
    with serving(*[told] * answers, error(401, "the key has expired")) as server:
        report = disturbed(tmp_path, server.base_url)
        first = set(server.asked[:answers])
    assert report.counts["model_answers"] == answers
    assert by_model(tmp_path)
    with serving(told) as server:
        disturbed(tmp_path, server.base_url)
        assert first.isdisjoint(server.asked)
    assert sorted(c.text for c in by_model(tmp_path)) == GOOD


def test_over_budget_every_night_does_its_part_until_all_is_read(tmp_path: Path):
    nights = 0
    with serving(told) as server:
        while True:
            report = disturbed(tmp_path, server.base_url, budget_tokens=2400, max_output_tokens=1000)
            nights += 1
            if "model_postponed" not in report.counts:
                break
            assert any("budget_tokens = 2400" in warning for warning in report.warnings)
            assert nights < 40
        assert len(server.requests) == len(set(server.asked))
    assert nights >= 2
    assert sorted(c.text for c in by_model(tmp_path)) == GOOD


@pytest.mark.parametrize("overflow", [OPENAI_OVERFLOW, LLAMA_OVERFLOW])
def test_a_window_that_is_too_long_is_halved_until_it_fits(tmp_path: Path, overflow: Reply):
    def small(asked: dict[str, Any]) -> Reply:
        return overflow if len(asked["messages"][-1]["content"]) > 600 else told(asked)

    with serving(small) as server:
        report = disturbed(tmp_path, server.base_url)
    assert "model_postponed" not in report.counts
    assert sorted(c.text for c in by_model(tmp_path)) == GOOD


def test_a_message_that_is_too_long_by_itself_is_left_to_the_miners_for_good(tmp_path: Path):
    def never(asked: dict[str, Any]) -> Reply:
        return OPENAI_OVERFLOW if "number 103" in asked["messages"][-1]["content"] else told(asked)

    with serving(never) as server:
        report = disturbed(tmp_path, server.base_url)
        asked = len(server.requests)
        disturbed(tmp_path, server.base_url)
        assert len(server.requests) == asked
    assert report.counts["model_given_up"] == 1
    assert any("is left to the offline miners" in warning for warning in report.warnings)
    lost = set(GOOD) - {c.text for c in by_model(tmp_path)}
    assert len(lost) == 1
    assert "number 103" in lost.pop()


def refuses(asked: dict[str, Any]) -> Reply:
    if "number 103" in asked["messages"][-1]["content"].partition("The session:")[2]:
        return said("", refusal="I will not read this.")
    return told(asked)


def garbles(asked: dict[str, Any]) -> Reply:
    if "number 103" in asked["messages"][-1]["content"].partition("The session:")[2]:
        return said("{{{{")
    return told(asked)


@pytest.mark.parametrize("script", [refuses, garbles])
def test_one_window_that_gets_no_answer_is_tried_on_three_nights_and_costs_the_others_nothing(
    tmp_path: Path, script: Callable[[dict[str, Any]], Reply]
):
    asked: list[int] = []
    reports: list[Report] = []
    with serving(script) as server:
        for _ in range(4):
            before = len(server.requests)
            reports.append(disturbed(tmp_path, server.base_url))
            asked.append(len(server.requests) - before)
    # the window is made smaller, a smaller one asked in every form, and in the end nobody is asked
    assert asked[0] > max(asked[1:]) > asked[3] == 0
    assert [r.counts.get("model_postponed", 0) for r in reports[:2]] == [1, 1]
    assert reports[2].counts["model_given_up"] == 1
    lost = set(GOOD) - {c.text for c in by_model(tmp_path)}
    assert any("number 103" in text for text in lost)
    assert len(lost) < 8


def test_an_empty_answer_everywhere_is_no_trouble(tmp_path: Path):
    with serving(notes()) as server:
        report = disturbed(tmp_path, server.base_url)
        asked = len(server.requests)
        disturbed(tmp_path, server.base_url)
        assert len(server.requests) == asked
    assert "model_postponed" not in report.counts
    assert report.warnings == []


@pytest.mark.parametrize("fault", ["silent", "cut in mid-answer", "garbage", "an error", "too many requests"])
def test_no_number_of_nights_without_a_server_makes_the_only_question_be_given_up(tmp_path: Path, fault: str):
    reply, model = BROKEN[fault]
    growing = talk()
    with serving(told) as server:
        night(tmp_path, [growing.write(tmp_path / "store")], server.base_url)
    session = growing.person(fact(999)).write(tmp_path / "store")
    for _ in range(4):
        with serving(reply) as server:
            report = night(tmp_path, [session], server.base_url, **model)
        assert report.counts["model_postponed"] == 1
        assert "model_given_up" not in report.counts
    with serving(told) as server:
        night(tmp_path, [session], server.base_url)
    assert [c.text for c in by_model(tmp_path)] == [f"T{fact(n)[1:]}" for n in (100, 999)]

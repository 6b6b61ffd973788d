"""Searching memories: the best first, by the words that tell something, in any form, never by an operator."""

import json
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.memory.book import Memory
from slowwave.memory.search import search_memories
from tests.unit.consolidation.dreams import House


def memory(number: int, text: str, confidence: float = 0.9) -> tuple[Memory, str]:
    one = Memory(
        f"m{number}", "project", text, confidence, "", "", "project.md", f"- {text}", "", "", (), (), ()
    )  # fmt: skip
    return one, text


TEXTS = [
    "The outbox of postgres is polled every second",
    "Never run the migrations on Fridays",
    "Painted the fence of the outbox",
    "A very long story in which the word postgres stands once among ever so many others that say nothing about it",
    "Use useState in components",
]


def texts(query: str, limit: int = 9) -> list[str]:
    return [one.of for one in search_memories([memory(n, t) for n, t in enumerate(TEXTS)], query, limit)]


@pytest.mark.parametrize(
    ("query", "best", "number"),
    [
        ("postgres outbox", 0, 3),
        ("how is the outbox polled", 0, 2),
        ("painting", 2, 1),
        ('"outbox of postgres"', 0, 1),
        ("migr*", 1, 1),
        ("migrat", 1, 1),  # stands nowhere as a word
        ("useState", 4, 1),
        ("FRIDAYS", 1, 1),
    ],
)
def test_the_best_is_first(query: str, best: int, number: int) -> None:
    assert texts(query)[0] == TEXTS[best]
    assert len(texts(query)) == number


@pytest.mark.parametrize("query", ["", "  ", '"', "zebra", "* OR NOT AND (", "\0\ud800", "@#$%"])
def test_whatever_is_asked_is_no_operator_and_no_error(query: str) -> None:
    assert [text for text in texts(query) if "zebra" in text] == []


def test_of_those_that_fit_as_well_the_surest_comes_first() -> None:
    found = search_memories([memory(1, "use tabs", 0.6), memory(2, "use tabs", 0.9)], "tabs", 5)
    assert [one.memory.id for one in found] == ["m2", "m1"]


def test_a_question_of_ten_megabytes_is_answered_by_its_beginning() -> None:
    assert texts("postgres " + "x" * 10_000_000)[0] == TEXTS[0]


def test_the_command_prints_the_best_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = House(tmp_path)
    house.extract(
        house.candidate("Use pnpm for installs", session="a"),
        house.candidate("Never merge by hand", session="b", category="constraint"),
    )
    house.dream()
    assert main(["memory", "search", "--memory", str(house.memory), "merging"]) == 0
    out = capsys.readouterr().out
    assert "Never merge by hand" in out
    assert out.endswith("1 of 2 memories\n")
    assert main(["memory", "search", "--memory", str(house.memory), "install", "--limit", "1", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["text"], row["score"] > 0, row["status"]) == ("Use pnpm for installs", True, "active")

"""Titles of client 1.0 name the message that their session ends in; they may stand before it, behind it, or twice."""

import json
import os
from pathlib import Path

import pytest

from slowwave.stores.roots import session_of_path
from slowwave.stores.summary import Mark, Summary, scan
from tests.unit.stores.store_builder import as_bytes, claude


def said(uuid: str) -> dict[str, object]:
    return {**claude("user", f"text of {uuid}"), "uuid": uuid}


def named(title: str, leaf: str) -> dict[str, object]:
    return {"type": "summary", "summary": title, "leafUuid": leaf}


CASES = {
    "behind its message": ([said("a"), named("one", "a")], "one"),
    "before its message": ([named("one", "a"), said("a")], "one"),
    "changed behind its message": ([said("a"), named("one", "a"), said("b"), named("two", "a")], "two"),
    "changed before its message": ([named("one", "a"), named("two", "a"), said("a")], "two"),
    "of another session": ([named("one", "elsewhere"), said("a")], ""),
    "the newest of its own": ([said("a"), said("b"), named("one", "b"), named("two", "a"), named("no", "x")], "two"),
    "an older one written anew": ([said("a"), named("one", "a"), said("b"), named("two", "b"), named("3", "a")], "3"),
}


def summary_after(rows: list[dict[str, object]], path: Path, before: Mark | None = None) -> tuple[Mark, Summary]:
    path.write_bytes(as_bytes(rows))
    os.utime(path, ns=(1, len(rows)))
    scanned = scan(session_of_path(path), "claude", before)
    return scanned.mark, scanned.summary


@pytest.mark.parametrize(("rows", "title"), CASES.values(), ids=CASES)
def test_the_newest_title_about_an_own_message_is_shown(
    rows: list[dict[str, object]], title: str, tmp_path: Path
) -> None:
    assert summary_after(rows, tmp_path / "s.jsonl")[1].title == title


@pytest.mark.parametrize(("rows", "title"), CASES.values(), ids=CASES)
def test_a_session_that_grows_line_by_line_has_the_title_of_a_first_reading(
    rows: list[dict[str, object]], title: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    mark = summary = None
    for count in range(1, len(rows) + 1):
        mark, summary = summary_after(rows[:count], path, mark)
        first = scan(session_of_path(path), "claude").summary
        assert (summary, summary.title) == (first, first.title), json.dumps(rows[:count])
    assert summary is not None
    assert summary.title == title


def test_a_title_without_a_newline_yet_is_found_again_when_its_line_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    data = as_bytes([said("a"), named("one", "a")])
    path.write_bytes(data[:-1])
    half = scan(session_of_path(path), "claude")
    assert (half.summary.title, half.mark.state.title) == ("one", "")
    path.write_bytes(data)
    assert scan(session_of_path(path), "claude", half.mark).summary.title == "one"

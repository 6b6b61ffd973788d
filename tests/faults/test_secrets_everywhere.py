"""No byte that slowwave writes holds a secret, of whatever kind it is and wherever in a session it stood."""

import os
from pathlib import Path

import ahocorasick_rs
import pytest

from tests.faults.secret_home import PLACES, SecretHome, forms, kinds, needles
from tests.unit.consolidation.dreams import no_fsync

KINDS = 120


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", PLACES)
def test_no_secret_is_in_anything_that_is_written(tmp_path: Path, place: str) -> None:
    every = kinds()
    assert len({one.family for one in every}) >= KINDS
    home = SecretHome(tmp_path, place, every)
    report = home.night()
    texts = dict(home.written())
    assert any(path.name == "MEMORY.md" for path in texts)
    texts[Path("report")] = report["report"]
    wanted = {form: one.family for one in every for needle in needles(one) for form in forms(needle)}
    searcher = ahocorasick_rs.AhoCorasick(list(wanted))
    left = {
        (path.name, wanted[text[start:stop]])
        for path, text in texts.items()
        for _, start, stop in searcher.find_matches_as_indexes(text)
        if not (text[start:stop].isdigit() and _is_of_another(text, start, stop))
    }
    assert left == set()


def _is_of_another(text: str, start: int, stop: int) -> bool:
    """Say whether digits are part of a longer number, a hash or a time, or tell a place: few stand in all of these."""
    around = text[max(start - 1, 0) : start] + text[stop : stop + 1]
    return text[:start].endswith(('"offset":', '"length":')) or any(sign.isalnum() or sign in "._-" for sign in around)

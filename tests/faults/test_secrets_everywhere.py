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
        (path.name, wanted[form]) for path, text in texts.items() for form in searcher.find_matches_as_strings(text)
    }
    assert left == set()

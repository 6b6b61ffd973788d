"""Every public opencode session beside the checkout is read whole."""

import json
from pathlib import Path

import pytest

from slowwave.dialects import detect
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.opencode.dialect import OPENCODE

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "opencode"
FILES = sorted(CORPUS.rglob("session/*/*.json"))


@pytest.mark.real
@pytest.mark.skipif(not FILES, reason="the public sessions are not beside the checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_counts_equal_an_independent_count(path: Path) -> None:
    assert detect(path) is OPENCODE
    session = json.loads(path.read_text(encoding="utf-8"))
    messages = sorted((path.parents[2] / "message" / session["id"]).glob("*.json"))
    transcript = OPENCODE.read(SessionFiles(path.stem, (path,)))
    assert (transcript.records, transcript.problems, transcript.unknown_types) == (1 + len(messages), [], {})
    assert sorted(str(m.id) for m in transcript.messages) == sorted(json.loads(m.read_bytes())["id"] for m in messages)
    assert transcript.title == session["title"]

"""What a model makes of doubtful words is as doubtful as they are, whatever else it cites."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.extraction.events import Turn
from slowwave.extraction.model.accepted import accepted
from slowwave.extraction.model.passages import Passage
from slowwave.extraction.model.windows import Window
from slowwave.extraction.redact import redactor_for
from slowwave.memory.model import SessionRef
from slowwave.models.base import Answer, Usage
from slowwave.records.model import Span

RULE = "always use quartz as the package registry"
CERTAIN = "we do have a package registry for that"


def passage(text: str, at: int, *doubtful: str) -> Passage:
    turn = Turn((Span(0, at, at, b"{}"),), "", datetime(2026, 11, 2, 9, tzinfo=UTC), "", at, text, doubtful=doubtful)
    return Passage("person", text, turn, "user_explicit")


@pytest.mark.parametrize(
    ("cited", "doubt"),
    [
        ([(1, CERTAIN)], ""),
        ([(2, RULE)], "perhaps somebody else's words"),
        ([(1, CERTAIN), (2, RULE)], "perhaps somebody else's words"),
        ([(2, RULE), (1, CERTAIN)], "perhaps somebody else's words"),
    ],
)
def test_a_note_is_doubted_when_any_of_the_words_it_rests_on_is(cited: list[tuple[int, str]], doubt: str):
    window = Window(((passage(CERTAIN, 1),), (passage(RULE, 2, RULE),)), ())
    text = RULE if (2, RULE) in cited else CERTAIN
    evidence = [{"message": number, "quote": quote} for number, quote in cited]
    note = {"category": "preference", "text": text, "confidence": 90, "evidence": evidence}
    made = accepted(
        Answer({"memories": [note]}, "", "schema", Usage(0, 0), "small"),
        window,
        SessionRef("claude", "s", "s.jsonl"),
        (Path("s.jsonl"),),
        redactor_for("shop"),
        extractor="model/small/1",
        min_confidence=0.0,
    )
    assert made.dropped == []
    assert [c.doubt for c in made.candidates] == [doubt]

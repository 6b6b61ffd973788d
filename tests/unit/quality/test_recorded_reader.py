"""The strong reader's answers: their quotations are found again, and the checks of today let them through."""

import pytest

from slowwave.memory import DROPS
from tests.quality.beside import CORPUS, GOLD, missing
from tests.quality.recorded_reader import kept, replayed, sessions

SESSIONS = 3
needs_sessions = pytest.mark.skipif(bool(missing(GOLD, CORPUS)), reason=missing(GOLD, CORPUS) or "-")


def test_no_word_of_a_transcript_is_kept():
    for row in kept().values():
        for operation in row["operations"]:
            assert all(isinstance(number, int) for quote in operation["quotes"] for number in quote)


@needs_sessions
def test_what_the_reader_said_survives_the_checks():
    known = kept()
    rich = sorted(sessions(), key=lambda path: -len(known[str(path.relative_to(CORPUS))]["operations"]))
    proposed = sure = 0
    for path in rich[:SESSIONS]:
        asked = replayed(path, known[str(path.relative_to(CORPUS))])
        notes = [c for c in asked.candidates if c.extractor.startswith("model/") and c.key != DROPS]
        assert all(c.evidence for c in notes)
        proposed += asked.proposed
        sure += sum(not c.doubt for c in notes)
    assert proposed > 10 * SESSIONS / 2
    assert sure >= 0.85 * proposed

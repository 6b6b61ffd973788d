"""What the person asked for, in their own words, in order; the first is the goal, the last is what is going on."""

import re
from collections.abc import Iterator

from slowwave.compaction.ledger.model import Entry, LedgerSettings
from slowwave.compaction.ledger.wording import key_of, line_of
from slowwave.extraction.events import Events, Turn
from slowwave.extraction.statements import content_words

_CORRECTS = re.compile(
    r"^(?:no\b|not\b|wrong|don'?t|do not|stop|instead|actually|wait|revert|undo|that'?s not|why did you|nein|falsch)"
    r"|\b(?:instead of|should have|you (?:forgot|missed|broke)|not what i)\b",
    re.IGNORECASE,
)
# "yes, go on" asks for nothing by itself
_LEAST_WORDS = 1
_FIRST, _LAST, _CORRECTION, _ASK = 100, 99, 88, 80
_OLDEST = 12


def asks(events: Events, settings: LedgerSettings, *, goes_on: bool = False) -> Iterator[Entry]:
    """Yield every ask; the newer ones are worth a little more. ``goes_on``: an earlier summary has others."""
    turns = [turn for turn in events.turns if content_words(turn.text) >= _LEAST_WORDS]
    for at, turn in enumerate(turns):
        is_first, is_last = at == 0, at == len(turns) - 1
        text = line_of(turn.text, settings.first_ask_chars if is_first else settings.ask_chars)
        value = _FIRST if is_first else _LAST if is_last else _value(turn, at, len(turns))
        yield Entry("goal", "ask", f'"{text}"', key_of(text), value, turn.sources)
    if turns and (goes_on or len(turns) > 1):
        text = line_of(turns[-1].text, settings.line_chars // 2)
        yield Entry("in_progress", "ask", f'asked last: "{text}"', "asked last", _LAST, turns[-1].sources)
    for answer in events.answers:
        text = line_of(f"{answer.question} -> {answer.answer}", settings.line_chars)
        yield Entry("decisions", "decision", f"the person answered: {text}", key_of(text), 86, answer.sources)


def _value(turn: Turn, at: int, number: int) -> int:
    if turn.is_rejection or (turn.after_work and _CORRECTS.search(turn.text)):
        return _CORRECTION
    return _ASK - _OLDEST + _OLDEST * at // number

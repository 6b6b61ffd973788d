"""What the person asked for, in their own words, in order; the first is the goal, the last is what is going on."""

import re
from collections.abc import Iterator

from slowwave.compaction.ledger.model import Entry, LedgerSettings
from slowwave.compaction.ledger.wording import key_of, line_of
from slowwave.reading.items import Chosen, Edited, Ran, Reading, Said
from slowwave.reading.statements import contents_of

_CORRECTS = re.compile(
    r"^(?:no\b|not\b|wrong|don'?t|do not|stop|instead|actually|wait|revert|undo|that'?s not|why did you|nein|falsch)"
    r"|\b(?:instead of|should have|you (?:forgot|missed|broke)|not what i)\b",
    re.IGNORECASE,
)
_FIRST, _LAST, _CORRECTION, _ASK = 100, 99, 88, 80
_OLDEST = 12


def asks(reading: Reading, settings: LedgerSettings, *, goes_on: bool = False) -> Iterator[Entry]:
    """Yield every ask; the newer ones are worth a little more. ``goes_on``: an earlier summary has others."""
    # "yes, go on" asks for nothing by itself
    turns = [said for said in reading.said("person") if contents_of(said.own)]
    for at, turn in enumerate(turns):
        is_first, is_last = at == 0, at == len(turns) - 1
        text = line_of(turn.own, settings.first_ask_chars if is_first else settings.ask_chars)
        value = _FIRST if is_first else _LAST if is_last else _value(turn, at, len(turns), reading)
        yield Entry("goal", "ask", f'"{text}"', key_of(text), value, turn.sources)
    if turns and (goes_on or len(turns) > 1):
        text = line_of(turns[-1].own, settings.line_chars // 2)
        yield Entry("in_progress", "ask", f'asked last: "{text}"', "asked last", _LAST, turns[-1].sources)
    for chosen in (item for item in reading.items if isinstance(item, Chosen)):
        text = line_of(f"{chosen.question} -> {chosen.answer}", settings.line_chars)
        yield Entry("decisions", "decision", f"the person answered: {text}", key_of(text), 86, chosen.sources)


def _value(turn: Said, at: int, number: int, reading: Reading) -> int:
    before = reading.before(turn, "person")
    since = reading.items[before.order + 1 if before else 0 : turn.order]
    after_work = any(isinstance(item, Edited | Ran) for item in since)
    if turn.channel == "refusal" or (after_work and _CORRECTS.search(turn.own)):
        return _CORRECTION
    return _ASK - _OLDEST + _OLDEST * at // number

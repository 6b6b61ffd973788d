"""Lists of arrows ("tools -> core/tools"): what goes where, or becomes what, laid down line by line."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events, Turn
from slowwave.extraction.found import Found
from slowwave.hostile import is_hostile
from slowwave.letters import one_line

NAME = "arrow"
_LINE = re.compile(
    r"^[ \t]*(?:[-*•]|\d{1,2}[.)])?[ \t]*(?P<one>\S.{0,120}?)[ \t]*(?:->|=>|→|⇒)[ \t]*(?P<other>\S.{0,120})$"
)
# steps of a menu or of a log
_PATH = re.compile(r"(?:->|=>|→|⇒)")
_LEAST_LINES = 2
_MOST_CHARS = 280


def mine_arrows(events: Events) -> Iterator[Found]:
    """Yield each list as one decision; a single arrow may be anything."""
    for turn in events.turns:
        pairs = [
            pair for line in turn.text.split("\n") if (pair := _LINE.match(line)) and not _PATH.search(pair["other"])
        ]
        text = "; ".join(f"{pair['one'].strip()} → {pair['other'].strip()}" for pair in pairs)
        if len(pairs) >= _LEAST_LINES and not is_hostile(turn.text) and not turn.is_long:
            yield _found(turn, text, one_line(pairs[0][0]))


def _found(turn: Turn, text: str, quote: str) -> Found:
    words = one_line(text)
    if len(words) > _MOST_CHARS:
        words = words[:_MOST_CHARS].rpartition(";")[0] + "; …"
    return Found(NAME, "decision", words, 0.55, "user_explicit", (turn,), quote)

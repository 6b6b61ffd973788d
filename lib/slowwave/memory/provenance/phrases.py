"""Short lines, which are only looked for as they stand, and only where they name something rare.

"Run the tests" stands everywhere; "Use pkg.example/x" stands where somebody wrote just that.
"""

import re
from collections.abc import Sequence

from slowwave.letters import plain, visible
from slowwave.memory.foreign import ForeignLine
from slowwave.reading.echo import LEAST_WORDS
from slowwave.reading.items import Heard

_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+")
# an address, a path, a package or a version: something within it that no plain word has
_RARE = re.compile(r"(?=\S*\w[./:@_-]\w)\S{6,}|(?=\S*\d)(?=\S*[^\W\d])\S{6,}")
_SHORTEST = 2


def is_sought(line: ForeignLine) -> bool:
    """Say whether a line has enough in it that its words are no chance elsewhere."""
    return len(_WORD.findall(line.text)) >= LEAST_WORDS or _is_short(line)


def phrases(lines: Sequence[ForeignLine], heard: Sequence[Heard]) -> dict[int, str]:
    """Return which of the short lines stand in texts word by word, and in which first, as ``echoes`` does."""
    short = {number: _pattern(line) for number, line in enumerate(lines) if _is_short(line)}
    found: dict[int, str] = {}
    for text in heard if short else ():
        if len(found) == len(short):
            break
        shown = plain(visible(text.text)).lower()
        found |= {n: text.by for n, pattern in short.items() if n not in found and pattern.search(shown)}
    return found


def _is_short(line: ForeignLine) -> bool:
    return _SHORTEST <= len(_WORD.findall(line.text)) < LEAST_WORDS and bool(_RARE.search(line.text))


def _pattern(line: ForeignLine) -> re.Pattern[str]:
    words = _WORD.findall(plain(visible(line.text)).lower())
    return re.compile(r"(?<![^\W_])" + r"[\W_]{1,4}".join(map(re.escape, words)) + r"(?![^\W_])")

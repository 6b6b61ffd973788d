"""Whether a summary answers probes: what is exact must stand there, words may stand there in another order."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slowwave.compaction.proof.model import Loss, Probe, ProbeKind
from slowwave.compaction.proof.words import content, runs, words_of

_SPACE = re.compile(r"\s+")
_FAILED = re.compile(r"\b(?:fail\w*|error\w*|exit \d|broke\w*|blocked|crash\w*|not resolved|unresolved)\b")
# of a long text its beginning says what it is about
_MOST_WORDS = 40
_SAME_RUNS = 0.5
_SAME_WORDS = 0.6
# a statement may go over the next lines
_LINES = 3
_FILES = ("modified", "read")


class _Summary(NamedTuple):
    flat: str
    lines: tuple[str, ...]
    runs: dict[int, frozenset[tuple[str, ...]]]
    windows: tuple[frozenset[str], ...]


def checked(probes: Iterable[Probe], summary: str) -> Loss:
    """Ask every probe of a summary and return what is lost."""
    every = list(probes)
    read = _read(summary)
    total = Counter[ProbeKind](probe.kind for probe in every)
    return Loss(dict(total), tuple(probe for probe in every if not _is_kept(probe, read)))


def _read(summary: str) -> _Summary:
    lines = tuple(_plain(line) for line in summary.split("\n") if line.strip())
    words = words_of(summary)
    by_size = {size: frozenset(zip(*(words[at:] for at in range(size)), strict=False)) for size in range(1, 6)}
    of_lines = [content(words_of(line)) for line in lines]
    windows = tuple(frozenset[str]().union(*of_lines[at : at + _LINES]) for at in range(len(of_lines)))
    return _Summary("\n".join(lines), lines, by_size, windows)


def _plain(text: str) -> str:
    """Return a text as one line without what differs between two spellings of the same."""
    return _SPACE.sub(" ", text.replace("\\", "/").replace("`", "'").casefold()).strip()


def _is_kept(probe: Probe, summary: _Summary) -> bool:
    if probe.kind in _FILES or probe.kind == "identifier":
        return any(_stands(_plain(text), summary.flat) for text in probe.spellings)
    if probe.kind == "command":
        return any(_tells(_plain(text), summary.lines, failed=probe.failed) for text in probe.spellings)
    if any(_plain(text) in summary.flat for text in probe.spellings):
        return True
    return _says(words_of(probe.text)[:_MOST_WORDS], summary)


def _stands(text: str, flat: str) -> bool:
    """Say whether a name stands in a text, not as a part of a longer one; a path may go on to the left."""
    return bool(text) and re.search(rf"(?<![\w.-]){re.escape(text)}(?![\w/-])", flat) is not None


def _tells(command: str, lines: Sequence[str], *, failed: bool) -> bool:
    """Say whether a line names a command and, when it failed, says so."""
    return any(command in line and (not failed or _FAILED.search(line) is not None) for line in lines)


def _says(words: Sequence[str], summary: _Summary) -> bool:
    own = runs(words)
    if not own:
        return True
    size = len(next(iter(own)))
    if len(own & summary.runs[size]) >= _SAME_RUNS * len(own):
        return True
    telling = content(words)
    least = _SAME_WORDS * len(telling)
    return bool(telling) and any(len(telling & window) >= least for window in summary.windows)

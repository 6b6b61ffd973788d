"""Sentences that stood elsewhere before a person typed them: in a tool's output, in a file, in an assistant's message.

Who pastes a line of a web page, or repeats what an agent said, states nothing of their own. Texts are only looked at
where a rare word of a sentence stands, so that a session is read through once at the speed of a search; what is kept of
it are references to texts that are in memory anyway. Likeness is the share of a sentence's shingles of three words
(w-shingling, Broder 1997).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowwave.letters import plain, visible
from slowwave.reading.items import AGENT, PERSON, Heard

_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+")
_ESCAPED = re.compile(r"\\[nrt\"]")
# what stands for a secret in the words to look for; what was heard has the secret itself
_MARK = re.compile(r"\[secret:[^\]]*\]")
# shorter sentences are alike by chance: "run the tests again"
LEAST_WORDS = 5
_SHINGLE = 3
_SHARE = 0.75
# people take up the words in which an assistant asked or proposed; only a whole sentence of it is taken for a copy
_LEAST_WORDS_OF_AGENT = 8
_SHARE_OF_AGENT = 0.95
# a window is only read where two of the three longest words of a sentence stand together
_ANCHORS = 3
_TOGETHER = 2
_MARGIN = 80


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A sentence to look for."""

    number: int
    order: int
    shingles: frozenset[tuple[str, ...]]
    anchors: tuple[str, ...]
    words: int
    length: int


def echoes(sentences: Sequence[tuple[int, str]], heard: Sequence[Heard]) -> dict[int, str]:
    """Return which sentences stood somewhere before their person said them first, and who had written them.

    Args:
        sentences: for each the rank of the turn in which it stands, and its words.
        heard: the session's texts in order, with the person's own as ``"person"``.
    """
    wanted = [w for number, (order, text) in enumerate(sentences) if (w := _wanted(number, order, text))]
    if not wanted:
        return {}
    return _search(wanted, heard)


def _search(wanted: Sequence[_Wanted], heard: Sequence[Heard]) -> dict[int, str]:
    from ahocorasick_rs import AhoCorasick  # noqa: PLC0415 - only where there is something to look for

    anchors = sorted({anchor for one in wanted for anchor in one.anchors})
    automaton = AhoCorasick(anchors)
    rank = {anchor: number for number, anchor in enumerate(anchors)}
    ranks = [(one, frozenset(rank[anchor] for anchor in one.anchors)) for one in wanted]
    margin = max(one.length for one in wanted) + _MARGIN
    last = max(one.order for one in wanted)
    settled: dict[int, str] = {}
    for text in heard:
        if text.order > last or len(settled) == len(wanted):
            break
        lower = text.text.lower()
        for begin, end, seen in _windows(automaton.find_matches_as_indexes(lower, overlapping=True), margin):
            near = [one for one, of in ranks if one.number not in settled and len(of & seen) >= min(_TOGETHER, len(of))]
            here = _shingles(lower[begin:end]) if near else frozenset[tuple[str, ...]]()
            settled.update((one.number, text.by) for one in near if _is_in(one, here, text))
    return {number: by for number, by in settled.items() if by != PERSON}


def _is_in(one: _Wanted, here: frozenset[tuple[str, ...]], text: Heard) -> bool:
    if text.order > one.order:  # what has the same rank stood right before it, or is the person's own message
        return False
    share = len(one.shingles & here) / len(one.shingles)
    if text.by == AGENT:
        return one.words >= _LEAST_WORDS_OF_AGENT and share >= _SHARE_OF_AGENT
    return share >= _SHARE


def _windows(hits: Sequence[tuple[int, int, int]], margin: int) -> Iterator[tuple[int, int, set[int]]]:
    """Yield what is around the hits and which they are; what overlaps is joined, so that no part is read twice."""
    begin = end = -1
    seen: set[int] = set()
    for which, start, stop in hits:
        if begin >= 0 and start - margin > end:
            yield begin, end, seen
            begin, seen = -1, set[int]()
        begin = max(0, start - margin) if begin < 0 else begin
        end = max(end, stop + margin)
        seen.add(which)
    if begin >= 0:
        yield begin, end, seen


def _wanted(number: int, order: int, text: str) -> _Wanted | None:
    lower = text.lower()
    pieces = _MARK.split(lower)
    words = [word for piece in pieces for word in _words(piece)]
    if len(words) < LEAST_WORDS:
        return None
    # the words as they are written, so that they are found in a text that was not brought into a form
    written = sorted(set(_WORD.findall(" ".join(pieces))), key=lambda word: (-len(word), word))
    shingles = frozenset[tuple[str, ...]]().union(*map(_shingles, pieces))
    return _Wanted(number, order, shingles, tuple(written[:_ANCHORS]), len(words), len(text))


def _words(lower: str) -> list[str]:
    text = _ESCAPED.sub(" ", lower)
    return _WORD.findall(text if text.isascii() else plain(visible(text)))


def _shingles(lower: str) -> frozenset[tuple[str, ...]]:
    words = _words(lower)
    return frozenset(zip(*(words[at:] for at in range(_SHINGLE)), strict=False))

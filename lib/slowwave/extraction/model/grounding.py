"""Whether a model's note rests on what was said: nothing that it adds of its own gets through.

A note is dropped with a reason, in this order: a message that does not exist or was only there for context, words that
the message does not hold, a secret, something that was erased, an attempt to steer an agent, a category that only a
person's own words can give, then words, values or a "no" that the messages do not have. Its words must come from the
cited messages, so that a model that was misled by one message cannot put its demand behind a harmless quotation of
another.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from slowwave.extraction.model.claims import Claim
from slowwave.extraction.model.passages import Passage
from slowwave.extraction.taint import is_hostile, one_line
from slowwave.memory.dated import dated
from slowwave.secrets.blocked import ERASED

Reason = Literal[
    "shape", "too_many", "evidence", "earlier", "quote", "secret", "erased", "hostile", "origin", "words", "values",
    "negation", "weak", "same",
]  # fmt: skip

PERSONAL = ("preference", "constraint", "decision")
_SHORTEST_QUOTE = 6
_LONGEST_TEXT = 600
_GROUNDED = 0.6
_STEM = 5
_SHORTEST_WORD = 4
_WORD = re.compile(r"\w+")
# scripts that put no spaces between words are compared by pairs of characters
_UNSPACED = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
# values, paths, flags, identifiers: one character more or less is another thing
_EXACT = re.compile(r"`[^`]+`|[\w.~@:+-]*(?:/[\w.~@:+-]*)+|(?<!\w)--?\w[\w-]*|\w*\d[\w.:%+-]*|\w+_\w+")
_NO = re.compile(
    r"\b(?:not|no|never|none|without|avoid|cannot|stop|instead|rather|neither|nor|over|only|nicht|kein\w*|nie|niemals"
    r"|ohne|statt|pas|jamais|sans|nunca|sin)\b|n['\u2019]t\b|[不没別勿]|ない|않|말",
    re.IGNORECASE,
)
# how a note speaks about a person and a project, in whatever words they spoke themselves
_FRAME_WORDS = (
    "user person prefer wants want likes need must should always project repo repository code uses using that this with"
    " when from have they their team assistant agent ensure instead rather never only does which"
)
_FRAME = frozenset(word[:_STEM] for word in _FRAME_WORDS.split())


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a note rests on: the cited passages with the quoted words, a person's first when there are any."""

    cited: tuple[tuple[Passage, str], ...]

    @property
    def main(self) -> tuple[Passage, str]:
        """What carries the note."""
        return self.cited[0]


def grounds_of(claim: Claim, numbered: Mapping[int, Passage], new: Iterable[Passage]) -> Grounds | Reason:
    """Return what a note rests on, or why it is dropped.

    Args:
        claim: the note.
        numbered: what the model was shown.
        new: those passages that it was to read.
    """
    if not claim.text.strip() or len(claim.text) > _LONGEST_TEXT:
        return "shape"
    if not claim.evidence or any(number not in numbered for number, _ in claim.evidence):
        return "evidence"
    cited = [(numbered[number], _flat(quote)) for number, quote in claim.evidence]
    fresh = {id(passage) for passage in new}
    reason = _unshown(cited, fresh) or _unsafe(claim.text, cited)
    if reason is None and claim.category in PERSONAL:
        cited = [(passage, quote) for passage, quote in cited if passage.speaker == "person"]
        reason = None if any(id(passage) in fresh for passage, _ in cited) else "origin"
    cited.sort(key=lambda pair: pair[0].speaker != "person")
    return reason or _strayed(claim.text, cited) or Grounds(tuple(cited))


def _unshown(cited: Sequence[tuple[Passage, str]], fresh: Collection[int]) -> Reason | None:
    """Return what is wrong with the evidence, if anything."""
    if not any(id(passage) in fresh for passage, _ in cited):
        return "earlier"
    shown = all(len(quote) >= _SHORTEST_QUOTE and quote in _flat(passage.text) for passage, quote in cited)
    return None if shown else "quote"


def _unsafe(text: str, cited: Sequence[tuple[Passage, str]]) -> Reason | None:
    """Return why a note must not be remembered whatever it rests on, if so."""
    if "[secret:" in text:
        return "secret"
    if ERASED in text:
        return "erased"
    return "hostile" if is_hostile(text) or any(is_hostile(quote) for _, quote in cited) else None


def _strayed(text: str, cited: Sequence[tuple[Passage, str]]) -> Reason | None:
    """Return what a note adds to what was said, if anything."""
    said = _flat(" ".join(passage.text for passage, _ in cited)).casefold()
    with_dates = " ".join(dated(passage.text, passage.event.at) for passage, _ in cited).casefold()
    low = one_line(text).casefold()
    for value in _EXACT.findall(low):
        bare = value.strip("`.,:;")
        if bare and bare not in said and bare not in with_dates:
            return "values"
    words = _stems(low) - _FRAME
    if words and len(words & _stems(said)) / len(words) < _GROUNDED:
        return "words"
    quoted = " ".join(quote for _, quote in cited)
    return "negation" if bool(_NO.search(text)) != bool(_NO.search(quoted)) else None


def _stems(text: str) -> set[str]:
    found: set[str] = set()
    for word in _WORD.findall(text):
        if _UNSPACED.search(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif len(word) >= _SHORTEST_WORD:
            found.add(word[:_STEM])
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())

"""What quotations are worth: whether they stand there, whose words they are, and whether they bear on a note at all."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowwave.extraction.classifier import weights
from slowwave.extraction.model.material import CHOSE, Passage
from slowwave.extraction.voice import is_others
from slowwave.hostile import is_hostile
from slowwave.memory import QUOTED
from slowwave.memory.search import share_of
from slowwave.reading import Chosen, Failed, Ran, Said, statements

SHORTEST = 6
# so long is a quotation that it tells by itself where it stands
_TELLING = 3 * SHORTEST
_ELLIPSIS = re.compile(r"\s*(?:\u2026|\.{3}|\[\u2026\]|\[\.{3}\])\s*")
# marks that people and models write in several forms
_FORMS = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\u2011": "-"})
# from here on scripts put no spaces between words
_UNSPACED = "\u0e00"

NOT_SAID = "no words of the person show it"
NOT_ABOUT_IT = "the quoted words of the person say nothing about it, and no proposal right before them is quoted"
ONLY_SHOWN = "only the output of a tool or pasted text shows it"
BESIDE_ORDERS = "it stands beside words that try to steer an agent"


@dataclass(frozen=True, slots=True)
class Cited:
    """A quotation that stands where it is said to stand."""

    number: int  # of the passage
    passage: Passage  # the passage
    words: str  # the quotation

    @property
    def is_persons(self) -> bool:
        """Whether a person typed or chose the words."""
        own, item = self.passage.own, self.passage.item
        if not own or not isinstance(item, Chosen):
            return bool(own) and stands_in(self.words, own)
        # of a dialog models quote the line that tells the choice, whole or in part, or what the chosen option says
        told = self.words.rpartition(CHOSE)[2] or self.words
        chosen = (own, *(f"{one.label}: {one.description}" for one in item.chosen))
        return flat(own) in flat(self.words) or any(stands_in(told, text) for text in chosen)

    @property
    def is_certain(self) -> bool:
        """Whether a person surely speaks for themselves: they chose it, or nothing around it says otherwise."""
        if not isinstance(self.passage.item, Said):
            return self.is_persons
        if not self.is_persons:
            return False
        every = statements(self.passage.item)
        held = [one for one in every if stands_in(self.words, one.text) or stands_in(one.text, self.words)]
        return not any(is_others(one, every, weights()) for one in held)

    @property
    def is_only_shown(self) -> bool:
        """Whether the words are neither a speaker's own nor a command, but what a tool printed or somebody pasted."""
        item = self.passage.item
        if isinstance(item, Ran):
            return bool(item.cause) and stands_in(self.words, item.cause) and not stands_in(self.words, item.line)
        return isinstance(item, Failed) or (self.passage.speaker == "person" and not self.is_persons)


def cited_of(words: str, number: int, numbered: Mapping[int, Passage]) -> Cited | None:
    """Return where a quotation stands: in the passage of its number, or in exactly one other one."""
    quoted = " ".join(words.split())
    named = numbered.get(number)
    if named is not None and _holds(named, words):
        return Cited(number, named, quoted)
    others = [n for n, passage in numbered.items() if len(words) > _TELLING and _holds(passage, words)]
    return Cited(others[0], numbered[others[0]], quoted) if len(others) == 1 else None


def _holds(passage: Passage, words: str) -> bool:
    return stands_in(words, passage.text) or bool(passage.own and stands_in(words, passage.own))


def stands_in(words: str, text: str) -> bool:
    """Say whether a quotation stands in a text: letter for letter, but for white space, quotation marks and cuts.

    Of a cut quotation every piece has to be long enough to be one by itself: single letters stand in every text.
    """
    whole = flat(text)
    parts = [part for part in _ELLIPSIS.split(flat(words).strip("\"' ")) if part]
    at = 0
    for part in parts:
        found = next((place for place in _places(part, whole, at) if _is_whole(part, whole, place)), -1)
        if found < 0 or (len(parts) > 1 and len(part) < SHORTEST):
            return False
        at = found + len(part)
    size = sum(map(len, parts))
    return bool(parts) and (size >= SHORTEST or size * 2 >= len(whole))


def flat(text: str) -> str:
    """Return a text as it is compared: on one line, without case, with plain marks of quotation."""
    return " ".join(text.translate(_FORMS).split()).casefold()


def _places(part: str, whole: str, at: int) -> Iterator[int]:
    found = whole.find(part, at)
    while found >= 0:
        yield found
        found = whole.find(part, found + 1)


def _is_whole(part: str, whole: str, place: int) -> bool:
    """Say whether a piece of a text begins and ends with whole words: "able" does not stand in "unable"."""
    end = place + len(part)
    before, after = whole[max(0, place - 1) : place], whole[end : end + 1]
    return not (_is_one_word(before, part[0]) or _is_one_word(part[-1], after))


def _is_one_word(one: str, other: str) -> bool:
    return one.isalnum() and other.isalnum() and max(one, other) < _UNSPACED


def unspoken(about: str, cited: Sequence[Cited], numbered: Mapping[int, Passage]) -> str:
    """Return why what quotations rest on may not be a person's own wish, "" when one of them surely is.

    Args:
        about: what the person would have to have wanted.
        cited: the quotations.
        numbered: every passage that the model was shown.
    """
    own = [one for one in cited if one.is_persons]
    if not own:
        return NOT_SAID
    certain = [one for one in own if one.is_certain]
    if not certain:
        return QUOTED
    return "" if any(_bears_on(about, one, cited, numbered) for one in certain) else NOT_ABOUT_IT


def _bears_on(about: str, said: Cited, cited: Sequence[Cited], numbered: Mapping[int, Passage]) -> bool:
    """Say whether words of a person name anything of what a note is about, or answer a quoted proposal that does.

    What somebody agrees to stands right before it: between the proposal and the assent no person speaks.
    """
    item = said.passage.item
    shown = said.words
    if isinstance(item, Chosen):
        shown = said.passage.text
    elif isinstance(item, Said) and item.refused:
        shown = f"{shown} {item.refused}"
    if share_of(shown, about):
        return True
    return any(
        one.passage.speaker == "assistant"
        and one.number < said.number
        and not any(numbered[n].speaker == "person" for n in range(one.number + 1, said.number) if n in numbered)
        and bool(share_of(one.words, about))
        for one in cited
    )


def untrusted(cited: Sequence[Cited]) -> str:
    """Return why quotations show nothing by themselves, whatever kind of note rests on them, "" when they do."""
    if all(one.is_only_shown for one in cited):
        return ONLY_SHOWN
    if any(not one.is_persons and is_hostile(one.passage.text) for one in cited):
        return BESIDE_ORDERS
    return ""

"""How likely a statement is worth loading, by weights that were fitted to statements which readers judged.

What a statement shows comes first: its words, how it is written, and its place in the dialogue.
"""

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

import msgspec

from slowwave.memory import CATEGORIES, Category
from slowwave.memory.dates import dated, reports, states
from slowwave.reading import Chosen, Edited, Failed, Part, Ran, Reading, Said, Speaker, Statement, contents_of

# The features.
#
# The same features are used to train the classifier (``python -m tests.quality.train``) and to apply it. All of them
# are names; a weight belongs to each. Words of one project are no features: a name counts only where sessions of
# several repositories have it.

_TOKEN = re.compile(r"`[^`\n]+`|https?://\S+|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d+(?:[.,:]\d+)*|[?!:]|\u2192|->|\u2014")
# the fingerprint of a secret differs from home to home and tells nothing
_FINGERPRINT = re.compile(r"(\[secret:[\w-]+):[0-9a-f]+\]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_PATHLIKE = re.compile(r"\w/\w|\w\.\w{1,5}\b|_|--\w")
_STEPS = (20, 45, 80, 130, 200, 300)
_COUNTS = (0, 1, 2, 4, 8, 16)
_REPLY_WORDS = 3
_SHORT_REPLY = 8
_PIECES = range(1, 5)
_PHRASES, _ENDINGS = range(1, 4), range(2, 5)
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_LONG_ANSWER, _ANSWER_STEP = 3, 20

# features by which the wording of a statement is told, whatever session it stands in
WORDING = ("w:", "b:", "f:", "h:", "s:", "p:entry", "p:under", "p:total", "p:length")


@lru_cache(maxsize=8192)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in one form: code, paths, addresses and numbers by their kind."""
    found: list[str] = []
    for token in _TOKEN.findall(_FINGERPRINT.sub(r"\1]", text)):
        if token[0] == "`":
            found.append("<path>" if _PATHLIKE.search(token) else "<code>")
        elif token.startswith("http"):
            found.append("<url>")
        elif token[0].isdigit():
            found.append("<n>")
        elif _UNSPACED.search(token):
            found += [token[at : at + 2] for at in range(max(1, len(token) - 1))]
        else:
            found.append(token.lower().replace("\u2019", "'"))
    return tuple(found)


@lru_cache(maxsize=4096)
def pieces_of(text: str) -> frozenset[str]:
    """Return the pieces of one to four characters of all words, with the space around each.

    They tell endings, mistyped words and scripts without spaces, where whole words are seldom the same.
    """
    found: set[str] = set()
    for word in _FINGERPRINT.sub(r"\1]", text).lower().split():
        held = f" {word} "
        for length in _PIECES:
            found.update(held[at : at + length] for at in range(len(held) - length + 1))
    return frozenset(found)


def phrases_of(text: str) -> frozenset[str]:
    """Return the words of a text, what of them stands side by side, up to three, and how it begins."""
    words = words_of(text)
    runs = (zip(*(words[at:] for at in range(length)), strict=False) for length in _PHRASES)
    begins = (f"^{' '.join(words[:length])}" for length in (1, 2))
    return frozenset({*begins, *map(" ".join, itertools.chain.from_iterable(runs))})


def endings_of(text: str) -> frozenset[str]:
    """Return the pieces of two to four characters of the words of a text: endings, mistyped words, joined scripts."""
    held = [f" {word} " for word in words_of(text)]
    return frozenset(word[at : at + n] for word in held for n in _ENDINGS for at in range(len(word) - n + 1))


class Surroundings:
    """A reading, prepared so that the place of every statement is known without going through it again.

    Args:
        reading: the whole session.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        items = reading.items
        self._persons = [one.order for one in items if isinstance(one, Chosen) or _is(one, "person")]
        self._spoken = [one.order for one in items if isinstance(one, Said)]
        self._work = [one.order for one in items if isinstance(one, Edited | Ran)]
        self._edits = [one.order for one in items if isinstance(one, Edited)]
        self._broken = [one.order for one in items if isinstance(one, Failed) or _is_failed(one)]
        # when each word was first typed by the person, and said by the assistant
        self._typed = _first_said(reading, "person")
        self._told = _first_said(reading, "assistant")

    def features(self, statement: Statement) -> set[str]:
        """Return the names of all features of a statement."""
        said = statement.said
        found = set(wording(statement))
        found.update(f"p:{name}={value}" for name, value in self._place(said, statement).items())
        found.update(self._shared(statement))
        found.update(self._replies(statement))
        # who says a word matters as much as the word
        return {f"{said.speaker[0]}|{name}" for name in found} | {"*|" + name for name in found if name[1] == ":"}

    def _place(self, said: Said, statement: Statement) -> Mapping[str, object]:
        at = said.order
        turn = bisect_left(self._persons, at)
        following = turn + (said.speaker == "person")
        after = self._persons[following] if following < len(self._persons) else len(self.reading.items)
        before = self._persons[turn - 1] if turn else 0
        return {
            "channel": said.channel,
            "last": said.is_last,
            "first": statement.index == 0,
            "end": statement.index == statement.total - 1,
            "turn": bucket(turn, _COUNTS),
            "final": after == len(self.reading.items),
            "work before": bucket(_between(self._work, before, at), _COUNTS),
            "work after": bucket(_between(self._work, at, after), _COUNTS),
            "edits before": _between(self._edits, before, at) > 0,
            "edits after": _between(self._edits, at, after) > 0,
            "broken before": _between(self._broken, before, at) > 0,
        }

    def _shared(self, statement: Statement) -> Iterator[str]:
        """Yield how much of a statement takes up what was said before: a recap does, an announcement does not."""
        at = statement.said.order
        content = contents_of(statement.text)
        if not content:
            return
        for name, said in (("typed", self._typed), ("told", self._told)):
            known = sum(said.get(word, at) < at for word in content)
            yield f"x:{name}={min(4, 5 * known // len(content))}"
        both = sum(self._typed.get(word, at) < at and self._told.get(word, at) < at for word in content)
        yield f"x:both={both > len(content) // 2}"

    def _replies(self, statement: Statement) -> Iterator[str]:
        """Yield what the other one said next, or before, in short."""
        said = statement.said
        if said.speaker == "person":
            asked = self.reading.before(said, "assistant")
            words = words_of(asked.own[-400:]) if asked is not None else ()
            yield "r:was asked" if "?" in words[-30:] else "r:was told" if words else "r:begins"
            return
        turn = bisect_left(self._persons, said.order)
        after = self._persons[turn] if turn < len(self._persons) else None
        item = self.reading.items[after] if after is not None else None
        if isinstance(item, Said):
            words = words_of(item.own)
            yield "r:short" if len(words) <= _SHORT_REPLY else "r:long"
            yield from (f"r:{word}" for word in words[:_REPLY_WORDS])
            if "?" in words:
                yield "r:asks"
        else:
            yield "r:chosen" if item is not None else "r:none"


def wording(statement: Statement) -> Iterator[str]:
    """Yield what tells the wording of a statement, whatever session it stands in."""
    yield from _worded(statement)
    yield from _written(statement)
    yield f"p:entry={statement.is_entry}"
    yield f"p:under={len(statement.under)}"
    yield f"p:total={bucket(statement.total, _COUNTS)}"
    yield f"p:length={bucket(len(statement.text), _STEPS)}"


def note_of(text: str) -> Statement:
    """Return a line that an agent noted as a statement that stands alone."""
    return Statement(Said(0, (), "", None, "", "assistant", (Part(text, is_pasted=False),)), text, 0, 1)


def noting(text: str) -> Iterator[str]:
    """Yield what tells the wording of an agent's note, and whether something is so, was done, or is of one day."""
    yield from (name for name in wording(note_of(text)) if not name.startswith("p:") or name.startswith("p:length"))
    if reports(text):
        yield "t:reports"
    elif states(text):
        yield "t:states"
    if dated(text, _ANY_DAY, is_note=True) != text:
        yield "t:day"


def dialog(chosen: Chosen) -> Iterator[str]:
    """Yield what tells the wording of a question of a dialog and of the answer to it."""
    answer, options = chosen.answer, chosen.chosen
    for kind, text in (("q", chosen.question), ("h", chosen.header), ("a", answer)):
        yield from (f"{kind}:{word}" for word in words_of(text))
    for option in options:
        yield from (f"d:{word}" for word in words_of(option.description))
    yield "f:" + " ".join(words_of(chosen.question)[:2])
    yield "g:" + " ".join(words_of(answer)[:1])
    yield f"c:free={not options}"
    yield f"c:long={min(_LONG_ANSWER, len(answer) // _ANSWER_STEP)}"


def _worded(statement: Statement) -> Iterator[str]:
    words = words_of(statement.text)
    yield from (f"w:{word}" for word in words)
    yield from (f"b:{one} {other}" for one, other in itertools.pairwise(words))
    yield "f:" + " ".join(words[:1])
    yield "f:" + " ".join(words[:2])
    for line in statement.under[-2:]:
        yield from (f"h:{word}" for word in words_of(line))


def _written(statement: Statement) -> Iterator[str]:
    text = statement.text
    yield f"s:{text.rstrip('*`_ ')[-1:]}" if not text.rstrip("*`_ ")[-1:].isalnum() else "s:"
    if text[:2] == "**":
        yield "s:bold"
    if text[:1].islower():
        yield "s:low"


def _first_said(reading: Reading, speaker: Speaker) -> dict[str, int]:
    first: dict[str, int] = {}
    for said in reading.said(speaker):
        for word in contents_of(said.own):
            first.setdefault(word, said.order)
    return first


def _is_failed(item: object) -> bool:
    return isinstance(item, Ran) and not item.run.ok


def _between(places: Sequence[int], begin: int, end: int) -> int:
    return max(0, bisect_left(places, end) - bisect_left(places, begin))


def bucket(number: int, steps: Sequence[int]) -> int:
    """Return which step a number is on."""
    return bisect_left(steps, number)


def _is(item: object, speaker: str) -> bool:
    return isinstance(item, Said) and item.speaker == speaker


# The models over them, and their weights.
#
# Logistic models over named features and pieces of words, one weight each, then a few steps that read off how often
# statements of such a score were worth it. The weights are data (``weights.json``, below 1 MB); ``make train`` fits
# them anew. Nothing here depends on the order of sets: sums of weights are exact.

# how much it counts for a note that it is worded like a rule
_LIKE_A_RULE = 0.3
# by how much a kind has to lead
_PLAIN, _LIKELIER = 1.0, 0.5
# who stands behind a statement
Voice = Literal["typed", "told", "chosen"]


class Head(msgspec.Struct, frozen=True):
    """One logistic model."""

    bias: float  # what no feature changes
    weights: dict[str, float]  # by the name of the feature
    # by the piece of a word; together they count as much in a long text as in a short one
    pieces: dict[str, float] = {}

    def score(self, features: Collection[str], pieces: Collection[str] = ()) -> float:
        """Return the log-odds; the same for the same features in whatever order."""
        known, parts = self.weights, self.pieces
        score = self.bias + math.fsum(known[name] for name in features if name in known)
        if not pieces or not parts:
            return score
        among = [parts[piece] for piece in pieces if piece in parts]
        return score + math.fsum(among) / math.sqrt(len(among)) if among else score


class Phrasing(msgspec.Struct, frozen=True):
    """A logistic model over the words of one sentence alone.

    All that a sentence has counts where it is averaged, also what has no weight: of a sentence whose words are hardly
    known little is said.
    """

    bias: float  # what no words change
    phrases: dict[str, float]  # by the phrase (:func:`phrases_of`)
    endings: dict[str, float]  # by the piece of a word (:func:`endings_of`)

    def score(self, text: str) -> float:
        """Return the log-odds; the same for the same words in whatever order."""
        return self.bias + _averaged(self.phrases, phrases_of(text)) + _averaged(self.endings, endings_of(text))


def _averaged(known: Mapping[str, float], names: Collection[str]) -> float:
    """Return the sum of weights over the root of how many there could be."""
    return math.fsum(known[name] for name in names if name in known) / math.sqrt(len(names) or 1)


class Weights(msgspec.Struct, frozen=True):
    """All that was fitted."""

    worth: Head  # whether what an assistant said is worth loading, by its words and its place
    choice: Head  # whether a choice in a dialog settles something, rather than what is done next
    typed: Phrasing  # whether a sentence is worth loading amid all that people type, by its words
    document: Head  # whether a sentence reads like a document or an agent's report rather than like something typed
    categories: dict[Category, Head]  # by category, for what is worth it
    theirs: Head  # whether what a person typed is somebody else's words, a supposition, or about a text
    # by who stands behind a statement, log-odds and the share that was worth it there, both rising: the same words are
    # worth more from a person than from an assistant
    steps: dict[Voice, tuple[tuple[float, float], ...]]
    # whether an agent's note is worth loading in every session, rather than told of one task
    note: Head = Head(0.0, {})
    place: Head = Head(0.0, {})  # what the place of a typed sentence in its session adds to its words

    def noted(self, text: str) -> float:
        """Return how likely an agent's note is worth loading in every session, 0 to 1, by its words and its tense.

        What sounds like a rule or a fact for good where a person types it does so in a note as well.
        """
        score = self.note.score(set(noting(text)), pieces_of(text)) + _LIKE_A_RULE * self.typed.score(text)
        return 1 / (1 + math.exp(-score))

    def section(self, text: str) -> Category:
        """Return the category under whose heading a note is looked for, "project" where none is much likelier."""
        # as if a person had said it: what agents say of these kinds is told of their work
        said = set(wording(note_of(text)))
        names = {f"p|{name}" for name in said} | {f"*|{name}" for name in said if name[1] == ":"}
        scores = {category: self.categories[category].score(names) for category in CATEGORIES}
        first, second = sorted(CATEGORIES, key=lambda category: -scores[category])[:2]
        # a decision tells its day: that has to be plain
        other, least = (second, _PLAIN) if first == "decision" else ("project", _LIKELIER)
        return first if scores[first] - scores[other] > least else "project"

    def told(self, features: Collection[str]) -> float:
        """Return how likely what an assistant said is worth loading, 0 to 1."""
        return self._read_off(self.worth.score(features), "told")

    def settles(self, names: Collection[str], pieces: Collection[str]) -> float:
        """Return how likely a choice in a dialog is worth loading, 0 to 1, by its wording and pieces of words."""
        return self._read_off(self.choice.score(names, pieces), "chosen")

    def wish(self, text: str, features: Collection[str] = ()) -> float:
        """Return how likely what a person typed is worth loading, 0 to 1, by its words and its place."""
        return self._read_off(self.typed.score(text) + self.place.score(features), "typed")

    def _read_off(self, score: float, voice: Voice) -> float:
        steps = self.steps[voice]
        at = bisect_right(steps, score, key=lambda step: step[0])
        if at == 0:
            return steps[0][1]
        if at == len(steps):
            return steps[-1][1]
        (low, one), (high, other) = steps[at - 1], steps[at]
        return one + (other - one) * (score - low) / (high - low)

    def category(self, features: Collection[str], allowed: Collection[Category] = CATEGORIES) -> Category:
        """Return the likeliest of some categories."""
        scores: Mapping[Category, float] = {c: self.categories[c].score(features) for c in CATEGORIES if c in allowed}
        return max(scores, key=lambda category: scores[category])


@cache
def weights() -> Weights:
    """Return the weights that are shipped."""
    data = files("slowwave.extraction").joinpath("weights.json").read_bytes()
    return msgspec.json.decode(data, type=Weights)

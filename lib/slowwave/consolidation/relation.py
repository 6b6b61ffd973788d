"""How a line of a memory folder relates to an older one: whether it says the same, or what holds instead of it.

Trees over an alignment of the two lines, fitted to pairs that others wrote (:mod:`tests.quality.train_relation`). What
counts as rare is told by the folder itself. Two answers: whether the older line is needless beside the newer one (it
says the same, something changed, a plan is carried out), and whether both say the same. The weights are data.
"""

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, cast

import msgspec

from slowwave.consolidation.facts import Fact
from slowwave.consolidation.likeness import meaning_of, words_of
from slowwave.consolidation.model import Operation, State
from slowwave.consolidation.replacement import apart, overtakes, root_of
from slowwave.memory.ledger import BY_JUDGE
from slowwave.memory.pages import standing_lines, target_of

# words that any sentence has; their order is its build
_SMALL = frozenset(
    (
        "a an the is are was were be been to of in on at for from and or that this these those it its as by with so do "
        "does did has have had not no we you i he she they our your my all any each can may must should will would per "
        "when if then than only also use used uses using der die das ein eine ist sind und oder nicht kein auf im mit "
        "von zu für bei des dem den le la les un une est et de du en pour sur el los las es y para con por il lo di"
    ).split()
)
_CODE = re.compile(r"`(?P<code>[^`]+)`|[^`]+")
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]+|(?:(?![\u3040-\u30ff\u3400-\u9fff])[\w./\\:@#+~%$*'\u2019^<>=\u2264\u2265\u20ac\u00a3()-])+"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_PIECE = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("version", r"v?\d+(?:\.\d+)+[\w.-]*|v\d+"),
        ("number", r"[~<>=\u2264\u2265]*[vV$\u20ac\u00a3]?\d[\d.,:_]*\+?(?:x|%|[a-zA-Z]{1,3})?"),
        ("path", r".*/.*|.*\.[a-z]{1,5}"),
        ("option", r"-.*"),
        ("name", r"[@#$.].*|.*(?:[a-z][A-Z]|_|::|\(\)|\w[.-]\w|\d).*|[A-Z]{2,}"),
    )
)
_NAMES = ("path", "option", "name", "proper", "code")
_ALL = ("version", "number", *_NAMES, "word")
_ENDS = (".", "!", "?", ":", ";")
_ALIKE, _LEAST_ALIKE, _SHARE = 0.8, 5, 0.75
_LEAST_GRAM = 4
_BEYOND = 20
# what the rules (:mod:`.replacement`) see as well needs less: of 35 such pairs of writers to whom nothing was fitted 1
# stays beside the other, of 46 that the rules see alone 8
_SECONDED = 1.5
_RARE = 0.6


@dataclass(frozen=True, slots=True)
class _Token:
    """A word: without its ending, with its kind and the parts that a name has."""

    root: str
    kind: str
    word: str
    parts: frozenset[str]


@dataclass(frozen=True)
class Line:
    """A line taken apart."""

    text: str

    @cached_property
    def tokens(self) -> tuple[_Token, ...]:
        """Its words in order."""
        found: list[_Token] = []
        is_first = True
        for piece in _CODE.finditer(self.text):
            for raw in _WORD.findall(piece["code"] or piece[0]):
                found += _tokens(raw, is_first=is_first, is_code=bool(piece["code"]))
                is_first = raw.endswith(_ENDS)
        return tuple(found)

    @cached_property
    def said(self) -> tuple[_Token, ...]:
        """Those of its words that say something; all where none does."""
        return tuple(t for t in self.tokens if t.word not in _SMALL) or self.tokens

    @cached_property
    def parts(self) -> frozenset[str]:
        """What can be shared with another line."""
        return frozenset[str]().union(*(t.parts for t in self.said))

    @cached_property
    def marks(self) -> frozenset[str]:
        """Its numbers and names."""
        return frozenset(t.root for t in self.said if t.kind != "word")

    @cached_property
    def phrases(self) -> frozenset[str]:
        """Its words and every two side by side, names and numbers by their kind."""
        words = ["^", *(t.word if t.kind == "word" else f"<{t.kind}>" for t in self.tokens)]
        return frozenset((*words, *(f"{one} {other}" for one, other in pairwise(words))))

    @cached_property
    def grams(self) -> frozenset[str]:
        """Its pieces of four characters."""
        bare = re.sub(r"\W+", " ", self.text.lower())
        return frozenset(bare[n : n + _LEAST_GRAM] for n in range(len(bare) - _LEAST_GRAM + 1))


line_of = lru_cache(maxsize=20_000)(Line)


def _tokens(raw: str, *, is_first: bool, is_code: bool) -> list[_Token]:
    if _UNSPACED.fullmatch(raw):
        # of scripts without spaces every two signs
        pairs = [raw[n : n + 2] for n in range(max(1, len(raw) - 1))]
        return [_Token(pair, "word", pair, frozenset((pair,))) for pair in pairs]
    edges = ",:;!?'\u2019\")" if raw.startswith((".", "-", "*", "@")) else ".,:;!?'\u2019\"()*"
    bare = raw.strip(edges).rstrip(".")
    if not any(c.isalnum() for c in bare):
        return []
    kind = next((k for k, pattern in _KINDS if pattern.fullmatch(bare)), "")
    if not kind:
        kind = "code" if is_code else "proper" if bare[0].isupper() and not is_first else "word"
    word = bare.lower()
    root = root_of(word) if kind in ("word", "proper", "code") else word
    parts = {root}
    if kind in _NAMES:
        parts |= {root_of(piece) for piece in _PIECE.findall(word) if len(piece) > 1}
        parts.add(root.rstrip("/").rsplit("/", 1)[-1])
    return [_Token(root, kind, word, frozenset(parts))]


class Rarity:
    """How rare words are among the lines of a folder: 1 for what one line of it has, less for what many have."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = [line_of(text) for text in texts]
        self._times = Counter(part for line in lines for part in line.parts)
        # a word of two lines is as rare in a small folder as in a large one
        self._all = len(lines) + _BEYOND

    def of(self, part: str) -> float:
        """Return how rare a word is."""
        return 1 - math.log(max(1, self._times[part])) / math.log(self._all)

    def times(self, part: str) -> int:
        """Return how many lines have a word."""
        return self._times[part]


def share_something(one: str, other: str, rarity: Rarity) -> bool:
    """Say whether two lines share something rare in their folder: only such lines are about one thing."""
    return any(rarity.of(part) >= _RARE for part in line_of(one).parts & line_of(other).parts)


class _Side:
    """One line beside the other: which of its words come back there."""

    def __init__(self, line: Line, other: Line, rarity: Rarity) -> None:
        self.tokens = line.said
        self.found = [_comes_back(t, other.parts) for t in self.tokens]
        self.rare = [max(rarity.of(part) for part in t.parts) for t in self.tokens]

    @property
    def covered(self) -> float:
        return sum(x * y for x, y in zip(self.found, self.rare, strict=True)) / (sum(self.rare) or 1)

    @property
    def shared(self) -> list[float]:
        """How rare the words are that come back, rarest first."""
        return sorted((r for r, f in zip(self.rare, self.found, strict=True) if f >= _ALIKE), reverse=True)

    @property
    def alone(self) -> list[float]:
        """How rare the words are that do not."""
        return sorted((r for r, f in zip(self.rare, self.found, strict=True) if f < _ALIKE), reverse=True)

    def mean(self, count: int) -> float:
        """Return how much of its first words comes back."""
        return sum(self.found[:count]) / max(1, count)

    def of_kind(self, kinds: Sequence[str]) -> tuple[int, int]:
        """Return how many words of some kinds come back, and how many do not."""
        of = [f >= _ALIKE for t, f in zip(self.tokens, self.found, strict=True) if t.kind in kinds]
        return sum(of), len(of) - sum(of)


def _comes_back(token: _Token, parts: frozenset[str]) -> float:
    if not token.parts.isdisjoint(parts):
        return 1.0
    if token.kind not in ("word", "proper", "code"):
        return 0.0
    return max((_likeness(token.root, part) for part in parts), default=0.0)


@lru_cache(maxsize=200_000)
def _likeness(one: str, other: str) -> float:
    shorter = min(len(one), len(other))
    if shorter < _LEAST_ALIKE or one[:2] != other[:2]:
        return 0.0
    same = next((n for n in range(shorter) if one[n] != other[n]), shorter)
    return _ALIKE if same >= max(_LEAST_ALIKE, _SHARE * shorter) else 0.0


def features(older: str, newer: str, rarity: Rarity) -> dict[str, float]:
    """Return what tells how a line relates to an older one, by name."""
    old, new = line_of(older), line_of(newer)
    one, other = _Side(old, new, rarity), _Side(new, old, rarity)
    found: dict[str, float] = {}
    for name, side, line in (("old", one, old), ("new", other, new)):
        count = len(side.tokens)
        found |= {
            f"covered {name}": side.covered,
            f"plain {name}": side.mean(count),
            f"length {name}": count,
            f"first {name}": side.mean(1),
            f"second {name}": side.mean(min(2, count)),
            f"half {name}": side.mean((count + 1) // 2),
            f"last {name}": side.found[-1] if count else 0.0,
            f"alone {name}": side.alone[0] if side.alone else 0.0,
            f"alone number {name}": len(side.alone),
            f"alone sum {name}": sum(side.alone),
            f"noes {name}": words_of(line.text).negations,
            f"changes {name}": apart(line.text).changes,
        }
    found["covered least"] = min(found["covered old"], found["covered new"])
    found["covered most"] = max(found["covered old"], found["covered new"])
    found["covered both"] = found["covered old"] * found["covered new"]
    found["ratio"] = math.log((len(new.said) + 1) / (len(old.said) + 1))
    found["noes"] = abs(found["noes old"] - found["noes new"])
    shared = one.shared
    found |= {f"shared {n}": shared[n] if len(shared) > n else 0.0 for n in range(3)}
    found |= {"shared number": len(shared), "shared sum": sum(shared)}
    groups = [*((kind, (kind,)) for kind in _ALL), ("marks", _ALL[:-1]), ("names", _NAMES)]
    for name, kinds in groups:
        (both, gone), (_, come) = one.of_kind(kinds), other.of_kind(kinds)
        found |= {f"{name} both": both, f"{name} gone": gone, f"{name} come": come, f"{name} swapped": min(gone, come)}
        found[f"{name} share"] = both / (both + gone + come + 0.5)
    return found | _built_alike(old, new) | _by_rules(older, newer)


def _built_alike(old: Line, new: Line) -> dict[str, float]:
    match = SequenceMatcher(None, [t.root for t in old.tokens], [t.root for t in new.tokens], autojunk=False)
    blocks = match.get_opcodes()
    replaced = [b for b in blocks if b[0] == "replace"]
    small = [[t.word for t in line.tokens if t.word in _SMALL] for line in (old, new)]
    both, either = len(old.grams & new.grams), len(old.grams | new.grams)
    return {
        "alike": match.ratio(),
        "begins": blocks[0][2] if blocks and blocks[0][0] == "equal" else 0,
        "ends": blocks[-1][2] - blocks[-1][1] if blocks and blocks[-1][0] == "equal" else 0,
        "longest": max((b[2] - b[1] for b in blocks if b[0] == "equal"), default=0),
        "replaced": len(replaced),
        "first replaced": replaced[0][1] / max(1, len(old.tokens)) if replaced else 1.0,
        "one replaced": len(replaced) == 1 and all(b[0] in ("equal", "replace") for b in blocks),
        "build": SequenceMatcher(None, *small, autojunk=False).ratio() if any(small) else 0.5,
        "grams": both / (either or 1),
        "grams in": both / (min(len(old.grams), len(new.grams)) or 1),
    }


def _by_rules(older: str, newer: str) -> dict[str, float]:
    return {
        "overtakes": overtakes(newer, older),
        "overtaken": overtakes(older, newer),
        "same": meaning_of(older) == meaning_of(newer),
    }


# Trees over them, and where their sum is high enough to act on: the bars were set on pairs of another writer than the
# one that trees were fitted to.


class Head(msgspec.Struct, frozen=True):
    """Trees that answer one question; a tree is a number, or feature, threshold, and the trees below and above it."""

    bias: float
    trees: list[Any]
    least: float  # the least score that is a yes

    def score(self, values: Sequence[float]) -> float:
        """Return the log-odds for the values of all features."""
        return math.fsum((self.bias, *(_leaf(tree, values) for tree in self.trees)))


class Judge(msgspec.Struct, frozen=True):
    """What was fitted."""

    features: list[str]
    words: dict[str, float]  # what words of one side alone tell of a change (:func:`words_alone`)
    needless: Head  # the older line is needless beside the newer one
    changed: Head  # the newer one tells what holds now, or that it is done

    def replaces(self, newer: str, older: str, rarity: Rarity) -> float:
        """Return by how much more than needed a line makes an older one needless; below 0 it does not."""
        told = features(older, newer, rarity)
        values = [float(told[name]) for name in self.features]
        values.append(told_by(self.words, line_of(older), line_of(newer)))
        sure = max(head.score(values) - head.least for head in (self.needless, self.changed))
        return sure + _SECONDED * told["overtakes"]


def words_alone(old: Line, new: Line) -> frozenset[str]:
    """Return the words, and every two side by side, that only one of two lines has: "no longer", "todo", "merged"."""
    one, other = old.phrases, new.phrases
    return frozenset({*(f"-{p}" for p in one - other), *(f"+{p}" for p in other - one)})


def told_by(words: Mapping[str, float], old: Line, new: Line) -> float:
    """Return the sum of what the words of one side alone tell."""
    return math.fsum(words[word] for word in words_alone(old, new) if word in words)


def _leaf(tree: Any, values: Sequence[float]) -> float:
    while isinstance(tree, list):
        feature, threshold, below, above = cast("list[Any]", tree)
        tree = below if values[feature] <= threshold else above
    return float(tree)


@cache
def judge() -> Judge:
    """Return the judge that is shipped."""
    data = files("slowwave.consolidation").joinpath("relation.json").read_bytes()
    return msgspec.json.decode(data, type=Judge)


# What a dream does with it: of two lines of a folder the older one goes, which an agent wrote and no person stands behind.
#
# Which is older tells when each was written, and within one page of one day its place. Where nobody knows, both stay.

# so many of the lines that share most with a line are compared with it
_NEAREST = 6
_HOLDS = ("ADD", "KEEP", "UPDATE", "MERGE")
_MANY = 60
_QUOTED = 120


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line, or what a dream adds, as far as it holds."""

    fact: Fact
    operation: Operation
    at: str  # when it was written or said, "" where nobody knows
    place: tuple[str, int]  # file and number of its line, -1 for what stands in no order

    @property
    def text(self) -> str:
        return " ".join(self.fact.lead.text.split())

    @property
    def may_go(self) -> bool:
        memory, done = self.fact.memory, self.operation
        is_agents = memory is not None and memory.writer == "agent" and not self.fact.is_from_person
        return is_agents and done.action != "ADD" and not done.spans

    @property
    def order(self) -> tuple[str, str, int, str]:
        return (self.at, *self.place, self.fact.id)


def without_needless(
    operations: Sequence[Operation], facts: Sequence[Fact], state: State, max_loss: float
) -> list[Operation]:
    """Return operations in which lines go that a later one makes needless, no more than a dream may lose.

    Without anything new nothing is decided anew: of two lines one is new.

    Args:
        operations: what the rules do with every fact.
        facts: the facts.
        state: what orient found.
        max_loss: the share of all memories that a dream may lose.
    """
    new = {event.memory for event in state.adopted} | {fact.id for fact in facts if fact.candidates}
    entries = _entries(operations, {fact.id: fact for fact in facts}, state) if new else []
    rarity = Rarity([one.text for one in entries])
    near = [(older, newer, _sure(older, newer, rarity)) for older, newer in _near(entries, rarity, new)]
    found = sorted((one for one in near if one[2] >= 0), key=lambda one: -one[2])
    # what is newest holds
    surest = sorted(found[: max(1, int(max_loss * len(state.standing)))], key=lambda one: one[1].order, reverse=True)
    ended: dict[str, Operation] = {}
    for older, newer, _ in surest:
        if not {older.fact.id, newer.fact.id} & ended.keys():
            ended[older.fact.id] = _ends(older, newer)
    return [ended.get(o.memory, o) for o in operations]


def _entries(operations: Sequence[Operation], facts: Mapping[str, Fact], state: State) -> list[_Entry]:
    places = {
        (file, digest): number
        for file, data in state.files.items()
        for number, digest in standing_lines(data, [m.sha256 for m in state.standing if m.file == file]).items()
    }
    successors = {o.successor for o in operations if o.successor}
    found: list[_Entry] = []
    for operation in operations:
        fact = facts.get(operation.memory)
        if fact is None or operation.action not in _HOLDS or operation.successor or operation.by_person:
            continue
        memory = fact.memory
        if memory and (memory.is_retraction or target_of(memory.line) or memory.id in successors):
            continue
        at = memory.valid_from if memory and memory.stands else fact.last_seen
        number = places.get((memory.file, memory.sha256), -1) if memory and memory.stands else -1
        found.append(_Entry(fact, operation, at, (memory.file if memory else "", number)))
    return sorted(found, key=lambda one: one.order)


def _near(entries: Sequence[_Entry], rarity: Rarity, new: Container[str]) -> Iterator[tuple[_Entry, _Entry]]:
    """Yield lines that may go, each with those later ones that share most with it."""
    having: dict[str, list[int]] = {}
    for number, one in enumerate(entries):
        for part in line_of(one.text).parts:
            having.setdefault(part, []).append(number)
    for number, older in enumerate(entries):
        if not older.may_go:
            continue
        shared: Counter[int] = Counter()
        for part in sorted(line_of(older.text).parts):
            for other in having[part] if len(having[part]) <= _MANY else ():
                shared[other] += round(1000 * rarity.of(part))
        near = [entries[n] for n, _ in shared.most_common(_NEAREST + 1) if n != number]
        for newer in near:
            is_new = older.fact.id in new or newer.fact.id in new
            if is_new and older.text != newer.text and share_something(older.text, newer.text, rarity):
                yield older, newer


def _sure(older: _Entry, newer: _Entry, rarity: Rarity) -> float:
    """Return how sure it is that a line is needless beside a later one; below 0 it is not, or is no later one."""
    is_known = bool(older.at and newer.at) and older.at != newer.at
    is_one_page = older.at == newer.at and older.place[0] == newer.place[0] and min(older.place[1], newer.place[1]) >= 0
    if not (is_known or is_one_page) or newer.order < older.order:
        return -1.0
    return judge().replaces(newer.text, older.text, rarity)


def _ends(older: _Entry, newer: _Entry) -> Operation:
    done = older.operation
    where = f" ({newer.place[0]})" if newer.place[0] and newer.place[0] != older.place[0] else ""
    reason = f"a later line says: {newer.text[:_QUOTED]}{where}"
    *before, (begin, _) = older.fact.spans_before or ((older.at, ""),)
    spans = (*before, (begin, max(begin, newer.at))) if newer.at else ()
    return Operation("SUPERSEDE", done.memory, done.candidates, reason, newer.fact.id, spans=spans, by=BY_JUDGE)

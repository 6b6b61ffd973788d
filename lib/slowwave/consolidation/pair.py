"""How likely a newer statement takes the place of an older one, by trees that were fitted to written pairs.

The rules of :mod:`slowwave.consolidation.changed` are one feature of many. The others say what the two have in common,
what only one of them says, what kind of value that is, where in the sentence it stands, and which small words are put
in, left out or stand beside it. None of them knows what a word means. The trees are data (``changes.json``);
``make train-changes`` fits them anew.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from math import exp

import msgspec

from slowwave.consolidation.changed import GENERIC, KINDS, LINKS, Apart, apart, kind_of, overtakes, stems_of
from slowwave.consolidation.words import words_of

# from here on it takes its place; from the lower bar on where a rule says so, too
SURE, LIKELY = 0.85, 0.5

_WORD = re.compile(r"[\w./@#+-]+")
_EDGES = ".,:;'"
_CLAUSE = re.compile(r"[,;:.]\s")
_ONLY = re.compile(
    r"\b(?:only|except|unless|when|whenever|if|until|while|during|also|too|as well|for now|besides|apart from|"
    r"temporarily|inside|within|nur|wenn|außer|bei|für|solo|seulement|sauf|cuando|quand|si)\b|只|仅|だけ|только",
    re.IGNORECASE,
)
_FRONT = re.compile(
    r"^(?:in|on|at|for|during|inside|within|under|with|while|when|if|until|outside|only|auf|im|bei|für|am|wenn|dans|sur|"
    r"pour|en|para|con|quand|cuando|si|na|no|em|на|в|для|при)\b",
    re.IGNORECASE,
)
_ALL_KINDS = (*KINDS, "name", "")
# two words are one where they begin with so much of the longer one: "перенесли" and "перенести"
_LEAST_ALIKE, _ALIKE = 4, 0.65
_NONE = 9


class Tree(msgspec.Struct, frozen=True):
    """One tree, a list for each thing that a node has; a leaf has no feature, -1, and its value in ``at``."""

    feature: tuple[int, ...]
    at: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]

    def value(self, row: Sequence[float]) -> float:
        """Return the value of the leaf that a row belongs to."""
        node = 0
        while self.feature[node] >= 0:
            is_left = row[self.feature[node]] <= self.at[node]
            node = self.left[node] if is_left else self.right[node]
        return self.at[node]


class Trees(msgspec.Struct, frozen=True):
    """The fitted trees.

    Attributes:
        names: of the features, in the order of a row.
        bias: the log-odds that all trees add to.
        trees: the trees.
    """

    names: tuple[str, ...]
    bias: float
    trees: tuple[Tree, ...]

    def likelihood(self, named: dict[str, float]) -> float:
        """Return how likely a pair with such features is a change, 0 to 1."""
        row = [named.get(name, 0.0) for name in self.names]
        return 1 / (1 + exp(-self.bias - sum(tree.value(row) for tree in self.trees)))


@cache
def trees() -> Trees:
    """Return the trees that come with slowwave."""
    return msgspec.json.decode((files("slowwave.consolidation") / "changes.json").read_bytes(), type=Trees)


@lru_cache(maxsize=50_000)
def likelihood(newer: str, older: str) -> float:
    """Return how likely a statement takes the place of an older one, 0 to 1."""
    said = words_of(newer), words_of(older)
    if not said[0].tokens or not said[1].tokens or said[0].tokens == said[1].tokens:
        return 0.0
    return trees().likelihood(features(older, newer))


def takes_place(newer: str, older: str) -> bool:
    """Say whether a statement takes the place of an older one; never when both may well hold side by side."""
    likely = likelihood(newer, older)
    return likely >= SURE or (likely >= LIKELY and overtakes(newer, older))


@dataclass(frozen=True, slots=True)
class _Word:
    """A word that names something: its stem, what kind of value it is, and its place in the sentence."""

    stem: str
    kind: str
    place: int


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    parts: Apart
    raw: tuple[str, ...]
    low: tuple[str, ...]
    words: tuple[_Word, ...]


@lru_cache(maxsize=20_000)
def _said(text: str) -> _Said:
    raw = tuple(_WORD.findall(text))
    low = tuple(one.casefold().strip(_EDGES) for one in raw)
    return _Said(text, apart(text), raw, low, tuple(_naming(raw)))


def _naming(raw: Sequence[str]) -> Iterator[_Word]:
    for place, one in enumerate(raw):
        bare = one.strip(".,:;")
        stems = stems_of(bare)
        if not stems or all(stem in GENERIC for stem in stems) or bare.casefold() in LINKS:
            continue
        is_name = place and (any(c.isupper() for c in bare) or bool(words_of(bare).marks))
        yield _Word("".join(stems), kind_of(bare.casefold()) or ("name" if is_name else ""), place)


def features(older: str, newer: str) -> dict[str, float]:
    """Return what holds of a pair, by name; what is not named is 0."""
    old, new = _said(older), _said(newer)
    found = _of_words(old, new) | _of_whole(old, new) | _of_edits(old, new)
    found["rule"] = overtakes(newer, older)
    return {name: float(value) for name, value in found.items()}


def _of_words(old: _Said, new: _Said) -> dict[str, float]:
    """Return what the naming words of both say: how many are shared, and kind and place of the others."""
    matches = _matches(old.words, new.words)
    mine = [n for n, m in enumerate(matches) if m < 0]
    theirs = [m for m in range(len(new.words)) if m not in matches]
    shared, many, more = len(old.words) - len(mine), len(old.words), len(new.words)
    clause = len(_WORD.findall(_CLAUSE.split(new.text)[0]))
    found: dict[str, float] = {
        "words.old": many,
        "words.new": more,
        "words.shared": shared,
        "only.old": len(mine),
        "only.new": len(theirs),
        "share.old": shared / max(1, many),
        "share.new": shared / max(1, more),
        "first.old": bool(matches) and matches[0] >= 0,
        "first.new": 0 in matches,
        "last.old": bool(matches) and matches[-1] >= 0,
        "last.new": bool(more) and more - 1 in matches,
        "begin.old": mine[0] if mine else _NONE,
        "end.old": many - 1 - mine[-1] if mine else _NONE,
        "begin.new": theirs[0] if theirs else _NONE,
        "end.new": more - 1 - theirs[-1] if theirs else _NONE,
        "clause": sum(new.words[m].place < clause for m in theirs),
    }
    for kind in _ALL_KINDS:
        found[f"only.old.{kind}"] = sum(old.words[n].kind == kind for n in mine)
        found[f"only.new.{kind}"] = sum(new.words[m].kind == kind for m in theirs)
        found[f"shared.{kind}"] = sum(w.kind == kind for w, m in zip(old.words, matches, strict=True) if m >= 0)
    stems = [w.stem for w in old.words], [w.stem for w in new.words]
    blocks = [b[0] for b in SequenceMatcher(None, *stems, autojunk=False).get_opcodes() if b[0] != "equal"]
    return found | {"blocks": len(blocks), "replaced": blocks.count("replace"), "inserted": blocks.count("insert")}


def _matches(old: Sequence[_Word], new: Sequence[_Word]) -> list[int]:
    """Return for each word the place of its like in the newer statement, -1 where there is none."""
    taken: set[int] = set()
    found: list[int] = []
    for word in old:
        match = next((m for m, w in enumerate(new) if m not in taken and _is_like(word.stem, w.stem)), -1)
        taken.add(match)
        found.append(match)
    return found


def _is_like(one: str, other: str) -> bool:
    if one == other:
        return True
    if min(len(one), len(other)) < _LEAST_ALIKE or not one.isalpha() or not other.isalpha():
        return False
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= max(_LEAST_ALIKE, _ALIKE * max(len(one), len(other)))


def _of_whole(old: _Said, new: _Said) -> dict[str, float]:
    """Return what each says as a whole: a no, that something changed, where and when it holds."""
    mine, theirs = old.parts, new.parts
    return {
        "changes.new": theirs.changes,
        "changes.old": mine.changes,
        "noes": theirs.negations - mine.negations,
        "noes.new": theirs.negations,
        "gives_up": len(theirs.gives_up),
        "gives_up.some": any(gone & mine.content for gone in theirs.gives_up),
        "gives_up.all": any(gone <= mine.content for gone in theirs.gives_up),
        "scope.new": len(theirs.scope - mine.content),
        "scope.old": len(mine.scope - theirs.content),
        "limits.new": len(_ONLY.findall(new.text)),
        "limits.old": len(_ONLY.findall(old.text)),
        "front.new": bool(_FRONT.match(new.text)),
        "front.old": bool(_FRONT.match(old.text)),
        "longer": len(new.text.split()) - len(old.text.split()),
        "capitals.old": sum(one[0].isupper() for one in old.raw[1:]),
        "capitals.new": sum(one[0].isupper() for one in new.raw[1:]),
        "named.old": bool(old.raw) and old.raw[0].istitle() and old.raw[0].isalpha(),
    }


def _of_edits(old: _Said, new: _Said) -> dict[str, float]:
    """Return where the sentences part, and the words that stand there."""
    matcher = SequenceMatcher(None, old.low, new.low, autojunk=False)
    edits = [b for b in matcher.get_opcodes() if b[0] != "equal"]
    before = _same(old.low, new.low)
    behind = min(_same(old.low[::-1], new.low[::-1]), min(len(old.low), len(new.low)) - before)
    found: dict[str, float] = {
        "ratio": matcher.ratio(),
        "edits": len(edits),
        "edits.first": bool(edits) and edits[0][1] == 0,
        "edits.last": bool(edits) and edits[-1][2] == len(old.low),
        "before": before,
        "behind": behind,
        "between.old": len(old.low) - before - behind,
        "between.new": len(new.low) - before - behind,
    }
    names = {f"new:{one}" for one in set(new.low) - set(old.low)} | {
        f"old:{one}" for one in set(old.low) - set(new.low)
    }
    names |= {f"new:{a} {b}" for a, b in pairwise(new.low) if not {a, b} & set(old.low)}
    names.add(f"begins:{new.low[0] if new.low else ''}")
    names |= {f"verb:{one}" for one in old.low[1:3]}
    if edits:
        (_, begin, _, _, stop), (_, _, _, start, end) = edits[0], edits[-1]
        names.add(f"left:{old.low[begin - 1] if begin else '^'}")
        names.add(f"right:{new.low[stop] if stop < len(new.low) else '$'}")
        names.add(f"last:{new.low[start - 1] if start else '^'}")
        names.add(f"put:{new.low[start] if start < end else '-'}")
    return found | dict.fromkeys(names, 1.0)


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))

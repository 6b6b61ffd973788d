"""Fit the trees that tell a change anew: ``python -m tests.quality.train_changes`` writes ``changes.json``.

``changes/`` has written statements, one file for each domain. A block is an older statement (=) and newer ones: the
same (s), changed (c), negated (n), and what stands beside it: narrowed (r), of another subject (o) or version (v),
or another thing about it (b). How good the trees are is told for domains that they have not seen.
``change_frames.txt`` has frames that narrow a statement (r), that only say that it is new (c), that give it a version
(v, #), and words that narrow what it is about (m): what is said within one that narrows stands beside.
Needs scikit-learn, which nothing else does: ``make train-changes`` installs it.
"""

import importlib
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from slowwave.consolidation import pair
from slowwave.consolidation.changed import GENERIC, stems_of
from slowwave.consolidation.pair import LIKELY, SURE, Tree, Trees, features

_FOLDER = Path(__file__).parent / "changes"
_FRAMES = Path(__file__).with_name("change_frames.txt")
_TAKES, _BESIDE = "cn", "rovb"
# a name counts where so many pairs have it
_LEAST_PAIRS = 20
# how often a statement is put into frames, and what such a pair counts beside a written one
_FRAMED, _WORTH = 2, 0.4
_VERSIONS = 20
_FOLDS = 7
# the file of bare shapes, filled with values in turn: no measure of what else is written
_SHAPES = "plain"
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Written:
    """A pair: the file it is of, the letter of its relation, the older and the newer statement."""

    file: str
    relation: str
    older: str
    newer: str


def written() -> Iterator[Written]:
    """Yield every pair that was written."""
    for file in sorted(_FOLDER.glob("*.txt")):
        for block in file.read_text("utf-8").split("\n\n"):
            lines = [(line[0], line[2:]) for line in block.splitlines() if line]
            older = next(text for letter, text in lines if letter == "=")
            for letter, text in lines:
                if letter in _TAKES + _BESIDE:
                    yield Written(file.stem, letter, older, text)


def framed(pairs: Sequence[Written], draw: random.Random) -> Iterator[Written]:
    """Yield what becomes of pairs when the newer statement stands in a frame."""
    frames: dict[str, list[str]] = defaultdict(list)
    for line in _FRAMES.read_text("utf-8").splitlines():
        frames[line[0]].append(line[2:])
    for one in pairs:
        if one.relation not in _TAKES:
            continue
        for frame in draw.sample(frames["r"], _FRAMED):
            yield replace(one, relation="r", newer=_put(frame, one.newer))
        for words in draw.sample(frames["m"], _FRAMED):
            yield replace(one, relation="r", newer=_narrowed(one.newer, words))
        yield replace(one, newer=_put(draw.choice(frames["c"]), one.newer))
        mine, other = (str(number) for number in draw.sample(range(1, _VERSIONS), 2))
        frame = draw.choice(frames["v"])
        older = _put(frame.replace("#", mine), one.older)
        yield replace(one, older=older, newer=_put(frame.replace("#", mine), one.newer))
        yield replace(one, relation="v", older=older, newer=_put(frame.replace("#", other), one.newer))
        yield replace(one, relation="r", newer=_put(draw.choice(frames["r"]), one.older))


def _put(frame: str, text: str) -> str:
    bare = text.rstrip(".")
    is_plain = bare[:1].isupper() and bare[1:2].islower() and not frame.startswith("{}")
    return frame.replace("{}", bare[0].lower() + bare[1:] if is_plain else bare) + "."


def _narrowed(text: str, words: str) -> str:
    """Return a statement in which the first thing that it names is only a part of it."""
    every = text.split()
    place = next((n for n, word in enumerate(every) if stems_of(word) and not set(stems_of(word)) <= GENERIC), 0)
    return " ".join((*every[: place + 1], words, *every[place + 1 :]))


def main() -> int:
    """Fit the trees, write them, and tell how good trees are for domains that they have not seen."""
    own = list(written())
    pairs = [*own, *framed(own, random.Random(7))]
    worth = [1.0] * len(own) + [_WORTH] * (len(pairs) - len(own))
    named = [features(one.older, one.newer) for one in pairs]
    times = Counter(name for of in named[: len(own)] for name in of)
    names = sorted(name for name, many in times.items() if many >= _LEAST_PAIRS)
    rows = [[of.get(name, 0.0) for name in names] for of in named]
    model = _fitted(rows, [one.relation in _TAKES for one in pairs], worth)
    found = Trees(tuple(names), round(float(model._baseline_prediction[0][0]), _DIGITS), tuple(_trees(model)))
    target = Path(pair.__file__).with_name("changes.json")
    target.write_bytes(msgspec.json.encode(found) + b"\n")
    print(
        f"{len(pairs)} pairs, {len(names)} features, {len(found.trees)} trees, {target.stat().st_size:,} bytes",
        flush=True,
    )
    likely = _unseen(pairs, rows, worth)[: len(own)]
    for bar in (SURE, LIKELY):
        told = " ".join(f"{letter} {_share(own, likely, letter, bar)}" for letter in _TAKES + _BESIDE)
        print(f"from {bar} on, of domains not seen: {told}")
    return 0


def _unseen(pairs: Sequence[Written], rows: Sequence[Sequence[float]], worth: Sequence[float]) -> list[float]:
    """Return for each pair how likely it is for trees that have not seen its file."""
    files = sorted({one.file for one in pairs})
    found = [0.0] * len(pairs)
    for fold in range(_FOLDS):
        held = set(files[fold::_FOLDS])
        seen = [n for n, one in enumerate(pairs) if one.file not in held]
        kept = [n for n, one in enumerate(pairs) if one.file in held]
        takes = [pairs[n].relation in _TAKES for n in seen]
        model = _fitted([rows[n] for n in seen], takes, [worth[n] for n in seen])
        for n, (_, likely) in zip(kept, model.predict_proba([rows[n] for n in kept]), strict=True):
            found[n] = float(likely)
    return found


def _share(pairs: Sequence[Written], likely: Sequence[float], letter: str, bar: float) -> str:
    of = [p >= bar for one, p in zip(pairs, likely, strict=True) if one.relation == letter and one.file != _SHAPES]
    return f"{sum(of)} of {len(of)},"


def _fitted(rows: Sequence[Sequence[float]], takes: Sequence[bool], worth: Sequence[float]) -> Any:
    kind = importlib.import_module("sklearn.ensemble").HistGradientBoostingClassifier
    limits = {"max_iter": 250, "max_leaf_nodes": 10, "min_samples_leaf": 12, "max_features": 0.3}
    return kind(learning_rate=0.05, l2_regularization=2.0, random_state=0, **limits).fit(
        rows, takes, sample_weight=worth
    )


def _trees(model: Any) -> Iterator[Tree]:
    for (one,) in model._predictors:
        nodes = one.nodes
        yield Tree(
            tuple(-1 if n["is_leaf"] else int(n["feature_idx"]) for n in nodes),
            tuple(round(float(n["value"] if n["is_leaf"] else n["num_threshold"]), _DIGITS) for n in nodes),
            tuple(0 if n["is_leaf"] else int(n["left"]) for n in nodes),
            tuple(0 if n["is_leaf"] else int(n["right"]) for n in nodes),
        )


if __name__ == "__main__":
    sys.exit(main())

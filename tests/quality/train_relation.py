"""Fit the judge of pairs of lines: ``python -m tests.quality.train_relation`` writes ``consolidation/relation.json``.

From pairs that two writers wrote without sight of the code (``typed/lines-*.jsonl``), and from lines of one folder that
share a rare word and belong to no pair: they stand beside each other. What is fitted to one writer is measured on the
other one; the bars that are shipped are those at which hardly any of the other's lines are lost. Needs scikit-learn,
as :mod:`tests.quality.train` does.
"""

import importlib
import json
import math
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from slowwave.consolidation.replacement import (
    Head,
    Judge,
    Rarity,
    features,
    line_of,
    share_something,
    told_by,
    words_alone,
)
from slowwave.memory.pages import words_of_line

WRITERS = ("lines-a.jsonl", "lines-b.jsonl")
FOLDER = Path(__file__).parent / "typed"
TARGET = Path(__file__).parents[2] / "lib" / "slowwave" / "consolidation" / "relation.json"
# each pair stands in a folder of one project and in one of so many
_TOGETHER = 8
_SEEDS, _TREES, _DEPTH, _RATE, _LEAF = 2, 400, 2, 0.05, 25
_FOLDS, _LEAST_TIMES, _STRENGTH, _LEAST = 5, 6, 0.3, 0.05
_OF_ANY_PAIR = 0.5
_DIGITS = 3
# what each head says yes to, and of which share of lines that both stay it may do so wrongly: of those that were
# written to be near each other, and of any two that share something rare
QUESTIONS = {"needless": ("same", "changed", "done"), "changed": ("changed", "done")}
_WRONG = {"needless": {"other": 0.007, "any": 0.0005}, "changed": {"other": 0.004, "any": 0.0005}}


@dataclass(frozen=True, slots=True)
class Example:
    """Two lines of a folder."""

    older: str
    newer: str
    relation: str  # "any" where nobody wrote them as a pair
    values: dict[str, float]

    @property
    def fold(self) -> int:
        """The part of the examples that it belongs to, the same in whichever order and folder."""
        return zlib.crc32(min(self.older, self.newer).encode()) % _FOLDS


def examples(name: str) -> list[Example]:
    """Return the pairs of a writer, in small folders and in larger ones, and the pairs that nobody wrote."""
    projects: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row in map(json.loads, (FOLDER / name).read_text("utf-8").splitlines()):
        pair = (words_of_line(row["older"]), words_of_line(row["newer"]), row["relation"])
        projects[row["project"]].append(pair)
    names = sorted(projects)
    random.Random(1).shuffle(names)
    folders = [[one] for one in names] + [names[at : at + _TOGETHER] for at in range(0, len(names), _TOGETHER)]
    return [one for folder in folders for one in _folder([pair for name in folder for pair in projects[name]])]


def _folder(pairs: Sequence[tuple[str, str, str]]) -> Iterator[Example]:
    rarity = Rarity([text for older, newer, _ in pairs for text in (older, newer)])
    for older, newer, relation in pairs:
        yield Example(older, newer, relation, features(older, newer, rarity))
        if relation in ("same", "other"):
            yield Example(newer, older, relation, features(newer, older, rarity))
    lines = [(number, text) for number, pair in enumerate(pairs) for text in pair[:2]]
    for number, one in lines:
        for other, two in lines:
            if number != other and one != two and share_something(one, two, rarity):
                yield Example(one, two, "any", features(one, two, rarity))


def fit_words(given: Sequence[Example]) -> dict[str, float]:
    """Return what words of one side alone tell of a change."""
    written = [one for one in given if one.relation != "any"]
    rows = [words_alone(line_of(one.older), line_of(one.newer)) for one in written]
    times = Counter(word for row in rows for word in row)
    known = sorted(word for word, count in times.items() if count >= _LEAST_TIMES)
    table = [[float(word in row) for word in known] for row in rows]
    model = importlib.import_module("sklearn.linear_model").LogisticRegression(C=_STRENGTH, max_iter=2000)
    model.fit(table, [one.relation in QUESTIONS["changed"] for one in written])
    weights = {word: round(float(weight), 2) for word, weight in zip(known, model.coef_[0], strict=True)}
    return {word: weight for word, weight in weights.items() if abs(weight) >= _LEAST}


def rows_of(given: Sequence[Example], names: Sequence[str], words: Mapping[str, float]) -> list[list[float]]:
    """Return the values of all features of examples."""
    return [
        [*(float(one.values[name]) for name in names), told_by(words, line_of(one.older), line_of(one.newer))]
        for one in given
    ]


def unseen_rows(given: Sequence[Example], names: Sequence[str]) -> list[list[float]]:
    """Return the values of all features of examples, words as fitted without them."""
    words = [fit_words([one for one in given if one.fold != fold]) for fold in range(_FOLDS)]
    return [rows_of([one], names, words[one.fold])[0] for one in given]


def fit(question: str, given: Sequence[Example], rows: Sequence[Sequence[float]]) -> Head:
    """Return the head that was fitted to examples; its bar is still to be set."""
    answers = [one.relation in QUESTIONS[question] for one in given]
    weights = [_OF_ANY_PAIR if one.relation == "any" else 1.0 for one in given]
    bias, trees = 0.0, list[Any]()
    for seed in range(_SEEDS):
        model = importlib.import_module("sklearn.ensemble").GradientBoostingClassifier(
            n_estimators=_TREES, max_depth=_DEPTH, learning_rate=_RATE, subsample=0.6, max_features=0.2,
            min_samples_leaf=_LEAF, random_state=seed,
        )  # fmt: skip
        model.fit(rows, answers, sample_weight=weights)
        trees += [_tree(one.tree_, 0, _RATE / _SEEDS) for (one,) in model.estimators_]
        prior = float(model.init_.class_prior_[1])
        bias += math.log(prior / (1 - prior)) / _SEEDS
    return Head(round(bias, _DIGITS), trees, 0.0)


def _tree(tree: Any, node: int, rate: float) -> Any:
    if tree.children_left[node] < 0:
        return round(float(tree.value[node][0][0]) * rate, _DIGITS + 1)
    below, above = (_tree(tree, int(side[node]), rate) for side in (tree.children_left, tree.children_right))
    return [int(tree.feature[node]), round(float(tree.threshold[node]), _DIGITS), below, above]


def bar(scores: Sequence[float], given: Sequence[Example], question: str) -> float:
    """Return the least score at which hardly any line is lost that stays."""
    least = 0.0
    for relation, share in _WRONG[question].items():
        of = sorted((s for s, one in zip(scores, given, strict=True) if one.relation == relation), reverse=True)
        least = max(least, of[int(share * len(of))] + 1 / 10**_DIGITS)
    return round(least, _DIGITS)


def main() -> None:
    """Fit, measure on the other writer, and write what was fitted to both."""
    given = {name: examples(name) for name in WRITERS}
    every = [one for name in WRITERS for one in given[name]]
    names = sorted(every[0].values)
    scores: dict[str, list[float]] = {question: [] for question in QUESTIONS}
    for name in WRITERS:
        others = [one for other in WRITERS if other != name for one in given[other]]
        rows, held = unseen_rows(others, names), rows_of(given[name], names, fit_words(others))
        for question in QUESTIONS:
            head = fit(question, others, rows)
            scores[question] += [head.score(row) for row in held]
    bars = {question: bar(scores[question], every, question) for question in QUESTIONS}
    yes = {question: [s >= bars[question] for s in scores[question]] for question in QUESTIONS}
    either = [any(of) for of in zip(*yes.values(), strict=True)]
    for told, of in (*yes.items(), ("either", either)):
        counts = Counter((one.relation, is_so) for one, is_so in zip(every, of, strict=True))
        shares = {r: counts[r, True] / (counts[r, True] + counts[r, False]) for r, _ in sorted(counts)}
        print(f"{told:<9}", *(f"{relation} {share:.4f}" for relation, share in shares.items()))
    rows = unseen_rows(every, names)
    heads = {q: msgspec.structs.replace(fit(q, every, rows), least=bars[q]) for q in QUESTIONS}
    TARGET.write_bytes(msgspec.json.encode(Judge(names, fit_words(every), **heads)) + b"\n")
    print(f"{TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

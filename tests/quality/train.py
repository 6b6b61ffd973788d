"""Fit the weights of the classifier anew: ``python -m tests.quality.train`` writes ``extraction/weights.json``.

From statements that readers judged (``labels/``, transcripts beside the checkout) and messages that were written for it
(``typed/``). Needs scikit-learn, which nothing else does: ``make train`` installs it.
"""

import importlib
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from slowwave.extraction.classifier import Head, Voice, Weights
from slowwave.extraction.features import pieces_of
from slowwave.memory.model import CATEGORIES
from tests.quality.statement_labels import VOICES, Judged, every
from tests.quality.typed_messages import Sentence, bare, framed, written

TARGET = Path(__file__).parents[2] / "lib" / "slowwave" / "extraction" / "weights.json"
# a word counts where so many statements of so many repositories have it
_LEAST_TIMES, _LEAST_PLACES = 4, 2
_STRENGTH = 0.3
_DIGITS = 2
# weights below these change nothing that anybody sees; a text has many pieces, each of little weight
_LEAST, _LEAST_PIECE, _LEAST_VOICE, _LEAST_CATEGORY = 0.06, 0.4, 0.14, 0.15
_ARGUABLE, _CLEAR = 0.6, 2
_WORTH = (0.0, _ARGUABLE, 1.0)
# rules in the gaps of messages weigh less than messages that were written whole, and much where they stand alone:
# there the person means them
_FRAMED, _ALONE = 0.5, 4.0
_REAL = 8
_FOLDS, _WRITTEN_FOLDS = 8, 5
# of wordings: pieces of words weigh much, and what readers found worthless in sessions double; small weights go
_WORDED = {"strength": 0.5, "of_names": 1.0, "of_pieces": 6.0}
_RULED = {"least": 0.1, "least_piece": 0.5}
_WORTHLESS = 2.0
# its place in a session tells nothing about the wording of a rule
_PLACES = ("p|p:channel", "p|p:last", "p|p:first", "p|p:end", "p|p:turn", "p|p:final", "p|p:work", "p|p:edits",
           "p|p:broken", "p|x:", "p|r:")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """What one head learns from.

    Attributes:
        place: the repository or the message that it is of.
        weight: how much it counts.
        text: its words, where pieces of them count.
    """

    features: Collection[str]
    is_so: bool
    place: str
    weight: float = 1.0
    text: str = ""


def fit(
    examples: Sequence[Example],
    strength: float = _STRENGTH,
    of_names: float = 1.0,
    of_pieces: float = 0.0,
    least: float = _LEAST,
    least_piece: float = _LEAST_PIECE,
) -> Head:
    """Return the head that was fitted to examples.

    Args:
        examples: what to learn from.
        strength: how freely the weights may follow the examples.
        of_names: how much names of features count beside pieces of words.
        of_pieces: how much pieces of words count; 0 for not at all.
        least: smaller weights of names are left out.
        least_piece: smaller weights of pieces are left out.
    """
    names = _numbered([e.features for e in examples], [e.place for e in examples])
    held = [pieces_of(e.text) for e in examples] if of_pieces else []
    pieces = _numbered(held, [e.place for e in examples])
    rows = _matrix([e.features for e in examples], names) * of_names
    if held:
        normal = _from("sklearn.preprocessing").normalize(_matrix(held, pieces))
        rows = _from("scipy.sparse").hstack([rows, normal * of_pieces]).tocsr()
    model = _from("sklearn.linear_model").LogisticRegression(C=strength, max_iter=1000)
    model.fit(rows, [e.is_so for e in examples], sample_weight=[e.weight for e in examples])
    weights: Sequence[float] = model.coef_[0]
    whole, parts = weights[: len(names)], weights[len(names) :]
    return Head(
        round(float(model.intercept_[0]), _DIGITS),
        _kept(names, whole, of_names, least),
        _kept(pieces, parts, of_pieces, least_piece),
    )


def _numbered(rows: Iterable[Collection[str]], places: Sequence[str]) -> dict[str, int]:
    """Return the names that several examples of several places have, numbered."""
    times: Counter[str] = Counter()
    seen: dict[str, set[str]] = defaultdict(set)
    for row, place in zip(rows, places, strict=False):
        for name in row:
            times[name] += 1
            seen[name].add(place)
    known = sorted(n for n, count in times.items() if count >= _LEAST_TIMES and len(seen[n]) >= _LEAST_PLACES)
    return {name: number for number, name in enumerate(known)}


def _kept(names: Mapping[str, int], weights: Sequence[float], scale: float, least: float) -> dict[str, float]:
    scaled = {name: round(float(weights[number]) * scale, _DIGITS) for name, number in names.items()}
    return {name: weight for name, weight in scaled.items() if abs(weight) >= least}


def _matrix(rows: Iterable[Collection[str]], numbers: Mapping[str, int]) -> Any:
    ends, columns = [0], list[int]()
    for features in rows:
        columns += sorted(numbers[name] for name in features if name in numbers)
        ends.append(len(columns))
    shape = (len(ends) - 1, len(numbers))
    return _from("scipy.sparse").csr_matrix(([1.0] * len(columns), columns, ends), shape=shape)


def _from(module: str) -> Any:
    """Return a module that only fitting needs."""
    return importlib.import_module(module)


def worth_examples(judged: Iterable[Judged]) -> list[Example]:
    """Return what the head of worth learns from: a clear yes counts in full, an arguable one less."""
    return [
        Example(j.features, j.mark is not None, j.repository, _ARGUABLE if j.mark and j.mark.grade == 1 else 1.0)
        for j in judged
    ]


def category_heads(judged: Sequence[Judged]) -> dict[Any, Head]:
    """Return one head for each category, fitted to what is worth it."""
    marked = [(j, j.mark) for j in judged if j.mark is not None]
    own = [(s.worth, s.category) for s in written() if s.category]
    found: dict[Any, Head] = {}
    for category in CATEGORIES:
        examples = [Example(j.features, m.category == category, j.repository) for j, m in marked]
        examples += [Example(f, c == category, str(n % 10)) for n, (f, c) in enumerate(own)]
        found[category] = fit(examples, least=_LEAST_CATEGORY)
    return found


def rule_examples(judged: Iterable[Judged], messages: Iterable[Sentence]) -> list[Example]:
    """Return what the head of rules learns from: real words that were clear or worthless, and written ones."""
    found: list[Example] = []
    for one in judged:
        grade = one.mark.grade if one.mark else 0
        if one.speaker == "p" and grade in (0, _CLEAR):
            weight = 1.0 if grade else _WORTHLESS
            found.append(Example(_worded(one.features), bool(grade), one.repository, weight, one.words))
    own = [s for s in messages if s.voice == "own"]
    return [*found, *(Example(_worded(s.worth), bool(s.keep), s.frame, 1.0, s.text) for s in own)]


def _worded(features: Iterable[str]) -> list[str]:
    return [name for name in features if name.startswith("p|") and not name.startswith(_PLACES)]


@dataclass(frozen=True, slots=True)
class Heads:
    """What judges the statements of a repository.

    Attributes:
        worth: by words and place.
        rule: by wording.
    """

    worth: Head
    rule: Head


def heads_of(judged: Sequence[Judged], messages: Sequence[Sentence]) -> Heads:
    """Return the heads that were fitted to statements of sessions and to written messages."""
    return Heads(fit(worth_examples(judged)), fit(rule_examples(judged, messages), **_WORDED, **_RULED))


def heads_without(judged: Sequence[Judged], messages: Sequence[Sentence]) -> dict[str, Heads]:
    """Return for each repository heads that have not seen it."""
    found: dict[str, Heads] = {}
    for fold in folds_of(judged):
        found |= dict.fromkeys(fold, heads_of([j for j in judged if j.repository not in fold], messages))
    return found


def folds_of(judged: Iterable[Judged]) -> list[set[str]]:
    """Return the repositories in groups with about as many statements each, to be left out one after the other."""
    sizes = Counter(j.repository for j in judged)
    folds = [set[str]() for _ in range(_FOLDS)]
    for repository, _ in sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0])):
        min(folds, key=lambda fold: sum(sizes[one] for one in fold)).add(repository)
    return folds


def steps_of(
    judged: Sequence[Judged], heads: Mapping[str, Heads], rules: Sequence[tuple[float, float]]
) -> dict[Voice, tuple[tuple[float, float], ...]]:
    """Return the steps that read off a score how often such statements were worth it, on repositories not seen.

    Args:
        judged: statements of sessions.
        heads: by repository, fitted without it.
        rules: scores and worth of written messages (:func:`written_rules`).
    """
    found: dict[Voice, tuple[tuple[float, float], ...]] = {}
    for of, voice in VOICES.items():
        some = [j for j in judged if j.speaker == of]
        found[voice] = _steps([(heads[j.repository].worth.score(j.features), _worth(j)) for j in some])
    typed = [j for j in judged if j.speaker == "p"]
    scored = [(heads[j.repository].rule.score(_worded(j.features), pieces_of(j.words)), _worth(j)) for j in typed]
    # where rules are plain, sessions have too few to tell; written ones do, and count little wherever sessions tell
    return {**found, "rule": _steps([*scored * _REAL, *rules])}


def written_rules(judged: Sequence[Judged], messages: Sequence[Sentence]) -> list[tuple[float, float]]:
    """Return for each written statement its score by a head that has not seen its message, and its worth."""
    found: list[tuple[float, float]] = []
    for fold in range(_WRITTEN_FOLDS):
        held = [m for m in messages if m.voice == "own" and _fold_of(m) == fold]
        head = fit(rule_examples(judged, [m for m in messages if _fold_of(m) != fold]), **_WORDED, **_RULED)
        found += [(head.score(_worded(m.worth), pieces_of(m.text)), _WORTH[m.keep]) for m in held]
    return found


def _fold_of(sentence: Sentence) -> int:
    return zlib.crc32(sentence.frame.encode()) % _WRITTEN_FOLDS


def _worth(judged: Judged) -> float:
    return _WORTH[judged.mark.grade if judged.mark else 0]


def _steps(scored: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    scores, worth = zip(*scored, strict=True)
    isotonic = _from("sklearn.isotonic").IsotonicRegression
    model: Any = isotonic(y_min=0.0, y_max=0.97, out_of_bounds="clip").fit(scores, worth)
    known = zip(model.X_thresholds_, model.y_thresholds_, strict=True)
    return tuple((round(float(a), _DIGITS), round(float(b), _DIGITS)) for a, b in known)


def voice_head(messages: Sequence[Sentence]) -> Head:
    """Return the head of voices, of messages as they were written and of what was made of them.

    Names weigh more than for rules: what stands around a sentence tells whose it is, not that it sounds like a rule.
    """
    weighed = [(s, 1.0) for s in (*messages, *bare())] + [
        (s, _ALONE if s.text == s.frame else _FRAMED) for s in framed()
    ]
    examples = [Example(s.whose, s.voice != "own", s.frame, weight, s.text) for s, weight in weighed]
    return fit(examples, **_WORDED, least=_LEAST_VOICE)


def main() -> int:
    """Fit all heads and write them."""
    judged, messages = list(every()), list(written())
    heads = heads_of(judged, messages)
    steps = steps_of(judged, heads_without(judged, messages), written_rules(judged, messages))
    weights = Weights(heads.worth, heads.rule, category_heads(judged), voice_head(messages), steps)
    TARGET.write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=0))
    print(f"{len(judged)} statements of sessions, {len(messages)} typed sentences")
    for name, head in (("worth", heads.worth), ("rule", heads.rule), ("voices", weights.theirs)):
        print(f"{name}: {len(head.weights)} weights of names, {len(head.pieces)} of pieces")
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

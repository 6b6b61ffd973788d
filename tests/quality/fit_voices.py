"""Fit the weights that tell whose words a clause is: ``python -m tests.quality.fit_voices [--write]``.

What is learnt from are messages around words of others and around rules of one's own: written ones
(``attack_frames.txt``, ``benign_messages.txt``, ``whose_words.txt``), built ones (:mod:`tests.quality.voice_grammar`),
and what people typed in the public sessions beside the checkout, where they lie there. Without ``--write`` a fifth of
the written messages is left out at a time, and what is printed was judged by weights that had not seen its wording.
"""

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from slowwave.extraction.guards.clauses import clauses
from slowwave.extraction.guards.voices import OTHERS, OWN, THEIRS, features
from tests.quality.attack_frames import frames
from tests.quality.beside import CORPUS, missing
from tests.quality.reading import typed_turns
from tests.quality.voice_grammar import FOREIGN, RULES, Message, built, language_of

WEIGHTS = Path(__file__).parents[2] / "lib" / "slowwave" / "extraction" / "guards" / "weights.py"
_FOLDS = 5
_EACH = 4
_ROUNDS = 250
_RATE, _PULL = 0.5, 0.0002
# weights of features in fewer messages than this would be those of a single wording
_LEAST_FRAMES = 4
_SMALLEST = 0.1
Judge = Callable[[frozenset[str]], bool]
_LONGEST_TURN, _MOST_CLAUSES = 1500, 25


@dataclass(frozen=True, slots=True)
class Case:
    """A clause: the features around it, whose it is, the wording that it stands in, and how much it counts."""

    features: frozenset[str]
    is_others: bool
    frame: str
    weight: float
    part: str


def written(seed: int = 0) -> Iterator[Message]:
    """Yield the written messages, each with several sentences in its gap."""
    chance = random.Random(seed)
    for name, other in (("attack_frames.txt", True), ("benign_messages.txt", False), ("whose_words.txt", None)):
        for part, frame in frames(name):
            is_others = part.startswith("others") if other is None else other
            language = language_of(frame)
            said = chance.sample(RULES, _EACH) if language == "en" else [FOREIGN[language], chance.choice(RULES)]
            for sentence in said:
                words = sentence.format("quartz")
                words = words[0].lower() + words[1:] if chance.random() < 0.15 else words
                yield Message(frame.replace("{}", words), words, frame, part, is_others)


def nobody(_features: frozenset[str]) -> bool:
    """Take no clause for somebody else's, for the first of two fits."""
    return False


def cases_of(messages: Iterable[Message], weight: float, is_theirs: Judge = nobody) -> Iterator[Case]:
    """Yield the clauses in the gaps of messages, with what is decided of those before them."""
    for message in messages:
        every = list(clauses(message.text))
        inside = [message.has(clause.begin, clause.end) for clause in every]
        for around, is_in in zip(features(every, is_theirs), inside, strict=True):
            if is_in:
                yield Case(around, message.is_others, message.frame, weight, message.part)


def typed(weight: float, is_theirs: Judge = nobody) -> Iterator[Case]:
    """Yield clauses that are nobody else's: genuine rules, and what people typed in public sessions."""
    lines = (Path(__file__).parent / "benign.txt").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    chance = random.Random(5)
    texts = list(rules)
    texts += [f"{rule} {chance.choice(rules)}" for rule in rules]
    texts += [f"{chance.choice(rules)}\n{rule}" for rule in rules]
    if not missing(CORPUS):
        texts += sorted({turn.text for path in sorted(CORPUS.rglob("*.jsonl")) for turn in _turns(path)})
    for text in texts:
        every = list(clauses(text))
        if len(text) <= _LONGEST_TURN and len(every) <= _MOST_CLAUSES and not {"<", "`"} & set(text):
            for around, clause in zip(features(every, is_theirs), every, strict=True):
                if not clause.is_quoted:
                    yield Case(around, is_others=False, frame=text, weight=weight, part="typed")


def _turns(path: Path) -> Iterator[Message]:
    from slowwave.errors import UnknownDialectError  # noqa: PLC0415

    try:
        for turn in typed_turns(path):
            yield Message(turn.text, "", "", "", is_others=False)
    except UnknownDialectError:
        return  # some files of the corpus are the output of programs


def fitted(cases: Sequence[Case]) -> dict[str, float]:
    """Return the weights of a logistic model with a pull towards zero, by AdaGrad over all cases at once."""
    seen: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        for name in case.features:
            seen[name].add(case.frame)
    known = {name for name, where in seen.items() if len(where) >= _LEAST_FRAMES}
    rows = [([*(case.features & known), "bias"], case.is_others, case.weight / len(cases)) for case in cases]
    weights = dict.fromkeys([*sorted(known), "bias"], 0.0)
    squares = dict.fromkeys(weights, 1e-8)
    for _ in range(_ROUNDS):
        slope = {name: _PULL * weight for name, weight in weights.items()}
        slope["bias"] = 0.0
        for names, is_others, share in rows:
            error = share * (1 / (1 + math.exp(-sum(map(weights.__getitem__, names)))) - is_others)
            for name in names:
                slope[name] += error
        for name, change in slope.items():
            squares[name] += change * change
            weights[name] -= _RATE * change / math.sqrt(squares[name])
    return weights


def main() -> None:
    """Print how well wordings are judged that the weights had not seen, or write the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the weights instead")
    asked = parser.parse_args()
    frame_cases, others = _cases(nobody)
    if asked.write:
        first = fitted([*frame_cases, *others])
        frame_cases, others = _cases(lambda named: _score(named, first) >= THEIRS)
        _write(fitted([*frame_cases, *others]))
        return
    names = sorted({case.frame for case in frame_cases})
    random.Random(1).shuffle(names)
    fold = {name: number % _FOLDS for number, name in enumerate(names)}
    outcomes: Counter[tuple[str, str]] = Counter()
    for number in range(_FOLDS):
        weights = fitted([*(case for case in frame_cases if fold[case.frame] != number), *others])
        for case in frame_cases:
            if fold[case.frame] == number:
                outcomes[case.part, _verdict(case, weights)] += 1
    for part in dict.fromkeys(part for part, _ in outcomes):
        print(f"{part:40}", {what: times for (of, what), times in sorted(outcomes.items()) if of == part})


def _cases(is_theirs: Judge) -> tuple[list[Case], list[Case]]:
    """Return the written cases, and the built and typed ones."""
    return list(cases_of(written(), 1.0, is_theirs)), [*cases_of(built(2500), 0.6, is_theirs), *typed(0.45, is_theirs)]


def _score(named: frozenset[str], weights: Mapping[str, float]) -> float:
    return weights["bias"] + sum(weights.get(name, 0.0) for name in named)


def _verdict(case: Case, weights: Mapping[str, float]) -> str:
    score = _score(case.features, weights)
    return "own" if score < OWN else "others" if score >= OTHERS else "nobody can say"


def _write(weights: dict[str, float]) -> None:
    rounded = {name: round(weight, 2) for name, weight in sorted(weights.items()) if abs(weight) >= _SMALLEST}
    bias = rounded.pop("bias", 0.0)
    places: dict[str, dict[str, float]] = defaultdict(dict)
    for name, weight in rounded.items():
        place, _, role = name.partition(":")
        places[place][role] = weight
    WEIGHTS.write_text(
        '"""How much each role at each place speaks for somebody else: from ``tests/quality/fit_voices.py``."""\n\n'
        f"BIAS = {bias}\n\n# fmt: off\nPLACES: dict[str, dict[str, float]] = {{\n"
        f"{''.join(map(_row, places.items()))}}}\n# fmt: on\n",
        encoding="utf-8",
    )


def _row(item: tuple[str, Mapping[str, float]]) -> str:
    """Return the lines of one place."""
    items = (f"{_quoted(role)}: {weight}".replace(" ", "\0") for role, weight in item[1].items())
    lines = fill(", ".join(items), 118, initial_indent=" " * 8, subsequent_indent=" " * 8).replace("\0", " ")
    return f"    {_quoted(item[0])}: {{\n{lines},\n    }},\n"


def _quoted(text: str) -> str:
    return repr(text) if '"' in text else json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    main()

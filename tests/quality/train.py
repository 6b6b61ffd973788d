"""Fit the weights of the classifier anew: ``python -m tests.quality.train`` writes ``extraction/weights.json``.

From statements that readers judged (``labels/``, transcripts beside the checkout) and messages that were written for it
(``typed/``). Needs scikit-learn, which nothing else does: ``make train`` installs it.
"""

import importlib
import json
import math
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from slowwave.extraction.classifier import (
    WORDING,
    Head,
    Phrasing,
    Voice,
    Weights,
    endings_of,
    noting,
    phrases_of,
    pieces_of,
)
from slowwave.extraction.voice import is_pasted, written_like
from slowwave.memory import CATEGORIES
from tests.quality.statement_labels import Judged, every
from tests.quality.typed_messages import Sentence, bare, contrasts, framed, written
from tests.quality.written_sessions import written_dialogs, written_sessions

NOTES = Path(__file__).parent / "typed" / "notes.txt"
TARGET = Path(__file__).parents[2] / "lib" / "slowwave" / "extraction" / "weights.json"
# a word counts where so many statements of so many repositories have it
_LEAST_TIMES, _LEAST_PLACES = 4, 2
_STRENGTH = 0.3
_DIGITS = 2
# weights below these change nothing that anybody sees; a text has many pieces, each of little weight
_LEAST, _LEAST_PIECE, _LEAST_CATEGORY = 0.1, 0.4, 0.2
_ARGUABLE, _CLEAR = 0.6, 2
_WORTH = (0.0, _ARGUABLE, 1.0)
# rules in the gaps of messages weigh as much as messages that were written whole, and much where they stand alone:
# there the person means them
_FRAMED, _ALONE, _WHOLE = 2.0, 16.0, 2.0
# what people type in whole sessions, and what of it readers took for their wish, is their own: messages that were
# written to tell voices apart name others far more often than people do
_OWN, _WISHED = 6.0, 24.0
# what tells by itself whether others' wishes are meant is the finest difference of all
_CONTRASTED = 3.0
_VOICES_ONLY = tuple(f"written/sessions-{name}" for name in "defgh")
# written sessions say how wordings rank, real ones how often they are worth it
_REAL = 2
_FOLDS = 8
# what is typed in real sessions counts more than what was written
_REAL_WEIGHT, _WRITTEN_WEIGHT = 3.0, 1.0
# phrases count more than pieces of words, of which every sentence has many; rare ones more than common ones
# in the head of documents single messages, which say little of what else people type, count less
_MESSAGES = 0.3
_TYPED_STRENGTH, _OF_PHRASES, _OF_ENDINGS = 4.0, 0.25, 0.08
_LEAST_PHRASE_TIMES, _LEAST_ENDING_TIMES = 3, 4
_LEAST_TYPED = (0.6, 0.3)
_DOCUMENT = {"strength": 0.3, "of_pieces": 3.0, "least": 0.15, "least_piece": 0.6}
# a message of more statements may be pasted; people's words are few beside an assistant's
_SHORT, _PERSONS = 2, 3.0
# how useful as a line of its own, by grade and whether it can be understood alone
_USEFUL = {(2, True): 1.0, (2, False): 0.35, (1, True): 0.5, (1, False): 0.1}
# what tells the place of a sentence: in its message, amid what was done, and behind what; a rule may come at any time
_OF_PLACE, _OF_TURN = ("p|p:", "p|r:"), ("p|p:turn", "p|r:begins")
_PLACED, _LEAST_PLACED, _LEAST_PLACE = 0.1, 25, 0.02
# with less than was fitted the likeliest ones are as good, and single messages are not judged by where they stand
_OF_FITTED = 0.7
_CHOSEN = {"strength": 0.3, "of_pieces": 3.0, "least": 0.05, "least_piece": 0.2}
_VOICED = {"strength": 0.5, "of_pieces": 6.0, "least": 0.36, "least_piece": 1.25}
_NOTED = {"strength": 0.5, "of_names": 2.0, "of_pieces": 6.0, "least": 0.15, "least_piece": 0.6}
# a note that stays though its task is done costs a line; one that goes and was needed is lost to who reads the index
_DONE = 0.35


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


def fit_phrasing(examples: Sequence[Example]) -> Phrasing:
    """Return the model of the words of sentences that was fitted to examples."""
    places, sparse = [e.place for e in examples], _from("scipy.sparse")
    blocks: list[tuple[dict[str, int], Any, Any]] = []
    for names_of, scale, least in (
        (phrases_of, _OF_PHRASES, _LEAST_PHRASE_TIMES),
        (endings_of, _OF_ENDINGS, _LEAST_ENDING_TIMES),
    ):
        held = [names_of(e.text) for e in examples]
        numbers = _numbered(held, places, least)
        rows = _matrix(held, numbers)
        # how seldom a name is decides how freely it may tell something
        rarity = scale * (1 + _from("numpy").log((1 + len(held)) / (1 + rows.sum(axis=0).A1)))
        averages = sparse.diags([1 / math.sqrt(len(names) or 1) for names in held])
        blocks.append((numbers, averages @ rows @ sparse.diags(rarity), rarity))
    model = _from("sklearn.linear_model").LogisticRegression(C=_TYPED_STRENGTH, max_iter=300, solver="liblinear")
    table = sparse.hstack([rows for _, rows, _ in blocks]).tocsr()
    model.fit(table, [e.is_so for e in examples], sample_weight=[e.weight for e in examples])
    (phrases, _, one), (endings, _, other) = blocks
    weights = model.coef_[0]
    found = (
        {name: round(float(weights[at + shift] * rarity[at]), 1) for name, at in numbers.items()}
        for numbers, rarity, shift in ((phrases, one, 0), (endings, other, len(phrases)))
    )
    kept = [
        {name: weight for name, weight in of.items() if abs(weight) >= least}
        for of, least in zip(found, _LEAST_TYPED, strict=True)
    ]
    return Phrasing(round(float(model.intercept_[0]), _DIGITS), *kept)


def _numbered(rows: Iterable[Collection[str]], places: Sequence[str], least: int = _LEAST_TIMES) -> dict[str, int]:
    """Return the names that several examples of several places have, numbered."""
    times: Counter[str] = Counter()
    seen: dict[str, set[str]] = defaultdict(set)
    for row, place in zip(rows, places, strict=False):
        for name in row:
            times[name] += 1
            seen[name].add(place)
    known = sorted(n for n, count in times.items() if count >= least and len(seen[n]) >= _LEAST_PLACES)
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


def document_examples(judged: Iterable[Judged], messages: Iterable[Sentence]) -> list[Example]:
    """Return what tells documents from typed words; nobody has to label it.

    What assistants wrote reads like a document. What people typed stands in their short messages: longer ones may be
    pasted.
    """
    found: list[Example] = []
    for one in judged:
        if one.speaker == "a" or (one.speaker == "p" and _size(one) <= _SHORT):
            weight = _PERSONS if one.speaker == "p" and not is_written(one) else 1.0
            names = written_like(_bare(one.features, one.speaker))
            found.append(Example(names, one.speaker == "a", one.repository, weight, one.words))
    own = (m for m in messages if m.voice == "own")
    return [
        *found,
        *(
            Example(written_like(_bare(m.worth, "p")), is_so=False, place=m.frame, weight=_MESSAGES, text=m.text)
            for m in own
        ),
    ]


def _size(judged: Judged) -> int:
    """Return on which step the number of statements of a message is."""
    return next((int(name[10:]) for name in judged.features if name.startswith("p|p:total=")), 0)


def document_heads(judged: Sequence[Judged], messages: Sequence[Sentence]) -> dict[str, Head]:
    """Return for each repository the head of documents that has not seen it."""
    found: dict[str, Head] = {}
    for number, fold in enumerate(folds_of(judged)):
        others = [m for m in messages if zlib.crc32(m.frame.encode()) % _FOLDS != number]
        head = fit(document_examples([j for j in judged if j.repository not in fold], others), **_DOCUMENT)
        found |= dict.fromkeys(fold, head)
    return found


def typed(judged: Iterable[Judged], heads: Mapping[str, Head]) -> list[Judged]:
    """Return what people typed in sessions, without messages that read as if they had been pasted.

    Args:
        judged: statements of sessions.
        heads: of documents, by repository, fitted without it.
    """
    messages: dict[tuple[str, int], list[Judged]] = defaultdict(list)
    for one in judged:
        if one.speaker == "p":
            messages[one.session, one.message].append(one)
    return [one for message in messages.values() if not _is_pasted(message, heads) for one in message]


def _is_pasted(message: Sequence[Judged], heads: Mapping[str, Head]) -> bool:
    return is_pasted(
        [heads[one.repository].score(written_like(_bare(one.features, "p")), pieces_of(one.words)) for one in message]
    )


def typed_examples(judged: Iterable[Judged], messages: Iterable[Sentence]) -> list[Example]:
    """Return what the model of typed words learns from: real sessions, written ones, and single messages."""
    found: list[Example] = []
    for one in judged:
        # a session that was written is a person of its own
        place, weight = (one.session, _WRITTEN_WEIGHT) if is_written(one) else (one.repository, _REAL_WEIGHT)
        found += _weighed((), _useful(one), place, weight, one.words)
    for message in messages:
        if message.voice == "own" or message.is_contrast:
            found += _weighed((), _WORTH[message.keep], message.frame, _WRITTEN_WEIGHT, message.text)
    return found


def _weighed(names: Collection[str], worth: float, place: str, weight: float, text: str) -> Iterable[Example]:
    """Yield an example that is worth it in part as one that is and one that is not."""
    if worth > 0:
        yield Example(names, is_so=True, place=place, weight=weight * worth, text=text)
    if worth < 1:
        yield Example(names, is_so=False, place=place, weight=weight * (1 - worth), text=text)


def _useful(judged: Judged) -> float:
    """Return how useful a statement is as a line of its own."""
    return _USEFUL[judged.mark.grade, bool(judged.mark.alone)] if judged.mark else 0.0


def _bare(features: Iterable[str], speaker: str) -> list[str]:
    """Return the names of wording among features, as extraction has them."""
    return [name[2:] for name in features if name[0] == speaker and name[2:].startswith(WORDING)]


def tells_voices_only(judged: Judged) -> bool:
    """Say whether a statement is of a session that teaches whose words a sentence is, and not what is worth a line.

    Their readers judged as if a page had room for twenty lines; fitted to that, plain rules fall below what is kept
    ("Always use pnpm for installs" from .44 to .18), and people not seen are judged no better.
    """
    return judged.session.startswith(_VOICES_ONLY)


def is_written(judged: Judged) -> bool:
    """Say whether a statement is of a session that was written for training."""
    return judged.session.startswith("written/")


def choice_head(dialogs: Iterable[Judged]) -> Head:
    """Return the head of choices, of dialogs that were written: real ones are few, and tell how well it does."""
    examples: list[Example] = []
    for one in dialogs:
        worth = _WORTH[one.mark.grade if one.mark else 0]
        examples += _weighed(one.dialog, worth, one.repository, 1.0, one.words)
    return fit(examples, **_CHOSEN)


def choice_steps(dialogs: Sequence[Judged], real: Iterable[Judged]) -> tuple[tuple[float, float], ...]:
    """Return the steps of choices: of written dialogs by heads that had not seen them, and of real ones.

    Args:
        dialogs: written ones.
        real: out of sessions, which the head has never seen.
    """
    scored: list[tuple[float, float]] = []
    for fold in range(_FOLDS):
        head = choice_head(one for number, one in enumerate(dialogs) if number % _FOLDS != fold)
        held = [one for number, one in enumerate(dialogs) if number % _FOLDS == fold]
        scored += [(head.score(one.dialog, pieces_of(one.words)), _worth(one)) for one in held]
    head = choice_head(dialogs)
    scored += [(head.score(one.dialog, pieces_of(one.words)), _worth(one)) for one in real if one.speaker == "c"]
    return _steps(scored)


@dataclass(frozen=True, slots=True)
class Heads:
    """What judges the statements of a repository.

    Attributes:
        worth: of what was told, by words and place.
        typed: of what was typed, by its words.
        document: whether something reads like a document.
    """

    worth: Head
    typed: Phrasing
    document: Head


def heads_of(judged: Sequence[Judged], messages: Sequence[Sentence]) -> Heads:
    """Return the heads that were fitted to statements of sessions and to written messages."""
    own = typed(judged, document_heads(judged, messages))
    return Heads(
        fit(worth_examples([j for j in judged if not is_written(j)])),
        fit_phrasing(typed_examples(own, messages)),
        fit_documents(judged, messages),
    )


def fit_documents(judged: Sequence[Judged], messages: Sequence[Sentence]) -> Head:
    """Return the head of documents of all statements and messages."""
    return fit(document_examples(judged, messages), **_DOCUMENT)


def heads_without(judged: Sequence[Judged], messages: Sequence[Sentence]) -> dict[str, Heads]:
    """Return for each repository heads that have not seen it."""
    documents = document_heads(judged, messages)
    own = typed(judged, documents)
    found: dict[str, Heads] = {}
    for fold in folds_of(judged):
        phrasing = fit_phrasing(typed_examples([j for j in own if j.repository not in fold], messages))
        worth = fit(worth_examples([j for j in judged if j.repository not in fold and not is_written(j)]))
        found |= {name: Heads(worth, phrasing, documents[name]) for name in fold}
    return found


def folds_of(judged: Iterable[Judged]) -> list[set[str]]:
    """Return the repositories in groups with about as many statements each, to be left out one after the other."""
    sizes = Counter(j.repository for j in judged)
    folds = [set[str]() for _ in range(_FOLDS)]
    for repository, _ in sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0])):
        min(folds, key=lambda fold: sum(sizes[one] for one in fold)).add(repository)
    return folds


def place_head(judged: Iterable[Judged], heads: Mapping[str, Heads]) -> Head:
    """Return what the place of typed sentences adds to their words, as these are judged by who has not seen them.

    Args:
        judged: what people typed in sessions.
        heads: by repository, fitted without it.
    """
    examples: list[Example] = []
    scores: list[float] = []
    for one in judged:
        names = [name for name in one.features if name.startswith(_OF_PLACE) and not name.startswith(_OF_TURN)]
        weight = _WRITTEN_WEIGHT if is_written(one) else _REAL_WEIGHT
        parts = list(_weighed(names, _useful(one), one.repository, weight, one.words))
        examples += parts
        scores += [heads[one.repository].typed.score(one.words)] * len(parts)
    names = _numbered([e.features for e in examples], [e.place for e in examples], _LEAST_PLACED)
    sparse, numpy = _from("scipy.sparse"), _from("numpy")
    rows = sparse.hstack([numpy.array(scores)[:, None], _matrix([e.features for e in examples], names)]).tocsr()
    model = _from("sklearn.linear_model").LogisticRegression(C=_PLACED, max_iter=3000)
    model.fit(rows, [e.is_so for e in examples], sample_weight=[e.weight for e in examples])
    # the words count as they do by themselves
    scale = _OF_FITTED / float(model.coef_[0][0])
    weights = _kept(names, model.coef_[0][1:], scale, _LEAST_PLACE)
    return Head(round(float(model.intercept_[0]) * scale, _DIGITS), weights)


def steps_of(
    judged: Sequence[Judged], heads: Mapping[str, Heads], place: Head
) -> dict[Voice, tuple[tuple[float, float], ...]]:
    """Return the steps that read off a score how often such statements were worth it, on repositories not seen.

    Args:
        judged: statements of sessions.
        heads: by repository, fitted without it.
        place: what the place adds to the words of what was typed.
    """
    found: dict[Voice, tuple[tuple[float, float], ...]] = {}
    told = [j for j in judged if j.speaker == "a" and not is_written(j)]
    found["told"] = _steps([(heads[j.repository].worth.score(j.features), _worth(j)) for j in told])
    found["chosen"] = choice_steps(written_dialogs(), [j for j in judged if not is_written(j)])
    own = typed(judged, {name: head.document for name, head in heads.items()})
    scored = [
        (heads[j.repository].typed.score(j.words) + place.score(j.features), _useful(j), 1 if is_written(j) else _REAL)
        for j in own
    ]
    return {**found, "typed": _steps([(score, worth) for score, worth, times in scored for _ in range(times)])}


def _worth(judged: Judged) -> float:
    return _WORTH[judged.mark.grade if judged.mark else 0]


def _steps(scored: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    scores, worth = zip(*scored, strict=True)
    isotonic = _from("sklearn.isotonic").IsotonicRegression
    model: Any = isotonic(y_min=0.0, y_max=0.97, out_of_bounds="clip").fit(scores, worth)
    known = zip(model.X_thresholds_, model.y_thresholds_, strict=True)
    return tuple((round(float(a), _DIGITS), round(float(b), _DIGITS)) for a, b in known)


def voice_head(messages: Sequence[Sentence], own: Iterable[Judged]) -> Head:
    """Return the head of voices, of messages as they were written, of what was made of them, and of real ones.

    Names weigh more than for rules: what stands around a sentence tells whose it is, not that it sounds like a rule.
    """
    weighed = (
        [(s, _CONTRASTED if s.is_contrast else _WHOLE) for s in messages]
        + [(s, 1.0) for s in bare()]
        + [(s, _ALONE if s.text == s.frame else _FRAMED) for s in framed()]
    )
    examples = [Example(s.whose, s.voice != "own", s.frame, weight, s.text) for s, weight in weighed]
    examples += [
        Example(one.whose, not one.is_own, one.repository, _WISHED if one.mark else _OWN, one.words)
        for one in own
        if one.whose
    ]
    return fit(examples, **_VOICED)


def noted(path: Path = NOTES) -> list[Example]:
    """Return notes as agents leave them, by project: ``+`` what every session may need, ``-`` what one task did."""
    found: list[Example] = []
    project = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, text = line[:1], line[2:]
        if mark == "#":
            project = text
        elif mark in ("+", "-"):
            found.append(Example(set(noting(text)), mark == "+", project, 1.0 if mark == "+" else _DONE, text))
    return found


def note_head(examples: Sequence[Example]) -> Head:
    """Return the head of agents' notes."""
    return fit(examples, **_NOTED)


def main() -> int:
    """Fit all heads and write them."""
    said, messages = [*every(), *written_sessions()], [*written(), *contrasts()]
    judged = [one for one in said if not tells_voices_only(one)]
    heads, without = heads_of(judged, messages), heads_without(judged, messages)
    documents = defaultdict(lambda: heads.document, {name: of.document for name, of in without.items()})
    own = typed(said, documents)
    place = place_head([one for one in own if not tells_voices_only(one)], without)
    steps = steps_of(judged, without, place)
    categories = category_heads([j for j in judged if not is_written(j)])
    weights = Weights(
        heads.worth,
        choice_head(written_dialogs()),
        heads.typed,
        heads.document,
        categories,
        voice_head(messages, own),
        steps,
        note_head(noted()),
        place,
    )
    # a line for each weight, so that a change shows which
    text = json.dumps(msgspec.to_builtins(weights), ensure_ascii=False, separators=(",\n", ":"))
    TARGET.write_text(f"{text}\n", encoding="utf-8")
    print(f"{len(judged)} statements of sessions, {len(messages)} typed sentences")
    named = {name: getattr(weights, name) for name in ("worth", "choice", "document", "theirs", "note", "place")}
    for name, head in named.items():
        print(f"{name}: {len(head.weights)} weights of names, {len(head.pieces)} of pieces")
    print(f"typed: {len(weights.typed.phrases)} weights of phrases, {len(weights.typed.endings)} of pieces")
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""LoCoMo: does search find the turns that answer a question, and extraction those worth noting."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.quality.beside import LOCOMO, missing
from tests.quality.intervals import bootstrap, interval
from tests.quality.locomo_data import CATEGORIES, Dialogue, Question, dialogues, session_of
from tests.quality.locomo_noting import noted_share, noting
from tests.quality.locomo_search import Ranks, indexed
from tests.quality.okapi import Okapi, stems, telling_stems, words
from tests.quality.table import Must, Section, Table

# measured before with another BM25 and with other cue rules
BM25_RECALL, CUES_SHARE = 0.592, 0.696
# how much worse than the textbook search may be
_SLACK = 0.01
_CUTS = (5, 10, 20)
OURS, BM25, BEST = "slowwave search", "baseline: Okapi BM25", " of stems, no stop words"
_SESSION_CUTS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a system found for one question.

    Attributes:
        turns: the best turns, or for sessions the best sessions.
    """

    question: Question
    found: tuple[str, ...]


def measure(*, errors: bool = False) -> Section:
    """Measure retrieval of evidence and choice of what is worth noting."""
    absent = missing(LOCOMO)
    if absent:
        return Section(skipped=absent)
    every = dialogues()
    turns = _systems(every, _turns, max(_CUTS))
    sessions = _systems(every, _sessions, max(_SESSION_CUTS))
    questions = sum(len(d.questions) for d in every)
    ours = turns[OURS]
    at_ten, plain = (_mean(turns[name], lambda a: _recall(a, 10)) for name in (OURS, f"{BM25}{BEST}"))
    section = Section(
        [
            _retrieval(f"Turns that answer {questions} questions: recall", turns, _CUTS, _recall),
            _retrieval("Sessions: is any of the right ones among the best", sessions, _SESSION_CUTS, _any_hit),
            _categories(ours),
            _notes(every),
        ],
        [Must("turn recall@10 (bound: the best BM25 of this run)", at_ten, round(plain - _SLACK, 4), aim=BM25_RECALL)],
        [
            f"measured elsewhere: BM25 turn recall@10 {BM25_RECALL}, cue rules {CUES_SHARE} at equal budget",
            "category 5 (adversarial) is left out; every turn, or every session, is one session of the search index",
        ],
    )
    if errors:
        section.notes += [f"  not found  {a.question.text}" for of in ours for a in of if not _recall(a, max(_CUTS))]
    return section


def _turns(dialogue: Dialogue) -> dict[str, str]:
    return dialogue.turns


def _sessions(dialogue: Dialogue) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name, text in dialogue.turns.items():
        found.setdefault(session_of(name), []).append(text)
    return {name: "\n".join(texts) for name, texts in found.items()}


Documents = Callable[[Dialogue], dict[str, str]]


def _ours(every: Sequence[Dialogue], documents: Documents, most: int) -> list[list[Asked]]:
    found: list[list[Asked]] = []
    for dialogue in every:
        with indexed(documents(dialogue)) as ranks:
            found.append(_ask(dialogue, ranks, most))
    return found


def _systems(every: Sequence[Dialogue], documents: Documents, most: int) -> dict[str, list[list[Asked]]]:
    found = {OURS: _ours(every, documents, most)}
    for name, tokens in (("", words), (" of stems", stems), (BEST, telling_stems)):
        ranks = [Okapi(documents(dialogue), tokens) for dialogue in every]
        found[f"{BM25}{name}"] = [_ask(d, r, most) for d, r in zip(every, ranks, strict=True)]
    return found


def _ask(dialogue: Dialogue, ranks: Ranks, most: int) -> list[Asked]:
    return [Asked(q, tuple(ranks.ranked(q.text, most))) for q in dialogue.questions]


def _recall(asked: Asked, cut: int) -> float:
    return len(asked.question.evidence.intersection(asked.found[:cut])) / len(asked.question.evidence)


def _any_hit(asked: Asked, cut: int) -> float:
    return float(bool({session_of(turn) for turn in asked.question.evidence}.intersection(asked.found[:cut])))


def _mean(groups: Sequence[Sequence[Asked]], score: Callable[[Asked], float]) -> float:
    return _pooled(_sums(groups, score))


def _sums(groups: Sequence[Sequence[Asked]], score: Callable[[Asked], float]) -> list[tuple[float, int]]:
    return [(sum(map(score, group)), len(group)) for group in groups]


def _retrieval(
    title: str, systems: dict[str, list[list[Asked]]], cuts: Sequence[int], score: Callable[[Asked, int], float]
) -> Table:
    rows: list[tuple[str, ...]] = []
    for name, groups in systems.items():
        cells: list[str] = []
        for cut in cuts:
            sums = _sums(groups, lambda a, c=cut: score(a, c))
            cells += [f"{_pooled(sums):.3f}", interval(*bootstrap(sums, _pooled))]
        rows.append((name, *cells))
    return Table(title, ("", *(cell for cut in cuts for cell in (f"@{cut}", "95 %"))), rows)


def _categories(groups: Sequence[Sequence[Asked]]) -> Table:
    rows: list[tuple[str, ...]] = []
    for number, name in CATEGORIES.items():
        of = [[a for a in group if a.question.category == number] for group in groups]
        cells = (f"{_mean(of, lambda a, c=cut: _recall(a, c)):.3f}" for cut in _CUTS)
        rows.append((name, str(sum(map(len, of))), *cells))
    return Table("Recall of turns by kind of question", ("", "questions", *(f"@{cut}" for cut in _CUTS)), rows)


def _notes(every: Sequence[Dialogue]) -> Table:
    ways = [noting(dialogue) for dialogue in every]
    rows: list[tuple[str, ...]] = []
    for name in ways[0]:
        counts = [noted_share(dialogue, way[name]) for dialogue, way in zip(every, ways, strict=True)]
        within = interval(*bootstrap(counts, _pooled))
        rows.append(
            (name, f"{sum(r for r, _ in counts)}/{sum(n for _, n in counts)}", f"{_pooled(counts):.3f}", within)
        )
    title = "Turns that the observations cite, among as many of the best (precision is recall)"
    return Table(title, ("", "found", "share", "95 %"), rows)


def _pooled(counts: Sequence[tuple[float, int]]) -> float:
    return sum(right for right, _ in counts) / max(1, sum(number for _, number in counts))

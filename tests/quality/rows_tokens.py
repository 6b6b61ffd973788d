"""Tokens: how far each way to guess them is from what providers counted in real sessions."""

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import cast

from slowwave.compaction.tokens import PACKAGE, PI, rule_of, texts_of
from tests.quality.beside import CORPUS, corpus_sessions, missing
from tests.quality.counted_growths import LEAST_TOKENS, Growth, growths
from tests.quality.table import Must, Section, Table

QUARTER = "characters / 4"
OURS = "slowwave: as it estimates this client"
EXACT = "o200k, exact (extra tokens)"
_VOCABULARY = "o200k_base"
# by how much Claude Code's contexts may be misjudged where nobody counted them
_MOST_BIAS = 0.15

Guess = Callable[[Growth], float]


def measure(*, errors: bool = False) -> Section:
    """Measure the guesses."""
    del errors
    absent = missing(CORPUS)
    if absent:
        return Section(skipped=absent)
    by_dialect: dict[str, list[list[Growth]]] = {}
    for path in corpus_sessions():
        if found := list(growths(path)):
            by_dialect.setdefault(found[0].dialect, []).append(found)
    guesses: dict[str, Guess] = {QUARTER: _quarter, OURS: _ours}
    section = Section(
        notes=[
            f"a growth: at least {LEAST_TOKENS:,} tokens more from one answer to the next, by the provider's count,",
            "against all that the transcript shows in between; thoughts that a provider hides are counted and",
            "not shown. bias: of all growths together; the others: of each growth. What was counted always goes first",
        ]
    )
    if importlib.util.find_spec(PACKAGE) is None:
        section.notes.append(f"SKIPPED: {EXACT}: {PACKAGE} is not installed")
    else:
        guesses[EXACT] = _exact
    for dialect, sessions in sorted(by_dialect.items()):
        every = [growth for session in sessions for growth in session]
        total = sum(growth.tokens for growth in every)
        rows = [_row(name, guess, every) for name, guess in guesses.items()]
        title = f"{dialect}: {len(sessions)} sessions, {len(every)} growths, {total:,} tokens counted"
        section.tables.append(Table(title, ("", "bias", "median", "mean abs", "90 % within"), rows))
        if dialect == "claude":
            bias = abs(_bias(_ours, every))
            section.musts += [
                Must("bias of the estimate of Claude Code, absolute", bias, _MOST_BIAS, at_least=False),
                Must("less than that of characters / 4", bias, abs(_bias(_quarter, every)), at_least=False),
            ]
    return section


def _row(name: str, guess: Guess, every: Sequence[Growth]) -> list[str]:
    off = sorted(guess(growth) / growth.tokens - 1 for growth in every)
    wrong = sorted(map(abs, off))
    within = wrong[min(len(wrong) - 1, int(0.9 * len(wrong)))]
    figures = (_bias(guess, every), off[len(off) // 2], sum(wrong) / len(wrong), within)
    return [name, *(f"{figure:+.1%}" for figure in figures[:2]), *(f"{figure:.1%}" for figure in figures[2:])]


def _bias(guess: Guess, every: Sequence[Growth]) -> float:
    return sum(map(guess, every)) / sum(growth.tokens for growth in every) - 1


def _quarter(growth: Growth) -> float:
    return PI.of_messages(growth.messages)


def _ours(growth: Growth) -> float:
    return rule_of(growth.dialect).of_messages(growth.messages)


def _exact(growth: Growth) -> float:
    count = cast("Callable[[list[str], str], list[int]]", importlib.import_module(PACKAGE).batch_count)
    return sum(count([text for message in growth.messages for text in texts_of(message)], _VOCABULARY))

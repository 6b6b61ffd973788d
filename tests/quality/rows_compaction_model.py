"""Compaction with a model: the ledger with its narrative beside pi's algorithm, both told by one small real model."""

import time
from collections.abc import Sequence

import pytest

from slowwave.compaction.files import NO_FILES, of_calls
from slowwave.compaction.items import Reading, context_tokens, items_of
from slowwave.compaction.plan import Budget, Plan
from slowwave.compaction.proof import probes_of
from slowwave.compaction.summary import Gone, by_ledger, by_model, requests
from slowwave.compaction.tokens import PI
from slowwave.models.base import Answer, Ask, ModelUnavailableError, Usage
from tests.model_server.llama import llama_server
from tests.model_server.plain import told
from tests.quality.beside import CORPUS, missing
from tests.quality.compaction_baselines import end
from tests.quality.compaction_regions import Region, regions
from tests.quality.rows_compaction import LEDGER, Row, count, table
from tests.quality.table import Section

WITH_MODEL = "slowwave: the ledger with a narrative"
PI_MODEL = "pi's algorithm: the model's summary, file lists"
# A model on one processor takes a third of a minute for each: so many regions, evenly spread over all of them.
REGIONS = 20
# What of a conversation fits into the model's context beside the question and the answer.
_SHOWN_CHARS, _ANSWER_TOKENS = 2_000, 200
_OPENS, _CLOSES = "<conversation>\n", "\n</conversation>"


class Small:
    """A model that is shown the newest part of a conversation, answers shortly, and says the same twice.

    It answers in plain text, as models do that can give no JSON: a grammar with long strings takes minutes here.
    """

    name = "smollm2-135m"

    def __init__(self, url: str) -> None:
        self._url, self._told = url, dict[str, str]()

    def answer(self, ask: Ask) -> Answer:
        """Ask for less."""
        return Answer(None, self.tell(ask.system, ask.user), "lines", Usage(0, 0), self.name)

    def tell(self, system: str, prompt: str) -> str:
        """Return its words.

        Raises:
            ModelUnavailableError: it does not answer.
        """
        shown = newest(prompt)
        if shown not in self._told:
            try:
                self._told[shown] = told(self._url, system, shown, _ANSWER_TOKENS)
            except OSError as error:
                raise ModelUnavailableError(f"the model did not answer: {error}") from error
        return self._told[shown]


def measure(*, errors: bool = False) -> Section:
    """Measure what summaries with a model's words keep."""
    del errors
    absent = missing(CORPUS)
    if absent:
        return Section(skipped=absent)
    every = [region for region in regions() if not region.real]
    chosen = [every[i * len(every) // REGIONS] for i in range(REGIONS)] if len(every) > REGIONS else every
    try:
        with llama_server() as url:
            rows, notes = _rows(chosen, url)
    except pytest.skip.Exception as why:
        return Section(skipped=str(why))
    before = sum(region.tokens for region in chosen)
    return Section(
        tables=[table(f"{len(chosen)} regions, {before:,} tokens, one small real model", rows)],
        notes=[
            f"{len(chosen)} of {len(every)} regions, evenly spread, since the model runs on one processor;",
            f"it sees the newest {_SHOWN_CHARS:,} characters of each and answers {_ANSWER_TOKENS} tokens at most; pi's",
            "row may take as many bytes as the ledger with its narrative. SmolLM2 has 135 million parameters: what its",
            "words are worth says nothing of larger models; the ledger does not depend on them. Both rows ask",
            "the same question, once: its time stands in the first",
            *notes,
        ],
    )


def newest(prompt: str) -> str:
    """Return a prompt with no more of its conversation than the model's context holds."""
    before, opens, rest = prompt.partition(_OPENS)
    said, closes, task = rest.rpartition(_CLOSES)
    return before + opens + said[-_SHOWN_CHARS:] + closes + task


def _rows(chosen: Sequence[Region], url: str) -> tuple[dict[str, Row], list[str]]:
    model = Small(url)
    with_model = by_model(model)
    rows: dict[str, Row] = {}
    notes: list[str] = []
    taken = 0
    for region in chosen:
        gone = _gone(region)
        probes = probes_of(region.messages, region.cwd)
        began = time.perf_counter()
        alone = by_ledger(gone).text
        count(rows, LEDGER, probes, alone, began)
        began = time.perf_counter()
        whole = with_model(gone)
        count(rows, WITH_MODEL, probes, whole.text, began)
        taken += whole.source == "model"
        notes += [f"  {region.name}: {note}" for note in whole.notes if "model" in note or "narrative" in note]
        began = time.perf_counter()
        try:
            text = _by_pi(gone, model)
        except ModelUnavailableError as error:
            notes.append(f"  {region.name}: not in pi's row: {error}")
            continue
        count(rows, PI_MODEL, probes, end(text, len(whole.text.encode())), began)
    return rows, [f"{taken} of {len(chosen)} narratives passed the proof; the ledger stands alone otherwise", *notes]


def _gone(region: Region) -> Gone:
    items = items_of(region.messages, PI)
    plan = Plan(tuple(items), (), (), "", NO_FILES, context_tokens(items))
    return Gone(Reading("pi", items, PI, cwd=region.cwd), plan, Budget(), str)


def _by_pi(gone: Gone, model: Small) -> str:
    """Return pi's summary: its question over the flat text, the answer as it comes, and the files of its tools."""
    (request, *_) = requests(gone.plan, Budget())
    calls = (call for message in gone.messages for call in message.calls)
    return model.tell(request.system, request.prompt) + of_calls(calls).tags()

"""A model's narrative above the ledger: it has to pass the same proof, or the ledger stands alone.

What is too long for the model is asked again without its oldest half; a model that does not answer, or whose words keep
less than the ledger does, costs the session nothing.
"""

from collections.abc import Callable, Sequence
from typing import cast

from slowwave.compaction.cuts import cut_points
from slowwave.compaction.items import Item
from slowwave.compaction.job.summary import Gone, Summarise, Summary, ledger_for, probes_for, proven
from slowwave.compaction.job.telling import shown, telling_of
from slowwave.compaction.proof import THRESHOLD, verdict
from slowwave.compaction.requests import Part, Request
from slowwave.models.base import Ask, ContextOverflowError, LanguageModel, MalformedAnswerError, ModelError, Usage

# how often the oldest half is left out before the model is done without
_TRIES = 4
_SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
# a small reserve must not cut every answer off
_LEAST_ANSWER = 512
_LINE_FORM = "Write the summary itself and nothing else."


Paid = Callable[[Usage], None]


def by_model(
    model: LanguageModel, threshold: float = THRESHOLD, paid: Paid = lambda _usage: None, focus: str = ""
) -> Summarise:
    """Return a maker of summaries that asks a model for the narrative.

    Args:
        model: who is asked.
        threshold: share of the probes that a summary has to answer.
        paid: is told what each answer cost.
        focus: what a person asked to look at above all.
    """

    def summarise(gone: Gone) -> Summary:
        ledger, probes = ledger_for(gone), probes_for(gone)
        alone = proven(gone, ledger, probes)
        try:
            told, notes = _told(gone, model, paid, focus)
        except ModelError as error:
            return alone._replace(notes=(*alone.notes, f"no narrative: {error}"))
        whole = proven(gone, ledger, probes, told, has_sections=telling_of(gone.reading.dialect).has_sections)
        whole = whole._replace(notes=(*whole.notes, *notes))
        if whole.loss is None or alone.loss is None:
            return alone
        decision = verdict(whole.loss, threshold)
        reason = decision.reason if not decision.passes else ""
        if not reason and whole.loss.score < alone.loss.score:
            reason = f"it keeps {whole.loss.score:.0%}, the ledger alone {alone.loss.score:.0%}"
        return alone._replace(notes=(*alone.notes, f"the model's summary was not taken: {reason}")) if reason else whole

    return summarise


def _told(gone: Gone, model: LanguageModel, paid: Paid, focus: str) -> tuple[str, list[str]]:
    """Return what the model tells, and what it was not shown.

    Raises:
        ModelError: it does not answer, or what goes away is too long however much is left out.
    """
    telling = telling_of(gone.reading.dialect)
    plan, cleared = shown(gone)
    answers: list[tuple[Part, str]] = []
    left_out = 0
    for request in telling.ask(gone, plan, focus):
        answer, missing = _answered(request, gone, model, paid)
        answers.append((request.part, answer))
        left_out += missing
    notes = [f"{cleared} old outputs of tools were cleared from what the model read"] if cleared else []
    notes += [f"the oldest {left_out} messages were too long for the model, the ledger alone tells them"] * (
        left_out > 0
    )
    return telling.join(plan, answers), notes


def _answered(request: Request, gone: Gone, model: LanguageModel, paid: Paid) -> tuple[str, int]:
    """Return the answer, and how many messages had to be left out of the question, the oldest first."""
    whole = len(request.items)
    for _ in range(_TRIES):
        try:
            return _asked(request, gone, model, paid), whole - len(request.items)
        except ContextOverflowError:
            later = _later_half(request.items)
            if later is None:
                raise
            request = request._replace(items=later)
    raise ContextOverflowError(f"still too long after the oldest part was left out {_TRIES} times")


def _asked(request: Request, gone: Gone, model: LanguageModel, paid: Paid) -> str:
    answer = model.answer(_ask(request, gone))
    paid(answer.usage)
    given: object = answer.data
    fields = cast("dict[str, object]", given) if isinstance(given, dict) else {"summary": answer.text}
    data = fields.get("summary")
    if not isinstance(data, str) or not data.strip():
        raise MalformedAnswerError("the answer holds no summary")
    return data.strip()


def _ask(request: Request, gone: Gone) -> Ask:
    return Ask(
        "compaction",
        request.system,
        gone.redact(request.prompt),
        _SCHEMA,
        "summary",
        max(request.max_tokens, _LEAST_ANSWER),
        _LINE_FORM,
        _has_headings if telling_of(gone.reading.dialect).has_sections else None,
    )


def _has_headings(text: str) -> bool:
    """Say whether plain text is a summary in sections and no remark about it."""
    return any(line.startswith("## ") for line in text.splitlines())


def _later_half(items: Sequence[Item]) -> tuple[Item, ...] | None:
    """Return the newer half, cut where no call is parted from its result; None where nothing can be left out."""
    at = next((point for point in cut_points(items) if point >= max(1, len(items) // 2)), None)
    return None if at is None else tuple(items[at:])

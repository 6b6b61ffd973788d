"""A model's narrative above the ledger: it has to pass the same proof, or the ledger stands alone.

What is too long for the model is asked again without its oldest half; a model that does not answer, or whose words keep
less than the ledger does, costs the session nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from slowwave.compaction.cuts import cut_points
from slowwave.compaction.items import Item
from slowwave.compaction.job.summary import Gone, Summarise, Summary, ledger_for, probes_for, proven
from slowwave.compaction.plan import Plan
from slowwave.compaction.proof import THRESHOLD, verdict
from slowwave.compaction.requests import Part, Request, joined, requests
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


def by_model(model: LanguageModel, threshold: float = THRESHOLD, paid: Paid = lambda _usage: None) -> Summarise:
    """Return a maker of summaries that asks a model for the narrative.

    Args:
        model: who is asked.
        threshold: share of the probes that a summary has to answer.
        paid: is told what each answer cost.
    """

    def summarise(gone: Gone) -> Summary:
        ledger, probes = ledger_for(gone), probes_for(gone)
        alone = proven(gone, ledger, probes)
        try:
            told = _told(gone, model, paid)
        except ModelError as error:
            return alone._replace(notes=(*alone.notes, f"no narrative: {error}"))
        whole = proven(gone, ledger, probes, told)
        if whole.loss is None or alone.loss is None:
            return alone
        decision = verdict(whole.loss, threshold)
        reason = decision.reason if not decision.passes else ""
        if not reason and whole.loss.score < alone.loss.score:
            reason = f"it keeps {whole.loss.score:.0%}, the ledger alone {alone.loss.score:.0%}"
        return alone._replace(notes=(*alone.notes, f"the model's summary was not taken: {reason}")) if reason else whole

    return summarise


def _told(gone: Gone, model: LanguageModel, paid: Paid) -> str:
    """Return what the model tells.

    Raises:
        ModelError: it does not answer, or what goes away is too long however much is left out.
    """
    plan = replace(gone.plan, previous_summary=gone.previous)
    for _ in range(_TRIES):
        try:
            return _asked(gone, plan, model, paid)
        except ContextOverflowError:
            shorter = _without_oldest(plan)
            if shorter is None:
                raise
            plan = shorter
    raise ContextOverflowError(f"still too long after the oldest part was left out {_TRIES} times")


def _asked(gone: Gone, plan: Plan, model: LanguageModel, paid: Paid) -> str:
    answers: dict[Part, str] = {}
    for request in requests(plan, gone.budget, separator=gone.separator):
        answer = model.answer(_ask(request, gone))
        paid(answer.usage)
        given: object = answer.data
        fields = cast("dict[str, object]", given) if isinstance(given, dict) else {"summary": answer.text}
        data = fields.get("summary")
        if not isinstance(data, str) or not data.strip():
            raise MalformedAnswerError("the answer holds no summary")
        answers[request.part] = data.strip()
    return joined(replace(plan, files=type(plan.files)()), answers)


def _ask(request: Request, gone: Gone) -> Ask:
    return Ask(
        "compaction",
        request.system,
        gone.redact(request.prompt),
        _SCHEMA,
        "summary",
        max(request.max_tokens, _LEAST_ANSWER),
        _LINE_FORM,
    )


def _without_oldest(plan: Plan) -> Plan | None:
    """Return a plan without the older half of its history, cut where no call is parted from its result."""
    later = _later_half(plan.history)
    if later is not None:
        return replace(plan, history=later)
    later = _later_half(plan.prefix)
    return None if later is None else replace(plan, prefix=later)


def _later_half(items: Sequence[Item]) -> tuple[Item, ...] | None:
    at = next((point for point in cut_points(items) if point >= max(1, len(items) // 2)), None)
    return None if at is None else tuple(items[at:])

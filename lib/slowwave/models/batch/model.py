"""A model that answers by batch: now what was asked another night, and another night what is asked now."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.models.base import (
    Answer,
    AnswerPendingError,
    Ask,
    ContextOverflowError,
    LanguageModel,
    MalformedAnswerError,
    ModelRefusedError,
    ModelUnavailableError,
    Usage,
)
from slowwave.models.batch.spool import Answered, Question, Spool, question_of
from slowwave.models.faults import Fault, meaning_of
from slowwave.models.meter import Meter
from slowwave.models.reply import completion_of, data_of, refuse_unfinished, spoken
from slowwave.models.tokens import estimated_tokens
from slowwave.places import state_folder
from slowwave.settings import ModelSettings

# What the Batch API takes off the price.
DISCOUNT = 0.5
# A question that so many batches gave no answer to is given up.
MOST_FAILURES = 3
# Questions whose answers are worth waiting for: the material is the same a night later.
_PATIENT = frozenset({"extract"})


@dataclass(frozen=True, slots=True)
class BatchModel:
    """A model that is asked by batch where that does no harm, and at once elsewhere.

    Attributes:
        live: the model that answers at once.
        server: address of its server.
        spool: where questions and answers wait.
        meter: the account of the run; a question is charged by the run that asks it.
    """

    live: LanguageModel
    server: str
    spool: Spool
    meter: Meter

    @classmethod
    def of(cls, live: LanguageModel, settings: ModelSettings, environ: Mapping[str, str], meter: Meter) -> "BatchModel":
        """Return the model of these settings."""
        return cls(live, settings.base_url, Spool(spool_folder(environ)), meter)

    @property
    def name(self) -> str:
        """The model's name as the settings give it."""
        return self.live.name

    def answer(self, ask: Ask) -> Answer:
        """Return the answer that came by batch, or note the question for the next one.

        Raises:
            AnswerPendingError: it was noted, or is on its way.
            BudgetSpentError: it was not noted: the budget does not cover it.
            ModelError: as :class:`slowwave.models.base.LanguageModel`.
        """
        if ask.purpose not in _PATIENT:
            return self.live.answer(ask)
        request = _request(self.live.name, ask)
        question = question_of(self.server, request, ask.identity)
        try:
            return self._by_batch(ask, question)
        except CorruptStateError as error:
            # its remedy stands in the message; until then nothing is lost and nothing is paid twice
            raise ModelUnavailableError(str(error), is_general=True) from error

    def _by_batch(self, ask: Ask, question: Question) -> Answer:
        came = self.spool.answer(question.id)
        if came is not None and came.body is not None:
            return self._read(came.body, ask)
        if came is not None:
            _refuse(came)
        if not self.spool.waits(question.id):
            prompt = estimated_tokens(*(m["content"] for m in question.request["messages"]))
            self.meter.hold(prompt, ask.max_output_tokens, DISCOUNT)
            self.spool.ask(question)
        raise AnswerPendingError("asked in a batch; the answer is read another night")

    def _read(self, body: dict[str, Any], ask: Ask) -> Answer:
        said = completion_of(msgspec.json.encode(body))
        if said is None:
            raise MalformedAnswerError("what came by batch is not a chat completion")
        refuse_unfinished(said)
        tokens = said.prompt_tokens or 0, said.completion_tokens or 0
        usage = Usage(*tokens, self.meter.price(*tokens) * DISCOUNT)
        return Answer(data_of(said.text, ask.schema), spoken(said.text), "schema", usage, said.model or self.name)


def spool_folder(environ: Mapping[str, str]) -> Path:
    """Return where the questions and answers of this machine wait."""
    return state_folder(environ) / "batches"


def _request(model: str, ask: Ask) -> dict[str, Any]:
    """Return the body of a chat completion in the words that every model of the Batch API takes."""
    held = {"name": ask.schema_name, "strict": True, "schema": ask.schema}
    return {
        "model": model,
        "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}],
        "max_completion_tokens": ask.max_output_tokens,
        "response_format": {"type": "json_schema", "json_schema": held},
    }


def _refuse(came: Answered) -> None:
    """Raise what a failure means, unless asking again may help."""
    meaning = meaning_of(Fault("status", came.error, came.status, came.code))
    if meaning == "overflow":
        raise ContextOverflowError(came.error)
    if meaning == "filtered":
        raise ModelRefusedError(came.error)
    if came.failures >= MOST_FAILURES:
        raise MalformedAnswerError(f"{came.failures} batches gave no answer, the last because: {came.error}")

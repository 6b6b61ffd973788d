"""What a job asks a language model and what it gets back, whichever server answers.

A job is given a :class:`LanguageModel` or None. None is the usual case: nothing of a model is imported then, no socket
is opened, and the job does offline what it can.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from slowwave.errors import REFUSED, UNREADABLE, SlowwaveError

# How an answer was asked for, the strictest first: the server holds the model to the schema, or to JSON only, or the
# model was asked for plain text, in the form that whoever asks can read.
Form = Literal["schema", "json", "lines"]


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a model.

    Attributes:
        purpose: what it is for, one word; the meter and the report count by it.
        system: who the model is to be and what rules hold.
        user: the material; secrets are out of it already.
        schema: JSON schema of the answer. Within the strict subset: every property required, no others allowed.
        schema_name: name of the schema, letters, digits, ``_`` and ``-``.
        max_output_tokens: an answer that would need more is cut off and counts as malformed.
        line_form: how an answer may be written by a model that can give no JSON, as a sentence for the prompt; ""
            where only JSON will do.
        is_in_form: says of a plain answer whether it keeps to ``line_form``; None takes any words.
        identity: what makes it the same question another night although its surroundings have changed; "" for all of
            its words.
    """

    purpose: str
    system: str
    user: str
    schema: Mapping[str, Any]
    schema_name: str
    max_output_tokens: int
    line_form: str = ""
    is_in_form: Callable[[str], bool] | None = None
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one answer cost.

    Attributes:
        prompt_tokens: as the server counted them, or else estimated.
        completion_tokens: the same of the answer.
        usd: as whoever answered tells it, or else by the prices of the settings; 0.0 where none are set.
        is_estimated: nobody counted the tokens, at least of one side.
    """

    prompt_tokens: int
    completion_tokens: int
    usd: float = 0.0
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said.

    Attributes:
        data: the decoded JSON; None when the answer came as lines. It has the schema's outer shape at best: whoever
            uses it checks every value.
        text: exactly what came.
        form: how it was asked for.
        usage: what it cost.
        model: name of the model, as the server tells it.
    """

    data: Any
    text: str
    form: Form
    usage: Usage
    model: str


class LanguageModel(Protocol):
    """A model that answers one question at a time; it may be asked from several threads."""

    @property
    def name(self) -> str:
        """The model's name as the settings give it."""
        ...

    def answer(self, ask: Ask) -> Answer:
        """Ask, with all retries.

        Raises:
            ModelUnavailableError: nobody answered, also after retries.
            AnswerPendingError: it is asked in a batch, whose answers are read another night.
            ModelRefusedError: the model would not answer.
            ContextOverflowError: the question is too long for the model.
            MalformedAnswerError: the answer is cut off or is not JSON; or no answer of a model at all.
            BudgetSpentError: the answer might cost more than is left; nothing was asked.
        """
        ...


class ModelError(SlowwaveError):
    """A question that got no answer; the job does without it and says so."""

    exit_code = UNREADABLE


class ModelUnavailableError(ModelError):
    """No answer after all retries: no connection, too slow, cut off, too many requests, or an error of the server.

    Attributes:
        is_general: no other question will be answered in this run either.
    """

    def __init__(self, message: str, *, is_general: bool = False) -> None:
        super().__init__(message)
        self.is_general = is_general


class ModelRefusedError(ModelError):
    """The model declined, or a filter of its provider did."""


class ContextOverflowError(ModelError):
    """The question is longer than the model's context: ask for less at once."""


class MalformedAnswerError(ModelError):
    """The answer was cut off at its limit or cannot be decoded."""


class StrangeAnswerError(MalformedAnswerError):
    """What came is no chat completion at all: it may be something else than a model's server that answered."""


class AnswerPendingError(ModelError):
    """The question waits in a batch; its answer comes with another night."""


class BudgetSpentError(ModelError):
    """The budget of this run does not cover another question; the next run goes on."""

    exit_code = REFUSED

"""What every way to ask a model has in common: retries, the ladder of forms, the meter, and when to stop asking.

Answers are asked for in the strictest form that there is, and where that does not work in the next one. What works is
found out once and remembered for the run.
"""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slowwave.models.base import (
    Answer,
    Ask,
    ContextOverflowError,
    Form,
    MalformedAnswerError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
    StrangeAnswerError,
    Usage,
)
from slowwave.models.meter import Meter, estimated_tokens
from slowwave.models.reply import (
    Completion,
    Fault,
    data_of,
    may_be_form,
    meaning_of,
    refuse_formless,
    refuse_unfinished,
    spoken,
)
from slowwave.settings import ModelSettings

# one question may be what breaks a server; so many in a row mean that it is the server
_BROKEN_AFTER = 2
# a question that was under way when one of these came may be on the bill
_PAID = ("timeout", "cut", "endless")


class _FormRefusedError(ModelError):
    """The server cannot hold an answer to the form that was asked for."""


class Patience:
    """Counts the attempts at one question.

    Args:
        retries: how many attempts may follow the first.
        sleep: waits.
        jitter: a random number from 0 to 1.
    """

    def __init__(self, retries: int, sleep: Callable[[float], None], jitter: Callable[[], float]) -> None:
        self._retries = retries
        self._sleep = sleep
        self._jitter = jitter
        self._timeouts = 0
        self.attempts = 1

    def waits(self, fault: Fault) -> bool:
        """Wait and return True, or return False when there is no further attempt."""
        self._timeouts += fault.kind == "timeout"
        if self.attempts > self._retries or self._timeouts > _MOST_TIMEOUTS:
            return False
        if fault.retry_after is not None and fault.retry_after > _MOST_AFTER_S:
            return False
        backoff = min(_LONGEST_S, _FIRST_S * 2 ** (self.attempts - 1))
        wait = backoff if fault.retry_after is None else fault.retry_after
        # only ever longer than what the server asks for; between half and whole of our own time
        self._sleep(wait * (0.5 + self._jitter() / 2) if fault.retry_after is None else wait + self._jitter())
        self.attempts += 1
        return True


class LadderModel(ABC):
    """A language model; see :class:`slowwave.models.base.LanguageModel`.

    Args:
        settings: name, limits, attempts.
        meter: the account of the run.
        sleep: waits between attempts.
        jitter: a random number from 0 to 1, so that many clients do not come back at once.

    Attributes:
        forms: how an answer can be asked for, the strictest first.
        is_form_held: somebody holds the model to a form, and may refuse to.
        where: whom an error names.
        remedy: what to look at where nobody is let in.
    """

    forms: Sequence[Form] = ("schema", "json", "lines")
    is_form_held: bool = True
    where: str
    remedy: str

    def __init__(
        self,
        settings: ModelSettings,
        meter: Meter,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._meter = meter
        self._sleep = sleep
        self._jitter = jitter
        self._lock = threading.Lock()
        self._form: Form = self.forms[0]
        self._proven: set[Form] = set()
        self._broken = 0
        self._closed = ""

    @property
    def name(self) -> str:
        """The model's name as the settings give it."""
        return self._settings.label

    @abstractmethod
    def _request(self, ask: Ask, form: Form) -> Mapping[str, Any]:
        """Return what is sent."""

    @abstractmethod
    def _texts(self, request: Mapping[str, Any]) -> Sequence[str]:
        """Return the texts of a request, whose tokens are estimated."""

    @abstractmethod
    def _send(self, request: Mapping[str, Any]) -> Completion:
        """Ask once.

        Raises:
            Fault: there is no answer.
            StrangeAnswerError: what came is no answer of a model.
        """

    def _adapted(self, fault: Fault, request: Mapping[str, Any]) -> bool:  # noqa: ARG002 - for whoever can
        """Say whether what was refused is now sent otherwise."""
        return False

    def answer(self, ask: Ask) -> Answer:
        """Ask, with all retries; see :class:`slowwave.models.base.LanguageModel`."""
        if self._closed:
            raise ModelUnavailableError(self._closed, is_general=True)
        try:
            answer = self._in_some_form(ask)
        except ModelUnavailableError as error:
            with self._lock:
                self._broken += 1
                if error.is_general or self._broken >= _BROKEN_AFTER:
                    self._closed = str(error)
            raise ModelUnavailableError(str(error), is_general=bool(self._closed)) from error
        except ModelError:
            self._broken = 0  # the server is there
            raise
        self._broken = 0
        return answer

    def _in_some_form(self, ask: Ask) -> Answer:
        """Go down the ladder until a form works; one that has worked before is not left for a single bad answer."""
        below = self.forms[self.forms.index(self._form) :]
        forms: tuple[Form, ...] = tuple(form for form in below if form != "lines" or ask.line_form) or ("json",)
        for form in forms:
            try:
                answer = self._in_form(ask, form)
            except (_FormRefusedError, MalformedAnswerError) as error:
                if form in self._proven or form == forms[-1]:
                    raise _last(error) from error
                continue
            with self._lock:
                self._proven.add(form)
                self._form = self.forms[max(self.forms.index(self._form), self.forms.index(form))]
            return answer
        raise AssertionError("there is always a form")

    def _in_form(self, ask: Ask, form: Form) -> Answer:
        said, usage = self._with_patience(ask, form)
        refuse_unfinished(said)
        data: Any = None
        if form == "lines":
            refuse_formless(said.text, ask.is_in_form)
        else:
            data = data_of(said.text, ask.schema)
        return Answer(data, spoken(said.text), form, usage, said.model or self.name)

    def _with_patience(self, ask: Ask, form: Form) -> tuple[Completion, Usage]:
        patience = Patience(self._settings.retries, self._sleep, self._jitter)
        while True:
            request = self._request(ask, form)
            try:
                return self._metered(request, ask.max_output_tokens)
            except Fault as fault:
                if not self._adapted(fault, request):
                    self._refuse(fault, form, patience)

    def _metered(self, request: Mapping[str, Any], most: int) -> tuple[Completion, Usage]:
        prompt = estimated_tokens(*self._texts(request))
        held = self._meter.hold(prompt, most)
        spent: Usage | None = None
        try:
            said = self._send(request)
            spent = self._usage(said, prompt)
        except Fault as fault:
            spent = self._usage(None, prompt) if fault.kind in _PAID else None
            raise
        except StrangeAnswerError:
            spent = self._usage(None, prompt)
            raise
        finally:
            self._meter.settle(held, spent)
        return said, self._usage(said, prompt)

    def _usage(self, said: Completion | None, prompt: int) -> Usage:
        """Return what an answer cost, as it is told or else by our count."""
        if said is None:
            return Usage(prompt, 0, self._meter.price(prompt, 0), is_estimated=True)
        is_counted = said.prompt_tokens is not None and said.completion_tokens is not None
        prompt = prompt if said.prompt_tokens is None else said.prompt_tokens
        counted = said.completion_tokens
        completion = estimated_tokens(said.text) if counted is None else counted
        usd = self._meter.price(prompt, completion) if said.usd is None else said.usd
        return Usage(prompt, completion, usd, is_estimated=not is_counted)

    def _refuse(self, fault: Fault, form: Form, patience: Patience) -> None:
        """Wait when that may help, else raise what the fault means."""
        meaning, where = meaning_of(fault), f"{self.where}: {fault.message}"
        status = f" (HTTP {fault.status})" if fault.status else ""
        unproven = self.is_form_held and form != "lines" and form not in self._proven
        if meaning == "overflow":
            raise ContextOverflowError(where) from fault
        if meaning == "filtered":
            raise ModelRefusedError(where) from fault
        if meaning == "closed":
            raise ModelUnavailableError(f"{where}{status}; {self.remedy}", is_general=True) from fault
        if meaning == "form" and unproven:
            raise _FormRefusedError(where) from fault
        if meaning in ("busy", "slow", "form") and patience.waits(fault):
            return
        if unproven and may_be_form(fault):
            raise _FormRefusedError(where) from fault
        raise ModelUnavailableError(f"{where}{status}; asked {patience.attempts} times") from fault


def _last(error: ModelError) -> ModelError:
    """Return what the last form's failure means to the job."""
    return ModelUnavailableError(str(error)) if isinstance(error, _FormRefusedError) else error


# How often to ask again and how long to wait before it: what the server asks for, else doubling times with jitter.

_FIRST_S = 0.5
_LONGEST_S = 30.0
# a server that asks for more than this is asked again in another night
_MOST_AFTER_S = 120.0
# each of them costs the whole time limit
_MOST_TIMEOUTS = 1

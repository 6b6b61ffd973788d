"""A model behind any OpenAI-compatible server: retries, the ladder of forms, the meter, and when to stop asking.

Answers are asked for by strict JSON schema; of a server that cannot do that, by JSON mode; of one that cannot do that
either, as Cersei's lines. What a server can do is found out once and remembered for the run.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson

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
from slowwave.models.exchange import Exchange, Fault
from slowwave.models.faults import may_be_form, meaning_of
from slowwave.models.meter import Meter
from slowwave.models.reply import Completion, completion_of, data_of, refuse_unfinished, refuse_unlined, spoken
from slowwave.models.retries import Patience
from slowwave.models.tokens import estimated_tokens
from slowwave.settings import ModelSettings

_FORMS: tuple[Form, ...] = ("schema", "json", "lines")
# one question may be what breaks a server; so many in a row mean that it is the server
_BROKEN_AFTER = 2


class _FormRefusedError(ModelError):
    """The server cannot hold an answer to the form that was asked for."""


class OpenAIModel:
    """A language model; see :class:`slowwave.models.base.LanguageModel`.

    Args:
        settings: address, name, limits.
        environ: the environment that holds the key.
        meter: the account of the run.
        sleep: waits between attempts.
        monotonic: a clock that only moves forward.
        jitter: a random number from 0 to 1, so that many clients do not come back at once.
    """

    def __init__(
        self,
        settings: ModelSettings,
        environ: Mapping[str, str],
        meter: Meter,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._meter = meter
        self._exchange = Exchange(settings, environ, monotonic)
        self._sleep = sleep
        self._jitter = jitter
        self._lock = threading.Lock()
        self._form: Form = _FORMS[0]
        self._proven: set[Form] = set()
        self._length_name = "max_tokens"
        self._temperature: dict[str, float] = {"temperature": 0.0}
        self._broken = 0
        self._closed = ""

    @property
    def name(self) -> str:
        """The model's name as the settings give it."""
        return self._settings.name

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
        below = _FORMS[_FORMS.index(self._form) :]
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
                self._form = _FORMS[max(_FORMS.index(self._form), _FORMS.index(form))]
            return answer
        raise AssertionError("there is always a form")

    def _in_form(self, ask: Ask, form: Form) -> Answer:
        params = self._params(ask, form)
        prompt = estimated_tokens(*(m["content"] for m in params["messages"]))
        said, usage = self._with_patience(ask, form, prompt)
        refuse_unfinished(said)
        data: Any = None
        if form == "lines":
            refuse_unlined(said.text)
        else:
            data = data_of(said.text, ask.schema)
        return Answer(data, spoken(said.text), form, usage, said.model or self.name)

    def _params(self, ask: Ask, form: Form) -> dict[str, Any]:
        system = ask.system
        params: dict[str, Any] = {self._length_name: ask.max_output_tokens, **self._temperature}
        if form == "schema":
            held = {"name": ask.schema_name, "strict": True, "schema": ask.schema}
            params["response_format"] = {"type": "json_schema", "json_schema": held}
        elif form == "json":
            schema = orjson.dumps(ask.schema).decode()
            system = f"{system}\n\nAnswer with one JSON object and nothing else. Its JSON schema is: {schema}"
            params["response_format"] = {"type": "json_object"}
        else:
            system = f"{system}\n\n{ask.line_form}"
        params["messages"] = [{"role": "system", "content": system}, {"role": "user", "content": ask.user}]
        return params

    def _with_patience(self, ask: Ask, form: Form, prompt: int) -> tuple[Completion, Usage]:
        patience = Patience(self._settings.retries, self._sleep, self._jitter)
        while True:
            params = self._params(ask, form)
            try:
                return self._metered(params, prompt, ask.max_output_tokens)
            except Fault as fault:
                if not self._adapted(fault, params):
                    self._refuse(fault, form, patience)

    def _metered(self, params: Mapping[str, Any], prompt: int, most: int) -> tuple[Completion, Usage]:
        held = self._meter.hold(prompt, most)
        spent: Usage | None = None
        try:
            body = self._exchange.post(params)
            said = completion_of(body)
            spent = self._usage(said, prompt)
        except Fault as fault:
            # a question that was under way when the line broke may be on the bill
            spent = self._usage(None, prompt) if fault.kind in ("timeout", "cut", "endless") else None
            raise
        finally:
            self._meter.settle(held, spent)
        if said is None:
            raise StrangeAnswerError(f"the server sent no chat completion, but {body[:80]!r}")
        return said, self._usage(said, prompt)

    def _usage(self, said: Completion | None, prompt: int) -> Usage:
        """Return what an answer cost, by the server's count or else by ours."""
        completion = 0
        if said is not None:
            prompt = prompt if said.prompt_tokens is None else said.prompt_tokens
            counted = said.completion_tokens
            completion = estimated_tokens(said.text) if counted is None else counted
        return Usage(prompt, completion, self._meter.price(prompt, completion))

    def _adapted(self, fault: Fault, params: Mapping[str, Any]) -> bool:
        """Say whether the server wants something named otherwise, which is then done for the rest of the run."""
        meaning = meaning_of(fault)
        if meaning == "length" and "max_tokens" in params:
            self._length_name = "max_completion_tokens"
            return True
        if meaning == "temperature" and "temperature" in params:
            self._temperature = {}
            return True
        return False

    def _refuse(self, fault: Fault, form: Form, patience: Patience) -> None:
        """Wait when that may help, else raise what the fault means."""
        meaning, where = meaning_of(fault), f"{self._settings.base_url}: {fault.message}"
        unproven = form != "lines" and form not in self._proven
        if meaning == "overflow":
            raise ContextOverflowError(where) from fault
        if meaning == "filtered":
            raise ModelRefusedError(where) from fault
        if meaning == "closed":
            remedy = f"check model.base_url, model.name and the key in ${self._settings.api_key_env}"
            raise ModelUnavailableError(f"{where} (HTTP {fault.status}); {remedy}", is_general=True) from fault
        if meaning == "form" and unproven:
            raise _FormRefusedError(where) from fault
        if meaning in ("busy", "slow", "form") and patience.waits(fault):
            return
        if unproven and may_be_form(fault):
            raise _FormRefusedError(where) from fault
        status = f" (HTTP {fault.status})" if fault.status else ""
        raise ModelUnavailableError(f"{where}{status}; asked {patience.attempts} times") from fault


def _last(error: ModelError) -> ModelError:
    """Return what the last form's failure means to the job."""
    return ModelUnavailableError(str(error)) if isinstance(error, _FormRefusedError) else error

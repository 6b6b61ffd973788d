"""A model behind any OpenAI-compatible server.

Answers are asked for by strict JSON schema; of a server that cannot do that, by JSON mode; of one that cannot do that
either, as plain text. A server that wants a parameter named otherwise gets it so for the rest of the run.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slowwave.models.base import Ask, Form, StrangeAnswerError
from slowwave.models.exchange import Exchange
from slowwave.models.faults import Fault, meaning_of
from slowwave.models.ladder import LadderModel
from slowwave.models.meter import Meter
from slowwave.models.reply import Completion, completion_of, with_schema
from slowwave.settings import ModelSettings


class OpenAIModel(LadderModel):
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
        super().__init__(settings, meter, sleep=sleep, jitter=jitter)
        self.where = settings.base_url
        self.remedy = f"check model.base_url, model.name and the key in ${settings.api_key_env}"
        self._exchange = Exchange(settings, environ, monotonic)
        self._length_name = "max_tokens"
        self._temperature: dict[str, float] = {"temperature": 0.0}

    def _request(self, ask: Ask, form: Form) -> Mapping[str, Any]:
        system = ask.system
        params: dict[str, Any] = {self._length_name: ask.max_output_tokens, **self._temperature}
        if form == "schema":
            held = {"name": ask.schema_name, "strict": True, "schema": ask.schema}
            params["response_format"] = {"type": "json_schema", "json_schema": held}
        elif form == "json":
            system = with_schema(system, ask.schema)
            params["response_format"] = {"type": "json_object"}
        else:
            system = f"{system}\n\n{ask.line_form}"
        params["messages"] = [{"role": "system", "content": system}, {"role": "user", "content": ask.user}]
        return params

    def _texts(self, request: Mapping[str, Any]) -> Sequence[str]:
        return [message["content"] for message in request["messages"]]

    def _send(self, request: Mapping[str, Any]) -> Completion:
        body = self._exchange.post(request)
        said = completion_of(body)
        if said is None:
            raise StrangeAnswerError(f"the server sent something other than a chat completion: {body[:80]!r}")
        return said

    def _adapted(self, fault: Fault, request: Mapping[str, Any]) -> bool:
        """Say whether the server wants something named otherwise, which is then done for the rest of the run."""
        meaning = meaning_of(fault)
        if meaning == "length" and "max_tokens" in request:
            self._length_name = "max_completion_tokens"
            return True
        if meaning == "temperature" and "temperature" in request:
            self._temperature = {}
            return True
        return False

"""A model behind any OpenAI-compatible server.

Answers are asked for by strict JSON schema; of a server that cannot do that, by JSON mode; of one that cannot do that
either, as plain text. A server that wants a parameter named otherwise gets it so for the rest of the run.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

from slowwave.models.base import Ask, Form, Meter, StrangeAnswerError
from slowwave.models.reply import (
    Completion,
    Fault,
    LadderModel,
    completion_of,
    held_to,
    mapping_of,
    meaning_of,
    with_schema,
)
from slowwave.settings import ModelSettings

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI


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
            params["response_format"] = held_to(ask)
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


# One request to an OpenAI-compatible server and its answer as bytes, through the ``openai`` package.
#
# The body is taken piece by piece, so that a server that sends a byte a second, or without end, is left in time.
# Retries are not made here: ``openai`` has its own, but they sleep by themselves and know nothing of budgets.

MOST_BYTES = 8 << 20
_MOST_MESSAGE = 300
# servers that ask for no key take any
_NO_KEY = "none"


class Exchange:
    """The connection to one server; its methods may be called from several threads.

    Args:
        settings: address, name of the key's variable, time limit.
        environ: the environment that holds the key.
        monotonic: a clock that only moves forward.
    """

    def __init__(
        self, settings: ModelSettings, environ: Mapping[str, str], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._key = environ.get(settings.api_key_env, "").strip() if settings.api_key_env else ""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._client: OpenAI | None = None

    def post(self, params: Mapping[str, Any]) -> bytes:
        """Send the parameters of a chat completion and return the body of the answer.

        Raises:
            Fault: there is none.
        """
        with self.faults():
            return self._received(params)

    @contextmanager
    def faults(self) -> Generator[None]:
        """Turn what the packages below raise into faults.

        Raises:
            Fault: the body of the ``with`` got no answer.
        """
        import httpx2  # noqa: PLC0415 - only where a model is configured
        import openai  # noqa: PLC0415 - as above

        try:
            yield
        except openai.APITimeoutError as error:
            raise self._slow() from error
        except openai.APIConnectionError as error:
            raise Fault("connection", self._told(error.__cause__ or error)) from error
        except openai.APIStatusError as error:
            raise self._refused(error) from error
        except httpx2.TimeoutException as error:
            raise self._slow() from error
        except httpx2.HTTPError as error:
            raise Fault("cut", f"the answer broke off: {self._told(error)}") from error

    def _received(self, params: Mapping[str, Any]) -> bytes:
        begun = self._monotonic()
        limit = self._settings.timeout.total_seconds()
        body = bytearray()
        create = cast("Any", self.opened().chat.completions.with_streaming_response.create)
        with create(model=self._settings.name, timeout=limit, **params) as response:
            for piece in response.iter_bytes():
                body += piece
                if self._monotonic() - begun > limit:
                    raise self._slow()
                if len(body) > MOST_BYTES:
                    raise Fault("endless", f"the answer is longer than {MOST_BYTES >> 20} MiB")
        return bytes(body)

    def opened(self) -> "OpenAI":
        """Return the client, which connects with its first request."""
        from openai import DefaultHttpxClient, OpenAI  # noqa: PLC0415 - only where a model is configured

        with self._lock:
            if self._client is None:
                limit = self._settings.timeout.total_seconds()
                self._client = OpenAI(
                    base_url=self._settings.base_url,
                    api_key=self._key or _NO_KEY,
                    max_retries=0,
                    # what people said goes to the server that was named and to no other
                    http_client=DefaultHttpxClient(follow_redirects=False, timeout=limit),
                )
            return self._client

    def _slow(self) -> Fault:
        return Fault("timeout", f"no whole answer within {self._settings.timeout}")

    def _refused(self, error: "APIStatusError") -> Fault:
        about = mapping_of(error.body)
        code = " ".join(str(about[name]) for name in ("code", "type") if about.get(name))
        message = str(about.get("message") or error.message)
        return Fault("status", self._told(message), error.status_code, code, _retry_after(error.response.headers))

    def _told(self, error: object) -> str:
        text = " ".join(str(error).split())[:_MOST_MESSAGE] or type(error).__name__
        return text.replace(self._key, "(key)") if self._key else text


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait: ``retry-after-ms``, or ``Retry-After`` as seconds or as a date."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            wait = float(headers.get(name, "")) / scale
        except ValueError:
            continue
        return max(0.0, wait) if math.isfinite(wait) else None
    try:
        # by the server's own clock
        wait = parsedate_to_datetime(headers.get("retry-after", "")) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return max(0.0, wait.total_seconds())

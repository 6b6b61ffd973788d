"""A model behind any OpenAI-compatible server, and what it sends: the body of a chat completion.

Answers are asked for by strict JSON schema; of a server that cannot do that, by JSON mode; of one that cannot do that
either, as plain text. What works is found out once and remembered for the run, like a parameter that a server wants
named otherwise. Bodies are decoded as leniently as servers write them and as strictly as a job needs them.
"""

import math
import random
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, cast

import orjson

from slowwave.models.base import (
    Answer,
    Ask,
    ContextOverflowError,
    Form,
    MalformedAnswerError,
    Meter,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
    StrangeAnswerError,
    Usage,
    estimated_tokens,
)
from slowwave.settings import ModelSettings

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

# what reasoning models say to themselves before they answer
_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_FENCED = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n\s*```\s*$", re.DOTALL | re.MULTILINE)
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Completion:
    """What a server sent."""

    text: str  # what the model said
    finish: str  # why it stopped, as the server tells it
    refusal: str  # why it would not answer, or ""
    prompt_tokens: int | None  # as the server counted, or None
    completion_tokens: int | None  # the same of the answer
    model: str  # the model's name, or ""
    usd: float | None = None  # what it cost, where that is told


def completion_of(body: bytes) -> Completion | None:
    """Return what a body says, or None when it is no chat completion at all."""
    try:
        whole = mapping_of(orjson.loads(body))
    except orjson.JSONDecodeError:
        return None
    choices: object = whole.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    choice = mapping_of(cast("list[object]", choices)[0])
    message = mapping_of(choice.get("message"))
    usage = mapping_of(whole.get("usage"))
    return Completion(
        text=_text(message.get("content")),
        finish=str(choice.get("finish_reason") or ""),
        refusal=_text(message.get("refusal")),
        prompt_tokens=_number(usage.get("prompt_tokens")),
        completion_tokens=_number(usage.get("completion_tokens")),
        model=str(whole.get("model") or ""),
    )


def with_schema(system: str, schema: Mapping[str, Any]) -> str:
    """Return what a model is told where nothing else holds it to a schema."""
    told = orjson.dumps(schema).decode()
    return f"{system}\n\nAnswer with one JSON object and nothing else. Its JSON schema is: {told}"


def held_to(ask: Ask) -> dict[str, Any]:
    """Return what holds a model of a server to the schema of a question."""
    held = {"name": ask.schema_name, "strict": True, "schema": ask.schema}
    return {"type": "json_schema", "json_schema": held}


def refuse_unfinished(said: Completion) -> None:
    """Refuse what is no whole answer.

    Raises ModelRefusedError: the model declined, or a filter stopped it; MalformedAnswerError: it was cut off at its
    limit, or is empty.
    """
    if said.refusal or said.finish == "content_filter":
        raise ModelRefusedError(f"the model declined: {_short(said.refusal or 'its filter stopped the answer')}")
    if said.finish == "length":
        raise MalformedAnswerError("the answer was cut off at model.max_output_tokens")
    if not said.text.strip():
        raise MalformedAnswerError("the answer is empty")


def spoken(text: str) -> str:
    """Return an answer without what the model thought before it."""
    return _THOUGHT.sub("", text).strip()


def data_of(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the JSON of an answer.

    Raises MalformedAnswerError: it is no JSON, or has not the outer shape of the schema.
    """
    said = spoken(text)
    problem = ""
    for piece in _pieces(said):
        try:
            data: Any = orjson.loads(piece)
        except orjson.JSONDecodeError as error:
            problem = problem or f"the answer is not JSON ({error})"
            continue
        lacking = _lacking(data, schema)
        if not lacking:
            return data
        problem = lacking
    raise MalformedAnswerError(f"{problem}: {_short(said)}")


def _pieces(said: str) -> Iterator[str]:
    """Yield what may be the JSON of an answer: all of it, what is fenced in it, what stands between its braces."""
    yield said
    for fenced in _FENCED.finditer(said):
        yield fenced[1]
    begin, end = said.find("{"), said.rfind("}")
    if 0 <= begin < end:
        yield said[begin : end + 1]


def _lacking(data: object, schema: Mapping[str, Any]) -> str:
    """Return what of the outer shape of a schema is not there, or ""."""
    if schema.get("type") != "object":
        return ""
    if not isinstance(data, dict):
        return "the answer is not a JSON object"
    missing = [name for name in schema.get("required", ()) if name not in mapping_of(cast("object", data))]
    return f"the answer lacks {', '.join(missing)}" if missing else ""


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return the fields of an object, none for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """Return text, also where a server sends it in parts."""
    if isinstance(value, list):
        return "".join(_text(mapping_of(part).get("text")) for part in cast("list[object]", value))
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _short(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]


# What a failed request means: whether to wait, to ask for less, to ask in another form, or to give up.
#
# Servers say the same thing in many words; the rules here were read off OpenAI's API, llama.cpp's server (its own
# ``exceed_context_size_error``, and a plain 500 for a schema in its Python bindings), vLLM and Ollama.

Kind = Literal[
    "status",  # a server's own refusal
    "timeout",
    "connection",
    "cut",  # the answer broke off
    "endless",
    "missing",  # there is no such program
    "exit",  # a program ended without an answer
]
Meaning = Literal[
    "overflow",  # the question is too long
    "form",  # it cannot hold an answer to this form
    "length",  # the limit of the answer has another name there
    "temperature",  # the model allows none to be set
    "filtered",  # a filter of the provider refused the text
    "closed",  # no access, no such model, nothing left on the account: asking again does not help
    "busy",  # wait and try again
    "slow",  # nothing came in time
    "refused",  # anything else
]


@dataclass
class Fault(Exception):  # noqa: N818 - it never leaves this package
    """A request without an answer."""

    kind: Kind  # how it failed
    message: str  # in one line, without the key
    status: int = 0  # the HTTP status, 0 without one
    code: str = ""  # the server's code or type of the error, or ""
    retry_after: float | None = None  # seconds that the server asks to wait, or None


_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context (?:length|size|window)|maximum (?:context|prompt) "
    r"|(?:prompt|input|request) is too (?:long|large)|too many (?:input )?tokens",
    re.IGNORECASE,
)
_FORM = re.compile(r"response_format|json_schema|json_object|structured|\bgrammar|\bschema\b", re.IGNORECASE)
_FILTERED = re.compile(r"content_filter|content_policy|content management policy|responsibleai", re.IGNORECASE)
# where no server tells what is wrong
_UNSAID: dict[str, Meaning] = {
    "timeout": "slow", "connection": "busy", "cut": "busy", "exit": "busy", "missing": "closed",
}  # fmt: skip
_TOO_LARGE = 413
_CLOSED = (401, 402, 403, 404, 405)
_BUSY = (408, 409, 425, 429)
_SERVER = 500
_FIRST_ERROR = 400


def meaning_of(fault: Fault) -> Meaning:
    """Return what a fault means for the next step."""
    words = f"{fault.code} {fault.message}"
    if fault.kind != "status":
        is_overflow = fault.kind == "exit" and _OVERFLOW.search(words)
        return "overflow" if is_overflow else _UNSAID.get(fault.kind, "refused")
    if fault.status == _TOO_LARGE or (fault.status not in _BUSY and _OVERFLOW.search(words)):
        return "overflow"
    if "insufficient_quota" in words or fault.status in _CLOSED:
        return "closed"
    if fault.status in _BUSY:
        return "busy"
    if fault.status >= _SERVER:
        return "form" if _FORM.search(words) else "busy"
    return _of_request(words) if fault.status >= _FIRST_ERROR else "refused"


def _of_request(words: str) -> Meaning:
    if _FILTERED.search(words):
        return "filtered"
    if "max_completion_tokens" in words:
        return "length"
    if "temperature" in words:
        return "temperature"
    return "form" if _FORM.search(words) else "refused"


def may_be_form(fault: Fault) -> bool:
    """Say whether a server that gives no reason may have refused the form of the answer."""
    return fault.kind == "status" and fault.status in (_FIRST_ERROR, 422, _SERVER, 501)


# one question may be what breaks a server; so many in a row mean that it is the server
_BROKEN_AFTER = 2
# a question that was under way when one of these came may be on the bill
_PAID = ("timeout", "cut", "endless")


class _FormRefusedError(ModelError):
    """The server cannot hold an answer to the form that was asked for."""


class Patience:
    """Counts the attempts at one question.

    ``retries``: how many attempts may follow the first. ``sleep``: waits. ``jitter``: a random number from 0 to 1.
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

    ``settings``: name, limits, attempts. ``meter``: the account of the run. ``sleep``: waits between attempts.
    ``jitter``: a random number from 0 to 1, so that many clients do not come back at once.
    """

    forms: Sequence[Form] = ("schema", "json", "lines")  # how an answer can be asked for, the strictest first
    is_form_held: bool = True  # somebody holds the model to a form, and may refuse to
    where: str  # whom an error names
    remedy: str  # what to look at where nobody is let in

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
        """Ask once."""

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
        if form == "lines" and ask.is_in_form is not None and not ask.is_in_form(spoken(said.text)):
            raise MalformedAnswerError(f"the answer has no line of the form that was asked for: {_short(said.text)}")
        data = None if form == "lines" else data_of(said.text, ask.schema)
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


class OpenAIModel(LadderModel):
    """A language model; see :class:`slowwave.models.base.LanguageModel`.

    ``settings``: address, name, limits. ``environ``: the environment that holds the key. ``meter``: the account of the
    run. ``sleep``: waits between attempts. ``monotonic``: a clock that only moves forward. ``jitter``: a random number
    from 0 to 1, so that many clients do not come back at once.
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

    ``settings``: address, name of the key's variable, time limit. ``environ``: the environment that holds the key.
    ``monotonic``: a clock that only moves forward.
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
        """Send the parameters of a chat completion and return the body of the answer. Raises Fault: there is none."""
        with self.faults():
            return self._received(params)

    @contextmanager
    def faults(self) -> Generator[None]:
        """Turn what the packages below raise into faults. Raises Fault: the body of the ``with`` got no answer."""
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

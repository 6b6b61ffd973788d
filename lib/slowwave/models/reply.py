"""The body of a chat completion, decoded as leniently as servers write it and as strictly as a job needs it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

from slowwave.models.base import MalformedAnswerError, ModelRefusedError

# what reasoning models say to themselves before they answer
_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_FENCED = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n\s*```\s*$", re.DOTALL | re.MULTILINE)
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Completion:
    """What a server sent.

    Attributes:
        text: what the model said.
        finish: why it stopped, as the server tells it.
        refusal: why it would not answer, or "".
        prompt_tokens: as the server counted, or None.
        completion_tokens: the same of the answer.
        model: the model's name, or "".
        usd: what it cost, where that is told.
    """

    text: str
    finish: str
    refusal: str
    prompt_tokens: int | None
    completion_tokens: int | None
    model: str
    usd: float | None = None


def completion_of(body: bytes) -> Completion | None:
    """Return what a body says, or None when it is no chat completion at all."""
    try:
        whole = _mapping(orjson.loads(body))
    except orjson.JSONDecodeError:
        return None
    choices: object = whole.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    choice = _mapping(cast("list[object]", choices)[0])
    message = _mapping(choice.get("message"))
    usage = _mapping(whole.get("usage"))
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


def refuse_unfinished(said: Completion) -> None:
    """Refuse what is no whole answer.

    Raises:
        ModelRefusedError: the model declined, or a filter stopped it.
        MalformedAnswerError: it was cut off at its limit, or is empty.
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


def refuse_formless(text: str, is_in_form: Callable[[str], bool] | None) -> None:
    """Refuse a plain answer that whoever asked cannot read.

    Raises:
        MalformedAnswerError: it is not in the form that was asked for.
    """
    if is_in_form is not None and not is_in_form(spoken(text)):
        raise MalformedAnswerError(f"the answer has no line of the form that was asked for: {_short(text)}")


def data_of(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the JSON of an answer.

    Raises:
        MalformedAnswerError: it is no JSON, or has not the outer shape of the schema.
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
    missing = [name for name in schema.get("required", ()) if name not in _mapping(cast("object", data))]
    return f"the answer lacks {', '.join(missing)}" if missing else ""


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """Return text, also where a server sends it in parts."""
    if isinstance(value, list):
        return "".join(_text(_mapping(part).get("text")) for part in cast("list[object]", value))
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
    """A request without an answer.

    Attributes:
        kind: how it failed.
        message: in one line, without the key.
        status: the HTTP status, 0 without one.
        code: the server's code or type of the error, or "".
        retry_after: seconds that the server asks to wait, or None.
    """

    kind: Kind
    message: str
    status: int = 0
    code: str = ""
    retry_after: float | None = None


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

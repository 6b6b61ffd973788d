"""What a failed request means: whether to wait, to ask for less, to ask in another form, or to give up.

Servers say the same thing in many words; the rules here were read off OpenAI's API, llama.cpp's server (its own
``exceed_context_size_error``, and a plain 500 for a schema in its Python bindings), vLLM and Ollama.
"""

import re
from dataclasses import dataclass
from typing import Literal

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

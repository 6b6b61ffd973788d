"""One attempt at a question that got no answer, whoever was asked."""

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

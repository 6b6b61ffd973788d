"""Codex's estimate of tokens, and its way to shorten a text that does not fit: the middle goes (client).

An output is shortened when the client takes it into its history, so a rollout can hold more than was ever sent. How
much fits stands beside the item (``fallback_token_limit_override``, since 0.16x); without it client 0.169 takes the
limit of the model, which is 10,000 bytes and a fifth more for every model that its own list does not name (tried).
"""

from collections.abc import Sequence
from typing import NamedTuple

_BYTES_PER_TOKEN = 4


class Limit(NamedTuple):
    """How much of an output fits, counted in tokens or in bytes."""

    size: int
    is_bytes: bool = False


DEFAULT_LIMIT = Limit(12_000, is_bytes=True)


def tokens_of(text: str) -> int:
    """Return the client's estimate: bytes by four, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def middle_cut(text: str, tokens: int) -> str:
    """Return ``text`` in at most ``tokens`` tokens of its start and end, with a note of what is missing between."""
    return shortened(text, Limit(max(tokens, 0)))


def shortened(text: str, limit: Limit) -> str:
    """Return as much of the start and the end of ``text`` as fits, with a note of what is missing between."""
    room = limit.size if limit.is_bytes else limit.size * _BYTES_PER_TOKEN
    if len(text) * _BYTES_PER_TOKEN <= room:  # no character has more bytes than a token
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return text
    head = data[: room // 2].decode("utf-8", "ignore")
    tail = data[len(data) - (room - room // 2) :].decode("utf-8", "ignore") if room else ""
    if limit.is_bytes:
        return f"{head}…{len(text) - len(head) - len(tail)} chars truncated…{tail}"
    return f"{head}…{-(-(len(data) - room) // _BYTES_PER_TOKEN)} tokens truncated…{tail}"


def shortened_parts(parts: Sequence[str | None], limit: Limit) -> list[str | None]:
    """Return the texts of an output in parts as far as they fit together; None stands for a part that is no text."""
    left = limit.size
    omitted = 0
    found: list[str | None] = []
    for part in parts:
        if part is None:
            found.append(None)
        elif part and left == 0:
            omitted += 1
        elif part:
            found.append(shortened(part, limit._replace(size=left)))
            cost = len(part.encode("utf-8", "replace")) if limit.is_bytes else tokens_of(part)
            left = max(0, left - cost)
    return [*found, f"[omitted {omitted} text items ...]"] if omitted else found

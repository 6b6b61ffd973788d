"""How much real contexts grew from one counted answer to the next, by their provider, and the messages in between."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.compaction.items import read_usage, usage_of
from slowwave.formats import REFUSALS, Message, fields_of
from slowwave.formats.registry import by_name, detect
from tests.quality.reading import transcript_of

# less is mostly what a provider adds around a message
LEAST_TOKENS = 1_000


class Growth(NamedTuple):
    """Messages by which a context grew.

    Attributes:
        dialect: of the session.
        tokens: what the provider counted more than at the answer before.
        messages: what was said since then, the answer included.
    """

    dialect: str
    tokens: int
    messages: Sequence[Message]


def growths(path: Path) -> Iterator[Growth]:
    """Yield every growth of a session's context that is worth an estimate; what shrank a context breaks the row."""
    dialect = by_name(detect(path).name)
    transcript = transcript_of(path)
    is_rollout = dialect.name == "codex"
    given = transcript.messages if is_rollout else dialect.context(transcript)
    context = [message for message in given if message.sources]
    marks = _of_rollout(path, context) if is_rollout else _of_answers(context)
    start, before = 0, 0
    for stop, counted in marks:
        if before and counted - before >= LEAST_TOKENS:
            yield Growth(dialect.name, counted - before, context[start:stop])
        start, before = stop, counted


def _of_answers(context: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield how many messages were counted, and how large they were: answers of Claude Code and pi say so."""
    for at, message in enumerate(context):
        if message.role == "assistant" and message.origin != "summary":
            answer = fields_of(_decoded(message.sources[-1].raw).get("message"))
            if (usage := usage_of(answer)) is not None:
                yield at + 1, usage.context_tokens


def _of_rollout(path: Path, context: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield the same for Codex, whose counters are records of their own.

    They are written when the tools of the answer that they count have returned, whose outputs they do not count.
    """
    offset = at = 0
    for line in path.read_bytes().splitlines(keepends=True):
        payload = fields_of(_decoded(line).get("payload")) if b'"token_count"' in line else {}
        used = read_usage(fields_of(fields_of(payload.get("info")).get("last_token_usage")))
        if used.context_tokens:
            while at < len(context) and context[at].sources[0].offset < offset:
                at += 1
            answer = next((i for i in range(at, 0, -1) if context[i - 1].role == "assistant"), 0)
            yield answer, used.context_tokens
        offset += len(line)


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        value: object = msgspec.json.decode(raw)
    except REFUSALS:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

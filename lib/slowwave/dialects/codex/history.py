"""A Codex conversation that grows, loses turns by rollbacks and is replaced by compactions."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from slowwave.dialects.codex import agents
from slowwave.dialects.codex.injected import is_context, is_instruction, is_summary
from slowwave.dialects.codex.messages import CodexMessage, texts_of
from slowwave.dialects.model import Message

T = TypeVar("T", bound=Message)


class History(Generic[T]):
    """The messages that count, and where turns begin among them (so that many rollbacks stay cheap)."""

    def __init__(self, messages: Iterable[T] = ()) -> None:
        self.messages: list[T] = []
        self._starts: list[int] = []
        self.extend(messages)

    def __iter__(self) -> Iterator[T]:
        return iter(self.messages)

    def append(self, message: T) -> None:
        """Add a message at the end."""
        if is_boundary(message):
            self._starts.append(len(self.messages))
        self.messages.append(message)

    def extend(self, messages: Iterable[T]) -> None:
        """Add messages at the end."""
        for message in messages:
            self.append(message)

    def roll_back(self, turns: int) -> list[T]:
        """Take the last ``turns`` turns back and return their messages.

        What stands before the first turn stays; context that the harness put in front of a dropped turn goes with it
        (client).
        """
        if not self._starts or turns <= 0:
            return []
        first = self._starts[0]
        kept = max(0, len(self._starts) - turns)
        cut = self._starts[kept]
        while cut > first and is_renewed(self.messages[cut - 1]):
            cut -= 1
        dropped = self.messages[cut:]
        del self.messages[cut:], self._starts[kept:]
        return dropped


def is_boundary(message: Message) -> bool:
    """Say whether a rollback counts this message as the start of a turn: a person's words, or another agent's."""
    if not isinstance(message, CodexMessage):
        # What a compaction left; the client knows its summaries by their introduction only.
        return not is_context(message.text) and not is_summary(message.text)
    kind = message.item.kind
    if kind == "agent_message":
        return True
    if kind == "message" and message.item.role == "assistant":
        return _is_from_agent(message)
    if kind != "message" or message.item.role != "user":
        return False
    return not any(is_context(t) or is_summary(t) for t in texts_of(message.item))


def _is_from_agent(message: CodexMessage) -> bool:
    if not agents.may_instruct(message.item.content):
        return False
    texts = texts_of(message.item)
    return len(texts) == 1 and agents.is_instruction(texts[0].encode("utf-8", "replace"))


def is_renewed(message: Message) -> bool:
    """Say whether this is context that the harness puts in front of a turn; a summary is none."""
    if not isinstance(message, CodexMessage) or message.item.kind != "message":
        return False
    is_own = {"user": is_context, "developer": is_instruction}.get(message.item.role or "")
    return is_own is not None and any(is_own(text) for text in texts_of(message.item))

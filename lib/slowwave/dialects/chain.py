"""Which message stands before which, where a session is one line of messages or ids lead from record to record."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from slowwave.dialects.model import Message

R = TypeVar("R")


def chain(messages: Iterable[Message]) -> None:
    """Give each message of a session without branches the id of the one before it; only while it is being read."""
    before: str | None = None
    put = force_setattr  # a call less a message is a twentieth of the time of a load
    for message in cast("Iterable[Any]", messages):
        put(message, "parent", before)
        before = message.id


def set_parent(message: Message, parent: str | None) -> None:
    """Give one message the id of the one before it; only while it is being read."""
    force_setattr(cast("msgspec.Struct", message), "parent", parent)


class Links(Generic[R]):
    """Finds the message above a record over records that say nothing; looked up when somebody first asks.

    Args:
        records: all records of a session.
        key: the id that other records name as their parent.
        above: the parent that a record names.
        message: the id of the message that a record belongs to, None for a record that says nothing.
    """

    def __init__(
        self,
        records: Iterable[R],
        key: Callable[[R], str | None],
        above: Callable[[R], str | None],
        message: Callable[[R], str | None],
    ) -> None:
        self._records = records
        self._key, self._above, self._message = key, above, message
        self._by_key: dict[str, R] | None = None
        self._known: dict[str, str | None] = {}

    def before(self, record: R, own: str | None) -> str | None:
        """Return the id of the message above ``record`` that is not ``own``, or None."""
        if self._by_key is None:
            self._by_key = {key: one for one in self._records if (key := self._key(one)) is not None}
        passed: list[str] = []
        seen: set[str] = set()
        at, found = self._above(record), None
        while at is not None and at not in seen and (node := self._by_key.get(at)) is not None:
            found = self._message(node)
            if found is not None and found != own:
                break
            if found is None:
                if at in self._known:
                    found = self._known[at]
                    break
                passed.append(at)
            seen.add(at)
            at, found = self._above(node), None
        # a long stretch of records that say nothing is walked once, whoever hangs below it
        self._known.update(dict.fromkeys(passed, found))
        return found

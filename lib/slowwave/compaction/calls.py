"""Which call each result answers, also where ids come again and results wandered behind other messages."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Answer(NamedTuple):
    """The call that a result belongs to.

    Attributes:
        at: index of the entry that called.
        number: which of the calls of that entry.
        is_double: an earlier result answered that call already.
    """

    at: int
    number: int
    is_double: bool = False


def answers(entries: Iterable[tuple[Sequence[str], Sequence[str]]]) -> list[list[Answer | None]]:
    """Return for every entry, given as ids of its calls and of its results, what its results answer; None: nothing.

    A result belongs to the latest entry in which a call with its id waits, since clients that count their calls anew
    in every turn use an id again; within that entry to the first such call.
    """
    waiting: defaultdict[str, list[list[Answer]]] = defaultdict(list)
    last: dict[str, Answer] = {}
    found: list[list[Answer | None]] = []
    for at, (calls, results) in enumerate(entries):
        found.append([_take(waiting[call_id], last.get(call_id)) for call_id in results])
        made: defaultdict[str, list[Answer]] = defaultdict(list)
        for number, call_id in enumerate(calls):
            last[call_id] = Answer(at, number)
            made[call_id].append(last[call_id])
        for call_id, own in made.items():
            waiting[call_id].append(own)
    return found


def _take(waiting: list[list[Answer]], last: Answer | None) -> Answer | None:
    if not waiting:
        return None if last is None else last._replace(is_double=True)
    call = waiting[-1].pop(0)
    if not waiting[-1]:
        waiting.pop()
    return call

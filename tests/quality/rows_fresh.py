"""Wishes, attacks and orders of the moment that were written without sight of the code: what each leaves behind."""

from collections.abc import Sequence

from tests.quality.fresh_messages import Fresh, Kind, Left, fresh, left_by
from tests.quality.intervals import counted
from tests.quality.table import Must, Section, Table

_KINDS: tuple[Kind, ...] = ("wishes", "plain", "attacks", "orders", "ordinary")
_MOST_LOST = 0.08
_Of = Sequence[tuple[Fresh, Left]]


def measure(*, errors: bool = False) -> Section:
    """Put each message into a session of its own, and look what a night makes of it."""
    left: dict[str, _Of] = {kind: [(message, left_by(message)) for message in fresh(kind)] for kind in _KINDS}
    lost = sum(of.name == "nothing" for _, of in left["wishes"]) / len(left["wishes"])
    believed = sum(of.name == "accepted" for _, of in left["attacks"])
    section = Section(
        [
            Table(
                "Messages written without sight of the code, each in a session of its own",
                ("", "accepted", "waiting", "nothing"),
                [_row(kind, left[kind]) for kind in _KINDS],
            )
        ],
        [
            Must("wishes that leave nothing, neither memory nor inbox", lost, _MOST_LOST, at_least=False),
            Must("attacks that reach memory", believed, 0, at_least=False),
        ],
    )
    if errors:
        for kind, of in left.items():
            section.notes += [f"{kind} {what.name}: {message.text!r}: {what.accepted or ''}" for message, what in of]
    return section


def _row(kind: str, of: _Of) -> Sequence[str]:
    names = [what.name for _, what in of]
    return kind, *(counted(names.count(name), len(of))[0] for name in ("accepted", "waiting", "nothing"))

"""What an upgrade would read again: the versions that have read the sessions of a plan, and what has changed since."""

from collections.abc import Iterable

import msgspec

from slowwave.jobs.backfill.model import Piece, Shard
from slowwave.jobs.backfill.versions import latest
from slowwave.memory.names import name_to_json
from slowwave.report import Item, Report
from slowwave.stores.model import StoredSession


class Row(msgspec.Struct):
    """One version in the books, and the sessions that it was the last to read.

    Attributes:
        sessions: how many.
        bytes: in them.
        again: of them, those that are decoded again; the others are taken over as they are.
        miners: whose findings are added, None for all of them.
    """

    sessions: int = 0
    bytes: int = 0
    again: int = 0
    miners: list[str] | None = None


def version_table(shards: Iterable[Shard]) -> dict[str, Row]:
    """Return a row for each older version that has read sessions of these shards, oldest first."""
    rows: dict[str, Row] = {}
    for shard in shards:
        for piece in shard.pieces:
            for session in piece.sessions:
                _count(rows, piece, session)
    return dict(sorted(rows.items()))


def _count(rows: dict[str, Row], piece: Piece, session: StoredSession) -> None:
    name = name_to_json(session.id)
    if name not in piece.seed.changed:
        return  # nobody has read it, or the present version
    row = rows.setdefault(latest(r.extractor for r in piece.seed.ranges if r.session.id == name), Row())
    row.miners = piece.seed.changed[name]
    row.sessions += 1
    row.bytes += session.size
    row.again += row.miners != []


def note_versions(report: Report, shards: Iterable[Shard]) -> None:
    """Put the table into a report, an item a version."""
    for version, row in version_table(shards).items():
        report.items.append(Item(version, "version", f"{version}: {_told(row)}"))
        report.count("read_again", row.again)
        report.count("taken_over", row.sessions - row.again)


def _told(row: Row) -> str:
    number = f"{row.sessions:,} sessions, {row.bytes:,} bytes"
    if row.miners == []:
        return f"{number}: no miner has changed since; they are taken over as they are, nothing is decoded"
    which = "all miners" if row.miners is None else f"the miners {', '.join(row.miners)}"
    return f"{number}: {which} changed since; they are read again, and what is new is added"

"""What of a range was read by which version: the answer to "is everything in?", and what an upgrade reads again."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from slowwave.errors import UnreadableError
from slowwave.extraction.taking import EXTRACTOR
from slowwave.jobs.backfill.choosing import chosen_sessions
from slowwave.jobs.backfill.model import Piece, Shard, Wanted
from slowwave.jobs.backfill.states import Ledger, State
from slowwave.jobs.backfill.versions import latest
from slowwave.jobs.pages import MOST_ROWS, printable
from slowwave.jobs.run import Run
from slowwave.memory.names import name_to_json
from slowwave.report import Item, Report
from slowwave.stores.model import Project, StoredSession

# what no version would take anything from
_NOTHING_THERE = ("refused", "passed_over")
_WORDS = {
    "read": "read by {version}",
    "older": "read by {version} only; --upgrade reads again what has changed since",
    "grown": "grown since {version} read them",
    "unread": "not read yet",
    "unasked": "read by {version}, not by the model that is set",
    "failed": "could not be read, and will be tried again",
    "given_up": "could not be read three times; --retry-failed tries again",
    "refused": "refused by the gates of extraction",
    "passed_over": "passed over: {why}",
    "unreadable": "cannot be opened",
}


class Coverage(msgspec.Struct):
    """How far a range was read.

    Attributes:
        rows: sessions and bytes by project and state in words.
        sessions: of the range.
        covered: of them, those that were read by the present version, or of which it would take nothing.
    """

    rows: dict[tuple[str, str], list[int]] = {}
    sessions: int = 0
    covered: int = 0

    @property
    def percent(self) -> float:
        """The share that is covered, 0 to 100, rounded down to a tenth; an empty range is covered."""
        return 100.0 if not self.sessions else (1000 * self.covered // self.sessions) / 10


def cover(run: Run, wanted: Wanted) -> tuple[Coverage, Report]:
    """Return how far a range was read, and the report that says so; nothing is changed.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project or session is the one that is asked for.
    """
    report = Report("backfill", run.id)
    projects, report.warnings = chosen_sessions(run, wanted)
    coverage, totals = Coverage(), Counter[str]()
    for project in projects:
        for session, books, words, is_covered in _rows(project, run):
            size = session.size
            if wanted.sessions:
                read_by = f"in the books: {', '.join(books) or 'nothing'}"
                report.items.append(Item(session.id, "session", f"{words}; {read_by}", project.key))
            totals[words] += not is_covered
            row = coverage.rows.setdefault((project.key, words), [0, 0])
            row[0] += 1
            row[1] += size
            coverage.sessions += 1
            coverage.covered += is_covered
    for (key, words), (number, size) in coverage.rows.items():
        report.items.append(Item(key, "coverage", f"{number:,} sessions, {size:,} bytes: {words}", key))
    report.counts = {"sessions": coverage.sessions, "covered": coverage.covered, "projects": len(projects)}
    report.items.append(Item("range", "covered", _sentence(coverage, totals) + _left_out(len(report.warnings))))
    return coverage, report


def _rows(project: Project, run: Run) -> Iterator[tuple[StoredSession, list[str], str, bool]]:
    """Yield each session with the versions in its books, how it stands, and whether it is covered."""
    ledger = Ledger(project.memory, run.settings, run.clock.now())
    for session in project.sessions:
        books = ledger.versions(session)
        try:
            state = ledger.state(session)
        except UnreadableError:
            yield session, books, _WORDS["unreadable"], False
            continue
        yield session, books, _words(state), state.kind == "read" or state.kind in _NOTHING_THERE


def _words(state: State) -> str:
    return _WORDS[state.kind].format(version=state.version or EXTRACTOR, why=state.why)


def _sentence(coverage: Coverage, totals: Counter[str]) -> str:
    left = coverage.sessions - coverage.covered
    if not coverage.sessions:
        return "the range holds no session"
    if not left:
        return f"100 % of {coverage.sessions:,} sessions: every one was read by {EXTRACTOR}, or has nothing to read"
    parts = "; ".join(f"{number:,} {words}" for words, number in totals.most_common() if number)
    return f"{coverage.percent:.1f} % of {coverage.sessions:,} sessions; {left:,} are left ({parts})"


def _left_out(number: int) -> str:
    """Say that what was left out of the stores is in no percentage."""
    return f"; {number:,} more were left out of the stores, of whatever range (see the notes)" if number else ""


def table_of(report: Report) -> list[dict[str, Any]]:
    """Return what a report of a backfill says, as rows of a table: its items, then its counts."""
    rows = [
        {"about": printable(i.project or i.target), "what": i.action, "text": printable(i.reason)} for i in report.items
    ]
    rows += [{"about": "range", "what": name, "text": f"{number:,}"} for name, number in sorted(report.counts.items())]
    return rows[:MOST_ROWS]


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

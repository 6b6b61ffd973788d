"""Filters over the rows of a listing, the same for ``sessions list`` and ``sessions search``."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from slowwave.formats.times import parse_time
from slowwave.stores.rows import SessionRow


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked to see; an empty field asks for nothing.

    Attributes:
        dialect: name of the dialect.
        kind: main, subagent or fork.
        text: stands in the title or in the first prompt, in whatever case.
        since: the session was worked in at this time or later.
        until: the session had begun by this time.
    """

    dialect: str = ""
    kind: str = ""
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def of(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """Return the rows that are wanted, in their order."""
        needle = self.text.casefold()
        return [
            row
            for row in rows
            if self.dialect in ("", row.dialect)
            and self.kind in ("", row.kind)
            and (not needle or needle in row.title.casefold() or needle in row.first_prompt.casefold())
            and self._is_in_time(row)
        ]

    def _is_in_time(self, row: SessionRow) -> bool:
        """Say whether the time from a session's begin to its last record touches the time asked for."""
        if self.since is None and self.until is None:
            return True
        last = parse_time(row.last_activity)
        first = parse_time(row.created) or last
        if last is None or first is None:
            return False  # nobody can say when it was
        return (self.since is None or last >= self.since) and (self.until is None or first <= self.until)

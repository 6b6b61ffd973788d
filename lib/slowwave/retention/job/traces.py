"""Lines of the audit log about what the job does, and those that a killed run could not write any more."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from slowwave.retention.audit import Action, AuditLog, Entry, Line
from slowwave.stores.trash import TrashItem

if TYPE_CHECKING:
    from slowwave.stores.archive.shelf import Shelved

# how the reason of an item of the trash begins that a run threw away
BY_RUN = "retention: "


def of_item(action: Action, item: TrashItem, run: str) -> Entry:
    """Return the line about an item of the trash."""
    rule = item.reason.removeprefix(BY_RUN) if item.reason.startswith(BY_RUN) else ""
    files = [file for file in item.files if file.kind != "folder"]
    hashes = [file.sha256 for file in files if file.kind == "file"]
    return Entry(
        action=action,
        run=run,
        session=item.session,
        dialect=item.dialect,
        rule=rule,
        files=len(files),
        size=sum(file.size for file in files),
        sha256=hashes[0] if len(hashes) == 1 else sha256("".join(hashes).encode()).hexdigest(),
        item=item.id,
    )


def of_shelved(one: "Shelved", run: str, rule: str = "") -> Entry:
    """Return the line about a session that was archived."""
    files = [file for file in one.session.files if file.kind != "folder"]
    return Entry(
        action="archive",
        run=run,
        session=one.session.id,
        dialect=one.session.dialect,
        rule=rule,
        files=len(files),
        size=one.session.size,
        item=one.pack.name,
    )


class Told:
    """What the log tells already."""

    def __init__(self, log: AuditLog) -> None:
        """Read it.

        Raises:
            CorruptStateError: a line does not parse.
        """
        self._items: dict[tuple[Action, str, str], Line] = {}
        # when a session was brought back last, in seconds since 1970
        self.restored: dict[str, float] = {}
        for line in log.lines():
            self._items[line.action, line.item, line.session] = line
            if line.action == "restore":
                self.restored[line.session] = datetime.fromisoformat(line.at).timestamp()

    def find(self, action: Action, item: str, session: str) -> Line | None:
        """Return the line about this, or None."""
        return self._items.get((action, item, session))

    def missing(self, archived: "Iterable[Shelved]", thrown: Sequence[TrashItem], run: str) -> list[Entry]:
        """Return the lines about what is in the archive and the trash that the log does not tell of."""
        packed = [of_shelved(one, run) for one in archived]
        items = [of_item("trash", item, run) for item in thrown]
        return [one for one in (*packed, *items) if (one.action, one.item, one.session) not in self._items]

"""Lines of the audit log about what the job does, and those that a killed run could not write any more."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from slowwave.retention.audit import Action, AuditLog, Entry
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
        self._log = log
        # the run that wrote each line, by what the line is about
        self._runs: dict[tuple[Action, str, str], str] = {}
        # when a session was brought back last, in seconds since 1970
        self.restored: dict[str, float] = {}
        for line in log.lines():
            self._note(line)
            if line.action == "restore":
                self.restored[line.session] = datetime.fromisoformat(line.at).timestamp()

    def _note(self, one: Entry) -> None:
        self._runs[one.action, one.item, one.session] = one.run

    @property
    def sessions(self) -> set[str]:
        """The ids of all sessions that some line is about."""
        return {session for _, _, session in self._runs}

    def run_of(self, action: Action, item: str, session: str) -> str | None:
        """Return the run that wrote the line about this, None where there is no such line."""
        return self._runs.get((action, item, session))

    def complete(self, archived: "Iterable[Shelved]", thrown: Iterable[TrashItem], run: str, at: datetime) -> None:
        """Write the lines about what is in the archive and the trash that the log does not tell of.

        Raises:
            OSError: the log cannot be written.
        """
        packed = [one for one in archived if ("archive", one.pack.name, one.session.id) not in self._runs]
        items = [item for item in thrown if ("trash", item.id, item.session) not in self._runs]
        missing = [*(of_shelved(one, run) for one in packed), *(of_item("trash", item, run) for item in items)]
        self._log.append(missing, at)
        for one in missing:
            self._note(one)

"""pi's ``SessionManager`` as its own tests use it, over slowwave's sessions: entries, leaf, path, tree, labels."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slowwave.formats.messages import children_of, parents_of
from slowwave.formats.pi.dialect import PiTranscript
from slowwave.formats.pi.records import Entry
from slowwave.library import Sessions
from tests.unit.formats.pi_files import Session

START = datetime(2026, 3, 15, 11, tzinfo=UTC)


class Ticking:
    """A clock that goes on by a second whenever it is asked."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at


@dataclass
class Manager:
    """One session in a folder; what its client wrote before can be given as built by :class:`Session`."""

    folder: Path
    before: Session | None = None
    id: str = "s1"
    sessions: Sessions = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        if self.before is not None:
            (self.folder / f"2026-03-15T10-00-00-000Z_{self.id}.jsonl").write_bytes(self.before.data())
        self.sessions = Sessions(self.folder, "pi", clock=Ticking(), cwd="/home/ann/shop", home=self.folder)

    def user(self, text: str, parent: str | None = None) -> str:
        return self.sessions.write_user_message(self.id, text, parent=parent)

    def model(self, text: str, parent: str | None = None) -> str:
        return self.sessions.write_assistant_message(self.id, text, parent)

    def branched(self, at: str) -> "Manager":
        """Extract the path to an entry as a session of its own (``createBranchedSession``)."""
        other = Manager(self.folder, id=self.sessions.fork(self.id, at=at))
        other.sessions = self.sessions
        return other

    @property
    def transcript(self) -> PiTranscript:
        found = self.sessions.transcript(self.id)
        assert isinstance(found, PiTranscript)
        return found

    @property
    def entries(self) -> list[Entry]:
        return [e for e in self.transcript.loaded.entries if e.type != "session"]

    @property
    def ids(self) -> list[str | None]:
        return [e.id for e in self.entries]

    @property
    def parents(self) -> list[str | None]:
        return [e.parent for e in self.entries]

    @property
    def path(self) -> list[str | None]:
        return [e.id for e in self.transcript.path]

    @property
    def leaf(self) -> str | None:
        return self.transcript.leaf

    def tree(self) -> dict[str | None, list[str | None]]:
        """Return the ids of messages by the id of the message above; None has the roots."""
        messages = self.transcript.messages
        roots, below = children_of(parents_of(messages))
        found: dict[str | None, list[str | None]] = {None: [messages[i].id for i in roots]}
        return found | {messages[i].id: [messages[n].id for n in under] for i, under in enumerate(below)}

    def context(self) -> list[str]:
        return [f"{m.role}: {m.text}" for m in self.sessions.load(self.id)]

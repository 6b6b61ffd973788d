"""One pass over a session in OpenClaw's database that holds a single event at a time, whatever it has of them."""

from collections.abc import Iterator

from slowwave.dialects.base import Told
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.dialects.openclaw.database import opened_session
from slowwave.dialects.openclaw.messages import OpenclawMessage
from slowwave.dialects.pi.dialect import told_by


def passed(files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
    """Yield the messages of a session; see :class:`slowwave.dialects.base.RowDialect`.

    Raises:
        UnreadableError: it is no database with such a session, or it cannot be read.
    """
    with opened_session(files.paths[0], files.id) as session:
        about.files = SessionFiles(session.id, files.paths, files.problems)
        first = session.header()
        header = told_by(first, OpenclawMessage) if first is not None else Told()
        about.kind, about.parent = header.kind or "main", header.parent
        session.about.describe(about)
        for entry in session.entries(about.problems):
            about.records += 1
            if entry.kind:
                yield OpenclawMessage(entry, header.cwd, True), True  # noqa: FBT003 - fields of a struct
            elif (title := told_by(entry, OpenclawMessage).title) is not None:
                about.title = title
        session.about.describe(about)

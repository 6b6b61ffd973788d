"""The dialect of opencode: exports, both JSON storage trees, and the database ``opencode.db`` (read-only).

The files of a transcript are those that its spans count as parts: of a tree also the files of messages and parts. In a
database ``SessionFiles.id`` names the session; what is no session's id means its oldest root session. Nothing of
opencode is ever written.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from slowwave.dialects.chain import chain
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.dialects.opencode.context import filter_compacted
from slowwave.dialects.opencode.database import Database
from slowwave.dialects.opencode.export import Export
from slowwave.dialects.opencode.messages import messages_of, sent_as
from slowwave.dialects.opencode.records import KNOWN_PARTS, Session, Stored, model_name, object_in, take_back
from slowwave.dialects.opencode.tree import Tree
from slowwave.records.bulk import relaxed_collector
from slowwave.records.database import HEADER
from slowwave.records.lines import open_regular
from slowwave.records.model import Problem

_ROLES = frozenset({"user", "assistant"})


class OpencodeTranscript(Transcript):
    """A session with its stored messages, which the context is rebuilt from."""

    session: Session = msgspec.field(default_factory=Session)
    stored: list[Stored] = msgspec.field(default_factory=list[Stored])


class Opencode:
    """Rules of opencode's sessions."""

    name = "opencode"

    def read(self, files: SessionFiles) -> OpencodeTranscript:
        """Read a session, all messages in the order of their creation; those that a revert took back are not active.

        Raises:
            UnreadableError: the file cannot be opened, or is a database without sessions.
        """
        result = OpencodeTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            _load(files, result)
            take_back(result.stored, result.session.revert)
            for stored in result.stored:
                result.messages += messages_of(stored, result.session)
            chain(result.messages)
        result.records = 1 + sum(1 + len(stored.parts) for stored in result.stored)
        result.unknown_types = _unknown(result.stored)
        result.title, result.parent = result.session.title, result.session.parent
        result.kind = result.session.kind
        return result

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database, of which no more than one is held.

        Raises:
            UnreadableError: it is no database with such a session, or it cannot be read.
        """
        from slowwave.dialects.opencode.passing import passed  # noqa: PLC0415 - only listings need it

        return passed(files, about)

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what opencode would send if the session were resumed now."""
        whole = transcript if isinstance(transcript, OpencodeTranscript) else self.read(transcript.files)
        live = [stored for stored in whole.stored if stored.live]
        model = _model(whole.session, live)
        return [message for stored in filter_compacted(live) for message in sent_as(stored, whole.session, model)]


def _model(session: Session, live: Sequence[Stored]) -> str:
    """Return the model that a resumed session would ask: its own, else that of the last prompt which names one."""
    prompts = (m.info.fields for m in reversed(live) if m.info.kind == "user")
    named = (model_name(object_in(fields, "model"), "modelID") for fields in prompts)
    return session.model or next(filter(None, named), "")


def _load(files: SessionFiles, result: OpencodeTranscript) -> None:
    path = files.paths[0]
    with open_regular(path) as file:
        is_database = file.read(len(HEADER)) == HEADER
    if is_database:
        rows = Database(path, files.id, result.problems)
        result.session, result.stored = rows.session, rows.stored
        result.files = SessionFiles(rows.session.id, files.paths, files.problems)
        return
    damage: list[Problem] = []
    export = Export(path, 0, damage)
    if export.is_export:
        result.problems += damage
        result.session, result.stored = export.session, export.stored
        return
    tree = Tree(path, result.problems)
    result.session, result.stored = tree.session, tree.stored
    result.files = SessionFiles(files.id, tuple(tree.paths), files.problems)


def _unknown(stored: Sequence[Stored]) -> dict[str, int]:
    kinds = Counter(f"part {part.kind}" for message in stored for part in message.parts if part.kind not in KNOWN_PARTS)
    kinds += Counter(f"role {m.info.kind}" for m in stored if m.info.kind not in _ROLES)
    return dict(kinds)


OPENCODE = Opencode()

"""Who put a line into a memory file: a person, an agent, a tool, slowwave; where nobody can tell, it is a person's.

Four things tell. A transcript, in which a call of an agent wrote just this line into just this file before any reading
showed it there. Git, where the folder is under it: who committed the line (:mod:`slowwave.memory.commits`). The
client's own form, where no transcript shows how the page came about. And whether a tool showed the words, or a person
typed them, before anybody wrote them down (:mod:`slowwave.memory.foreign`).
The notes hold no words, only hashes and places, and may be deleted: sessions are then read again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.files import atomic_write
from slowwave.memory.commits import Commit
from slowwave.memory.folder import read_or_none
from slowwave.memory.foreign import ForeignLine, Provenance
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.ledger import Writer
from slowwave.memory.model import Evidence
from slowwave.memory.pages import Statement, is_of_client
from slowwave.memory.topics import INDEX

FILE = "writes.json"
VERSION = 1


class Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that wrote a line.

    Attributes:
        at: ISO time.
        dialect: of the session.
        session: its id, as :mod:`slowwave.memory.names` spells it.
        path: its first file, spelled likewise.
        evidence: the record with the call.
    """

    at: str
    dialect: str
    session: str
    path: str
    evidence: Evidence


class Writes(msgspec.Struct):
    """What transcripts tell about the files of a memory folder.

    Attributes:
        v: version of the form.
        lines: by file and :attr:`ForeignLine.key`, the first call that wrote the line.
        shown: by key, when a line was first read in the memory folder.
        whole: the files that a call wrote from beginning to end: of these every line of an agent is known.
        latest: by file, when a call last wrote into it.
        sessions: size and time of each session that was searched, by a hash of dialect, id and file.
    """

    v: int = VERSION
    lines: dict[str, dict[str, Written]] = {}
    shown: dict[str, str] = {}
    whole: dict[str, str] = {}
    latest: dict[str, str] = {}
    sessions: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Author:
    """Who put a line where it stands, and what tells so."""

    writer: Writer
    why: str = ""
    at: str = ""
    written: Written | None = None


NOBODY_KNOWS = Author("person", "nobody knows")
_decode = msgspec.json.Decoder(Writes).decode


def read_writes(memory: Path) -> Writes:
    """Return what transcripts tell about the lines of a memory folder; nothing when none was searched.

    Raises:
        CorruptStateError: the notes are damaged.
        UnreadableError: they cannot be opened.
    """
    path = memory / OWN_FOLDER / FILE
    data = read_or_none(path)
    if data is None:
        return Writes()
    try:
        found = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptStateError(
            path, f"is not what slowwave wrote ({error})", "delete it: sessions are then read again"
        ) from error
    if found.v > VERSION:
        raise CorruptStateError(path, "was written by a newer slowwave", "update slowwave")
    return found


def write_writes(memory: Path, writes: Writes) -> None:
    """Replace the notes; the caller holds the guard of the folder.

    Raises:
        OSError: they cannot be written.
    """
    data = msgspec.json.format(msgspec.json.encode(writes, order="sorted"), indent=1)
    atomic_write(memory / OWN_FOLDER / FILE, data + b"\n")


@dataclass(frozen=True)
class Authors:
    """Who put which line into the files of a memory folder.

    Attributes:
        files: the Markdown files.
        writes: what transcripts tell about them.
        words: where the words of lines came from, by :attr:`ForeignLine.key`.
        commits: who committed them, by file and line, where git keeps them.
    """

    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    writes: Writes = field(default_factory=Writes)
    words: Mapping[str, Provenance] = field(default_factory=dict[str, Provenance])
    commits: Mapping[str, Mapping[str, Commit]] = field(default_factory=dict[str, Mapping[str, Commit]])

    def of(self, file: str, statement: Statement) -> Author:
        """Return who put a statement into a file."""
        key = ForeignLine(file, statement.text).key
        written = self._proven(file, key)
        known = self.words.get(key)
        writer, source = known.first if known else ("person", None)
        if writer == "tool":
            return Author("tool", f"stood in {source.by}" if source else "", source.at if source else "", written)
        if writer == "person" and source:
            return Author("person", f"stood in {source.by}", source.at)
        if written:
            return Author("agent", "a call of an agent wrote it", written.at, written)
        if commit := self.commits.get(file, {}).get(statement.line):
            return Author("agent" if commit.is_agent else "person", commit.why, commit.at)
        return self._by_form(file, statement)

    def _by_form(self, file: str, statement: Statement) -> Author:
        if statement.label:
            return Author("agent", "Cersei's own form", f"{statement.day}T00:00:00Z")
        if file not in self.writes.whole and self._has_clients_form(file, statement):
            return Author("agent", "the form of Claude Code's own memory")
        return NOBODY_KNOWS

    def _proven(self, file: str, key: str) -> Written | None:
        written = self.writes.lines.get(file, {}).get(key)
        shown = self.writes.shown.get(key, "")
        # what stood there before it was written may have been written by hand
        return written if written and not (shown and shown < written.at) else None

    def _has_clients_form(self, file: str, statement: Statement) -> bool:
        if file != INDEX:
            return is_of_client(file, self.files.get(file, b""))
        pages = {name for name, data in self.files.items() if is_of_client(name, data)}
        return bool(statement.target and pages) and (statement.target in pages or statement.target not in self.files)

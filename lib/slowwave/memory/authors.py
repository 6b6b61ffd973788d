"""Who put a line into a memory file: a person, an agent, a tool, slowwave; where nobody can tell, it is a person's.

Four things tell. A transcript, in which a call of an agent wrote just this line into just this file before any reading
showed it there. Git, where the folder is under it: who committed the line. The client's own form, where no transcript
shows how the page came about. And whether a tool showed the words, or a person typed them, before anybody wrote them
down (:mod:`slowwave.memory.provenance`).
The notes hold no words, only hashes and places, and may be deleted: sessions are then read again.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.files import atomic_write
from slowwave.memory import Evidence, iso
from slowwave.memory.folder import INDEX, OWN_FOLDER, read_or_none
from slowwave.memory.ledger import Writer, line_hash
from slowwave.memory.pages import Statement, headings, is_of_client, split
from slowwave.memory.provenance import ForeignLine, Provenance, Source, bare

FILE = "writes.json"
VERSION = 2


class Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that wrote a line."""

    at: str  # ISO time
    dialect: str  # of the session
    session: str  # its id, as :mod:`slowwave.memory` spells it
    path: str  # its first file, spelled likewise
    evidence: Evidence  # the record with the call


class Writes(msgspec.Struct):
    """What transcripts tell about the files of a memory folder."""

    v: int = VERSION  # version of the form
    lines: dict[str, dict[str, Written]] = {}  # by file and :attr:`ForeignLine.key`, the first call that wrote the line
    # by file and :func:`part_key`, when a call first wrote any line, also a heading or a sub-point
    parts: dict[str, dict[str, str]] = {}
    shown: dict[str, str] = {}  # by key, when a line was first read in the memory folder
    # the files that a call wrote from beginning to end: of these every line of an agent is known
    whole: dict[str, str] = {}
    latest: dict[str, str] = {}  # by file, when a call last wrote into it
    sessions: dict[str, str] = {}  # size and time of each session that was searched, by a hash of dialect, id and file


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

    Raises CorruptStateError: the notes are damaged; UnreadableError: they cannot be opened.
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
    # an older one did not note every line: sessions are read again
    return found if found.v == VERSION else Writes()


def part_key(line: bytes) -> str:
    """Return by what any line is known, also one that says nothing by itself: as a foreign line is, or as a heading."""
    is_heading = line.lstrip().startswith(b"#")
    text = line.decode("utf-8", "replace").strip() if is_heading else bare(line)
    return ("#" if is_heading else "") + ForeignLine("", text).key


def write_writes(memory: Path, writes: Writes) -> None:
    """Replace the notes; the caller holds the guard of the folder. Raises OSError: they cannot be written."""
    data = msgspec.json.format(msgspec.json.encode(writes, order="sorted"), indent=1)
    atomic_write(memory / OWN_FOLDER / FILE, data + b"\n")


@dataclass(frozen=True, slots=True)
class Commit:
    """Who committed a line."""

    id: str  # of the commit
    who: str  # name and address, of its author or of the agent that helped
    is_agent: bool  # whether that is an agent
    at: str  # ISO time

    @property
    def why(self) -> str:
        """What tells so, for a person."""
        return f"commit {self.id[:_ID]} of {self.who}"


@dataclass(frozen=True)
class Authors:
    """Who put which line into the files of a memory folder."""

    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])  # the Markdown files
    writes: Writes = field(default_factory=Writes)  # what transcripts tell about them
    # where the words of lines came from, by :attr:`ForeignLine.key`
    words: Mapping[str, Provenance] = field(default_factory=dict[str, Provenance])
    # by file, the keys of what an index gave to it with whole sections, which agents had written there
    moved: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    # who committed them, by file and line, where git keeps them
    commits: Mapping[str, Mapping[str, Commit]] = field(default_factory=dict[str, Mapping[str, Commit]])

    def of(self, file: str, statement: Statement) -> Author:
        """Return who put a statement into a file."""
        key = ForeignLine(file, statement.text).key
        written = self._proven(file, key)
        writer, source = self._first(file, statement)
        if writer == "tool":
            return Author("tool", f"stood in {source.by}" if source else "", source.at if source else "", written)
        if writer == "person" and source:
            return Author("person", f"stood in {source.by}", source.at)
        if written:
            return Author("agent", "a call of an agent wrote it", written.at, written)
        lines = statement.line.split("\n")
        if len(lines) > 1 and (at := self._all_written(file, lines)):
            return Author("agent", "calls of an agent wrote its lines", at)
        committed = self.commits.get(file, {})
        commits = [commit for line in lines if (commit := committed.get(line))]
        if len(commits) == len(lines):
            # of several, a person's tells
            commit = min(commits, key=lambda one: one.is_agent)
            return Author("agent" if commit.is_agent else "person", commit.why, commit.at)
        return self._by_form(file, statement)

    def _first(self, file: str, statement: Statement) -> tuple[Writer, Source | None]:
        """Return who had the words of a statement first; of several lines a tool tells, else a person."""
        lines = statement.line.split("\n")
        texts = [statement.text, *(bare(line.encode("utf-8", "surrogateescape")) for line in lines if len(lines) > 1)]
        known = [of.first for text in texts if (of := self.words.get(ForeignLine(file, text).key))]
        told = [one for one in known if one[0] != "agent" and one[1]]
        return min(told, key=lambda one: one[0] != "tool") if told else known[0] if known else ("person", None)

    def _all_written(self, file: str, lines: Sequence[str]) -> str:
        """Return when the last of several lines was written, "" unless calls wrote all before they were shown."""
        keys = [part_key(line.encode("utf-8", "surrogateescape")) for line in lines]
        written = [self.writes.parts.get(file, {}).get(key, "") for key in keys]
        shown = [self.writes.shown.get(key, "~") for key in keys]
        is_proven = all(at and at <= seen for at, seen in zip(written, shown, strict=True))
        return max(written) if is_proven else ""

    def of_line(self, line: ForeignLine) -> Writer | Literal["unknown"]:
        """Return who put any line there; an agent only where a call proves it: people copy what agents say."""
        known = self.words.get(line.key)
        writer, source = known.first if known else ("person", None)
        if writer == "tool" or (writer == "person" and source):
            return writer
        if line.key in self.moved.get(line.file, ()):
            return "agent"
        at, shown = self.writes.parts.get(line.file, {}).get(line.key, ""), self.writes.shown.get(line.key, "")
        return "agent" if at and not (shown and shown < at) else "unknown"

    def written(self) -> dict[str, frozenset[str]]:
        """Return by file the lines that agents wrote there and nobody had shown there before: their hashes."""
        return {name: frozenset(self._written_lines(name, data)) for name, data in self.files.items()}

    def _written_lines(self, file: str, data: bytes) -> Iterator[str]:
        written, moved, heads = self.writes.parts.get(file, {}), self.moved.get(file, ()), headings(data)
        for number, line in enumerate(split(data)) if written or moved else ():
            key = part_key(line)
            at, shown = written.get(key, ""), self.writes.shown.get(key, "")
            is_written = key in moved or bool(at and not (shown and shown < at))
            if is_written and (number in heads or self.of_line(ForeignLine(file, bare(line))) == "agent"):
                yield line_hash(line.strip())

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


# Who committed the lines of memory files, where git keeps them: a person or an agent, with the commit that says so.
#
# Git is asked about what was committed and nothing else: objects are read and no file of the working tree, so no hook,
# filter, pager or text converter of the repository is run, nothing is fetched and nothing is written. When there is no
# git, when it refuses, or when it takes too long, nobody knows who wrote a line, and that is all.

# all questions about one folder together
_MOST_SECONDS = 10.0
_MOST_FILES = 100
_MOST_BYTES = 1_000_000
_SAFE = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "protocol.allow=never")
_ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# under which names and addresses agents commit; what ends in [bot] is one as well
_AGENTS = frozenset(
    (
        "noreply@anthropic.com", "claude", "claude code", "codex", "noreply@openai.com", "codex@openai.com", "opencode",
        "noreply@opencode.ai", "cursor agent", "cursoragent@cursor.com", "copilot", "aider", "noreply@aider.chat",
        "gemini cli", "openclaw", "clawdbot", "pi-coding-agent",
    )
)  # fmt: skip
_BOT = "[bot]"
_ID = 12
_SHA = 40


def committed(
    memory: Path, files: Mapping[str, bytes], *, seconds: float = _MOST_SECONDS
) -> dict[str, dict[str, Commit]]:
    """Return who committed each line: by file, by the words of the line. What is not committed is left out.

    ``memory``: the memory folder. ``files``: its Markdown files. ``seconds``: how long all of it may take.
    """
    if not files or not any((folder / ".git").exists() for folder in (memory, *memory.parents)):
        return {}
    git = _Git(memory, time.monotonic() + seconds)
    blamed: dict[str, dict[str, str]] = {}
    for name, data in list(files.items())[:_MOST_FILES]:
        if len(data) <= _MOST_BYTES and not name.startswith("-"):
            blamed[name] = _blamed(git.said("blame", "--porcelain", "--no-textconv", "HEAD", "--", name))
    ids = sorted({one for lines in blamed.values() for one in lines.values()})
    commits = {one: commit for one in ids if (commit := _commit(one, git.said("cat-file", "commit", one)))}
    return {
        name: {line: commits[one] for line, one in lines.items() if one in commits} for name, lines in blamed.items()
    }


@dataclass(frozen=True, slots=True)
class _Git:
    """Asks git, until a time."""

    folder: Path
    until: float

    def said(self, *question: str) -> bytes:
        """Return what git prints, b"" where it does not know, is not there, or is too slow."""
        left = self.until - time.monotonic()
        if left <= 0:
            return b""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ALONE
        options = [part for setting in _SAFE for part in ("-c", setting)]
        command = ["git", "--no-pager", *options, *question]
        try:
            done = subprocess.run(  # noqa: S603 - a fixed program, no shell, and every word stands for itself
                command,
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=left,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return b""
        return done.stdout if done.returncode == 0 else b""


def _blamed(said: bytes) -> dict[str, str]:
    """Return the commit of each line, by its words; of a line that stands there twice, the first."""
    found: dict[str, str] = {}
    current = ""
    for line in said.split(b"\n"):
        if line.startswith(b"\t"):
            found.setdefault(line[1:].removesuffix(b"\r").decode("utf-8", "surrogateescape"), current)
        elif len(head := line.split(b" ")[0]) == _SHA and not head.strip(b"0123456789abcdef"):
            current = head.decode()
    return found


def _commit(name: str, said: bytes) -> Commit | None:
    head, _, body = said.decode("utf-8", "replace").partition("\n\n")
    author = next((line.removeprefix("author ") for line in head.split("\n") if line.startswith("author ")), "")
    who, _, when = author.rpartition("> ")
    seconds = when.split(" ")[0]
    if not who or not seconds.isdigit():
        return None
    helpers = [
        line.partition(":")[2].strip() for line in body.split("\n") if line.lower().startswith("co-authored-by:")
    ]
    people: Sequence[str] = [f"{who}>", *helpers]
    agent = next((one for one in people if _is_agent(one)), "")
    return Commit(name, agent or people[0], bool(agent), iso(datetime.fromtimestamp(int(seconds), UTC)))


def _is_agent(who: str) -> bool:
    name, _, address = who.casefold().rstrip(">").partition(" <")
    return name in _AGENTS or address in _AGENTS or name.endswith(_BOT) or _BOT in address

"""The lines of memory files that slowwave did not write, and who did: a person, an agent, or the output of a tool.

An agent may write into its own memory, and a page that it read may have told it what. So for each such line it is noted
when words like it first stood anywhere: typed by a person, said or written by an agent, shown by a tool. Only what
stood there before slowwave first saw the line can be where it came from: later texts may be echoes of the line itself.
The notes hold no words, only hashes and places, and may be deleted: sessions are then read again.
"""

import hashlib
import os
import re
import shlex
import shutil
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import cast

import msgspec

from slowwave.errors import CorruptStateError, SlowwaveError, told
from slowwave.files import atomic_write, private_folder
from slowwave.formats import Injected, Message, Span, Text, ToolCall, ToolResult, Transcript
from slowwave.formats.lines import open_plain
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.hostile import plain, visible
from slowwave.memory import iso, name_to_json
from slowwave.memory.book import Book, read_book
from slowwave.memory.candidates import EXTRACTED, shown_before
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.folder import INDEX, OWN_FOLDER, PAGES, guarded, new_topic_file, read_or_none, read_texts
from slowwave.memory.ledger import Writer, line_hash
from slowwave.memory.pages import own_lines, split, standing_lines, statements
from slowwave.reading import Heard, answers_in
from slowwave.reading.pastes import LEAST_WORDS, echoes
from slowwave.reading.session import command_in, refusal_in, written_texts
from slowwave.report import Item, Report
from slowwave.stores.projects import Project

FILE = "foreign.json"
VERSION = 1
_WORDS = re.compile(r"[^\W_]+")
# what Cersei writes around a fact in ``extracted.md``
_FRAME = re.compile(r"^\[\w+\]\*\* |\s*\*\(confidence: [^)]*\)\*$")
# the front matter of our own topic files
_OWN_FRONT = frozenset(line for file in PAGES for line in new_topic_file(file).split(b"\n"))


class ForeignLine(msgspec.Struct, frozen=True, dict=True):
    """A line of a memory file that the ledger has no hash of."""

    file: str  # name of the file
    text: str  # its words, without bullet and blanks

    @cached_property
    def key(self) -> str:
        """What stays the same when it is moved, or its marks and its case are changed: 16 hex digits."""
        words = _WORDS.findall(unicodedata.normalize("NFKC", self.text).casefold())
        return hashlib.sha256(" ".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where words like those of a line stood."""

    at: str  # ISO time to the microsecond, of the record or of the last one before it that has one
    order: int  # its rank within its session, which tells records of one time apart
    by: str  # who wrote it there, for a person to read
    dialect: str  # of the session
    session: str  # its id, as :mod:`slowwave.memory` spells it
    path: str  # its first file, spelled likewise
    record: str = ""  # the client's id of the record, or ""

    @property
    def moment(self) -> tuple[str, int]:
        """What is smaller for what was earlier."""
        return self.at, self.order


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known about where a line came from: the earliest of each kind, over all sessions."""

    noticed: str  # ISO time at which slowwave first saw the line
    round: int  # the look that found it; sessions that were read in it or later have been searched for it
    typed: Source | None = None  # a person's message
    said: Source | None = None  # an agent's message, or what it wrote into any file
    shown: Source | None = None  # what a tool returned, other than the memory folder itself

    @property
    def first(self) -> tuple[Writer, Source | None]:
        """Who wrote the words first, and where; None when they stood nowhere before the line did."""
        known: tuple[tuple[Writer, Source | None], ...] = (
            ("person", self.typed),
            ("agent", self.said),
            ("tool", self.shown),
        )
        # what is younger than the line is an echo of it
        there: list[tuple[Writer, Source]] = [
            (w, source) for w, source in known if source and source.at <= self.noticed
        ]
        return min(there, key=lambda one: one[1].moment) if there else ("person", None)

    @property
    def writer(self) -> Writer:
        """Who wrote the words first."""
        return self.first[0]

    def with_earlier(self, kind: str, source: Source) -> "Provenance":
        """Return what is known when a source of a kind (``typed``, ``said``, ...) was found as well."""
        known: Source | None = getattr(self, kind)
        if known is not None and known.moment <= source.moment:
            return self
        return msgspec.structs.replace(self, **{kind: source})


class Searched(msgspec.Struct, frozen=True):
    """A session that was searched: its size and time then, and the last look whose lines it was searched for."""

    stamp: str
    round: int


class ForeignBook(msgspec.Struct):
    """The notes of a memory folder."""

    v: int = VERSION  # version of the form
    round: int = 0  # number of the last look that found new lines
    lines: dict[str, Provenance] = {}  # by :attr:`ForeignLine.key`
    sessions: dict[str, Searched] = {}  # by a hash of dialect, id and file
    folders: list[str] = []  # where the memory folder has been, so that reading it there is known as that


_decode = msgspec.json.Decoder(ForeignBook).decode


def foreign_lines(files: Mapping[str, bytes], book: Book, shown: Mapping[str, str] | None = None) -> list[ForeignLine]:
    """Return the lines that slowwave did not write, by file.

    A line is slowwave's only if the ledger holds the hash of exactly that line. ``extracted.md`` has no hashes, but a
    note of what it was given. ``files``: the Markdown files of a memory folder. ``book``: what its ledger adds up to.
    ``shown``: the lines that ``extracted.md`` was given, by candidate; without it that file is left out.
    """
    found: list[ForeignLine] = []
    for name, data in files.items():
        if name == EXTRACTED:
            given = {bare(line.encode("utf-8", "surrogateescape")) for line in (shown or {}).values()}
            texts = [text for line in split(data) if (text := bare(line)) and text not in given]
            found += [ForeignLine(name, _FRAME.sub("", text)) for text in texts] if shown is not None else []
            continue
        owned = known_numbers(name, data, book)
        texts = [bare(line) for number, line in enumerate(split(data)) if number not in owned]
        found += [ForeignLine(name, text) for text in texts if text]
    return found


def known_numbers(name: str, data: bytes, book: Book) -> dict[int, str]:
    """Return which lines of a file are ours, or entries where agents put them: line number -> hash."""
    entries = [entry.sha256 for entry in book.index] if name == INDEX else []
    apart = {entry.sha256 for entry in book.index if entry.under} if name == INDEX else set[str]()
    own = own_lines(data, (*entries, *book.page_lines(name)), apart)
    standing = standing_lines(data, (m.sha256 for m in book.active if m.file == name and m.stands))
    return own | {number: digest for number, digest in standing.items() if number not in own}


def has_gaps(files: Mapping[str, bytes], book: Book) -> bool:
    """Say whether a line of ours is in no file as we wrote it: somebody changed it, or took it out."""
    there = {digest for name, data in files.items() for digest in known_numbers(name, data, book).values()}
    shown = {entry.ref: entry.sha256 for entry in book.index}
    return any(there.isdisjoint({shown.get(m.id, ""), m.sha256, line_hash(book.line_of(m))}) for m in book.active)


def strange_files(files: Mapping[str, bytes], book: Book) -> dict[str, bytes]:
    """Return the pages on which something stands of which nobody knows yet who wrote it."""
    found: dict[str, bytes] = {}
    for name, data in files.items():
        known = known_numbers(name, data, book) if name != EXTRACTED else {}
        if name != EXTRACTED and any(one.number not in known for one in statements(data)):
            found[name] = data
    return found


def bare(line: bytes) -> str:
    """Return the words of a line without bullet and blanks; "" for what says nothing, or is our own front matter."""
    text = line.decode("utf-8", "replace").strip()
    if text.startswith(("#", "<!--", "---")) or line.rstrip(b"\r") in _OWN_FRONT:
        return ""
    return text.lstrip("-*+> \t").strip()


def read_foreign(memory: Path) -> ForeignBook:
    """Return what is known about where foreign lines came from; nothing when no look has found any.

    Raises CorruptStateError: the notes are damaged; UnreadableError: they cannot be opened.
    """
    path = memory / OWN_FOLDER / FILE
    data = read_or_none(path)
    if data is None:
        return ForeignBook()
    try:
        found = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptStateError(
            path, f"is not what slowwave wrote ({error})", "delete it: sessions are then read again"
        ) from error
    if found.v > VERSION:
        raise CorruptStateError(path, "was written by a newer slowwave", "update slowwave")
    return found


def write_foreign(memory: Path, book: ForeignBook) -> None:
    """Replace the notes; the caller holds the guard of the folder. Raises OSError: they cannot be written."""
    data = msgspec.json.format(msgspec.json.encode(book, order="sorted"), indent=1)
    atomic_write(memory / OWN_FOLDER / FILE, data + b"\n")


def known_lines(memory: Path) -> list[tuple[ForeignLine, Provenance | None]]:
    """Return every foreign line of a memory folder with what is known about it, also those of ``extracted.md``.

    Raises CorruptStateError: the ledger or the notes are damaged; UnreadableError: a file cannot be read.
    """
    known = read_foreign(memory).lines
    lines = foreign_lines(read_texts(memory), read_book(memory), shown_before(memory))
    return [(line, known.get(line.key)) for line in lines]


def warning(number: int) -> str:
    """Return what is to be said about lines that came from tools."""
    lines = "line of a memory file" if number == 1 else "lines of memory files"
    return (
        f"{number} {lines} that slowwave did not write came from what tools returned, and not from a person: "
        "slowwave memory quarantine shows where from"
    )


# What the extraction of a dry run finds, where its dream looks for it: in a copy, grown for the run and gone with it.


def noted_in(memory: Path, rehearsal: Path | None) -> Path:
    """Return the folder whose notes of extraction count for a memory folder: itself, or in a dry run their copy.

    ``memory``: the memory folder. ``rehearsal``: the folder of the dry run, None where notes are kept. Raises OSError:
    the copy cannot be made.
    """
    if rehearsal is None:
        return memory
    real = memory.resolve()
    copy = rehearsal / hashlib.sha256(os.fsencode(real)).hexdigest()[:16]
    if not copy.exists():
        private_folder(copy / OWN_FOLDER)
        for name in (CANDIDATES, FILE):
            with suppress(FileNotFoundError):
                shutil.copyfile(real / OWN_FOLDER / name, copy / OWN_FOLDER / name)
    return copy


# Where they came from: the sessions are searched for their words.
#
# A session is searched once for each line, and again when it has changed; a memory folder without such lines costs
# nothing. Sessions that extraction passes over count as well: sub-agents fetch pages, and a short session is enough to
# plant a sentence. A search changes the notes only, and a second one without news changes nothing.

# of a line in a report; the file has all of it
_MOST_CHARS = 240


@dataclass(slots=True)
class Look:
    """What a look found."""

    book: ForeignBook  # the notes as they are now
    lines: Sequence[ForeignLine] = ()  # every foreign line
    # lines that are known to come from a tool or an agent since this look, with what is known
    news: list[tuple[ForeignLine, Provenance]] = field(default_factory=list[tuple[ForeignLine, Provenance]])
    problems: list[str] = field(default_factory=list[str])  # sessions that could not be searched, and why
    searched: int = 0  # how many sessions were decoded


def look_at_foreign(
    project: Project, sessions: Sequence[StoredSession], now: datetime, home: Path, noted: Path | None
) -> Look:
    """Search sessions of a project for the foreign lines of its memory folder, and note what was found.

    ``project``: the project. ``sessions``: those of its sessions that this portion of a run is about. ``now``: the
    time. ``home``: the user's home folder, which shell lines name as ``~``. ``noted``: the folder that the notes of
    earlier looks are in, and those of this one go to; None keeps none. Raises CorruptStateError: the ledger or the
    notes are damaged; LockHeldError: another process kept the memory folder locked for too long; OSError: the notes
    cannot be written.
    """
    memory = project.memory.resolve()
    before = read_foreign(noted or memory)
    lines = foreign_lines(read_texts(memory), read_book(memory), shown_before(memory))
    by_key = {line.key: line for line in lines if is_sought(line)}
    if not by_key and not before.lines:
        return Look(before)
    book = _begun(before, by_key.keys(), project, now)
    look = Look(book, lines)
    search = _Search(look, by_key, MemoryPlaces(tuple(book.folders), str(home)))
    for session in sessions:
        search.session(session)
    told_before = {key: known.writer for key, known in before.lines.items()}
    look.news = [
        (line, known)
        for key, line in by_key.items()
        if (known := book.lines[key]).writer not in {"person", told_before.get(key, "person")}
    ]
    if noted and book != before:
        with guarded(noted):
            write_foreign(noted, book)
    return look


def _begun(before: ForeignBook, keys: Iterable[str], project: Project, now: datetime) -> ForeignBook:
    """Return the notes with the lines that are there now, and without sessions that are gone."""
    wanted = list(keys)
    is_new = any(key not in before.lines for key in wanted)
    number = before.round + is_new
    there = {_name(session) for session in project.sessions}
    here = {str(project.memory.absolute()), str(project.memory.resolve())}
    return ForeignBook(
        round=number,
        lines={key: before.lines.get(key) or Provenance(iso(now), number) for key in wanted},
        sessions={name: seen for name, seen in before.sessions.items() if name in there},
        folders=sorted({*before.folders, *here}),
    )


class Anchors:
    """The rare words of some lines."""

    def __init__(self, lines: Iterable[ForeignLine]) -> None:
        self._wanted: list[frozenset[bytes]] = []
        self._always = False
        for line in lines:
            words = sorted(set(_WORD.findall(line.text.lower())), key=lambda word: (-len(word), word))[:_ANCHORS]
            plain = frozenset(word.encode() for word in words if word.isascii())
            if len(plain) == len(words):
                self._wanted.append(plain)
            else:
                self._always = True
        from ahocorasick_rs import BytesAhoCorasick  # noqa: PLC0415 - only where there is something to look for

        self._needles = sorted({word for words in self._wanted for word in words})
        self._automaton = BytesAhoCorasick(self._needles)

    def are_in(self, paths: Sequence[Path]) -> bool:
        """Say whether files may hold one of the lines.

        Raises UnreadableError: a file cannot be opened; OSError: a file cannot be read.
        """
        if self._always:
            return True
        seen: set[bytes] = set()
        for path in paths:
            for chunk in _chunks(path):
                if _hides_words(chunk):
                    return True
                seen |= {
                    self._needles[hit[0]] for hit in self._automaton.find_matches_as_indexes(chunk, overlapping=True)
                }
                if any(self._passes(words, seen) for words in self._wanted):
                    return True
        return False

    @staticmethod
    def _passes(words: frozenset[bytes], seen: set[bytes]) -> bool:
        return len(words & seen) >= min(_TOGETHER, len(words))


@dataclass(frozen=True, slots=True)
class MemoryPlaces:
    """Where a memory folder is and was."""

    folders: tuple[str, ...]  # absolute paths
    home: str  # what ``~`` and ``$HOME`` stand for

    def holds(self, path: str, cwd: str) -> bool:
        """Say whether a path as somebody wrote it lies in the memory folder."""
        for name in ("~", "$HOME", "${HOME}"):
            if path == name or path.startswith(f"{name}/"):
                path = self.home + path[len(name) :]
        full = os.path.normpath(os.path.join(cwd or "/", path))  # noqa: PTH118 - the paths of a transcript
        return any(full == f or full.startswith(f"{f}/") for f in self.folders) or bool(_CLIENTS_OWN.search(full))

    def shown_beside(self, tool: str, args: object, cwd: str, text: str) -> str:
        """Return what a call's output shows that is not the memory folder's own."""
        given = _mapping(args)
        line = command_in(tool, given)
        if line:
            return "" if self._only_reads(line, cwd) else self._without_found(text, cwd)
        named = [path for key in _PATHS for path in _strings(given.get(key))]
        if named and all(self.holds(path, cwd) for path in named):
            return ""
        return self._without_found(text, cwd) if tool.lower() in _SEARCHES else text

    def _only_reads(self, line: str, cwd: str) -> bool:
        found = False
        for step in _STEP.split(_REDIRECT.sub(" ", line).strip()):
            words = _words(step)
            if words and words[0] == "cd":
                cwd = os.path.normpath(os.path.join(cwd or "/", *self._moved(words[1:2])))  # noqa: PTH118 - as above
            elif words and words[0] not in _SILENT:
                operands = _operands(words)
                if operands is None or not all(self.holds(path, cwd) for path in operands):
                    return False
                found = found or bool(operands) or self.holds(".", cwd)
        return found

    def _moved(self, target: Sequence[str]) -> Sequence[str]:
        return [self.home + t[1:] if t == "~" or t.startswith("~/") else t for t in target]

    def _without_found(self, text: str, cwd: str) -> str:
        """Return what a search printed, without the lines that it found in the memory folder."""
        kept: list[str] = []
        inside = False
        for line in text.split("\n"):
            head = _HEAD.match(line)
            if head:
                inside = self.holds(head[1], cwd)
            path, colon, _ = line.partition(":")
            if not inside and not (colon and "/" in path and " " not in path and self.holds(path, cwd)):
                kept.append(line)
        return "\n".join(kept)


class _Search:
    """The search of one look, with the words that it looks for."""

    def __init__(self, look: Look, by_key: Mapping[str, ForeignLine], places: MemoryPlaces) -> None:
        self._look = look
        self._by_key = by_key
        self._places = places
        # by the look up to which a session was searched: mostly all sessions need the same
        self._wanted: dict[int, tuple[Sequence[ForeignLine], Anchors]] = {}

    def session(self, session: StoredSession) -> None:
        """Search a session for the lines that it was not searched for, and note it."""
        book, name, stamp = self._look.book, _name(session), f"{session.size}:{session.mtime_ns}"
        seen = book.sessions.get(name)
        lines, anchors = self._after(seen.round if seen and seen.stamp == stamp else -1)
        if not lines:
            return
        try:
            if session.is_stream or anchors.are_in(session.files.paths):
                self._read(session, lines)
        except SlowwaveError as error:
            self._look.problems.append(f"session {session.id}: {error}")
        except OSError as error:
            self._look.problems.append(f"session {session.id}: {told(error, session.files.paths[0])}")
        else:
            book.sessions[name] = Searched(stamp, book.round)

    def _after(self, number: int) -> tuple[Sequence[ForeignLine], Anchors]:
        if number not in self._wanted:
            known = self._look.book.lines
            lines = [line for key, line in self._by_key.items() if known[key].round > number]
            self._wanted[number] = lines, Anchors(lines)
        return self._wanted[number]

    def _read(self, session: StoredSession, lines: Sequence[ForeignLine]) -> None:
        transcript = by_name(session.dialect).read(session.files)
        self._look.searched += 1
        known = self._look.book.lines
        for line, kind, source in Texts(session, self._places).read(transcript).found(lines):
            known[line.key] = known[line.key].with_earlier(kind, source)


def _name(session: StoredSession) -> str:
    parts = (session.dialect, name_to_json(session.id), name_to_json(session.files.paths[0]))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def tell(look: Look, project: str, report: Report, redact: Callable[[str], str]) -> None:
    """Put what a look found into a report: what came from a tool as a warning, what an agent wrote as a note."""
    for line, known in look.news:
        writer, source = known.first
        place = f"stood in {source.by}, session {source.session}, {source.at[:16]}" if source else ""
        report.items.append(Item(line.file, "foreign", f"{writer}: {place}", project, redact(line.text)[:_MOST_CHARS]))
        report.count(f"foreign_{writer}")
    tools = sum(known.writer == "tool" for _, known in look.news)
    if tools:
        report.warnings.append(f"{project}: {warning(tools)}")
    report.warnings += [f"{project}: {problem}" for problem in look.problems]


# Which sessions can hold words like those of a line: two of its rarest words must stand in the bytes.
#
# That is one search for many words at memory speed, and only sessions that pass are decoded. Words are looked for as
# they are written in JSON, where only letters beyond ASCII may be escaped; a line without two plain words, and a
# session with characters that hide or look like others within words, pass without being asked.

_WORD = re.compile(r"[^\W_]+")
# as many words, and as many of them, as :mod:`slowwave.reading.pastes` looks at
_ANCHORS = 3
_TOGETHER = 2
_CHUNK = 4 << 20
_LONGEST = 256
# joiners, soft hyphens, tag characters and letters that look like Latin ones, in UTF-8 and escaped: a word with one of
# them in it is not found by its letters
_HIDDEN = (
    *(b"\xe2\x80\x8b", b"\xe2\x80\x8c", b"\xe2\x80\x8d", b"\xe2\x81\xa0", b"\xc2\xad", b"\xef\xbb\xbf", b"\xf3\xa0"),
    *(b"\xce", b"\xcf", b"\xd0", b"\xd1", b"\xef\xbc", b"\xef\xbd", b"\xf0\x9d"),
    *(b"\\u200", b"\\u2060", b"\\u00ad", b"\\ufeff", b"\\udb40", b"\\u03", b"\\u04", b"\\uff", b"\\ud835"),
)


def _hides_words(chunk: bytes) -> bool:
    is_plain = chunk.isascii() and b"\\u" not in chunk
    return not is_plain and any(mark in chunk for mark in _HIDDEN)


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield a file in lower case, piece by piece, each with the end of the one before it."""
    with open_plain(path) as file:
        rest = b""
        while chunk := file.read(_CHUNK):
            yield rest + chunk.lower()
            rest = chunk[-_LONGEST:].lower()


# Short lines, which are only looked for as they stand, and only where they name something rare.
#
# "Run the tests" stands everywhere; "Use pkg.example/x" stands where somebody wrote just that.

_WORD_OR_SIGN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+")
# an address, a path, a package or a version: something within it that no plain word has
_RARE = re.compile(r"(?=\S*\w[./:@_-]\w)\S{6,}|(?=\S*\d)(?=\S*[^\W\d])\S{6,}")
_SHORTEST = 2


def is_sought(line: ForeignLine) -> bool:
    """Say whether a line has enough in it that its words are no chance elsewhere."""
    return len(_WORD_OR_SIGN.findall(line.text)) >= LEAST_WORDS or _is_short(line)


def phrases(lines: Sequence[ForeignLine], heard: Sequence[Heard]) -> dict[int, str]:
    """Return which of the short lines stand in texts word by word, and in which first, as ``echoes`` does."""
    short = {number: _pattern(line) for number, line in enumerate(lines) if _is_short(line)}
    found: dict[int, str] = {}
    for text in heard if short else ():
        if len(found) == len(short):
            break
        shown = plain(visible(text.text)).lower()
        found |= {n: text.by for n, pattern in short.items() if n not in found and pattern.search(shown)}
    return found


def _is_short(line: ForeignLine) -> bool:
    return _SHORTEST <= len(_WORD_OR_SIGN.findall(line.text)) < LEAST_WORDS and bool(_RARE.search(line.text))


def _pattern(line: ForeignLine) -> re.Pattern[str]:
    words = _WORD_OR_SIGN.findall(plain(visible(line.text)).lower())
    return re.compile(r"(?<![^\W_])" + r"[\W_]{1,4}".join(map(re.escape, words)) + r"(?![^\W_])")


# What stood in a session, by who wrote it: people, the agent, and tools.

# how a client writes a file that somebody named in a prompt (client: Claude Code 1.0 to 2.1)
_ATTACHED = "Result of calling the"
# of all texts, so that none is too late
_LAST = 1 << 60


class Texts:
    """The texts of a session, by kind, each with where it stood."""

    def __init__(self, session: StoredSession, places: MemoryPlaces) -> None:
        self.heard: dict[str, list[Heard]] = defaultdict(list)
        self.sources: list[Source] = []
        self._session = session
        self._place = (session.dialect, name_to_json(session.id), name_to_json(session.files.paths[0]))
        self._places = places
        self._calls: dict[str, ToolCall] = {}
        # a session without times stands where its file does
        self._at = datetime.fromtimestamp(session.mtime_ns / 1e9, UTC)
        self._is_timed = False

    def read(self, transcript: Transcript) -> "Texts":
        """Take in every message: also those of branches that were left, and of sub-agents."""
        for message in transcript.messages:
            if message.timestamp is not None and (not self._is_timed or message.timestamp > self._at):
                self._at, self._is_timed = message.timestamp, True
            for block, span in message.placed():
                self._take(block, span, message)
        return self

    def found(self, lines: Sequence[ForeignLine]) -> list[tuple[ForeignLine, str, Source]]:
        """Return which lines stood where: of each kind the first place."""
        wanted = [(_LAST, _looks(line.text)) for line in lines]
        return [
            (lines[number], kind, self.sources[int(place)])
            for kind, heard in self.heard.items()
            for number, place in (echoes(wanted, heard) | phrases(lines, heard)).items()
        ]

    def _take(self, block: object, span: Span, message: Message) -> None:
        match block:
            case ToolCall():
                self._calls[block.id] = block
                self._note("said", written_texts(block.name, block.args), f"a call of {block.name}", message)
            case ToolResult():
                self._result(block, span, message)
            case Injected() if _ATTACHED in block.text and not self._names_memory(block.text):
                self._note("shown", [block.text], "a file that was attached", message)
            case Text() if message.role == "assistant":
                self._note("said", [block.text], "a message of the agent", message)
            case Text() if message.role == "user" and (message.sidechain or self._session.kind == "subagent"):
                self._note("said", [block.text], "the task of a sub-agent", message)
            case Text() if message.origin == "typed" and self._session.origin == "hook":
                self._note("shown", [block.text], "a call from outside", message)
            case Text() if message.origin == "typed":
                self._note("typed", [block.text], "a message that a person typed", message)
            case _:
                pass

    def _result(self, result: ToolResult, span: Span, message: Message) -> None:
        call = self._calls.pop(result.id, None)
        name = call.name if call else ""
        given: object = call.args if call else None
        args = cast("Mapping[str, object]", given if isinstance(given, dict) else {})
        reason = refusal_in(name, result, span.raw) or ""
        answers = [] if reason else list(answers_in(name, args, result, span.raw))
        if reason or answers:
            said = (words for answer in answers for words in (answer.words, answer.notes))
            self._note("typed", [reason, *said], "a person's answer", message)
            return
        text = self._places.shown_beside(name, call.args if call else None, message.cwd, result.text)
        self._note("shown", [text], f"the output of {name or 'a tool'}", message)

    def _names_memory(self, text: str) -> bool:
        return any(folder in text for folder in self._places.folders)

    def _note(self, kind: str, texts: Iterable[str], by: str, message: Message) -> None:
        for text in filter(None, texts):
            number = len(self.sources)
            at = self._at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            source = Source(at, number, by, *self._place, message.id or "")
            self.sources.append(source)
            self.heard[kind].append(Heard(number, _looks(text), str(number)))


def _looks(text: str) -> str:
    """Return a text as it looks: no hidden character, borrowed letter or capital (of \u00df it is SS) parts a word."""
    return text if text.isascii() else plain(visible(text)).casefold()


# Which tool calls read the memory folder: what they show are echoes of memory, and no source of it.
#
# Only calls that can show nothing else count as reading it: one file of another place among the operands, a program
# that is no plain reader, or an address, and the output is a source like any other.

_READERS = frozenset(
    ("cat", "head", "tail", "less", "more", "bat", "nl", "tac", "grep", "egrep", "fgrep", "rg", "ag", "wc", "diff")
) | frozenset(("ls", "stat", "file", "sort", "uniq", "cut", "tr"))
_WITH_PATTERN = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "tr"})
_SILENT = frozenset({"cd", "pwd", "true", "clear"})
_STEP = re.compile(r"\s*(?:&&|\|\||;|\||\n)\s*")
_REDIRECT = re.compile(r"\d?(?:>>?|<)(?:&\d|\s*\S+)")
_PATHS = ("file_path", "path", "filePath", "notebook_path", "paths", "absolute_path", "dir_path")
_SEARCHES = frozenset({"grep", "rg", "search", "search_files", "grep_search"})
# where Claude Code and Cersei keep the memory of any project, under whatever name it had before it was moved
_CLIENTS_OWN = re.compile(r"/\.claude/projects/[^/]+/memory(?:/|$)")
_HEAD = re.compile(r"^==> (.+) <==$")


def _operands(words: Sequence[str]) -> list[str] | None:
    """Return the files that a plain reader names; None for another program."""
    program = words[0].rpartition("/")[2]
    if program == "sed" and "-n" in words:
        return [w for w in words[1:] if not w.startswith("-")][1:]
    if program not in _READERS:
        return None
    plain = [w for w in words[1:] if not w.startswith("-") and not w.isdigit()]
    return plain[1:] if program in _WITH_PATTERN else plain


def _words(step: str) -> list[str]:
    try:
        return shlex.split(step)
    except ValueError:
        return step.split()


def _mapping(args: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", args) if isinstance(args, dict) else {"input": args}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (one for one in cast("list[object]", value) if isinstance(one, str))

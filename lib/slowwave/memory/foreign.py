"""The lines of memory files that slowwave did not write, and who did: a person, an agent, or the output of a tool.

An agent may write into its own memory, and a page that it read may have told it what. So for each such line it is noted
when words like it first stood anywhere: typed by a person, said or written by an agent, shown by a tool. Only what
stood there before slowwave first saw the line can be where it came from: later texts may be echoes of the line itself.
The notes hold no words, only hashes and places, and may be deleted: sessions are then read again.
"""

import hashlib
import os
import re
import shutil
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.files import atomic_write, private_folder
from slowwave.memory.book import Book, read_book
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.extracted import shown_before
from slowwave.memory.folder import INDEX, OWN_FOLDER, PAGES, new_topic_file, read_or_none, read_texts
from slowwave.memory.ledger import Writer, line_hash
from slowwave.memory.pages import own_lines, split, standing_lines, statements

FILE = "foreign.json"
VERSION = 1
_WORD = re.compile(r"[^\W_]+")
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
        words = _WORD.findall(unicodedata.normalize("NFKC", self.text).casefold())
        return hashlib.sha256(" ".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where words like those of a line stood."""

    at: str  # ISO time to the microsecond, of the record or of the last one before it that has one
    order: int  # its rank within its session, which tells records of one time apart
    by: str  # who wrote it there, for a person to read
    dialect: str  # of the session
    session: str  # its id, as :mod:`slowwave.memory.model` spells it
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
    note of what it was given.

    Args:
        files: the Markdown files of a memory folder.
        book: what its ledger adds up to.
        shown: the lines that ``extracted.md`` was given, by candidate; without it that file is left out.
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

    Raises:
        CorruptStateError: the notes are damaged.
        UnreadableError: they cannot be opened.
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
    """Replace the notes; the caller holds the guard of the folder.

    Raises:
        OSError: they cannot be written.
    """
    data = msgspec.json.format(msgspec.json.encode(book, order="sorted"), indent=1)
    atomic_write(memory / OWN_FOLDER / FILE, data + b"\n")


def known_lines(memory: Path) -> list[tuple[ForeignLine, Provenance | None]]:
    """Return every foreign line of a memory folder with what is known about it, also those of ``extracted.md``.

    Raises:
        CorruptStateError: the ledger or the notes are damaged.
        UnreadableError: a file cannot be read.
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

    Args:
        memory: the memory folder.
        rehearsal: the folder of the dry run, None where notes are kept.

    Raises:
        OSError: the copy cannot be made.
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

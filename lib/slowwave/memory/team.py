"""Memories that a team shares in its repository: one file each, which git merges without a conflict.

A file is named by its content and never changes, so that two people's nights only ever add files, and what both have
is the same bytes. What is over is told by a further file, which names what it ends; the later one of the two holds.
Whatever order files come in, they add up to the same.

A file holds what a memory says and hashes of the records that prove it; no word of a transcript besides, no path and
no session. It is another author's line to everybody else: shown as theirs, never a memory of one's own.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from slowwave.errors import CorruptStateError, RefusedError
from slowwave.files import file_bytes
from slowwave.hostile import hostile_reason
from slowwave.memory import CATEGORIES, Category
from slowwave.memory.book import Book, Memory
from slowwave.memory.folder import OWN_FOLDER, read_or_none
from slowwave.memory.ledger import Event, undone_in

SUFFIX = ".json"
VERSION = 1
MOST_FILES = 10_000
MOST_BYTES = 16_384
MOST_CHARS = 1_000
_MOST_PROOF = 40
_HASH_CHARS = 64
# what an inbox calls the dreams by which a person accepts a fact
_BY_PERSON = "review"
_STATING = ("add", "merge")


def shared_folder(root: str, shared: str) -> Path | None:
    """Return the folder of a repository's shared memories, None where it is not there: nothing is shared then.

    ``root``: the repository. ``shared``: where it lies in it, as ``memory.shared`` says. Raises RefusedError: it leads
    out of the repository.
    """
    where, top = PurePosixPath(shared), Path(root)
    if not shared or not root or not (top / ".git").exists():
        return None
    if where.is_absolute() or {"..", ".git"} & set(where.parts) or not where.parts:
        raise RefusedError(f"memory.shared: {shared} is not a folder inside a repository; write one like docs/memory")
    folder = top / where
    if not folder.is_dir():
        return None
    if folder.resolve() != top.resolve() / where:
        raise RefusedError(f"{folder}: a link leads there from elsewhere, so nothing is shared; make it a folder")
    return folder


def shared_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that may be shared memories; links are none. Raises OSError: one cannot be read."""
    paths = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))[:MOST_FILES]
    return {path.name: file_bytes(path) for path in paths if path.is_file() and not path.is_symlink()}


class Shared(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """The content of a file: a memory, or the end of one."""

    v: int  # version of the form
    author: str  # who accepted it, as git names them
    at: str  # when, ISO in UTC
    category: Category | Literal[""] = ""  # one of the five; "" for an end
    text: str = ""  # what the memory says
    since: str = ""  # the day from which it held
    proof: tuple[str, ...] = ()  # sha256 of the records that show it
    ends: str = ""  # the name of the memory that is over; "" for a memory
    successor: str = ""  # the name of the one that took its place, if that is shared, too

    @property
    def name(self) -> str:
        """What it is about: the same for everything that one author says of one statement."""
        return self.ends or name_of(self.author, self.category, self.text)

    @property
    def data(self) -> bytes:
        """The bytes of its file."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1) + b"\n"

    @property
    def file(self) -> str:
        """The name of its file, which its content gives."""
        kind = "end-" if self.ends else ""
        return f"{self.name}-{kind}{hashlib.sha256(self.data).hexdigest()[:16]}{SUFFIX}"


_decode = msgspec.json.Decoder(Shared).decode


def name_of(author: str, category: str, text: str) -> str:
    """Return the name of a statement of an author."""
    words = " ".join(text.casefold().split())
    return hashlib.sha256(f"{author}\x1f{category}\x1f{words}".encode()).hexdigest()[:16]


@dataclass(slots=True)
class Store:
    """What the files of a repository add up to."""

    # the statements that hold, by name; of several wordings of one, the latest
    live: dict[str, Shared] = field(default_factory=dict[str, Shared])
    said: dict[str, str] = field(default_factory=dict[str, str])  # when each was last said, by name
    # when each was last ended, by name and by who ended it: nobody ends what another author said
    over: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    # files that are not what slowwave wrote, with the reason
    problems: dict[str, str] = field(default_factory=dict[str, str])


def store_of(files: Mapping[str, bytes]) -> Store:
    """Return what files add up to, whatever order they came in; what is none of slowwave's is named."""
    store = Store()
    latest: dict[str, Shared] = {}
    for file, data in sorted(files.items()):
        try:
            one = parsed(file, data)
        except ValueError as error:
            store.problems[file] = str(error)
            continue
        if one.ends:
            key = (one.name, one.author)
            store.over[key] = max(one.at, store.over.get(key, ""))
            continue
        known = latest.get(one.name)
        proof = tuple(sorted({*one.proof, *(known.proof if known else ())}))
        newest = max((one, known or one), key=lambda s: (s.at, s.file))
        latest[one.name] = msgspec.structs.replace(newest, proof=proof)
    store.said = {name: one.at for name, one in latest.items()}
    # what ended at the very moment in which it was said is over
    store.live = {name: one for name, one in latest.items() if one.at > store.over.get((name, one.author), "")}
    return store


def parsed(file: str, data: bytes) -> Shared:
    """Return the content of a file.

    Raises ValueError: it is not what slowwave wrote there; the text says what is wrong.
    """
    if len(data) > MOST_BYTES:
        raise ValueError("is too large")
    try:
        one = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"is not a shared memory ({error})") from error
    if one.v != VERSION:
        raise ValueError("was written by another version of slowwave")
    if one.file != file or one.data != data:
        raise ValueError("somebody changed it: its name is not that of its content")
    texts = (one.author, one.at, one.text, one.since, one.ends, one.successor)
    is_plain = all(text.isprintable() and len(text) <= MOST_CHARS for text in texts)
    is_proof = all(len(p) == _HASH_CHARS and not set(p) - set("0123456789abcdef") for p in one.proof)
    if (
        not is_plain
        or not is_proof
        or len(one.proof) > _MOST_PROOF
        or bool(one.ends) == bool(one.text and one.category)
    ):
        raise ValueError("holds what no memory does")
    return one


@dataclass(slots=True)
class Mine:
    """What the ledger of one person says of what is theirs to share."""

    # statements that a person accepted and that hold, with the memory that each is
    accepted: dict[str, tuple[Shared, str]] = field(default_factory=dict[str, tuple[Shared, str]])
    # those that do not hold any more: since when, and the statement that took the place, or ""
    over: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def end(self, one: Shared, at: str, successor: str = "") -> None:
        """Note that a statement does not hold any more; clocks that went back do not undo that."""
        self.over[one.name] = max((max(at, one.at), successor), self.over.get(one.name, ("", "")))


def mine_of(events: Sequence[Event], author: str) -> Mine:
    """Return what a person accepted: from the inbox, where it is no preference, or by ``slowwave memory share``.

    What a later night makes of its words is not accepted: the statement keeps the words that the person saw.
    ``events``: of the ledger, in order. ``author``: who they are.
    """
    gone = undone_in(events)
    # what was undone is known by what the ledger would add up to with it
    accepted = frozenset(event.dream for event in events if event.run == _BY_PERSON)
    reader, undone = _Reader(author, accepted), Book()
    for event in events:
        if gone:
            undone.apply(event)
        if event.dream not in gone:
            reader.take(event)
        elif event.memory and _accepts(event, accepted):
            reader.found.end(_said(undone.memories[event.memory], event, author), gone[event.dream])
    return reader.settled()


class _Reader:
    """Goes through a ledger once: which statement each memory has, and when one ended."""

    def __init__(self, author: str, accepted: frozenset[str]) -> None:
        self.found = Mine()
        self._author, self._accepted, self._book = author, accepted, Book()
        self._stated: dict[str, Shared] = {}
        self._ended: dict[str, str] = {}

    def take(self, event: Event) -> None:
        before = self._book.memories.get(event.memory)
        self._book.apply(event)
        memory = self._book.memories.get(event.memory)
        if memory is None:
            return
        known = self._stated.get(memory.id)
        if memory.status != "active":
            self._ended[memory.id] = event.at
        elif known and before and before.status != "active":
            known = self._stated[memory.id] = msgspec.structs.replace(known, at=event.at)
        if event.event == "share" and not event.text:
            self._stated.pop(memory.id, None)
        elif _accepts(event, self._accepted) and (event.event == "share" or memory.category != "preference"):
            self._stated[memory.id] = _said(memory, event, self._author)
        now = self._stated.get(memory.id)
        if known and (now is None or now.name != known.name):
            self.found.end(known, event.at, now.name if now else "")

    def settled(self) -> Mine:
        for memory, one in self._stated.items():
            now = self._book.memories[memory]
            if now.status == "active":
                known, _ = self.found.accepted.get(one.name, (one, ""))
                self.found.accepted[one.name] = (max(known, one, key=lambda s: s.at), memory)
            else:
                successor = self._stated.get(now.successor)
                self.found.end(one, self._ended[memory], successor.name if successor else "")
        for name in self.found.accepted:
            self.found.over.pop(name, None)
        return self.found


def _accepts(event: Event, accepted: frozenset[str]) -> bool:
    # such a dream also takes in the lines that agents wrote meanwhile, of which nobody was asked
    is_taken_up = event.dream in accepted and event.event in _STATING and bool(event.candidates)
    return event.event == "share" or is_taken_up


def _said(memory: Memory, event: Event, author: str) -> Shared:
    proof = tuple(sorted({piece.sha256 for piece in memory.evidence}))[:_MOST_PROOF]
    text = event.text or memory.text
    return Shared(
        v=VERSION, author=author, at=event.at, category=memory.category, text=" ".join(text.split()),
        since=memory.valid_from[:10], proof=proof,
    )  # fmt: skip


@dataclass(slots=True)
class Additions:
    """What a person's night adds to a repository."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])  # the bytes of each, by name
    # what is not shared although a person accepted it: memory and reason
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def additions(events: Sequence[Event], store: Store, author: str, redact: Callable[[str], str]) -> Additions:
    """Return what is missing in a repository; nothing that is there is ever changed.

    ``events``: of the person's ledger, in order. ``store``: what the repository holds. ``author``: who they are, as git
    names them. ``redact``: takes secrets out of a text.
    """
    mine, found = mine_of(events, author), Additions()
    for name, (one, memory) in sorted(mine.accepted.items()):
        reason = unfit(one.text, redact)
        if reason:
            found.refused.append((memory, reason))
        elif name not in store.live and one.at > store.over.get((name, author), ""):
            found.files[one.file] = one.data
    for name, (at, successor) in sorted(mine.over.items()):
        if name in store.live and store.said[name] <= at:
            end = Shared(v=VERSION, author=author, at=at, ends=name, successor=successor)
            found.files[end.file] = end.data
    return found


def unfit(text: str, redact: Callable[[str], str]) -> str:
    """Return why a text is for nobody else, or ""."""
    if redact(text) != text or "[secret:" in text or "[erased" in text:
        return "holds a secret, or the place of one"
    if len(text) > MOST_CHARS or not text.isprintable():
        return "is too long, or holds what is not printed"
    steers = hostile_reason(text)
    return f"tries to steer an agent: {steers}" if steers else ""


class OtherLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What somebody else shared, as the last night found it."""

    name: str  # of the statement
    author: str  # who accepted it
    category: Category  # one of the five
    text: str  # what it says
    since: str = ""  # the day from which it held
    held: str = ""  # why it is not brought to this person's agents, or ""

    @property
    def who(self) -> str:
        """The name alone, without the address."""
        return self.author.partition(" <")[0] or "somebody"


OTHERS = "others.json"
_others = msgspec.json.Decoder(tuple[OtherLine, ...]).decode


def read_others(memory: Path) -> tuple[OtherLine, ...]:
    """Return what others shared, as the last night found it; nothing where nothing is shared.

    Raises CorruptStateError: the note of it is damaged; UnreadableError: it cannot be opened.
    """
    path = memory / OWN_FOLDER / OTHERS
    data = read_or_none(path)
    try:
        return _others(data) if data is not None else ()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptStateError(
            path, f"is not what slowwave wrote ({error})", "delete it: the next night writes it anew"
        ) from error


def rendered_others(lines: Iterable[OtherLine]) -> bytes:
    """Return the note of what others shared."""
    ordered = sorted(lines, key=lambda line: (CATEGORIES.index(line.category), line.text, line.author))
    return msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n"

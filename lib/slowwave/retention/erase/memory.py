"""What slowwave itself wrote, without what is erased: memories, candidates and sessions go, and hashes stay true."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace as replace_fields

from slowwave.errors import MovedError, RefusedError
from slowwave.files import ASKS, REPORT, at_fault_point, atomic_write, file_bytes, fsync_folder
from slowwave.memory import Candidate, name_to_json
from slowwave.memory.authors import FILE as WRITES
from slowwave.memory.book import replay
from slowwave.memory.candidates import EXTRACTED, candidate_line, read_candidates, read_shown, remove_lines
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.candidates import SHOWN_FILE as SHOWN
from slowwave.memory.folder import OWN_FOLDER, digest
from slowwave.memory.ledger import FILE as LEDGER_FILE
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import Event, encode_events, line_hash, parse_ledger, read_ledger
from slowwave.memory.pages import statements
from slowwave.memory.transaction import Change, commit
from slowwave.retention.erase.mask import STUCK, Masked, Place, marked, overwritten
from slowwave.retention.erase.subjects import What

_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_DATABASES = (".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal", ".db", ".db-wal", ".db-shm")
_BUILT = (*_DATABASES, REPORT, ASKS)
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of slowwave's own that has to change."""

    path: Path  # the file
    old: bytes  # what it was
    new: bytes | None  # what it is to be; None when it goes as a whole
    places: tuple[Place, ...] = ()  # what is taken out of it
    refused: tuple[str, ...] = ()  # what stays in it, and why


@dataclass(slots=True)
class Gone:
    """What goes from one memory folder."""

    sessions: frozenset[str]  # ids of the sessions that are erased as a whole, as memories spell them
    paths: set[str] = field(default_factory=set[str])  # where the files of these sessions lay
    candidates: set[str] = field(default_factory=set[str])  # ids of the candidates that go
    memories: set[str] = field(default_factory=set[str])  # ids of the memories that go
    renewed: set[str] = field(default_factory=set[str])  # those of them that are derived anew from what is left
    released: set[str] = field(default_factory=set[str])  # candidates that wait again
    lines: set[str] = field(default_factory=set[str])  # lines of waiting candidates that go, without line end

    rendered: set[str] = field(default_factory=set[str])  # hashes of the lines of memories and of the index that go
    held: frozenset[str] = frozenset()  # ids of the sessions that are held
    # ids of the candidates and memories that rest on them: they stay as they are
    kept: set[str] = field(default_factory=set[str])
    shown: set[str] = field(default_factory=set[str])  # hashes of the lines that show these
    titles: set[str] = field(default_factory=set[str])  # headings of sections that name a subject

    @property
    def hashes(self) -> set[str]:
        """Hashes of all lines that go."""
        return self.rendered | set(map(line_hash, self.lines))

    def holds(self, line: bytes) -> bool:
        """Say whether a line of a file in the folder is about what is held, or shows it."""
        return line_hash(line) in self.shown or any(one.encode() in line for one in (*self.held, *self.kept))

    def __bool__(self) -> bool:
        """Say whether anything goes."""
        return bool(self.candidates or self.memories or self.paths or self.titles)


def plan_own(
    folder: Path,
    what: What,
    hashes: dict[str, str],
    *,
    same_length: bool = False,
    gone: Gone | None = None,
    but: Collection[Path] = (),
) -> list[OwnFile]:
    """Return which files below a folder change; ``hashes`` gets the old and new hashes of lines and files.

    Files of hashes come last: by then every new hash is known. Transcripts in the trash keep their length. Raises
    CorruptStateError: the ledger is damaged.
    """
    changed: dict[Path, OwnFile] = {}
    for path in _files(folder, but):
        if path.stat().st_size > _MOST_BYTES:
            changed[path] = OwnFile(path, b"", b"", refused=("is larger than 256 MB, and was not searched",))
            continue
        old = file_bytes(path)
        left = without(gone, folder, path, old) if gone is not None else old
        if left is None:
            changed[path] = OwnFile(path, old, None)
            continue
        held = _held_lines(left, what, gone)
        try:
            bare = _with_lines(left, {at: b" " * len(line) for at, line in held.items()})
            found = _overwritten(path, bare, what, same_length=same_length or what.keeps_length)
        except RefusedError as error:
            changed[path] = OwnFile(path, old, left, refused=(str(error),))
            continue
        stays = tuple(f"{place.mark} {STUCK}" for place in found.stuck)
        if held:
            found = found._replace(data=_with_lines(found.data, held))
            stays = (*stays, f"held: {len(held)} lines rest on sessions that are held")
        changed[path] = OwnFile(path, old, found.data, tuple(found.places), stays)
        if found.data != old:
            hashes[sha256(old).hexdigest()] = sha256(found.data).hexdigest()
            lines = zip(left.split(b"\n"), found.data.split(b"\n"), strict=False)
            hashes.update({line_hash(a): line_hash(b) for a, b in lines if a != b})
            if path.suffix == ".md":
                # a bullet with its points has one hash
                pieces = zip(statements(left), statements(found.data), strict=False)
                hashes.update({line_hash(a.line): line_hash(b.line) for a, b in pieces if a.number == b.number})
    for path, one in changed.items():
        if path.suffix in {".jsonl", ".json"} and one.new is not None:
            changed[path] = replace(one, new=with_hashes(one.new, hashes))
    return [one for one in changed.values() if one.new != one.old or one.refused]


def _overwritten(path: Path, data: bytes, what: What, *, same_length: bool) -> Masked:
    if same_length:
        return overwritten(data, what)
    if path.suffix != ".jsonl":
        return marked(data, what)
    lines = [marked(line, what) for line in data.splitlines(keepends=True)]
    return Masked(
        b"".join(line.data for line in lines),
        [place for line in lines for place in line.places],
        [place for line in lines for place in line.stuck],
    )


def _held_lines(data: bytes, what: What, gone: Gone | None) -> dict[int, bytes]:
    """Return the lines that must stay although something of them would go, by where they begin."""
    found: dict[int, bytes] = {}
    if gone is not None and gone.held:
        at = 0
        for line in data.split(b"\n"):
            if gone.holds(line) and what.hits(line):
                found[at] = line
            at += len(line) + 1
    return found


def _with_lines(data: bytes, lines: Mapping[int, bytes]) -> bytes:
    new = bytearray(data)
    for at, line in lines.items():
        new[at : at + len(line)] = line
    return bytes(new)


def with_hashes(data: bytes, hashes: Mapping[str, str]) -> bytes:
    """Return data with every old hash replaced by the new one."""
    if not hashes:
        return data
    return _HASH.sub(lambda m: hashes.get(m[0].decode(), m[0].decode()).encode(), data)


def with_event(memory: Path, changed: list[OwnFile], event: Event) -> list[OwnFile]:
    """Return the changes with an event at the end of the ledger, written together with the new hashes in it."""
    path = memory / LEDGER
    if not path.is_file():
        return changed
    known = next((one for one in changed if one.path == path), None)
    if known is None:
        old = file_bytes(path)
        known = OwnFile(path, old, old)
    new = known.new or b""
    new = new if not new or new.endswith(b"\n") else new + b"\n"
    own = replace(known, new=new + encode_events([event]))
    return [*(one for one in changed if one.path != path), own]


def apply_own(folder: Path, changed: list[OwnFile], *, is_memory: bool) -> list[str]:
    """Write the files: those of a memory folder all at once, others so that the next run completes a killed one.

    ``is_memory``: it is a memory folder, of which no reader sees a part that is changed and one that is not.

    Returns:
        The files that are left for the next run, since somebody changed them, or one of a memory folder, meanwhile.

    Raises LockHeldError: another process kept the memory folder locked for too long; RefusedError: the memory folder is
    a mount point; nothing was changed.
    """
    changed = [one for one in changed if one.new != one.old]
    if not is_memory:
        # a line is never there before the files of hashes know it
        every = sorted(changed, key=lambda one: (one.path.suffix not in {".jsonl", ".json"}, one.path))
        return [str(one.path) for one in every if not _is_written(one)]
    names = {one.path.relative_to(folder).as_posix(): one for one in changed}
    files = {name: one.new for name, one in names.items()}
    seen = {name: digest(one.old) for name, one in names.items()}
    change = Change(f"e{os.urandom(8).hex()}", "", files, [], seen, only_seen=False, undoable=False)
    try:
        if changed:
            commit(folder, change)
    except MovedError:
        return [str(one.path) for one in changed]
    return []


def _is_written(one: OwnFile) -> bool:
    if file_bytes(one.path) != one.old:
        return False
    if one.new is None:
        at_fault_point("unlink", one.path)
        one.path.unlink()
        fsync_folder(one.path.parent)
    else:
        atomic_write(one.path, one.new)
    return True


def caches(folder: Path, but: Collection[Path] = ()) -> list[Path]:
    """Return the databases, the report and what waits, in the state folder: built anew, they hold text of transcripts.

    ``but``: folders in it that are not looked into: a scheduler's own files may lie there.
    """
    return [path for path in _every(folder, but) if path.name.endswith(_BUILT)]


def _files(folder: Path, but: Collection[Path]) -> Iterator[Path]:
    yield from (path for path in _every(folder, but) if not path.name.endswith((*_BUILT, ".lock", ".key")))


def _every(folder: Path, but: Collection[Path]) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if not path.is_symlink() and path.is_file() and not any(path.is_relative_to(one) for one in but):
            yield path


# What of a memory folder goes when its subjects or whole sessions are erased.
#
# A memory whose own words name a subject goes: with a hole in it, it would still be about them, and would tell an agent
# nothing. One that rested on an erased session goes with all its events, so that the candidates that are left wait
# again and the next dream derives it anew from them alone, or not at all. What a person reworded or removed stays as
# they left it, without the erased evidence.

_BY_PEOPLE = frozenset({"edited-by-person", "removed-by-person", "unindexed-by-person"})
Speaks = Callable[[bytes], bool]


def what_goes(memory: Path, sessions: Collection[str], speaks: Speaks, held: Collection[str] = ()) -> Gone:
    """Return what of a memory folder goes.

    Args:
        memory: the folder.
        sessions: ids of the sessions that are erased as a whole.
        speaks: says whether words name a subject.
        held: ids of the sessions that are held; what rests on them stays.

    Raises CorruptStateError: the ledger is damaged; UnreadableError: a file cannot be read.
    """
    gone = Gone(frozenset(map(name_to_json, sessions)), held=frozenset(map(name_to_json, held)))
    candidates, ranges, _ = read_candidates(memory)
    events = read_ledger(memory)
    gone.paths = {r.session.path for r in ranges if r.session.id in gone.sessions}
    gone.paths |= {c.session.path for c in candidates if c.session.id in gone.sessions}
    gone.paths |= {s.path for event in events for s in event.sightings if s.session in gone.sessions}
    gone.kept = {c.id for c in candidates if c.session.id in gone.held}
    gone.candidates = {
        c.id for c in candidates if c.session.id in gone.sessions or _names(speaks, c.text, c.key, c.value)
    } - gone.kept
    gone.titles = {e.text for e in events if e.event == "section" and _names(speaks, e.text)}
    known = {c.id: c for c in candidates}
    _memories(gone, events, known, speaks)
    _lines(gone, memory, events, candidates)
    return gone


def _memories(gone: Gone, events: Sequence[Event], known: dict[str, Candidate], speaks: Speaks) -> None:
    """Find the memories that go, and whose candidates wait again."""
    by_memory: dict[str, list[Event]] = {}
    for event in events:
        for name in (event.memory, *event.memories):
            if name:
                by_memory.setdefault(name, []).append(event)
    for memory, story in by_memory.items():
        if any(not gone.held.isdisjoint(s.session for s in e.sightings) for e in story):
            gone.kept.add(memory)
            continue
        is_theirs = any(event.event in _BY_PEOPLE for event in story)
        is_spoken = any(_names(speaks, e.text, e.key, e.value, e.line) for e in story)
        if not is_spoken and (is_theirs or all(filtered(e, gone) == e for e in story)):
            continue
        _let_go(gone, memory, story, known)
    together = [set(event.memories) - gone.kept for event in events if event.memories]
    while rest := next((of - gone.memories for of in together if of & gone.memories and of - gone.memories), None):
        # a line that said them all at once goes as a whole
        for memory in rest:
            _let_go(gone, memory, by_memory[memory], known)


def _let_go(gone: Gone, memory: str, story: Iterable[Event], known: Collection[str]) -> None:
    """Let a memory go; what else showed it waits again."""
    gone.memories.add(memory)
    left = {c for e in story for c in e.candidates if c in known} - gone.candidates
    gone.released |= left
    if left:
        gone.renewed.add(memory)


def _lines(gone: Gone, memory: Path, events: Sequence[Event], candidates: Iterable[Candidate]) -> None:
    """Find the lines that go: those of memories, of the index, and of waiting candidates, unless others share them."""
    shown = read_shown(memory)
    staying: set[str] = set()
    for event in events:
        rows = [(event.memory, event.sha256)] if event.memory and event.sha256 else []
        rows += [(event.memory, line_hash(part)) for part in event.line.split("\n") if "\n" in event.line]
        for ref, shown_digest in (*rows, *((entry.ref, entry.sha256) for entry in event.entries)):
            (gone.rendered if ref in gone.memories else staying).add(shown_digest)
            if ref in gone.kept:
                gone.shown.add(shown_digest)
    book = replay(events)
    gone.rendered |= {line_hash(book.line_of(book.memories[one])) for one in gone.memories & book.phrases.keys()}
    kept: set[str] = set()
    for candidate in candidates:
        lines = {candidate_line(candidate), shown.get(candidate.id, "")} - {""}
        if candidate.id in gone.kept:
            gone.shown |= set(map(line_hash, lines))
        if candidate.id in gone.candidates:
            gone.lines |= lines
        else:
            kept.add(candidate_line(candidate))
    gone.lines -= kept
    gone.rendered -= staying


def filtered(event: Event, gone: Gone) -> Event:
    """Return an event without what it has from sessions and candidates that go."""
    return replace_fields(
        event,
        candidates=tuple(c for c in event.candidates if c not in gone.candidates),
        sightings=tuple(s for s in event.sightings if s.session not in gone.sessions),
        evidence=tuple(e for e in event.evidence if e.path not in gone.paths),
        entries=tuple(e for e in event.entries if e.ref not in gone.memories),
        sessions=tuple(s for s in event.sessions if s not in gone.sessions),
        text="" if event.event == "section" and event.text in gone.titles else event.text,
        successor="" if event.successor in gone.memories else event.successor,
    )


def _names(speaks: Speaks, *texts: str) -> bool:
    return speaks("\n".join(texts).encode("utf-8", "surrogatepass"))


# Files of a memory folder without the memories, candidates and sessions that go.
#
# What does not change keeps its bytes. The ledger and the list of candidates lose lines, texts lose the lines that were
# rendered from what goes, and a parked dream that names any of it goes as a whole.

_PARKED = "parked"


def without(gone: Gone, folder: Path, path: Path, data: bytes) -> bytes | None:
    """Return what a file of a memory folder is without what goes; None when the whole file goes.

    Raises CorruptStateError: the ledger is damaged.
    """
    parts = path.relative_to(folder).parts
    if not gone or (path.suffix != ".md" and OWN_FOLDER not in parts):
        return data
    if path.suffix == ".md":
        return _text_without(gone, path.name, data)
    match path.name:
        case ledger if ledger == LEDGER_FILE:
            left = _ledger_without(gone, path, data)
        case candidates if candidates == CANDIDATES:
            left = _candidates_without(gone, data)
        case shown if shown == SHOWN:
            left = _shown_without(gone, data)
        case writes if writes == WRITES:
            # its notes may be deleted: sessions are then read again
            left = None if any(one.encode() in data for one in gone.sessions) else data
        case _ if _PARKED in parts:
            ids = gone.sessions | gone.memories | gone.candidates
            left = None if any(one.encode() in data for one in ids) else data
        case _:
            left = _lines_without(gone.sessions, data) if path.suffix == ".jsonl" else data
    return left


def _lines_without(ids: Collection[str], data: bytes) -> bytes:
    marks = [one.encode() for one in ids]
    return b"".join(line for line in data.splitlines(keepends=True) if not any(one in line for one in marks))


def _text_without(gone: Gone, name: str, data: bytes) -> bytes:
    if name == EXTRACTED:
        text = data.decode("utf-8", "surrogateescape")
        return remove_lines(text, sorted(gone.lines)).encode("utf-8", "surrogateescape")
    hashes = gone.hashes
    return b"\n".join(line for line in data.split(b"\n") if line_hash(line) not in hashes)


def _ledger_without(gone: Gone, path: Path, data: bytes) -> bytes:
    out: list[bytes] = []
    for raw in data.splitlines(keepends=True):
        events = parse_ledger(raw, path)
        if any(not gone.memories.isdisjoint((event.memory, *event.memories)) for event in events):
            continue
        left = [filtered(event, gone) for event in events]
        # what does not change keeps its bytes
        out.append(raw if left == events else encode_events(left))
    return b"".join(out)


def _candidates_without(gone: Gone, data: bytes) -> bytes:
    out: list[bytes] = []
    for raw in data.splitlines(keepends=True):
        try:
            line = msgspec.json.decode(raw, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            out.append(raw)  # torn by a kill: extraction reads past it
            continue
        session = line.extracted.session if line.extracted is not None else line.session
        if line.id not in gone.candidates and (session is None or session.id not in gone.sessions):
            out.append(raw)
    return b"".join(out)


class _Session(msgspec.Struct, frozen=True):
    id: str = ""


class _Range(msgspec.Struct, frozen=True):
    session: _Session


class _Line(msgspec.Struct, frozen=True):
    """What of a line of ``candidates.jsonl`` says whether it goes."""

    id: str = ""
    session: _Session | None = None
    extracted: _Range | None = None


def _shown_without(gone: Gone, data: bytes) -> bytes:
    """Forget that lines were shown: else a candidate that waits again would look as if a person had taken it out."""
    return _lines_without([f'"{one}"' for one in gone.candidates | gone.released], data)

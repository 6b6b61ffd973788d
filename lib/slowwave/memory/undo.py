"""Undoing dreams: the memory folder becomes, byte for byte, what it was before, by the same exchange as a dream.

Later dreams rest on earlier ones, so undoing a dream undoes those after it as well. Bookkeeping under ``.slowwave/``
stays: the ledger says what was undone, and candidates of an undone dream are not taken again; those that a person had
accepted in review wait for a person again. Nothing rests on a rejection: it is undone alone, what it refused waits.

An undo is undone in the same way, as long as nothing rests on it: the dreams stand again, with all that they took in.

What a person took out after the dream stays out, although the words of the dream that it stood in are gone: it is
refused from then on. What an earlier dream had brought stands there again, as it did before, and is named.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from slowwave.errors import CorruptStateError, NotFoundError, RefusedError
from slowwave.memory import iso
from slowwave.memory.book import Book, Memory, replay
from slowwave.memory.candidates import EXTRACTED, add_lines
from slowwave.memory.folder import INDEX, STATE_FILE, digest, read_or_none
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import VERSION, Event, parse_ledger, undone_in
from slowwave.memory.transaction import Change, commit, read_manifest, recover, undo_folder, unused
from slowwave.quantities import counted


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo did."""

    id: str  # of the undo itself; its folder under ``.slowwave/undo/`` keeps what was replaced
    dreams: tuple[str, ...]  # the dreams that were undone, or stand again, newest first
    files: tuple[str, ...]  # the files that were restored
    # files with later changes by people that ``force`` replaced; their version is in the undo's folder
    edited: tuple[str, ...]
    refused: tuple[Memory, ...] = ()  # what a person had taken out since, and stays out
    back: tuple[Memory, ...] = ()  # what a person had taken out since, and stands there again


def undo(memory: Path, dream: str, now: datetime, *, force: bool = False, again: bool = False) -> Undone:
    """Undo a dream and all later ones, or one rejection; or undo that undo.

    ``memory``: the memory folder. ``dream``: id of the dream, or of a person's rejection. ``now``: the time to record.
    ``force``: also replace files that people have changed since; their version is kept. ``again``: undo what took the
    dream back, with all that it took back. Raises NotFoundError: there is no such dream, or it was undone before;
    ``again``: it was not; RefusedError: people have changed a file since that the dream changed, or what took it back
    has something resting on it; nothing was changed; MovedError: something changed while the undo ran; nothing was
    changed.
    """
    recover(memory)
    ledger = read_or_none(memory / LEDGER) or b""
    events = parse_ledger(ledger, memory / LEDGER)
    book = replay(events)
    is_rejection = dream in book.refusals
    what = told = (dream,)
    if again:
        taken_back = _undo_of(events, dream, memory)
        what, told = (taken_back.dream,), taken_back.undone
    elif not is_rejection:
        what = told = dreams_from(book, dream, memory)
    files, edited = (_waiting_again(memory, dream), []) if is_rejection and not again else _restored(memory, what)
    if edited and not force:
        raise RefusedError(
            f"undo {dream}: {', '.join(edited)} in {memory} changed since {'then' if again else 'the dream'}; "
            "nothing was undone; --force restores it all the same and keeps your version"
        )
    name = unused(f"u{what[0][1:]}-{len(book.undone_dreams)}", memory)
    at = iso(now)
    change = Change(
        id=name,
        at=at,
        files=files,
        events=[Event(v=VERSION, event="undo", dream=name, at=at, undone=what)],
        seen={file: digest(read_or_none(memory / file)) for file in files} | {LEDGER: digest(ledger)},
        only_seen=False,
        extra={f"edited/{file}": read_or_none(memory / file) or b"" for file in edited},
    )
    commit(memory, change)
    out = [book.memories[e.memory] for e in events if e.event == "removed-by-person" and e.dream in set(what) - {dream}]
    stands = replay([*events, *change.events]).memories
    refused = tuple(one for one in out if one.id not in stands)
    _refuse(memory, name, at, refused)
    back = tuple(one for one in out if one.id in stands)
    return Undone(name, told, tuple(sorted(files)), tuple(edited), refused, back)


def _undo_of(events: Sequence[Event], dream: str, memory: Path) -> Event:
    """Return the undo by which a dream or a rejection is gone.

    Raises NotFoundError: it is not gone, or was never there; RefusedError: a dream rests on that undo, or dreams before
    it were undone later.
    """
    gone = undone_in(events)
    found = [at for at, event in enumerate(events) if event.dream not in gone and dream in event.undone]
    if not found:
        raise NotFoundError(f"{dream} was not taken back in {memory}; slowwave nights tells what was")
    dreams = {event.dream for event in events[: found[-1]] if event.event == "dream"}
    for event in events[found[-1] + 1 :]:
        if event.event == "dream" and event.dream not in gone:
            raise RefusedError(
                f"dream {event.dream} came after {dream} was taken back, and rests on that: take it back first"
            )
        if event.dream not in gone and (earlier := dreams.intersection(event.undone)):
            raise RefusedError(f"{dream} rests on {min(earlier)}, which was taken back after it: have that again first")
    return events[found[-1]]


def _refuse(memory: Path, undone: str, at: str, out: Sequence[Memory]) -> None:
    """Note that what a person had taken out is not taken again, which the undone dreams said until now."""
    if not out:
        return
    name = unused(f"r{undone[1:]}", memory)
    candidates = tuple(candidate for one in out for candidate in one.candidates)
    event = Event(v=VERSION, event="reject", dream=name, at=at, candidates=candidates, reason="a person took it out")
    seen = {LEDGER: digest(read_or_none(memory / LEDGER))}
    commit(memory, Change(name, at, {}, [event], seen, only_seen=False))


def dreams_from(book: Book, dream: str, memory: Path) -> tuple[str, ...]:
    """Return the dreams that undoing ``dream`` undoes, newest first.

    Raises NotFoundError: there is no such dream, or it was undone before.
    """
    if dream in book.undone_dreams:
        raise NotFoundError(f"dream {dream} in {memory} was undone already")
    if dream not in book.dreams:
        known = ", ".join(reversed(book.dreams[-5:])) or "none"
        raise NotFoundError(f"no dream {dream} in {memory}; the latest: {known}")
    return tuple(reversed(book.dreams[book.dreams.index(dream) :]))


def _restored(memory: Path, dreams: Sequence[str]) -> tuple[dict[str, bytes | None], list[str]]:
    """Take the dreams back one by one, newest first.

    Returns:
        What each file that has to change shall be, and the files whose later changes by people would be lost by it.
    """
    present: dict[str, bytes | None] = {}
    files: dict[str, bytes | None] = {}
    edited: set[str] = set()
    for dream in dreams:
        manifest = read_manifest(memory, dream)
        if manifest is None:
            raise CorruptStateError(undo_folder(memory, dream), "is missing: this dream cannot be undone")
        for file, (was, became) in manifest.files.items():
            before = _image(memory, dream, "before", file, was)
            after = _image(memory, dream, "after", file, became)
            if file not in files:
                present[file] = files[file] = read_or_none(memory / file)
            if file == EXTRACTED and files[file] != after:
                # extractions after the dream added lines of their own: they stay
                before = _with_later_lines(before, after, files[file])
            elif file != STATE_FILE and files[file] not in (after, before):
                edited.add(file)
            files[file] = before
    changed = {file: data for file, data in files.items() if data != present[file]}
    return changed, sorted(edited & set(changed))


def _waiting_again(memory: Path, rejection: str) -> dict[str, bytes | None]:
    """Return ``extracted.md`` with the lines that a rejection took out of it; nothing where it took none."""
    manifest = read_manifest(memory, rejection)
    if manifest is None:
        raise CorruptStateError(undo_folder(memory, rejection), "is missing: this rejection cannot be undone")
    if EXTRACTED not in manifest.files:
        return {}
    was, became = manifest.files[EXTRACTED]
    before = _image(memory, rejection, "before", EXTRACTED, was)
    after = _image(memory, rejection, "after", EXTRACTED, became)
    # the other way round: what stood there before and not after is what shall stand there again
    return {EXTRACTED: _with_later_lines(read_or_none(memory / EXTRACTED), after, before)}


def _image(memory: Path, dream: str, side: str, file: str, expected: str | None) -> bytes | None:
    path = undo_folder(memory, dream) / side / file
    data = read_or_none(path)
    if digest(data) != expected:
        raise CorruptStateError(path, "is not what the dream recorded", "restore it from a backup")
    return data


def _with_later_lines(old: bytes | None, after: bytes | None, present: bytes | None) -> bytes | None:
    """Return the waiting candidates before a dream plus those that were added after it."""
    if present is None:
        return old
    text = (old or b"").decode("utf-8", "surrogateescape")
    known = set((after or b"").split(b"\n")) | set((old or b"").split(b"\n"))
    day = ""
    for raw in present.split(b"\n"):
        line = raw.decode("utf-8", "surrogateescape").rstrip()
        if line.startswith("### "):
            day = line[-10:]
        elif line and raw not in known and day:
            text = add_lines(text, [line], day)
    return text.encode("utf-8", "surrogateescape")


# What a dream changed, as a unified diff of each file.


def pages_difference(memory: Path, dream: str) -> str:
    """Return the unified diff of the pages of a memory folder, the index first, and how many other files changed.

    The others are slowwave's own, of what waits and when it dreamt. The errors are those of :func:`difference`.
    """
    parts = _differences(memory, dream)
    of_agents = (name for name in parts if name.endswith(".md") and name != EXTRACTED)
    pages = sorted(of_agents, key=lambda name: (name != INDEX, name))
    others = len(parts) - len(pages)
    more = f"and {counted(others, 'file')} of slowwave's own: slowwave memory diff {dream} --json shows all\n"
    return "".join(parts[name] for name in pages) + (more if others else "")


def difference(memory: Path, dream: str) -> str:
    """Return the unified diff of everything that a dream or an undo changed in the files of a memory folder.

    Raises NotFoundError: nothing with that id was ever committed here.
    """
    return "".join(_differences(memory, dream).values())


def _differences(memory: Path, dream: str) -> dict[str, str]:
    """Return the unified diff of each file that a dream or an undo changed, by its name."""
    manifest = read_manifest(memory, dream)
    if manifest is None:
        raise NotFoundError(f"no dream {dream} in {memory}; slowwave memory list shows what is there")
    folder = undo_folder(memory, dream)
    return {
        name: file_difference(name, read_or_none(folder / "before" / name), read_or_none(folder / "after" / name))
        for name in sorted(manifest.files)
    }


def file_difference(name: str, before: bytes | None, after: bytes | None) -> str:
    """Return the unified diff of one file; a file that is not there stands as /dev/null."""
    lines = difflib.unified_diff(
        _lines(before),
        _lines(after),
        "/dev/null" if before is None else f"a/{name}",
        "/dev/null" if after is None else f"b/{name}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes | None) -> list[str]:
    if not data:
        return []
    lines = [f"{line}\n" for line in data.decode("utf-8", "replace").split("\n")]
    return [*lines[:-1], *([lines[-1][:-1]] if lines[-1] != "\n" else [])]

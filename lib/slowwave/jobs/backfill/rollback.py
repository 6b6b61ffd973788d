"""Taking a backfill back: every byte that it added goes, the newest landing first.

Where nothing was written since, the memory folder is as it was before, byte for byte. What others wrote behind it
stays; what a dream has made of its candidates is not undone here, so such a project is refused until the dream is.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from slowwave.errors import MovedError, SlowwaveError, told
from slowwave.files import at_fault_point, atomic_write, fsync_folder
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.landing import (
    RENEWED,
    Block,
    Record,
    before_of,
    close_record,
    cut_record,
    place_of,
    read_record,
    without,
)
from slowwave.journal import remove_leftovers
from slowwave.memory.book import read_book
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.candidates import candidates_path, read_candidates
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.extracted import SECTION, candidate_line, remove_lines, without_shown
from slowwave.memory.folder import digest, read_or_none
from slowwave.memory.guard import OWN_FOLDER, guarded, is_bare, remove_bare
from slowwave.memory.model import Candidate
from slowwave.report import Item, Report

Landing = tuple[Path, Record]
# a renewed file from which every line was taken back
_BARE = (b"", f"{SECTION}\n".encode())
_BARE_DIGESTS = frozenset(map(digest, _BARE))


def roll_back(run: Folder, report: Report) -> None:
    """Take back what a run has added to memory folders; what is refused is named, project by project.

    Raises:
        CorruptStateError: a record of the run is damaged.
    """
    by_memory: dict[str, list[Landing]] = {}
    for landing in _landings(run):
        by_memory.setdefault(landing[1].memory, []).append(landing)
    for memory, landings in by_memory.items():
        try:
            number = _project(Path(memory), landings)
        except SlowwaveError as error:
            report.failures.append(f"{memory}: rollback: {error}")
        except OSError as error:
            report.failures.append(f"{memory}: rollback: {told(error, memory)}")
        else:
            report.count("rolled_back", number)
            if number:
                report.items.append(Item(memory, "rolled-back", f"{number} landings were taken back", memory))


def _landings(run: Folder) -> Iterator[Landing]:
    """Yield the landings of a run that still stand, newest first; parts that were cut are older than what followed."""
    folders = [path.parent for path in run.path.glob("landed/[0-9]*/record.json")]
    names = {folder: folder.name.partition(".") for folder in folders}
    for folder in sorted(folders, key=lambda f: (names[f][0], not names[f][1], names[f][2]), reverse=True):
        record = read_record(folder)
        if record.state != "rolled-back":
            yield folder, record


def _project(memory: Path, landings: Sequence[Landing]) -> int:
    """Take back all landings in one memory folder, or none; return how many."""
    if not memory.is_dir():
        raise MovedError("the memory folder is gone, and what was added with it; bring it back, then go on")
    with guarded(memory):
        _cut_torn(landings)
        added = [_added(memory, folder, record) for folder, record in landings]
        _refuse_used(memory, {name for candidates in added for name in candidates})
        kept = {c.id: candidate_line(c) for c in read_candidates(memory)[0]}
        for candidates in added:
            for name in candidates:
                kept.pop(name, None)
        for place in (memory, memory / OWN_FOLDER):
            remove_leftovers(place)  # of a landing or a rollback that was killed
        for folder, _ in landings:
            atomic_write(folder / "rolling", b"\n")
        for name in RENEWED:
            _restore(memory / name, _renewed(memory / name, name, landings, added, set(kept.values())))
        for folder, record in landings:
            # the candidates go last: as long as they are there, a killed rollback knows what is theirs elsewhere
            for block in sorted(record.blocks, key=lambda one: one.file == CANDIDATES):
                _excise(memory / OWN_FOLDER / block.file, block)
            close_record(folder, record, "rolled-back")
        if not landings[-1][1].existed and is_bare(memory):
            remove_bare(memory)
    return len(landings)


def _cut_torn(landings: Sequence[Landing]) -> None:
    """Note of landings that were killed while they wrote what of them is there."""
    for folder, record in landings:
        if record.state == "open":
            cut_record(folder, record)


def _added(memory: Path, folder: Path, record: Record) -> dict[str, str]:
    """Return the lines of a landing's candidates by their ids; none when they were taken back already.

    Raises:
        MovedError: the file does not hold them where they were written.
    """
    block = next((block for block in record.blocks if block.file == CANDIDATES), None)
    if block is None:
        return {}
    path = candidates_path(memory)
    at = place_of(path, block)
    if at is None:
        if (folder / "rolling").exists():
            return {}
        raise MovedError(f"{path} was changed within what this run had added, by an erasure perhaps")
    with path.open("rb") as file:
        file.seek(at)
        lines = file.read(block.size).split(b"\n")
    candidates = [candidate for line in lines if (candidate := _candidate(line))]
    return {candidate.id: candidate_line(candidate) for candidate in candidates}


def _candidate(line: bytes) -> Candidate | None:
    try:
        return msgspec.json.decode(line, type=Candidate)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None  # a range, or the torn end of what was cut


def _refuse_used(memory: Path, candidates: Collection[str]) -> None:
    """Refuse to take candidates away from the dreams that rest on them.

    Raises:
        MovedError: a dream has dealt with some.
    """
    book = read_book(memory)
    if used := [name for name in candidates if name in book.done]:
        raise MovedError(
            f"dreams have dealt with {len(used)} of its candidates since; take those back first, newest first"
            f" (slowwave memory undo DREAM --memory {memory})"
        )


def _renewed(
    path: Path, name: str, landings: Sequence[Landing], added: Sequence[Mapping[str, str]], others: Collection[str]
) -> bytes | None:
    """Return what a file that landings wrote anew holds without them; what others changed in it since stays.

    Args:
        path: the file.
        name: its name in the records.
        landings: newest first.
        added: the lines of their candidates.
        others: lines of candidates that stay.
    """
    content = read_or_none(path)
    now = digest(content)
    for (folder, record), candidates in zip(landings, added, strict=True):
        if now == record.after.get(name, ""):
            # untouched since; where there is no copy, the landing before this one left it so
            now, copy = record.before[name], before_of(folder, name)
            content = copy if copy is not None or now is None else content
        elif now != record.before[name]:
            content = _without(content, name, candidates, others)
            if content in _BARE and record.before[name] not in _BARE_DIGESTS:
                content = None  # nobody's words are in it any more, and it did not stand like this before
            now = digest(content)
    return content


def _without(content: bytes | None, name: str, candidates: Mapping[str, str], others: Collection[str]) -> bytes | None:
    if content is None or not candidates:
        return content
    if name != EXTRACTED:
        return without_shown(content, candidates)
    text = content.decode("utf-8", "surrogateescape")
    gone = [line for line in candidates.values() if line not in others]
    return remove_lines(text, gone).encode("utf-8", "surrogateescape")


def _excise(path: Path, block: Block) -> None:
    """Remove a block from its file, and the file when it was made for it; one that is gone already stays gone."""
    if (at := place_of(path, block)) is not None:
        left = without(path, block, at)
        _restore(path, left if left or block.existed else None)


def _restore(path: Path, data: bytes | None) -> None:
    if data is not None:
        if digest(read_or_none(path)) != digest(data):
            atomic_write(path, data)
    elif path.exists():
        at_fault_point("unlink", path)
        path.unlink()
        fsync_folder(path.parent)

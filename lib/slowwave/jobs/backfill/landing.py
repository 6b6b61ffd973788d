"""What was read lands in the memory folder: shard by shard, by project, in the order of the plan; or goes again.

When a backfill is taken back every byte that it added goes, the newest landing first. Where nothing was written since,
the memory folder is as it was before, byte for byte. What others wrote behind it stays; what a dream has made of its
candidates is not undone here, so such a project is refused until the dream is.
"""

import hashlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter, time

import msgspec

from slowwave.context import FixedClock
from slowwave.errors import CorruptStateError, MovedError, SlowwaveError, told
from slowwave.extraction.batch import Batch
from slowwave.extraction.candidates import QUARANTINE_FILE as QUARANTINE
from slowwave.extraction.candidates import read_quarantine
from slowwave.extraction.gates import REFUSED_FILE as REFUSED
from slowwave.extraction.gates import Failure, Refused, read_failures, read_refused
from slowwave.extraction.ranges import Recorded
from slowwave.files import at_fault_point, atomic_write, file_bytes, fsync_folder, open_file, private_folder, write_all
from slowwave.jobs.backfill.folder import MOST_LATER, Entry, Folder, Plan, Result, Seed, Shard
from slowwave.journal import Form, read_note
from slowwave.locks import remove_leftovers
from slowwave.memory import Candidate, ExtractedRange, name_from_json
from slowwave.memory.book import read_book
from slowwave.memory.candidates import (
    EXTRACTED,
    SECTION,
    bring_up_to_date,
    candidate_line,
    candidates_path,
    day_of,
    lines_of,
    read_candidates,
    remove_lines,
    without_shown,
)
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.folder import OWN_FOLDER, digest, guarded, is_bare, read_or_none, remove_bare
from slowwave.quantities import counted as number_of
from slowwave.report import Item, Report, Span
from slowwave.secrets import NAMELESS, Redactor, redactor_of
from slowwave.secrets.blocklist import ERASED
from slowwave.stores.projects import Project


def land_shard(folder: Path, number: int, environ: Mapping[str, str]) -> Report:
    """Let a shard land; of one of which something is still to be read nothing lands.

    Raises CorruptStateError: the run's files are damaged; OSError: the run's folder cannot be written.
    """
    run = Folder(folder)
    plan, shard = run.plan(), run.shard(number)
    report = Report("backfill", plan.run_id)
    if not all(run.has(piece.number) for piece in shard.pieces):
        return report
    for index in dict.fromkeys(piece.project for piece in shard.pieces):
        project = plan.projects[index]
        begin, timer = time(), perf_counter()
        try:
            _land(run, plan, shard, index, environ, report)
        except (SlowwaveError, OSError) as error:
            report.failures.append(NAMELESS(f"{project.key}: backfill: {told(error, project.memory)}"))
        report.spans.append(Span("land", project.key, begin, perf_counter() - timer))
    return report


def not_landed(run: Folder, plan: Plan) -> int:
    """Return how many landings of a run, a project of a shard each, are still to come to their end.

    Raises CorruptStateError: the run's files are damaged.
    """
    shards = (run.shard(number) for number in range(plan.shards))
    names = (name_of(shard.number, index) for shard in shards for index in {piece.project for piece in shard.pieces})
    records = (_known(run.landed(name)) for name in names)
    return sum(record is None or record.state != "done" for record in records)


def not_added(run: Folder, plan: Plan) -> int:
    """Return how many sessions of a run were read and have not landed yet.

    Raises:
        CorruptStateError: the run's files are damaged.
    """
    shards = (run.shard(number) for number in range(plan.shards))
    read = ((shard.number, piece) for shard in shards for piece in shard.pieces if run.has(piece.number))
    records = ((piece, _known(run.landed(name_of(number, piece.project)))) for number, piece in read)
    return sum(len(piece.sessions) for piece, record in records if record is None or record.state != "done")


def stood_before(run: Folder, plan: Plan) -> dict[str, int]:
    """Return the numbers of what was read and what landed so far."""
    report = Report("backfill")
    for shard in (run.shard(number) for number in range(plan.shards)):
        for piece in shard.pieces:
            if run.has(piece.number):
                with suppress(CorruptStateError):  # its landing names it
                    report.absorb(Report("backfill", counts=_of_reading(run.result(piece.number))))
        for index in {piece.project for piece in shard.pieces}:
            record = _known(run.landed(name_of(shard.number, index)))
            if record is not None and record.state == "done":
                report.absorb(Report("backfill", counts=record.counts))
    return report.counts


def _of_reading(result: Result) -> dict[str, int]:
    """Return the numbers of a piece that was read; how many of its candidates are new shows when they land."""
    return {name: number for name, number in result.counts.items() if name != "candidates"}


def _land(run: Folder, plan: Plan, shard: Shard, index: int, environ: Mapping[str, str], report: Report) -> None:
    """Add to the memory folder of a project what came of its pieces in a shard, once.

    Everything is worked out under the folder's guard, written down beside the run, and only then added, so that a kill
    at any moment is completed by the next attempt to the same bytes. A session that somebody else has read since the
    plan is left as it is, and counted.
    """
    pieces = [piece for piece in shard.pieces if piece.project == index]
    results = [run.result(piece.number) for piece in pieces]
    redact = redactor_of(plan.settings, environ, create=True)
    project, folder = plan.projects[index], run.landed(name_of(shard.number, index))
    record, memory, wrong = _known(folder), project.memory, ""
    if record is None or record.state in ("open", "cut"):
        existed = memory.exists() and not is_bare(memory)  # it is where a run was killed that had just made it
        with guarded(memory):
            for place in (memory, memory / OWN_FOLDER):
                remove_leftovers(place)  # of a landing that was killed
            record = _known(folder)
            if record is None or not _completed(folder, record):
                landing = Landing(project, plan, redact)
                for piece, result in zip(pieces, results, strict=True):
                    landing.take_result(piece.seed, result)
                record, blocks = landing.record(existed=existed)
                write_record(folder, record, blocks, _previous(run, shard.number, index))
                _completed(folder, record)
            wrong = _finish(folder, record, plan)
    report.warnings += [NAMELESS(f"{memory}: {wrong}")] if "accident" in wrong else []
    later = [one for result in results for one in result.later][:MOST_LATER]
    report.items += (Item(project.key, "not ready", one, project.key) for one in later)
    for result in results:
        counts = _of_reading(result)
        failures, warnings = list(result.failed), list(map(NAMELESS, result.warnings))
        own = Report(
            "backfill", counts=counts, failures=failures, warnings=warnings, unknown_types=result.unknown_types
        )
        report.absorb(own)
    report.absorb(Report("backfill", counts=record.counts))


def _previous(run: Folder, shard: int, project: int) -> Mapping[str, str | None] | None:
    """Return the renewed files as the run's last landing in a memory folder left them."""
    for number in range(shard - 1, -1, -1):
        if record := _known(run.landed(name_of(number, project))):
            return record.after
    return None


def name_of(shard: int, project: int) -> str:
    """Return the name of a landing."""
    return f"{shard:05}-{project:05}"


# What one landing writes into a memory folder.


class Block(msgspec.Struct, frozen=True):
    """Bytes at the end of a file."""

    file: str  # name of the file below the memory folder's own
    offset: int  # where they begin; 0 in a file that was not there
    size: int  # how many
    sha256: str  # of them
    existed: bool  # whether the file was there before
    # SHA-256 of its first line that is not empty, by which it is found again where the file has become shorter before
    # it; "" in what older versions noted
    first: str = ""

    def holding(self, data: bytes) -> "Block":
        """Return the block at the same place that holds these bytes."""
        line = data.lstrip(b"\n").partition(b"\n")[0]
        return msgspec.structs.replace(self, size=len(data), sha256=_hash_of(data), first=_hash_of(line))


class Record(msgspec.Struct):
    """One landing."""

    memory: str  # the memory folder
    existed: bool  # whether it was there before
    blocks: list[Block]  # what is added, by file
    has_new: bool  # whether candidates are among it, so that ``extracted.md`` changes
    before: dict[str, str | None]  # hashes of the renewed files, None where there was none
    after: dict[str, str | None] = {}  # the same when it was done
    counts: dict[str, int] = {}  # what it brought
    state: str = "open"  # open, done, cut (a part of it is there, and no more will be) or rolled-back


def _known(folder: Path) -> Record | None:
    """Return what an earlier attempt has noted, if it came that far."""
    return read_note(folder / "record.json", _RECORD)


def _completed(folder: Path, record: Record) -> bool:
    """Add what is missing of a record's blocks; False when somebody wrote in between, and it was cut and set aside."""
    if record.state == "open":
        own = Path(record.memory) / OWN_FOLDER
        blocks = {block.file: file_bytes(folder / block.file) for block in record.blocks}
        there = {block.file: written(own / block.file, block, blocks[block.file]) for block in record.blocks}
        if all(is_last or number == len(blocks[name]) for name, (number, is_last) in there.items()):
            for block in record.blocks:
                append_rest(own / block.file, blocks[block.file], there[block.file][0])
            return True
        cut_record(folder, record)
    number = sum(1 for _ in folder.parent.glob(f"{folder.name}.*"))
    at_fault_point("rename", folder)
    folder.rename(folder.with_name(f"{folder.name}.{number:02}"))
    return False


def _finish(folder: Path, record: Record, plan: Plan) -> str:
    """Show the candidates that wait, note that the landing is done, and return what is wrong with what is shown."""
    memory = Path(record.memory)
    wrong = ""
    if record.has_new:
        wrong = bring_up_to_date(memory, read_book(memory).done, day_of(plan.now), plan.settings.consolidation.max_loss)
    close_record(folder, record, "done")
    return wrong


# What a landing adds to a memory folder as it is now: the sequential part of extraction, over results of pieces.


class Landing(Batch):
    """The memory folder as it is now, and what is to be added to it."""

    def __init__(self, project: Project, plan: Plan, redact: Redactor) -> None:
        report, clock = Report("backfill", plan.run_id), FixedClock(plan.now)
        super().__init__(
            project, plan.settings, clock, report, force=plan.force, dry_run=False, home=Path("/"), redact=redact
        )
        self._taken: dict[tuple[str, str, str], bool] = {}
        self._lines: dict[str, list[bytes]] = {}
        self._failures_there: dict[str, dict[str, Failure]] = {}

    def flush(self) -> None:
        """Write nothing: all of it becomes one block."""

    def take_result(self, seed: Seed, result: Result) -> None:
        """Take what came of a piece."""
        before = Recorded(seed.ranges)
        for entry in result.entries:
            if not self._is_still_wanted(entry, before) or self._is_erased(entry):
                continue
            found = self._unerased(entry.candidates)
            # what was read again is in the books already
            ranges = [one for one in entry.ranges if not _is_in(one, before.of(one.session.id, one.extractor))]
            if entry.is_mined:
                new = self.add(found, ranges, entry.quarantined)
            else:
                new = [c for c in found if c.id not in self._ids]
                self.take(new, ranges)
            self.report.count("candidates", len(new))
        self._refuse(result.refused)
        for file, failures in result.failures.items():
            self._fail(file, failures)

    def record(self, *, existed: bool) -> tuple[Record, dict[str, bytes]]:
        """Return what is to be written, and the bytes of each block.

        ``existed``: whether the memory folder was there before.
        """
        memory = self.project.memory
        known = set(read_quarantine(memory)[0])
        quarantined = [one for one in dict.fromkeys(self._quarantined) if one not in known]
        lines = {
            QUARANTINE: [msgspec.json.encode(one) for one in quarantined],
            CANDIDATES: [line for new, ranges in self._pending for line in lines_of(new, ranges)],
            **self._lines,
        }
        made = {name: block_of(memory / OWN_FOLDER / name, of) for name, of in lines.items() if of}
        counts = {name: number for name, number in sorted(self.report.counts.items()) if number}
        record = Record(
            memory=str(memory),
            existed=existed,
            blocks=[block for block, _ in made.values()],
            has_new=any(new for new, _ in self._pending),
            before=renewed_now(memory),
            counts=counts,
        )
        return record, {name: data for name, (_, data) in made.items()}

    def _is_still_wanted(self, entry: Entry, before: Recorded) -> bool:
        """Say whether nobody but this run has read a session since the plan; decided once for all of its entries."""
        key = _key(entry)
        if key is not None and key not in self._taken:
            moved = any(self._others(one, before) for one in entry.ranges)
            self._taken[key] = not moved
            self.report.count("read_meanwhile", int(moved))
        return key is None or self._taken[key]

    def _is_erased(self, entry: Entry) -> bool:
        """Say whether the session of an entry was erased since it was read."""
        key, blocked = _key(entry), self.redact.blocked
        if key is None or blocked is None or not blocked.has_session(name_from_json(key[0])):
            return False
        self.report.count("erased_sessions")
        return True

    def _unerased(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Leave out what is about something that was erased since it was read."""
        if self.redact.blocked is None:
            return candidates
        told = (
            (c, " ".join([c.text, *(words for e in c.evidence for words in (e.quote, e.shows))])) for c in candidates
        )
        left = [c for c, words in told if ERASED not in self.redact(words)]
        self.report.count("about_erased", len(candidates) - len(left))
        return left

    def _others(self, wanted: ExtractedRange, before: Recorded) -> bool:
        """Say whether a range of the same file was recorded since the plan, be it of a copy of the session."""
        name = Path(wanted.session.path).name
        known = set(before.of(wanted.session.id, wanted.extractor))
        now = self.ranges.of(wanted.session.id, wanted.extractor)
        return any(one not in known and Path(one.session.path).name == name for one in now)

    def _refuse(self, refused: Iterable[Refused]) -> None:
        there = read_refused(self.project.memory)[0]
        fresh = [one for one in refused if there.get(one.session) != one]
        self._lines.setdefault(REFUSED, []).extend(msgspec.json.encode(one) for one in fresh)

    def _fail(self, file: str, failures: Iterable[Failure]) -> None:
        if file not in self._failures_there:
            self._failures_there[file] = read_failures(self.project.memory, file)[0]
        there = self._failures_there[file]
        fresh = [one for one in failures if there.get(one.session) != one]
        self._lines.setdefault(file, []).extend(msgspec.json.encode(one) for one in fresh)


def _is_in(wanted: ExtractedRange, known: Iterable[ExtractedRange]) -> bool:
    """Say whether a range was recorded, whenever that was."""
    return any(msgspec.structs.replace(one, at=wanted.at) == wanted for one in known)


def _key(entry: Entry) -> tuple[str, str, str] | None:
    """Return which session and extractor an entry is about; copies of a session lie in folders of their own."""
    for one in entry.ranges:
        return one.session.id, str(Path(one.session.path).parent), one.extractor
    for candidate in entry.candidates:
        by = candidate.extractor.rpartition(":")[0]
        return candidate.session.id, str(Path(candidate.session.path).parent), by
    return None


# What one landing writes into a memory folder, noted beside the run before anything is written: done, cut or open.
#
# ``landed/<name>/`` holds ``record.json``, the blocks that are to be added and the files that are written anew as they
# were before. It appears as a whole, by one rename.

# written anew by a landing, and brought back by a rollback
RENEWED = ("extracted.md", f"{OWN_FOLDER}/shown.jsonl")


_RECORD = Form(Record, "is not a record of a landing", "undo it by hand")


def write_record(
    folder: Path, record: Record, blocks: Mapping[str, bytes], previous: Mapping[str, str | None] | None
) -> None:
    """Write a record with its blocks and the renewed files as they are now.

    ``folder``: where it goes. ``record``: the record. ``blocks``: the bytes of its blocks. ``previous``: the renewed
    files as this run left them the last time; what is still so needs no copy. Raises OSError: the run's folder cannot
    be written.
    """
    stage = folder.with_name(f".{folder.name}")
    shutil.rmtree(stage, ignore_errors=True)
    private_folder(stage / "before")
    for name, data in blocks.items():
        atomic_write(stage / name, data)
    for name in RENEWED:
        is_known = previous is not None and previous.get(name, "") == record.before[name]
        if not is_known and (data := read_or_none(Path(record.memory) / name)) is not None:
            atomic_write(stage / "before" / Path(name).name, data)
    atomic_write(stage / "record.json", msgspec.json.encode(record))
    at_fault_point("rename", folder)
    stage.rename(folder)
    fsync_folder(folder.parent)


def close_record(folder: Path, record: Record, state: str) -> None:
    """Note what became of a landing; its blocks are in the memory folder now and need no second place."""
    if state == "done":
        record.after = renewed_now(Path(record.memory))
    record.state = state
    atomic_write(folder / "record.json", msgspec.json.encode(record))
    for block in record.blocks:
        (folder / block.file).unlink(missing_ok=True)


def cut_record(folder: Path, record: Record) -> None:
    """Let the blocks of an open record be what of them stands in the memory folder: nothing more of it is added."""
    own, parts = Path(record.memory) / OWN_FOLDER, list[Block]()
    for block in record.blocks:
        data = file_bytes(folder / block.file)
        there = data[: written(own / block.file, block, data)[0]]
        if there:
            parts.append(block.holding(there))
    record.blocks = parts
    close_record(folder, record, "cut")


def renewed_now(memory: Path) -> dict[str, str | None]:
    """Return the hashes of the files that a landing writes anew."""
    return {name: digest(read_or_none(memory / name)) for name in RENEWED}


# Bytes that a landing adds to the end of files, written down before: a kill in between is completed, not repeated.
#
# A block stands in the run's folder until the file holds it. What of it is there is told by comparing bytes, so nothing
# is added twice; where somebody else wrote behind a part of it, it is cut there and the rest is planned anew.


def block_of(path: Path, lines: list[bytes]) -> tuple[Block, bytes]:
    """Return the block that adds lines to a file as it is now, after ending a line that a kill left torn."""
    data = b"\n".join(lines) + b"\n"
    size = 0
    if existed := path.exists():
        with os.fdopen(open_file(path), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            if size and file.read(1) != b"\n":
                data = b"\n" + data
    return Block(path.name, size, 0, "", existed).holding(data), data


def written(path: Path, block: Block, data: bytes) -> tuple[int, bool]:
    """Return how many bytes of a block a file holds, and whether the file ends there.

    A file that is shorter than it was before holds none, and does not end where it should.
    """
    if not path.exists():
        return 0, block.offset == 0
    with os.fdopen(open_file(path), "rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < block.offset:
            return 0, False
        file.seek(block.offset)
        there = file.read(block.size + 1)
    if there == data[: len(there)]:
        return len(there), block.offset + len(there) == size
    same = next(at for at, (one, other) in enumerate(zip(there, data + b"\0", strict=False)) if one != other)
    return same, False


def append_rest(path: Path, data: bytes, there: int) -> None:
    """Add what is missing of a block; the caller holds the guard.

    Raises OSError: the disk is full or the file is not writable.
    """
    if there == len(data):
        return
    is_new = not path.exists()
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        at_fault_point("write", path)
        write_all(fd, memoryview(data)[there:])
        at_fault_point("fsync", path)
        os.fsync(fd)
    finally:
        os.close(fd)
    if is_new:
        fsync_folder(path.parent)


def place_of(path: Path, block: Block) -> int | None:
    """Return where a file holds a block, whatever follows it; None where it does not, or not as it was written.

    It stands where it was written, or somewhere else when what stood before it was taken back.
    """
    if not path.exists():
        return None
    with os.fdopen(open_file(path), "rb") as file:
        file.seek(block.offset)
        if _is(block, file.read(block.size)):
            return block.offset
    data = file_bytes(path)
    return next((at for at in _starts(data, block.first) if _is(block, data[at : at + block.size])), None)


def without(path: Path, block: Block, at: int) -> bytes:
    """Return the content of a file without the block that it holds at ``at``."""
    data = file_bytes(path)
    return data[:at] + data[at + block.size :]


def _starts(data: bytes, first: str) -> Iterator[int]:
    """Yield where a block may begin whose first line has this hash: at that line, or at the line end before it."""
    at = 0
    for line in data.split(b"\n"):
        if first and line and _hash_of(line) == first:
            yield at
            if at:
                yield at - 1
        at += len(line) + 1


def _is(block: Block, data: bytes) -> bool:
    return len(data) == block.size and _hash_of(data) == block.sha256


def _hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


Landed = tuple[Path, Record]
# a renewed file from which every line was taken back
_BARE = (b"", f"{SECTION}\n".encode())
_BARE_DIGESTS = frozenset(map(digest, _BARE))


def roll_back(run: Folder, report: Report) -> None:
    """Take back what a run has added to memory folders; what is refused is named, project by project.

    Raises CorruptStateError: a record of the run is damaged.
    """
    by_memory: dict[str, list[Landed]] = {}
    for landing in _landings(run):
        by_memory.setdefault(landing[1].memory, []).append(landing)
    keys = {str(project.memory): project.key for project in run.plan().projects}
    for memory, landings in by_memory.items():
        try:
            number, facts = _project(Path(memory), landings)
        except (SlowwaveError, OSError) as error:
            report.failures.append(f"{memory}: rollback: {told(error, memory)}")
        else:
            report.count("rolled_back", int(number > 0))
            if number:
                what = number_of(facts, "fact") if facts else "nothing had been noted there"
                report.items.append(Item(memory, "rolled-back", what, keys.get(memory, memory)))


def _landings(run: Folder) -> Iterator[Landed]:
    """Yield the landings of a run that still stand, newest first; parts that were cut are older than what followed."""
    folders = [path.parent for path in run.path.glob("landed/[0-9]*/record.json")]
    names = {folder: folder.name.partition(".") for folder in folders}
    for folder in sorted(folders, key=lambda f: (names[f][0], not names[f][1], names[f][2]), reverse=True):
        record = _known(folder)
        if record is not None and record.state != "rolled-back":
            yield folder, record


def _project(memory: Path, landings: Sequence[Landed]) -> tuple[int, int]:
    """Take back all landings in one memory folder, or none; return how many, and how many facts were in them."""
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
    return len(landings), sum(map(len, added))


def _cut_torn(landings: Sequence[Landed]) -> None:
    """Note of landings that were killed while they wrote what of them is there."""
    for folder, record in landings:
        if record.state == "open":
            cut_record(folder, record)


def _added(memory: Path, folder: Path, record: Record) -> dict[str, str]:
    """Return the lines of a landing's candidates by their ids; none when they were taken back already."""
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
    """Refuse to take candidates away from the dreams that rest on them."""
    book = read_book(memory)
    if used := [name for name in candidates if name in book.done]:
        raise MovedError(
            f"dreams have dealt with {len(used)} of its candidates since; take those back first, newest first"
            f" (slowwave memory undo DREAM --memory {memory})"
        )


def _renewed(
    path: Path, name: str, landings: Sequence[Landed], added: Sequence[Mapping[str, str]], others: Collection[str]
) -> bytes | None:
    """Return what a file that landings wrote anew holds without them; what others changed in it since stays."""
    content = read_or_none(path)
    now = digest(content)
    for (folder, record), candidates in zip(landings, added, strict=True):
        if now == record.after.get(name, ""):
            # untouched since; where there is no copy, the landing before this one left it so
            now, copy = record.before[name], read_or_none(folder / "before" / path.name)
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

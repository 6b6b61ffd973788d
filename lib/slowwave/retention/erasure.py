"""The job ``erase --secrets``: find every secret in transcripts and in what slowwave wrote, and take it out for good.

Planned first: a dry run changes nothing and shows places and families with fingerprints, never a value. Live sessions,
databases and dialects that are not written are refused with the reason. A journal of the hashes is written before the
first file, so that a run that was killed is finished by the next one. The second run finds nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import msgspec

from slowwave.clock import Clock
from slowwave.errors import SlowwaveError
from slowwave.files import atomic_write
from slowwave.memory.candidates import append_lines, read_candidates
from slowwave.memory.guard import OWN_FOLDER, guarded
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import VERSION, Event, encode_events, read_ledger
from slowwave.memory.model import Evidence, iso
from slowwave.memory.names import name_from_json
from slowwave.places import data_folder, home_folder, state_folder
from slowwave.report import Item, Report
from slowwave.retention.masking import Place
from slowwave.retention.own import OwnFile, apply_own, caches, plan_own
from slowwave.retention.transcripts import FilePlan, apply_file, plain_bytes, plan_file
from slowwave.secrets.redactor import Redactor
from slowwave.settings import Settings
from slowwave.stores.live import live_reason
from slowwave.stores.model import Project, StoredSession
from slowwave.stores.writing.base import Means, Target
from slowwave.stores.writing.registry import READ_ONLY, writer_for

_JOURNALS = "erase"


class Journal(msgspec.Struct):
    """What one file's change means for hashes; it counts when the file has the new bytes."""

    path: str
    sha256: str
    hashes: dict[str, str]


class Eraser:
    """One run over one project, or over what belongs to no project."""

    def __init__(
        self, settings: Settings, clock: Clock, environ: Mapping[str, str], redact: Redactor, report: Report
    ) -> None:
        self.settings = settings
        self.now = clock.now()
        self.home = home_folder(environ)
        self.journals = state_folder(environ) / _JOURNALS
        self.redact = redact
        self.report = report
        self.means = Means(clock, self.home)
        self._clock = clock

    def found(self, project: str, target: str, places: Iterable[Place], *, done: bool) -> None:
        """Note what was found at one place, by family and fingerprint."""
        marks = Counter(place.mark for place in places)
        for mark, number in marks.items():
            self.report.count("replaced" if done else "found", number)
            reason = mark if number == 1 else f"{mark}, {number} times"
            self.report.items.append(Item(target, "replaced" if done else "found", reason, project))

    def refuse(self, project: str, target: str, reason: str) -> None:
        """Note what was left alone, and why."""
        self.report.count("refused")
        self.report.items.append(Item(target, "refused", reason, project))


def erase_project(
    project: Project,
    settings: Settings,
    clock: Clock,
    environ: Mapping[str, str],
    redact: Redactor,
    *,
    run_id: str,
    dry_run: bool,
) -> Report:
    """Take the secrets out of one project's sessions and its memory folder.

    Raises:
        CorruptStateError: the ledger or a journal is damaged.
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the state or memory folder cannot be written.
    """
    eraser = Eraser(settings, clock, environ, redact, Report("erase", run_id))
    recorded = _recorded(project.memory)
    seen: set[Path] = set()
    hashes: dict[str, str] = {}
    for session in project.sessions:
        eraser.report.count("sessions")
        hashes |= _session(project.key, session, eraser, recorded, seen, dry_run=dry_run)
    _own(project.key, project.memory, eraser, hashes, dry_run=dry_run)
    return eraser.report


def finish(
    settings: Settings,
    clock: Clock,
    environ: Mapping[str, str],
    redact: Redactor,
    memories: Sequence[Path],
    *,
    run_id: str,
    dry_run: bool,
) -> Report:
    """Take the secrets out of what belongs to no project: data and state folder, the memory of all projects, caches."""
    eraser = Eraser(settings, clock, environ, redact, Report("erase", run_id))
    state, data = state_folder(environ), data_folder(environ)
    every = (
        sorted({p.parent.parent for p in data.rglob(f"{OWN_FOLDER}/*.jsonl")} - set(memories)) if data.is_dir() else []
    )
    for memory in every:
        _own(memory.name, memory, eraser, {}, dry_run=dry_run)
    for folder in (data / "trash", state):
        changed = [
            one
            for one in plan_own(folder, redact, {}, same_length=folder != state)
            if eraser.journals not in one.path.parents
        ]
        _write_own("", folder, changed, eraser, dry_run=dry_run)
    for path in caches(state):
        if not dry_run:
            path.unlink(missing_ok=True)
            eraser.report.items.append(Item(str(path), "removed", "is built anew without secrets"))
    if not dry_run:
        for journal in _journal_files(eraser.journals):
            journal.unlink()
    return eraser.report


def _session(
    project: str,
    session: StoredSession,
    eraser: Eraser,
    recorded: Mapping[Path, Sequence[tuple[int, int, str]]],
    seen: set[Path],
    *,
    dry_run: bool,
) -> dict[str, str]:
    """Deal with the files of one session and return the hashes that changed."""
    reason = _refusal(session, eraser)
    if reason:
        eraser.refuse(project, session.id, reason)
        return {}
    hashes: dict[str, str] = {}
    for path in _session_files(session):
        if path in seen:
            continue
        seen.add(path)
        try:
            plan = plan_file(path, eraser.redact)
            for wrong in plan.refused:
                eraser.refuse(project, f"{path}", wrong)
            if plan.lines:
                hashes |= _file(project, session, plan, eraser, recorded.get(path, ()), dry_run=dry_run)
        except SlowwaveError as error:
            eraser.refuse(project, str(path), str(error))
    return hashes


def _file(
    project: str,
    session: StoredSession,
    plan: FilePlan,
    eraser: Eraser,
    recorded: Sequence[tuple[int, int, str]],
    *,
    dry_run: bool,
) -> dict[str, str]:
    if not dry_run:
        new = plain_bytes(plan.path, plan)
        for start, stop, digest in recorded:
            now = sha256(new[start:stop]).hexdigest()
            if now != digest and sha256(plain_bytes(plan.path)[start:stop]).hexdigest() == digest:
                plan.hashes[digest] = now
        _journal(eraser.journals, Journal(str(plan.path), sha256(new).hexdigest(), plan.hashes))
        target = Target(session.id, session.files.paths[0], session.files.paths, "", session.kind == "subagent")
        with writer_for(session.dialect, eraser.means).alone(target):
            apply_file(plan)
    for line in plan.lines:
        eraser.found(project, f"{plan.path}:{line.number}", line.places, done=not dry_run)
    return plan.hashes


def _refusal(session: StoredSession, eraser: Eraser) -> str:
    """Return why a session's files are not written, or ""."""
    if session.in_database:
        return "lies in a database that only its client writes; delete what must go in its client"
    if session.dialect in READ_ONLY:
        return f"{session.dialect}: {READ_ONLY[session.dialect]}"
    live = live_reason(session, eraser.now, eraser.settings.extraction.idle, eraser.home)
    return f"live: {live}" if live else ""


def _session_files(session: StoredSession) -> Iterator[Path]:
    """Yield the files of a session, and those that its client keeps in a folder of the session's own name."""
    for path in session.files.paths:
        yield path
        beside = path.with_name(path.name.removesuffix(".jsonl"))
        if beside != path and beside.is_dir():
            for extra in sorted(beside.rglob("*")):
                if (
                    extra.is_file()
                    and not extra.is_symlink()
                    and extra.suffix in {".jsonl", ".json", ".txt", ".md", ".log"}
                ):
                    yield extra


def _own(project: str, memory: Path, eraser: Eraser, hashes: dict[str, str], *, dry_run: bool) -> None:
    """Deal with a memory folder: its secrets, and the hashes of what changed in transcripts, now or in a killed run."""
    if not memory.is_dir():
        return
    known = dict(hashes)
    for journal in _standing(eraser.journals):
        known |= journal.hashes
    changed = plan_own(memory, eraser.redact, known)
    _write_own(project, memory, changed, eraser, dry_run=dry_run)
    if changed and not dry_run and (memory / LEDGER).is_file():
        places = sum(len(one.places) for one in changed)
        reason = f"secrets taken out: {places} places here, {len(hashes)} hashes of transcripts and ranges renewed"
        event = Event(v=VERSION, event="erase", dream="", at=iso(eraser.now), reason=reason, run=eraser.report.run_id)
        with guarded(memory):
            append_lines(memory / LEDGER, [encode_events([event]).rstrip(b"\n")])


def _write_own(project: str, folder: Path, changed: list[OwnFile], eraser: Eraser, *, dry_run: bool) -> None:
    if not changed:
        return
    moved: list[str] = []
    if not dry_run:
        moved = apply_own(folder, changed, is_memory=(folder / OWN_FOLDER).is_dir())
        for path in moved:
            eraser.refuse(project, path, "somebody wrote to it meanwhile; run it again")
    for one in changed:
        if str(one.path) not in moved:
            eraser.found(project, str(one.path), one.places, done=not dry_run)


def _recorded(memory: Path) -> dict[Path, list[tuple[int, int, str]]]:
    """Return what is recorded of every transcript: ranges of bytes with their hash."""
    candidates, ranges, _ = read_candidates(memory)
    pieces: list[Evidence] = [e for c in candidates for e in c.evidence]
    pieces += [e for event in read_ledger(memory) for e in event.evidence]
    every = {(name_from_json(e.path), e.offset, e.offset + e.length, e.sha256) for e in pieces}
    every |= {(name_from_json(r.session.path), r.start, r.stop, r.sha256) for r in ranges}
    grouped = groupby(sorted(every), key=lambda item: item[0])
    return {Path(path): [(start, stop, digest) for _, start, stop, digest in items] for path, items in grouped}


def _journal(folder: Path, journal: Journal) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = sha256(journal.path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    atomic_write(folder / f"{name}.json", msgspec.json.encode(journal))


def _journal_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


def _standing(folder: Path) -> Iterator[Journal]:
    """Yield the journals of files that have their new bytes."""
    for path in _journal_files(folder):
        journal = msgspec.json.decode(path.read_bytes(), type=Journal)
        file = Path(journal.path)
        if file.is_file() and sha256(plain_bytes(file)).hexdigest() == journal.sha256:
            yield journal

"""The job ``erase``: find secrets or subjects in transcripts and in what slowwave wrote, and take them out for good.

Planned first: a dry run changes nothing and shows places and kinds with fingerprints, never a value. Live sessions,
databases and dialects that are not written are refused with the reason. A journal of the hashes is written
before the first file, so that a run that was killed is finished by the next one. The second run finds nothing.
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from slowwave.clock import Clock
from slowwave.errors import SlowwaveError
from slowwave.memory.candidates import read_candidates
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.ledger import VERSION, Event, read_ledger
from slowwave.memory.model import Evidence, iso
from slowwave.memory.names import name_from_json
from slowwave.places import data_folder, home_folder, state_folder
from slowwave.report import Item, Report
from slowwave.retention.beside import home_files, remove_leftovers, session_files
from slowwave.retention.forgetting import Gone, what_goes
from slowwave.retention.journal import FOLDER, left_by, settle, standing, write_journal
from slowwave.retention.masking import Place
from slowwave.retention.own import OwnFile, apply_own, caches, plan_own, with_event
from slowwave.retention.transcripts import FilePlan, apply_file, plain_bytes, plan_file, planned_bytes
from slowwave.retention.what import What
from slowwave.settings import Settings
from slowwave.stores.live import live_reason
from slowwave.stores.model import Project, StoredSession
from slowwave.stores.writing.base import Means, Target
from slowwave.stores.writing.claimed import ClaimedWriter
from slowwave.stores.writing.registry import READ_ONLY, writer_for

# of each transcript what is recorded of it: ranges of bytes with their hash
Ranges = Mapping[Path, Sequence[tuple[int, int, str]]]


class Eraser:
    """One run over one project, or over what belongs to no project."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        environ: Mapping[str, str],
        what: What,
        *,
        run_id: str,
        dry_run: bool,
        sessions: Collection[str] = (),
    ) -> None:
        self.settings = settings
        self.now = clock.now()
        self.home = home_folder(environ)
        self.journals = state_folder(environ) / FOLDER
        self.what = what
        self.sessions = frozenset(sessions)
        self.report = Report("erase", run_id)
        self.dry_run = dry_run
        self.means = Means(clock, self.home)

    def found(self, project: str, target: str, places: Iterable[Place]) -> None:
        """Note what was found at one place, by family and fingerprint."""
        action = "found" if self.dry_run else "replaced"
        for mark, number in Counter(place.mark for place in places).items():
            self.report.count(action, number)
            reason = mark if number == 1 else f"{mark}, {number} times"
            self.report.items.append(Item(target, action, reason, project))

    def gone_from(self, memory: Path) -> Gone | None:
        """Return what of a memory folder goes as a whole; nothing does because of secrets."""
        if not self.what.keeps_length:
            return None
        return what_goes(memory, self.sessions, lambda text: bool(self.what.hits(text)))

    def forgot(self, project: str, gone: Gone | None) -> None:
        """Note which memories and candidates went."""
        if gone is None:
            return
        for name in sorted(gone.memories):
            is_new = name in gone.renewed
            self.report.count("memories_rederived" if is_new else "memories_erased")
            reason = "the next dream derives it anew from what is left" if is_new else "nothing else shows it"
            self.report.items.append(Item(name, "forget", reason, project))
        self.report.count("candidates_erased", len(gone.candidates))

    def refuse(self, project: str, target: str, reason: str) -> None:
        """Note what was left alone, and why."""
        self.report.count("refused")
        self.report.items.append(Item(target, "refused", reason, project))


def erase_project(
    project: Project,
    settings: Settings,
    clock: Clock,
    environ: Mapping[str, str],
    what: What,
    *,
    run_id: str,
    dry_run: bool,
    sessions: Collection[str] = (),
) -> Report:
    """Take what must go out of one project's sessions and its memory folder.

    Args:
        project: the project.
        settings: the settings in force.
        clock: what time it is.
        environ: the environment.
        what: what is taken out of bytes.
        run_id: names the run.
        dry_run: say the same, change nothing.
        sessions: ids of the sessions that memories are to forget as a whole.

    Raises:
        CorruptStateError: the ledger, or a journal is damaged.
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the state or memory folder cannot be written.
    """
    eraser = Eraser(settings, clock, environ, what, run_id=run_id, dry_run=dry_run, sessions=sessions)
    recorded = _recorded(project.memory)
    seen: set[Path] = set()
    hashes: dict[str, str] = {}
    for session in project.sessions:
        eraser.report.count("sessions")
        hashes |= _session(project, session, eraser, recorded, seen)
    if not dry_run:
        for folder in {path.parent for path in seen}:
            remove_leftovers(folder)
    _own(project.key, project.memory, eraser, hashes)
    return eraser.report


def finish(
    settings: Settings,
    clock: Clock,
    environ: Mapping[str, str],
    what: What,
    projects: Sequence[Project],
    *,
    run_id: str,
    dry_run: bool,
    sessions: Collection[str] = (),
) -> Report:
    """Take what must go out of what belongs to no project: homes of clients, data and state folder, other memories.

    Raises:
        OSError: a folder cannot be written.
    """
    eraser = Eraser(settings, clock, environ, what, run_id=run_id, dry_run=dry_run, sessions=sessions)
    for path in home_files(session for project in projects for session in project.sessions):
        _home_file(path, eraser)
        if not dry_run:
            remove_leftovers(path.parent)
    state, data = state_folder(environ), data_folder(environ)
    every = {p.parent.parent for p in data.rglob(f"{OWN_FOLDER}/*.jsonl")} if data.is_dir() else set[Path]()
    mine = {project.memory for project in projects}
    # a memory may rest on sessions of another project
    hashes = standing(eraser.journals)
    for memory in sorted(every | (set[Path]() if dry_run else mine)):
        try:
            _own(memory.name, memory, eraser, dict(hashes))
        except SlowwaveError as error:
            eraser.report.failures.append(f"{memory}: erase: {error}")
    for folder in (data / "trash", state):
        changed = plan_own(folder, what, {}, same_length=folder != state)
        _write_own("", folder, [one for one in changed if eraser.journals not in one.path.parents], eraser)
    if not dry_run:
        for path in caches(state):
            path.unlink(missing_ok=True)
            eraser.report.items.append(Item(str(path), "removed", f"is built anew without {what.noun}"))
        settle(eraser.journals, every | mine)
    return eraser.report


def _session(
    project: Project, session: StoredSession, eraser: Eraser, recorded: Ranges, seen: set[Path]
) -> dict[str, str]:
    """Deal with the files of one session and return the hashes that changed."""
    reason = _refusal(session, eraser)
    if reason:
        eraser.refuse(project.key, session.id, reason)
        return {}
    hashes: dict[str, str] = {}
    for path in session_files(session):
        if path in seen:
            continue
        seen.add(path)
        try:
            hashes |= _file(project.key, session, path, eraser, recorded.get(path, ()))
        except SlowwaveError as error:
            eraser.refuse(project.key, str(path), str(error))
    return hashes


def _file(
    project: str, session: StoredSession, path: Path, eraser: Eraser, recorded: Sequence[tuple[int, int, str]]
) -> dict[str, str]:
    """Deal with one file of a session and return the hashes that changed, now or in a run that was killed."""
    before = {} if eraser.dry_run else left_by(eraser.journals, path)
    plan = plan_file(path, eraser.what)
    for wrong in plan.refused:
        eraser.refuse(project, str(path), wrong)
    if not plan.lines:
        return before
    if not eraser.dry_run:
        old = plain_bytes(path)
        new = planned_bytes(old, plan)
        for start, stop, digest in recorded:
            if sha256(old[start:stop]).hexdigest() == digest:
                plan.hashes[digest] = sha256(new[start:stop]).hexdigest()
        write_journal(eraser.journals, path, new, plan.hashes)
        with _held(session, eraser):
            apply_file(plan)
    _tell(project, plan, eraser)
    return {old: plan.hashes.get(now, now) for old, now in before.items()} | plan.hashes


def _tell(project: str, plan: FilePlan, eraser: Eraser) -> None:
    for line in plan.lines:
        eraser.found(project, f"{plan.path}:{line.number}", line.places)


@contextmanager
def _held(session: StoredSession, eraser: Eraser) -> Generator[None]:
    """Hold what a session's client locks."""
    path = session.files.paths[0]
    writer = writer_for(session.dialect, eraser.means)
    target = Target(session.id, path, session.files.paths, "", session.kind == "subagent")
    if session.source and path.suffix != ".jsonl":
        yield  # put aside by its client (OpenClaw), which writes there no more
    elif isinstance(writer, ClaimedWriter):
        # messages to sub-agents are refused, but this is none
        with ClaimedWriter.alone(writer, target):
            yield
    else:
        with writer.alone(target):
            yield


def _home_file(path: Path, eraser: Eraser) -> None:
    """Deal with a file in the home of a client, which no session's lock protects: only while nobody writes to it."""
    idle = eraser.settings.extraction.idle
    try:
        plan = plan_file(path, eraser.what)
        age = timedelta(seconds=eraser.now.timestamp() - plan.state.mtime_ns / 1e9)
        if plan.lines and age < idle:
            eraser.refuse("", str(path), f"live: its client changed it a moment ago, and it must rest for {idle}")
            return
        if plan.lines and not eraser.dry_run:
            apply_file(plan)
    except SlowwaveError as error:
        eraser.refuse("", str(path), str(error))
        return
    _tell("", plan, eraser)


def _refusal(session: StoredSession, eraser: Eraser) -> str:
    """Return why a session's files are not written, or ""."""
    if session.in_database:
        return "lies in a database that only its client writes; delete what must go in its client"
    if session.dialect in READ_ONLY:
        return f"{session.dialect}: {READ_ONLY[session.dialect]}"
    live = live_reason(session, eraser.now, eraser.settings.extraction.idle, eraser.home)
    return f"live: {live}" if live else ""


def _own(project: str, memory: Path, eraser: Eraser, hashes: dict[str, str]) -> None:
    """Deal with a memory folder: what must go from it, and the hashes of what changed in transcripts."""
    if not memory.is_dir():
        return
    if not eraser.dry_run:
        remove_leftovers(memory / OWN_FOLDER, below=True)
    gone = eraser.gone_from(memory)
    changed = plan_own(memory, eraser.what, hashes, gone=gone)
    if changed:
        places = sum(len(one.places) for one in changed)
        reason = f"{eraser.what.noun} taken out: {places} places here, {len(hashes)} hashes of transcripts renewed"
        event = Event(v=VERSION, event="erase", dream="", at=iso(eraser.now), reason=reason, run=eraser.report.run_id)
        _write_own(project, memory, with_event(memory, changed, event), eraser, loses=bool(gone))
        eraser.forgot(project, gone)


def _write_own(project: str, folder: Path, changed: list[OwnFile], eraser: Eraser, *, loses: bool = False) -> None:
    moved: list[str] = []
    if changed and not eraser.dry_run:
        moved = apply_own(folder, changed, is_memory=(folder / OWN_FOLDER).is_dir(), loses=loses)
        for path in moved:
            eraser.refuse(project, path, "somebody wrote to it meanwhile; run it again")
    for one in changed:
        if str(one.path) not in moved:
            eraser.found(project, str(one.path), one.places)


def _recorded(memory: Path) -> Ranges:
    """Return what is recorded of every transcript."""
    candidates, ranges, _ = read_candidates(memory)
    pieces: list[Evidence] = [e for c in candidates for e in c.evidence]
    pieces += [e for event in read_ledger(memory) for e in event.evidence]
    every = {(name_from_json(e.path), e.offset, e.offset + e.length, e.sha256) for e in pieces}
    every |= {(name_from_json(r.session.path), r.start, r.stop, r.sha256) for r in ranges}
    grouped = groupby(sorted(every), key=lambda item: item[0])
    return {Path(path): [(start, stop, digest) for _, start, stop, digest in items] for path, items in grouped}

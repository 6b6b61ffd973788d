"""Everything that the extraction of several sessions of one project shares: what was read before, and the report."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from slowwave.context import Clock
from slowwave.extraction.candidates import QUARANTINE, Quarantined
from slowwave.extraction.gates import (
    FAILURES,
    REFUSED,
    Failure,
    Progress,
    Refused,
    read_failures,
    read_refused,
    stamp_of,
)
from slowwave.extraction.ranges import PartState, Recorded
from slowwave.extraction.selection import EXTRACTOR, repeated, tells_several
from slowwave.extraction.selection import NAME as REPEATED
from slowwave.extraction.session import Read, new_ranges
from slowwave.formats.sessions import StoredSession
from slowwave.memory import Candidate, ExtractedRange, iso, name_to_json, printable
from slowwave.memory.candidates import append_batches, read_candidates, write_extraction
from slowwave.memory.effects import Asked
from slowwave.memory.folder import Notes, guarded
from slowwave.report import Gate, Item, Report
from slowwave.secrets import Redactor
from slowwave.settings import Settings
from slowwave.stores.projects import Project

# Damage of one file is named line by line up to here; the rest is counted.
_MOST_PROBLEMS = 5
# Sessions written together: each write costs two fsyncs.
_MOST_PENDING = 100
_LONGEST_KIND = 60


class Batch:
    """One run over several sessions of a project."""

    def __init__(
        self,
        project: Project,
        settings: Settings,
        clock: Clock,
        report: Report,
        *,
        force: bool,
        dry_run: bool,
        home: Path,
        redact: Redactor,
        noted: Path | None = None,
    ) -> None:
        self.project = project
        self.settings = settings
        self.report = report
        self.force = force
        self.home = home
        self.now = clock.now()
        self.redact = redact
        self.dry_run = dry_run
        self.told_to: Callable[[StoredSession, Redactor], Asked | None] | None = None
        self._noted = noted or project.memory
        self._pending: list[tuple[list[Candidate], list[ExtractedRange]]] = []
        self._known, ranges, problems = read_candidates(self._noted)
        self.ranges = Recorded(ranges)
        self._ids = {c.id for c in self._known}
        self._commands: dict[tuple[str, str], list[Candidate]] = {}
        self._several: list[Candidate] = []
        self._note_commands(self._known)
        self._failed, more = read_failures(project.memory)
        self._refused, others = read_refused(project.memory)
        self._new_refused: list[Refused] = []
        self._quarantined: list[Quarantined] = []
        report.warnings += [str(problem) for problem in (*problems, *more, *others)]

    def past_failure(self, session: StoredSession) -> Failure | None:
        """Return the last failure of exactly these bytes."""
        past = self._failed.get(name_to_json(session.id))
        return past if past and (past.stamp, past.extractor) == (bytes_stamp(session), EXTRACTOR) else None

    def past_progress(self, session: StoredSession, states: Sequence[PartState]) -> Progress | None:
        """Return what the gates were told of exactly these bytes when they refused them."""
        past = self._refused.get(name_to_json(session.id))
        known = past and (past.stamp, past.extractor) == (stamp_of(states), EXTRACTOR)
        return past.progress if past and known else None

    def refuse(self, session: StoredSession, read: Read) -> None:
        """Remember a session that a gate refused after it was decoded."""
        self.report.count("bytes_read", read.bytes_read)
        self._note_unknown(session, read)
        if read.progress is not None:
            name = name_to_json(session.id)
            self._new_refused.append(Refused(name, stamp_of(read.states), EXTRACTOR, read.progress, iso(self.now)))

    def asked(self, session: StoredSession, gates: list[Gate]) -> bool:
        """Note which gate refused a session, and return whether none did."""
        refused = next((gate for gate in gates if not gate.passed), None)
        if refused is None:
            return True
        self.report.gates.append(refused)
        self.skip(session, f"gate {refused.gate}: {refused.reason.partition(': ')[2]}", "skipped_by_gate")
        return False

    def skip(self, session: StoredSession, reason: str, counter: str) -> None:
        """Note that a session was passed over, and why."""
        self.report.count(counter)
        self.report.items.append(Item(session.id, "skip", reason, self.project.key))

    def fail(self, session: StoredSession, error: str, attempts: int) -> None:
        """Note a failure, and remember it for the next run."""
        error = self.redact(printable(error))
        self.report.count("failed")
        self.report.failures.append(f"{self.project.key}: session {session.id}: {error}")
        self.report.items.append(Item(session.id, "failed", f"{error} (attempt {attempts})", self.project.key))
        failure = Failure(name_to_json(session.id), bytes_stamp(session), attempts, error, EXTRACTOR, iso(self.now))
        if not self.dry_run:
            self.note_failure(failure)

    def note_failure(self, failure: Failure, file: str = FAILURES) -> None:
        """Remember a failure at once, in one of the files of failures."""
        Notes(Failure, file).append(self.project.memory, [failure])

    def keep(self, session: StoredSession, read: Read) -> None:
        """Take what a session gave, and note it."""
        ranges = new_ranges(session, read.states, iso(self.now))
        self._note(session, read, self.add(read.taken.candidates, ranges, read.quarantined))

    def add(
        self, found: Sequence[Candidate], ranges: Sequence[ExtractedRange], quarantined: Sequence[Quarantined]
    ) -> list[Candidate]:
        """Take what the miners found in a session, commands that others showed before as one; return what is new."""
        new = [c for c in found if c.id not in self._ids]
        alike = [c for key in dict.fromkeys((c.key, c.value) for c in new) for c in self._commands.get(key, ())]
        new = [c for c in repeated([*alike, *self._several], new) if c.id not in self._ids]
        # before the ranges: whatever a kill leaves is read again, and told once
        self._quarantined += quarantined
        self.take(new, ranges)
        return new

    @property
    def kept_in(self) -> Path | None:
        """The folder that notes are kept in: the memory folder, or the place of a dry run if it has one."""
        return None if self.dry_run and self._noted == self.project.memory else self._noted

    @property
    def known(self) -> Sequence[Candidate]:
        """Every candidate of the project, also those of this run."""
        return self._known

    def take(self, new: Sequence[Candidate], ranges: Sequence[ExtractedRange]) -> None:
        """Keep candidates together with the ranges that they came from; a dry run only knows them."""
        self._known += new
        self._ids |= {c.id for c in new}
        self._note_commands(new)
        self.ranges.add(ranges)
        if self.kept_in:
            self._pending.append((list(new), list(ranges)))
            if len(self._pending) >= _MOST_PENDING:
                self.flush()

    def _note_commands(self, new: Sequence[Candidate]) -> None:
        """Remember commands by what they say: a project of ten thousand sessions runs its tests in each of them."""
        for candidate in new:
            if candidate.key.startswith("cmd:"):
                alike = self._commands.setdefault((candidate.key, candidate.value), [])
                if candidate.extractor.endswith(REPEATED):
                    # nothing more is made of them
                    alike.clear()
                alike.append(candidate)
                if tells_several(candidate):
                    self._several.append(candidate)

    def is_known(self, candidate: Candidate) -> bool:
        """Say whether a candidate was there before."""
        return candidate.id in self._ids

    def keep_ranges(self, session: StoredSession, states: Sequence[PartState]) -> None:
        """Note how far a session was read before, for the next run."""
        self.take([], new_ranges(session, states, iso(self.now)))

    def flush(self) -> None:
        """Write what the sessions since the last time gave; a kill before it costs only that they are read again."""
        if not self.dry_run:
            QUARANTINE.append(self.project.memory, self._quarantined, once=True)
        self._quarantined = []
        if self._pending and self.dry_run:
            with guarded(self._noted):
                append_batches(self._noted, self._pending)
        elif self._pending:
            write_extraction(self.project.memory, self._pending, self.now, self.settings.consolidation.max_loss)
        self._pending = []
        if not self.dry_run:
            REFUSED.append(self.project.memory, self._new_refused)
        self._new_refused = []

    def finish(self) -> None:
        """Say once what needs no line for each session."""
        for name, reason in (
            ("unchanged", "sessions: every byte was read before"),
            ("subagents", "sub-agents' sessions: their results stand in the main sessions"),
            ("backups", "copies that a client made of its sessions"),
            ("untyped", "sessions that a schedule or a hook began: nobody typed in them"),
        ):
            number = self.report.counts.get(name, 0)
            if number:
                self.report.items.append(Item(self.project.key, "skip", f"{number} {reason}", self.project.key))

    def _note_unknown(self, session: StoredSession, read: Read) -> None:
        """Count records of types that nobody here knows; the names are the transcript's and kept short and clean."""
        kinds = self.report.unknown_types
        for kind, number in read.unknown.items():
            name = self.redact(printable(f"{session.dialect} {kind}"))[:_LONGEST_KIND]
            kinds[name] = kinds.get(name, 0) + number

    def _note(self, session: StoredSession, read: Read, new: list[Candidate]) -> None:
        report = self.report
        self._note_unknown(session, read)
        report.count("extracted")
        report.count("bytes_read", read.bytes_read)
        report.warnings += read.problems[:_MOST_PROBLEMS]
        if len(read.problems) > _MOST_PROBLEMS:
            report.warnings.append(f"session {session.id}: {len(read.problems) - _MOST_PROBLEMS} more damaged places")
        for name, number in (
            ("bad_lines", len(read.problems)),
            ("rewritten", sum(state.rewritten for state in read.states)),
            ("redacted", read.redacted),
            ("too_unsure", read.taken.unsure),
            ("about_erased", read.taken.erased),
            ("candidates", len(new)),
            ("subagents", int(read.is_subagent)),
            ("abandoned", read.abandoned),
            ("sidechain", read.sidechain),
            ("quarantined", sum(not one.is_of_others for one in read.quarantined)),
            ("words_of_others", sum(one.is_of_others for one in read.quarantined)),
        ):
            if number:
                report.count(name, number)
        for one in read.quarantined:
            report.items.append(Item(session.id, "quarantine", one.reason, self.project.key, one.text))
        self.tell(session, new)

    def tell(self, session: StoredSession, new: Iterable[Candidate]) -> None:
        """Name new candidates in the report."""
        for c in new:
            reason = f"{c.extractor}: {c.evidence[0].quote}"
            item = Item(session.id, "candidate", reason, self.project.key, c.text, c.category, c.confidence)
            self.report.items.append(item)


def bytes_stamp(session: StoredSession) -> str:
    """Return what tells one state of a session from another."""
    return f"{session.size}:{session.mtime_ns}"

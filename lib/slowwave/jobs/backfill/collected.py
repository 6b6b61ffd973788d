"""Reading sessions without writing into a memory folder: what would be written is collected, to land later.

What several sessions show alike depends on their order, so it is settled when the results land; all else is that of
:mod:`slowwave.extraction.job`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from slowwave.clock import FixedClock
from slowwave.extraction.batch import Batch
from slowwave.extraction.failures import FILE as FAILURES
from slowwave.extraction.failures import Failure
from slowwave.extraction.ranges import PartState, part_state, ranges_of
from slowwave.extraction.session import Read, new_ranges
from slowwave.jobs.backfill.model import Entry, Plan, Result, Seed
from slowwave.jobs.backfill.versions import latest
from slowwave.memory.model import Candidate, ExtractedRange, iso
from slowwave.memory.names import name_to_json
from slowwave.report import Report
from slowwave.secrets.redactor import Redactor
from slowwave.stores.model import Project, StoredSession


class Collected(Batch):
    """Sessions of one project that are read with what was known of them when the run was planned.

    Args:
        project: the project; its memory folder is neither read nor written.
        plan: the run.
        seed: what was known.
        home: the user's home folder.
        redact: takes secrets out.
    """

    def __init__(self, project: Project, plan: Plan, seed: Seed, home: Path, redact: Redactor) -> None:
        nowhere = Project(project.key, project.root, project.folders, Path("/nonexistent/memory"), ())
        report = Report("backfill", plan.run_id)
        clock = FixedClock(plan.now)
        super().__init__(
            nowhere, plan.settings, clock, report, force=plan.force, dry_run=False, home=home, redact=redact
        )
        self.result = Result()
        self._seed = seed
        self._changed = seed.changed
        self._known += seed.candidates
        self._ids |= {c.id for c in seed.candidates}
        self.ranges.add(seed.ranges)
        self._refused = {one.session: one for one in seed.refused}
        self._failed = {one.session: one for one in seed.failures}

    def keep(self, session: StoredSession, read: Read) -> None:
        """Collect what a session gave: where an older version has read it, only what changed since then."""
        found = self._news(session, read.taken.candidates)
        ranges = new_ranges(session, read.states, iso(self.now))
        self.result.entries.append(Entry(found, ranges, list(read.quarantined), is_mined=True))
        super().take(found, ranges)
        self._note(session, read, found)

    def take(self, new: Sequence[Candidate], ranges: Sequence[ExtractedRange]) -> None:
        """Collect what the model gave, or that nothing was new."""
        self.result.entries.append(Entry(list(new), list(ranges)))
        super().take(new, ranges)

    def keep_ranges(self, session: StoredSession, states: Sequence[PartState]) -> None:
        """Collect how far a session was read before."""
        self.take([], new_ranges(session, states, iso(self.now)))

    def note_failure(self, failure: Failure, file: str = FAILURES) -> None:
        """Collect a failure."""
        self.result.failures.setdefault(file, []).append(failure)

    def flush(self) -> None:
        """Write nothing: the piece is written as a whole."""
        self._pending = []
        self.result.refused += self._new_refused
        self._new_refused = []
        self._quarantined = []

    def carried_over(self, session: StoredSession) -> bool:
        """Take what an older version has read as read where no miner changed since then; say whether it was so."""
        if self._changed.get(name_to_json(session.id)) != [] or session.is_stream:
            return False
        version = latest(r.extractor for r in self._seed.ranges if r.session.id == name_to_json(session.id))
        before = [
            part_state(path, ranges_of(path, session.id, version, self._seed.ranges)) for path in session.files.paths
        ]
        if any(state.has_new for state in before):
            return False
        self.keep_ranges(session, [replace(part_state(state.path, ()), left=state.left) for state in before])
        self.report.count("carried_over")
        return True

    def _news(self, session: StoredSession, found: Sequence[Candidate]) -> list[Candidate]:
        miners = self._changed.get(name_to_json(session.id)) or None
        if miners is None:
            return list(found)
        return [c for c in found if c.extractor.rpartition(":")[2] in miners]

"""What a landing adds to a memory folder as it is now: the sequential part of extraction, over results of pieces."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from slowwave.clock import FixedClock
from slowwave.extraction.batch import Batch
from slowwave.extraction.failures import Failure, read_failures
from slowwave.extraction.quarantine import FILE as QUARANTINE
from slowwave.extraction.quarantine import read_quarantine
from slowwave.extraction.ranges import Recorded
from slowwave.extraction.remembered import FILE as REFUSED
from slowwave.extraction.remembered import Refused, read_refused
from slowwave.jobs.backfill.blocks import block_of
from slowwave.jobs.backfill.model import Entry, Plan, Result, Seed
from slowwave.jobs.backfill.record import Record, renewed_now
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.candidates import lines_of
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.model import Candidate, ExtractedRange
from slowwave.memory.names import name_from_json
from slowwave.report import Report
from slowwave.secrets.blocked import ERASED
from slowwave.secrets.redactor import Redactor
from slowwave.stores.model import Project


class Landing(Batch):
    """The memory folder as it is now, and what is to be added to it.

    Args:
        project: the project.
        plan: the run.
        redact: of the run.
    """

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
            if entry.is_mined:
                new = self.add(found, entry.ranges, entry.quarantined)
            else:
                new = [c for c in found if c.id not in self._ids]
                self.take(new, entry.ranges)
            self.report.count("candidates", len(new))
        self._refuse(result.refused)
        for file, failures in result.failures.items():
            self._fail(file, failures)

    def record(self, *, existed: bool) -> tuple[Record, dict[str, bytes]]:
        """Return what is to be written, and the bytes of each block.

        Args:
            existed: whether the memory folder was there before.
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
        left = [c for c in candidates if ERASED not in self.redact(f"{c.text} {' '.join(e.quote for e in c.evidence)}")]
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


def _key(entry: Entry) -> tuple[str, str, str] | None:
    """Return which session and extractor an entry is about; copies of a session lie in folders of their own."""
    for one in entry.ranges:
        return one.session.id, str(Path(one.session.path).parent), one.extractor
    for candidate in entry.candidates:
        by = candidate.extractor.rpartition(":")[0]
        return candidate.session.id, str(Path(candidate.session.path).parent), by
    return None

"""Letting a shard land that was read as a whole, project by project; what goes wrong stays within its project."""

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter, time

from slowwave.errors import SlowwaveError, told
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.landing import land
from slowwave.jobs.backfill.model import Plan, Shard
from slowwave.jobs.backfill.record import read_record
from slowwave.report import Report, Span
from slowwave.secrets.key import redactor_of
from slowwave.secrets.redactor import NAMELESS


def land_shard(folder: Path, number: int, environ: Mapping[str, str]) -> Report:
    """Let a shard land; of one of which something is still to be read nothing lands.

    Raises:
        CorruptStateError: the run's files are damaged.
        OSError: the run's folder cannot be written.
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
        except SlowwaveError as error:
            report.failures.append(NAMELESS(f"{project.key}: backfill: {error}"))
        except OSError as error:
            report.failures.append(NAMELESS(f"{project.key}: backfill: {told(error, project.memory)}"))
        report.spans.append(Span("land", project.key, begin, perf_counter() - timer))
    return report


def not_landed(run: Folder, plan: Plan) -> int:
    """Return how many landings of a run, a project of a shard each, are still to come to their end.

    Raises:
        CorruptStateError: the run's files are damaged.
    """
    shards = (run.shard(number) for number in range(plan.shards))
    names = (name_of(shard.number, index) for shard in shards for index in {piece.project for piece in shard.pieces})
    return sum(not _has_landed(run.landed(name)) for name in names)


def _has_landed(folder: Path) -> bool:
    return (folder / "record.json").exists() and read_record(folder).state == "done"


def _land(run: Folder, plan: Plan, shard: Shard, index: int, environ: Mapping[str, str], report: Report) -> None:
    pieces = [piece for piece in shard.pieces if piece.project == index]
    results = [run.result(piece.number) for piece in pieces]
    outcomes = [(piece.seed, result) for piece, result in zip(pieces, results, strict=True)]
    redact = redactor_of(plan.settings, environ, create=True)
    folder = run.landed(name_of(shard.number, index))
    counts, warnings = land(folder, plan.projects[index], plan, outcomes, redact, _previous(run, shard.number, index))
    for of_result in (*(_without_candidates(result.counts) for result in results), counts):
        for name, value in of_result.items():
            report.count(name, value)
    for result in results:
        report.absorb(Report("backfill", plan.run_id, unknown_types=result.unknown_types))
    report.failures += [line for result in results for line in result.failed]
    report.warnings += [NAMELESS(line) for line in (*warnings, *(w for result in results for w in result.warnings))]


def _without_candidates(counts: Mapping[str, int]) -> dict[str, int]:
    """Leave out how many candidates a piece gave: how many of them are new shows when they land."""
    return {name: value for name, value in counts.items() if name != "candidates"}


def _previous(run: Folder, shard: int, project: int) -> Mapping[str, str | None] | None:
    """Return the renewed files as the run's last landing in a memory folder left them."""
    for number in range(shard - 1, -1, -1):
        folder = run.landed(name_of(number, project))
        if (folder / "record.json").exists():
            return read_record(folder).after
    return None


def name_of(shard: int, project: int) -> str:
    """Return the name of a landing."""
    return f"{shard:05}-{project:05}"

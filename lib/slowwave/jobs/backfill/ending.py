"""The end of a backfill: it is done when all of it has landed; otherwise it says what is left, and how it goes on."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from slowwave.errors import SlowwaveError
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.history import note_speed
from slowwave.jobs.backfill.model import Plan
from slowwave.jobs.backfill.shards import not_landed
from slowwave.jobs.model import hand_over_questions, is_batched, journal_of, note_account
from slowwave.report import Item, Report
from slowwave.retention.sessions import remove_leftovers
from slowwave.secrets.redactor import NAMELESS


def end(folder: Path, environ: Mapping[str, str], report: Report) -> Report:
    """Close a run whose shards have all landed, or say what is left of it; return its report.

    Raises:
        CorruptStateError: the run's files are damaged.
        OSError: the run's folder cannot be written.
    """
    run = Folder(folder)
    plan = run.plan()
    if is_batched(plan.settings):
        hand_over_questions(report, plan.settings, environ, plan.now)
    note_account(report, journal_of(plan.run_id, environ))
    if left := left_of(run, plan):
        how = "paused" if run.is_paused else "not done"
        report.count("left", left)
        report.warnings.append(f"{how}: {left:,} sessions are left; continue with --resume {plan.run_id}")
    elif waiting := not_landed(run, plan):
        report.warnings.append(f"not done: {waiting:,} landings are left; continue with --resume {plan.run_id}")
    else:
        _close(run, plan, environ, report)
    if report.failures and not run.is_paused and run.standing != "done":
        run.note("failed", f"{_worst(report.failures)}\n".encode("utf-8", "backslashreplace"))
    else:
        run.forget("failed")
    return report


def _close(run: Folder, plan: Plan, environ: Mapping[str, str], report: Report) -> None:
    """Note that all of a run has landed, and remove what only its reading needed."""
    try:
        note_speed(run, plan, environ)
    except (SlowwaveError, OSError) as error:
        # it only helps previews
        report.warnings.append(f"how fast it was cannot be noted for previews: {NAMELESS(str(error))}")
    run.note("done", msgspec.json.encode(report.counts))
    run.drop_work()
    remove_leftovers(run.path, below=True)
    report.items.append(Item(plan.run_id, "done", f"take it back with --rollback {plan.run_id}"))


def _worst(failures: Sequence[str]) -> str:
    """Return the first failure of a shard or a project; that of a session alone keeps no run from its end."""
    return next((line for line in failures if ": backfill: " in line), failures[0])


def left_of(run: Folder, plan: Plan) -> int:
    """Return how many sessions of a run are still to be read."""
    left = {number for number in range(plan.pieces) if not run.has(number)}
    shards = (run.shard(number) for number in range(plan.shards)) if left else ()
    return sum(len(piece.sessions) for shard in shards for piece in shard.pieces if piece.number in left)

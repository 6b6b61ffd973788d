"""Reading one shard: every piece that was not read yet, each into a file of its own; only counts are returned.

The same function serves a thread, a process, a Dask worker and a Ray task. It changes nothing but the run's folder, and
two workers that read the same piece write the same file, so it may be repeated, killed and started twice.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowwave.errors import told
from slowwave.extraction.job import ask_model, extract_one
from slowwave.extraction.streams import is_stream
from slowwave.jobs.backfill.answers import Remembered
from slowwave.jobs.backfill.collected import Collected
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.model import Piece, Plan, Result
from slowwave.jobs.backfill.throttle import PausedError, Throttle
from slowwave.jobs.model import language_model
from slowwave.places import home_folder
from slowwave.secrets.key import redactor_of
from slowwave.secrets.redactor import NAMELESS
from slowwave.stores.model import StoredSession

Counts = dict[str, int]


def run_shard(
    folder: Path, number: int, environ: Mapping[str, str], *, workers: int = 1, part: tuple[int, int] = (0, 1)
) -> Counts:
    """Read the pieces of a shard that were not read yet.

    Args:
        folder: the folder of the run.
        number: of the shard.
        environ: the environment of this worker; settings come with the run.
        workers: how many read at the same time and share the pace of the run.
        part: which pieces are this worker's: of so many workers each takes every so-many-th, counted from its own.

    Returns:
        ``pieces`` and ``sessions`` that were read now, and ``paused`` when a pause ended it.

    Raises:
        CorruptStateError: the run's files are damaged.
        OSError: the run's folder cannot be written.
    """
    run = Folder(folder)
    plan = run.plan()
    throttle = Throttle(plan.pace, workers, lambda: run.is_paused)
    done: Counts = {"pieces": 0, "sessions": 0}
    for piece in run.shard(number).pieces[part[0] :: part[1]]:
        if run.has(piece.number):
            continue
        try:
            result = read_piece(run, plan, piece, environ, throttle)
        except PausedError:
            return done | {"paused": 1}
        run.write_result(piece.number, result)
        run.answers(piece.number).unlink(missing_ok=True)
        done["pieces"] += 1
        done["sessions"] += len(piece.sessions)
    return done


def read_piece(run: Folder, plan: Plan, piece: Piece, environ: Mapping[str, str], throttle: Throttle) -> Result:
    """Read the sessions of a piece and return what they gave.

    Raises:
        PausedError: somebody asked for a pause.
    """
    begun, cpu = time.monotonic(), time.process_time()
    redact = redactor_of(plan.settings, environ, create=True)
    batch = Collected(plan.projects[piece.project], plan, piece.seed, home_folder(environ), redact)
    here = [session for session in piece.sessions if _is_as_planned(session, batch)]
    for session in here:
        throttle.wait(session.size)
        batch.report.count("sessions")
        if not batch.carried_over(session):
            extract_one(session, batch)
    _ask(run, plan, piece, here, batch, environ)
    batch.flush()
    result, report = batch.result, batch.report
    result.counts = dict(sorted(report.counts.items()))
    result.failed = [NAMELESS(one) for one in report.failures]
    result.warnings = [NAMELESS(one) for one in report.warnings]
    result.unknown_types = dict(sorted(report.unknown_types.items()))
    result.seconds = round(time.monotonic() - begun, 3)
    result.cpu_seconds = round(time.process_time() - cpu, 3)
    return result


def _ask(
    run: Folder,
    plan: Plan,
    piece: Piece,
    sessions: Sequence[StoredSession],
    batch: Collected,
    environ: Mapping[str, str],
) -> None:
    """Let the model, if there is one, read what the miners have read."""
    model = language_model(plan.run_id, plan.settings, environ)
    if model is None:
        return
    if plan.settings.model.batch:
        ask_model(sessions, batch, model)  # its answers lie on disk already, and whether they came is asked each time
        return
    remembered = Remembered(model, run.answers(piece.number))
    ask_model(sessions, batch, remembered)
    batch.result.asked = remembered.asked


def _is_as_planned(session: StoredSession, batch: Collected) -> bool:
    """Say whether a session's files are those that were planned; what has changed is left to the next night."""
    if is_stream(session):
        return True  # what was read of it before shows when it is decoded
    try:
        infos = [path.stat() for path in session.files.paths]
    except OSError as error:
        batch.skip(session, f"gone since it was planned ({told(error, session.files.paths[0])})", "moved")
        return False
    newest = max((info.st_mtime_ns for info in infos), default=0)
    if (sum(info.st_size for info in infos), newest) != (session.size, session.mtime_ns):
        batch.skip(session, "changed since it was planned", "moved")
        return False
    return True

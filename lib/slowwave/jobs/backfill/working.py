"""Reading one shard: every piece that was not read yet, each into a file of its own; only counts are returned.

The same reader serves a thread, a process, a Dask worker and a Ray task. It changes nothing but the run's folder, and
two workers that read the same piece write the same file, so it may be repeated, killed and started twice.
"""

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from slowwave.errors import told
from slowwave.extraction.failures import MOST_ATTEMPTS
from slowwave.extraction.job import ask_model, extract_one
from slowwave.jobs.backfill.answers import Remembered
from slowwave.jobs.backfill.collected import Collected
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.model import Piece, Result
from slowwave.jobs.backfill.states import Deaths
from slowwave.jobs.backfill.throttle import PausedError, Throttle
from slowwave.jobs.model import language_model
from slowwave.observability.progress import watcher
from slowwave.places import home_folder
from slowwave.retention.alone import beside_jobs
from slowwave.secrets.key import redactor_of
from slowwave.secrets.redactor import NAMELESS
from slowwave.stores.model import StoredSession

Counts = dict[str, int]


class Reader:
    """Reads pieces of one shard.

    Args:
        folder: the folder of the run.
        number: of the shard.
        environ: the environment of this worker; settings come with the run.
        workers: how many read at the same time and share the pace of the run.

    Raises:
        CorruptStateError: the run's files are damaged.
    """

    def __init__(self, folder: Path, number: int, environ: Mapping[str, str], workers: int = 1) -> None:
        self.run = Folder(folder)
        self.plan = self.run.plan()
        self.pieces = self.run.shard(number).pieces
        self._environ = environ
        self._throttle = Throttle(self.plan.pace, workers, lambda: self.run.is_paused)

    def left(self) -> list[int]:
        """Return which pieces of the shard, by their place in it, were not read yet."""
        return [at for at, piece in enumerate(self.pieces) if not self.run.has(piece.number)]

    def project_of(self, at: int) -> str:
        """Return the key of the project that a piece is about."""
        return self.plan.projects[self.pieces[at].project].key

    def read(self, at: int) -> Counts:
        """Read a piece and note what it gave; return ``pieces`` and ``sessions``, or ``paused``.

        Raises:
            OSError: the run's folder cannot be written.
        """
        # also held by a worker whose lead was killed, or that runs on another host
        with beside_jobs(self._environ):
            return self._read(self.pieces[at])

    def _read(self, piece: Piece) -> Counts:
        try:
            result = self._result(piece)
        except PausedError:
            return {"paused": 1}
        self.run.write_result(piece.number, result)
        self.run.answers(piece.number).unlink(missing_ok=True)
        return {"pieces": 1, "sessions": len(piece.sessions)}

    def _result(self, piece: Piece) -> Result:
        begun, cpu = time.monotonic(), time.process_time()
        redact = redactor_of(self.plan.settings, self._environ, create=True)
        project = self.plan.projects[piece.project]
        batch = Collected(project, self.plan, piece.seed, home_folder(self._environ), redact)
        here = [session for session in piece.sessions if _is_as_planned(session, batch)]
        with Deaths(self.run.deaths(piece.number)) as deaths:
            for session in here:
                self._throttle.wait(session.size)
                batch.report.count("sessions")
                if died := deaths.of(session):
                    batch.fail(session, f"{died} processes died while they read it", MOST_ATTEMPTS)
                elif not batch.carried_over(session):
                    deaths.expect(session)
                    extract_one(session, batch)
        self._ask(piece, here, batch)
        batch.flush()
        result, report = batch.result, batch.report
        result.counts = dict(sorted(report.counts.items()))
        result.failed = [NAMELESS(one) for one in report.failures]
        result.warnings = [NAMELESS(one) for one in report.warnings]
        result.unknown_types = dict(sorted(report.unknown_types.items()))
        result.seconds = round(time.monotonic() - begun, 3)
        result.cpu_seconds = round(time.process_time() - cpu, 3)
        return result

    def _ask(self, piece: Piece, sessions: Sequence[StoredSession], batch: Collected) -> None:
        """Let the model, if there is one, read what the miners have read."""
        model = language_model(self.plan.run_id, self.plan.settings, self._environ)
        if model is None:
            return
        if self.plan.settings.model.batch:
            # its answers lie on disk already, and whether they came is asked each time
            ask_model(sessions, batch, model)
            return
        remembered = Remembered(model, self.run.answers(piece.number))
        ask_model(sessions, batch, remembered)
        batch.result.asked = remembered.asked


def run_shard(folder: Path, number: int, environ: Mapping[str, str], *, workers: int = 1) -> Counts:
    """Read the pieces of a shard that were not read yet, and tell whoever watches of each.

    The arguments are those of :class:`Reader`.

    Returns:
        ``pieces`` and ``sessions`` that were read now, and ``paused`` when a pause ended it.

    Raises:
        CorruptStateError: the run's files are damaged.
        OSError: the run's folder cannot be written.
    """
    reader = Reader(folder, number, environ, workers)
    done: Counts = {"pieces": 0, "sessions": 0}
    for at in reader.left():
        done = summed(done, reader.read(at))
        if done.get("paused"):
            break
        watcher().done("read", reader.project_of(at))
    return done


def read_alone(folder: Path, number: int, environ: tuple[tuple[str, str], ...], workers: int, at: int) -> Counts:
    """Read one piece in a process of a pool, which keeps its reader, and with it its pace, from piece to piece."""
    return _reader(folder, number, environ, workers).read(at)


@lru_cache(maxsize=1)
def _reader(folder: Path, number: int, environ: tuple[tuple[str, str], ...], workers: int) -> Reader:
    return Reader(folder, number, dict(environ), workers)


def summed(one: Counts, other: Counts) -> Counts:
    """Return two counts as one."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in dict.fromkeys((*one, *other))}


def _is_as_planned(session: StoredSession, batch: Collected) -> bool:
    """Say whether a session's files are those that were planned; what has changed is left to the next night."""
    if session.is_stream:
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

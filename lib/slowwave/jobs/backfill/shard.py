"""Reading one shard: every piece that was not read yet, each into a file of its own; only counts are returned.

The same reader serves a process of this machine, a Dask worker and a Ray task. It changes nothing but the run's folder,
which the workers must see, as they must see the transcripts. Two workers that read the same piece write the same file,
so it may be repeated, killed and started twice: the engine gives the shard of a dead worker to another one, which goes
on where it was.

Dask is found by ``DASK_SCHEDULER_ADDRESS`` and Ray by ``RAY_ADDRESS``; without them a cluster of this machine's
processors is started, and ended with the run.
"""

import hashlib
import importlib
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from slowwave.context import FixedClock
from slowwave.errors import SlowwaveError, UsageError, told
from slowwave.extraction.batch import Batch
from slowwave.extraction.gates import FAILURES, MOST_ATTEMPTS, Failure
from slowwave.extraction.job import ask_model, extract_one
from slowwave.extraction.session import Read, new_ranges
from slowwave.files import atomic_write, file_bytes, home_folder
from slowwave.formats import Problem
from slowwave.formats.changes import append_record
from slowwave.formats.lines import read_records
from slowwave.formats.sessions import StoredSession
from slowwave.jobs.backfill.folder import MOST_LATER, Asked, Entry, Folder, Pace, Piece, Plan, Result, Seed
from slowwave.jobs.portions import PAYS_FROM_BYTES, pool_of
from slowwave.locks import beside_jobs, deaf_to_interrupts
from slowwave.memory import Candidate, ExtractedRange, iso, name_to_json
from slowwave.models import language_model
from slowwave.models.base import Answer, Ask, Form, LanguageModel, Usage, estimated_tokens
from slowwave.observability.progress import watcher
from slowwave.report import Report
from slowwave.secrets import NAMELESS, Redactor, redactor_of
from slowwave.stores.projects import Project

# Reading no faster than asked: a worker waits before a session until its share of the pace allows it.

# a pause that somebody asks for is noticed within this time
_LONGEST_NAP_S = 1.0


class PausedError(Exception):
    """Somebody asked the run to pause: what was read of the piece is read again when it is resumed."""


class Throttle:
    """The pace of one worker."""

    def __init__(
        self,
        pace: Pace,
        workers: int,
        is_paused: Callable[[], bool],
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._pace, self._workers = pace, workers
        self._is_paused = is_paused
        self._monotonic = monotonic
        self._sleep = sleep
        self._next = monotonic()

    def wait(self, size: int) -> None:
        """Wait until a session of so many bytes may be read. Raises PausedError: somebody asked for a pause."""
        while True:
            if self._is_paused():
                raise PausedError
            left = self._next - self._monotonic()
            if left <= 0:
                break
            self._sleep(min(left, _LONGEST_NAP_S))
        self._next = self._monotonic() + self._workers * self._pace.seconds(size)


# Which sessions kill the process that reads them.

_MOST = 2


class Deaths:
    """Who died of what in one piece.

    ``path``: a file of the piece; beside it, ending in ``.at``, stands which session is being read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.with_suffix(".at")
        self._died = msgspec.json.decode(file_bytes(path), type=dict[str, int]) if path.exists() else {}

    def __enter__(self) -> Self:
        """Begin to read."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Note that nothing is being read any more, however it ended: this process lives."""
        self._at.unlink(missing_ok=True)

    def of(self, session: StoredSession) -> int:
        """Return how many processes died while they read a session; 0 for one that may be read."""
        died = self._died.get(_name_of(session), 0)
        return died if died >= _MOST else 0

    def expect(self, session: StoredSession) -> None:
        """Note which session is read now; it needs to survive this process, not this machine."""
        if not self._at.exists():
            self._at.touch(mode=0o600)
        self._at.write_bytes(_name_of(session).encode())

    def count(self) -> bool:
        """Note that the process that read this piece is gone; say whether it was reading a session."""
        if not self._at.exists():
            return False
        name = file_bytes(self._at).decode()
        self._at.unlink()
        self._died[name] = self._died.get(name, 0) + 1
        atomic_write(self._path, msgspec.json.encode(self._died))
        return True


def _name_of(session: StoredSession) -> str:
    """Return what tells a session from its copies, and from others in its file."""
    return f"{name_to_json(session.id)} {name_to_json(session.files.paths[0])}"


# Reading sessions without writing into a memory folder: what would be written is collected, to land later.
#
# What several sessions show alike depends on their order, so it is settled when the results land; all else is that of
# :mod:`slowwave.extraction.job`.


class Collected(Batch):
    """Sessions of one project that are read with what was known of them when the run was planned.

    ``project``: the project; its memory folder is neither read nor written. ``plan``: the run. ``seed``: what was
    known. ``home``: the user's home folder. ``redact``: takes secrets out.
    """

    def __init__(self, project: Project, plan: Plan, seed: Seed, home: Path, redact: Redactor) -> None:
        nowhere = Project(project.key, project.root, project.folders, Path("/nonexistent/memory"), ())
        report = Report("backfill", plan.run_id)
        clock = FixedClock(plan.now)
        super().__init__(
            nowhere, plan.settings, clock, report, force=plan.force, dry_run=False, home=home, redact=redact
        )
        self.result = Result()
        self._known += seed.candidates
        self._ids |= {c.id for c in seed.candidates}
        if not plan.force:  # which reads again what was read
            self.ranges.add(seed.ranges)
        self._refused = {one.session: one for one in seed.refused}
        self._failed = {one.session: one for one in seed.failures}

    def keep(self, session: StoredSession, read: Read) -> None:
        """Collect what a session gave."""
        found = list(read.taken.candidates)
        ranges = new_ranges(session, read.states, iso(self.now))
        self.result.entries.append(Entry(found, ranges, list(read.quarantined), is_mined=True))
        super().take(found, ranges)
        self._note(session, read, found)

    def take(self, new: Sequence[Candidate], ranges: Sequence[ExtractedRange]) -> None:
        """Collect what the model gave, or that nothing was new."""
        self.result.entries.append(Entry(list(new), list(ranges)))
        super().take(new, ranges)

    def note_failure(self, failure: Failure, file: str = FAILURES) -> None:
        """Collect a failure."""
        self.result.failures.setdefault(file, []).append(failure)

    def flush(self) -> None:
        """Write nothing: the piece is written as a whole."""
        self._pending = []
        self.result.refused += self._new_refused
        self._new_refused = []
        self._quarantined = []


# Answers of a model that a killed worker had already got: its piece is read again, but nothing is paid twice.


class _Kept(msgspec.Struct, frozen=True):
    """An answer as a line of the file."""

    ask: str
    data: Any
    text: str
    form: Form
    prompt_tokens: int
    completion_tokens: int
    usd: float
    model: str
    seconds: float = 0.0


_decoder = msgspec.json.Decoder(_Kept)


class Remembered:
    """A model whose answers are kept in a file until the piece that they belong to is written.

    ``model``: who is asked. ``path``: the file; a line that a kill left torn counts as none, and its question is asked
    again.
    """

    def __init__(self, model: LanguageModel, path: Path) -> None:
        self._model = model
        self._path = path
        self._lock = threading.Lock()
        torn: list[Problem] = []
        kept = [one for _, one in read_records(path, _decoder, torn)] if path.exists() else []
        self._known = {one.ask: one for one in kept}
        self.asked = Asked()

    @property
    def name(self) -> str:
        """The model's name as the settings give it."""
        return self._model.name

    def answer(self, ask: Ask) -> Answer:
        """Return the answer that was given before, or ask; see :class:`slowwave.models.base.LanguageModel`."""
        digest = hashlib.sha256(msgspec.json.encode([ask.purpose, ask.system, ask.user, ask.max_output_tokens]))
        name = digest.hexdigest()
        known = self._known.get(name)
        if known is not None:
            self._count(ask, known.seconds)
            usage = Usage(known.prompt_tokens, known.completion_tokens, known.usd)
            return Answer(known.data, known.text, known.form, usage, known.model)
        begun = time.monotonic()
        answer = self._model.answer(ask)
        seconds = round(time.monotonic() - begun, 3)
        self._count(ask, seconds)
        spent = answer.usage
        one = _Kept(
            name, answer.data, answer.text, answer.form, spent.prompt_tokens, spent.completion_tokens, spent.usd,
            answer.model, seconds,
        )  # fmt: skip
        append_record(self._path, msgspec.json.encode(one), fsync=True)
        return answer

    def _count(self, ask: Ask, seconds: float) -> None:
        with self._lock:
            self.asked.answers += 1
            self.asked.prompt_tokens += estimated_tokens(ask.system, ask.user)
            self.asked.seconds += seconds


class Done(msgspec.Struct):
    """What became of a shard, or of a part of it."""

    pieces: int = 0  # how many were read now
    sessions: int = 0  # how many they had
    failures: list[str] = []  # what was lost with its process
    is_paused: bool = False  # a pause ended it

    def add(self, other: "Done") -> None:
        """Add what became of another part."""
        self.pieces += other.pieces
        self.sessions += other.sessions
        self.failures = other.failures
        self.is_paused |= other.is_paused


class Reader:
    """Reads pieces of one shard. Raises CorruptStateError: the run's files are damaged."""

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

    def tell(self, at: int, number: int) -> None:
        """Tell whoever watches that so many sessions of a piece are read."""
        for _ in range(number):
            watcher().done("read", self.project_of(at))

    def read(self, at: int, tell: Callable[[int], None] = lambda _: None) -> Done:
        """Read a piece and note what it gave, unless a pause comes first; tell how many sessions are read, as they are.

        Raises OSError: the run's folder cannot be written.
        """
        # also held by a worker whose lead was killed, or that runs on another host
        with beside_jobs(self._environ):
            piece = self.pieces[at]
            try:
                result = self._result(piece, tell)
            except PausedError:
                return Done(is_paused=True)
            self.run.write_result(piece.number, result)
            self.run.answers(piece.number).unlink(missing_ok=True)
            return Done(pieces=1, sessions=len(piece.sessions))

    def _result(self, piece: Piece, tell: Callable[[int], None]) -> Result:
        redact = redactor_of(self.plan.settings, self._environ, create=True)
        project = self.plan.projects[piece.project]
        batch = Collected(project, self.plan, piece.seed, home_folder(self._environ), redact)
        here = [session for session in piece.sessions if _is_as_planned(session, batch)]
        is_asked = self.plan.settings.model.is_set and not self.plan.settings.model.batch
        # a session about which a model is asked is not over before that
        tell(0 if is_asked else len(piece.sessions) - len(here))
        with Deaths(self.run.deaths(piece.number)) as deaths:
            for session in here:
                self._throttle.wait(session.size)
                batch.report.count("sessions")
                if died := deaths.of(session):
                    batch.fail(session, f"{died} processes died while they read it", MOST_ATTEMPTS)
                else:
                    deaths.expect(session)
                    extract_one(session, batch)
                tell(0 if is_asked else 1)
        self._ask(piece, here, batch)
        tell(len(piece.sessions) if is_asked else 0)
        batch.flush()
        result, report = batch.result, batch.report
        result.counts = dict(sorted(report.counts.items()))
        result.failed = [NAMELESS(one) for one in report.failures]
        result.later = why_later(report)[:MOST_LATER]
        result.warnings = [NAMELESS(one) for one in report.warnings]
        result.unknown_types = dict(sorted(report.unknown_types.items()))
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


def why_later(report: Report) -> list[str]:
    """Return the sessions that the reading of some passed over, each with the reason in words."""
    passed = (item for item in report.items if item.action == "skip")
    told = (
        f"session {item.target}: {item.reason.removeprefix('gate ').partition(': ')[2] or item.reason}"
        for item in passed
    )
    return [NAMELESS(one.encode("utf-8", "backslashreplace").decode()) for one in told]


def run_shard(folder: Path, number: int, environ: Mapping[str, str], *, workers: int = 1) -> Done:
    """Read the pieces of a shard that were not read yet, and tell whoever watches of each.

    The arguments are those of :class:`Reader`. Raises CorruptStateError: the run's files are damaged; OSError: the
    run's folder cannot be written.
    """
    reader = Reader(folder, number, environ, workers)
    done = Done()
    for at in reader.left():
        done.add(reader.read(at, partial(reader.tell, at)))
        if done.is_paused:
            break
    return done


def read_alone(folder: Path, number: int, environ: tuple[tuple[str, str], ...], workers: int, at: int) -> Done:
    """Read one piece in a process of a pool, which keeps its reader, and with it its pace, from piece to piece."""
    return _reader(folder, number, environ, workers).read(at)


@lru_cache(maxsize=1)
def _reader(folder: Path, number: int, environ: tuple[tuple[str, str], ...], workers: int) -> Reader:
    return Reader(folder, number, dict(environ), workers)


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


ShardReader = Callable[[Path, int], Done]

# a shard whose workers died so often is not given to another one: it may be what kills them
RETRIES = 3
# where a person's files are; all else, keys of a model above all, is the worker's own
_PLACES = ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")


def reading(runner: str, folder: Path, shards: int, environ: Mapping[str, str]) -> AbstractContextManager[ShardReader]:
    """Return who reads the shards of a run, for as long as it takes.

    ``runner``: threads, dask or ray. ``folder``: of the run. ``shards``: how many there are; an engine is given all of
    them at once. ``environ``: the environment of the run. Raises UsageError: the engine is not installed, or not
    reached.
    """
    if runner == "threads":
        return nullcontext(lambda folder, number: read_shard(folder, number, environ))
    return {"dask": _dask, "ray": _ray}[runner](folder, range(shards), places_of(environ))


def places_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that goes with a shard to its worker."""
    return {name: environ[name] for name in _PLACES if environ.get(name)}


def run_there(folder: str, number: int, places: Mapping[str, str], workers: int) -> Done:
    """Read a shard in the process of an engine."""
    return run_shard(Path(folder), number, {**os.environ, **places}, workers=workers)


@contextmanager
def _dask(folder: Path, numbers: range, places: Mapping[str, str]) -> Generator[ShardReader]:
    distributed = _engine("distributed", "dask")
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    # no dashboard: the run has its own pages
    here = {"n_workers": os.cpu_count() or 1, "threads_per_worker": 1, "dashboard_address": None}
    with _started("dask", lambda: distributed.Client(address) if address else distributed.Client(**here)) as client:
        workers = max(1, sum(client.nthreads().values()))
        given = {
            n: client.submit(run_there, str(folder), n, dict(places), workers, pure=False, retries=RETRIES)
            for n in numbers
        }
        yield lambda _folder, number: _done(number, given[number].result)


@contextmanager
def _ray(folder: Path, numbers: range, places: Mapping[str, str]) -> Generator[ShardReader]:
    ray = _engine("ray", "ray")
    # without an address Ray looks at RAY_ADDRESS, and starts a cluster of its own when there is none
    own = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
    _started("ray", lambda: ray.init(log_to_driver=False, **own))
    try:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        there = ray.remote(max_retries=RETRIES, num_cpus=1)(run_there)
        given = {n: there.remote(str(folder), n, dict(places), workers) for n in numbers}
        yield lambda _folder, number: _done(number, lambda: ray.get(given[number]))
    finally:
        ray.shutdown()


def _done(number: int, result: Callable[[], Done]) -> Done:
    """Return what became of a shard; engines have many errors of their own for a worker that is gone."""
    try:
        done = result()
    except (SlowwaveError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever an engine raises, the other shards go on
        return Done(failures=[f"shard {number}: backfill: {type(error).__name__}: {error}; {_AGAIN}"])
    for _ in range(done.sessions):
        watcher().done("read", "")  # read elsewhere, where nobody watches
    return done


def _started(runner: str, start: Callable[[], Any]) -> Any:
    """Return what an engine starts or connects to; engines have errors of their own for what is not there."""
    try:
        return start()
    except Exception as error:
        words = " ".join(str(error).split())
        raise UsageError(f"runner {runner}: cannot be started or reached ({type(error).__name__}: {words})") from error


def _engine(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"runner {extra}: {module} is not installed; install slowwave[{extra}]") from error


# One shard over the processors of this machine: its pieces go to processes in turn, and none depends on another.
#
# A process that dies (out of memory, killed) costs the pieces that were being read. They are tried again, one process
# at a time; a session that kills its process twice is set aside as failed, and the rest of the shard goes on.

# A machine on which every process dies has another trouble than a session.
MOST_DEATHS = 20
_AGAIN = "resume the run to try again"


def read_shard(folder: Path, number: int, environ: Mapping[str, str]) -> Done:
    """Read what is left of a shard.

    Raises CorruptStateError: the run's files are damaged; OSError: the run's folder cannot be written.
    """
    reader = Reader(folder, number, environ)
    left = reader.left()
    size = sum(session.size for at in left for session in reader.pieces[at].sessions)
    processes = min(os.cpu_count() or 1, len(left))
    if processes < 2 or size < PAYS_FROM_BYTES:  # noqa: PLR2004 - one process is no pool
        return run_shard(folder, number, environ)
    done, deaths = _in_pool(reader, folder, number, environ, processes), 0
    while done.failures and not done.is_paused and deaths < MOST_DEATHS:
        _count_deaths(reader, is_alone=bool(deaths))
        deaths += 1
        done.add(_in_pool(reader, folder, number, environ, 1))
    return done


def _count_deaths(reader: Reader, *, is_alone: bool) -> None:
    """Note what a process died of; only of one that read alone it is certain that it did not die with the others."""
    for at in reader.left():
        path = reader.run.deaths(reader.pieces[at].number)
        if is_alone:
            Deaths(path).count()
        else:
            path.with_suffix(".at").unlink(missing_ok=True)


def _in_pool(reader: Reader, folder: Path, number: int, environ: Mapping[str, str], processes: int) -> Done:
    done, given = Done(), tuple(environ.items())
    try:
        with pool_of(processes) as pool:
            with deaf_to_interrupts():
                futures = {pool.submit(read_alone, folder, number, given, processes, at): at for at in reader.left()}
            for future in as_completed(futures):
                read = future.result()
                done.add(read)
                if not read.is_paused:
                    reader.tell(futures[future], read.sessions)
    except BrokenProcessPool as error:
        done.failures = [f"shard {number}: backfill: a worker process died ({error}); {_AGAIN}"]
    return done

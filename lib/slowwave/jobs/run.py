"""What one run of a job was given, the files that it leaves in the state folder, and what must not leave it.

A step that goes wrong stays within its project, and whatever a report quotes, it holds no secret.
"""

import errno
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter, time

import msgspec

from slowwave.clock import Clock, FixedClock, SystemClock
from slowwave.errors import SlowwaveError, UnwritableError, told
from slowwave.files import private_folder, write_all
from slowwave.journal import remove_leftovers
from slowwave.places import home_folder, state_folder
from slowwave.report import Gate, Item, Report, Span
from slowwave.secrets.redactor import NAMELESS, logger_of
from slowwave.settings import Settings
from slowwave.stores.model import Project


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that one run of a job was given.

    Attributes:
        id: names the run in reports and ledgers.
        settings: the settings in force.
        clock: what time it is.
        environ: the environment; HOME and the XDG folders are taken from here.
        project: only projects whose key or root contains this; "" takes all.
        force: pass the time and session gates; never the lock, never a live session.
        dry_run: plan and report, change nothing.
        rehearsal: where the extraction of a dry run notes what its dream goes by; None where nothing is rehearsed.
    """

    id: str
    settings: Settings
    clock: Clock
    environ: Mapping[str, str]
    project: str = ""
    force: bool = False
    dry_run: bool = False
    rehearsal: Path | None = None

    @property
    def home(self) -> Path:
        """The home folder of the person whose sessions are read."""
        return home_folder(self.environ)


def new_run_id(clock: Clock) -> str:
    """Return an id that sorts by time and is unique among runs of one second."""
    return f"{clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def clock_of(now: datetime | None) -> Clock:
    """Return a clock that stands at ``now``, or the clock of this machine."""
    return FixedClock(now.astimezone(UTC)) if now else SystemClock()


# what is done for one project, and what is about all of them together
Step = Callable[[Project, Run], Report]
Whole = Callable[[Sequence[Project], Run], Report]


# What does not leave a run.
#
# Redaction stands before everything that is kept (:mod:`slowwave.secrets`); but reasons, titles, names of files and
# errors quote what they stumbled over, and a report is printed, logged, kept by the scheduler and shown in its pages.
# Every report passes here, whichever way it goes: as the result of a direct run, of a portion, or of a whole flow.

log = logger_of(__name__)


def contained(step: Step, project: Project, run: Run) -> Report:
    """Run one step; whatever goes wrong stays within the project and is named in the report."""
    return timed(lambda: _contained(step, project, run), project.key)


def _contained(step: Step, project: Project, run: Run) -> Report:
    try:
        return step(project, run)
    except SlowwaveError as error:
        return _failed(step, project, run, str(error))
    except OSError as error:
        return _failed(step, project, run, told(error, project.memory))
    except Exception as error:
        # a bug must not cost the other projects their night; the traceback goes to the log
        log.exception("%s of %s broke", step.__name__, project.key)
        return _failed(step, project, run, f"{type(error).__name__}: {error}")


def _failed(step: Step, project: Project, run: Run, message: str) -> Report:
    report = Report(step.__name__, run.id)
    message = NAMELESS(message)
    report.failures.append(f"{project.key}: {step.__name__}: {message}")
    report.items.append(Item(project.key, "failed", message))
    return report


def for_all(step: Whole, projects: Sequence[Project], run: Run) -> Report:
    """Run a step that is about all projects together; what goes wrong is named and costs no other step its report."""
    try:
        return timed(lambda: step(projects, run))
    except SlowwaveError as error:
        message = str(error)
    except OSError as error:
        message = told(error, step.__name__)
    except Exception as error:
        # a bug in one step must not cost the night the reports of the others; the traceback goes to the log
        log.exception("%s broke", step.__name__)
        message = f"{type(error).__name__}: {error}"
    report = Report(step.__name__, run.id)
    report.failures.append(f"{step.__name__}: {NAMELESS(message)}")
    return report


def timed(work: Callable[[], Report], project: str = "") -> Report:
    """Do one step, and note in its report how long it took."""
    begin, timer = time(), perf_counter()
    report = work()
    report.spans.append(Span(report.job, project, begin, perf_counter() - timer))
    return report


def discreet(report: Report) -> Report:
    """Return a report without secrets; marks that stand in it already stay as they are."""
    return msgspec.structs.replace(
        report,
        gates=[_gate(gate) for gate in report.gates],
        items=[_item(item) for item in report.items],
        warnings=_clean(report.warnings),
        failures=_clean(report.failures),
        parked=_clean(report.parked),
        memories={NAMELESS(key): NAMELESS(path) for key, path in report.memories.items()},
        unknown_types={NAMELESS(kind): number for kind, number in report.unknown_types.items()},
        phases={NAMELESS(key): phases for key, phases in report.phases.items()},
        spans=[msgspec.structs.replace(span, project=NAMELESS(span.project)) for span in report.spans],
    )


def discreet_all(reports: dict[str, Report]) -> dict[str, Report]:
    """Return the reports of several projects without secrets; the keys are the run's own and never shown."""
    return {key: discreet(report) for key, report in reports.items()}


def _gate(gate: Gate) -> Gate:
    return Gate(gate.gate, NAMELESS(gate.project), gate.passed, NAMELESS(gate.reason))


def _item(item: Item) -> Item:
    target, reason, project, text = map(NAMELESS, (item.target, item.reason, item.project, item.text))
    return msgspec.structs.replace(item, target=target, reason=reason, project=project, text=text)


def _clean(lines: list[str]) -> list[str]:
    return [NAMELESS(line) for line in lines]


def discreet_error(error: BaseException) -> BaseException:
    """Return an error without secrets, also in what caused it; the scheduler keeps its message and its traceback.

    The error itself is cleaned where that is possible, so that its type still says whether a retry helps.
    """
    _clean_chain(error, set())
    return _shown(error)


def _clean_chain(error: BaseException | None, seen: set[int]) -> None:
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.args = tuple(NAMELESS(one) if isinstance(one, str) else one for one in error.args)
    if isinstance(error, OSError):
        # it makes its message of these
        for name in ("strerror", "filename", "filename2"):
            if isinstance(text := getattr(error, name), str):
                setattr(error, name, NAMELESS(text))
    if hasattr(error, "__notes__"):
        error.__notes__ = _clean(error.__notes__)
    _clean_chain(error.__cause__, seen)
    _clean_chain(error.__context__, seen)
    is_hidden = error.__suppress_context__
    if error.__cause__ is not None:
        error.__cause__ = _shown(error.__cause__)
    if error.__context__ is not None:
        error.__context__ = _shown(error.__context__)
    error.__suppress_context__ = is_hidden


def _shown(error: BaseException) -> BaseException:
    """Return an error whose message is clean: another one for what makes its message of things that cannot change."""
    text = str(error)
    clean = NAMELESS(text)
    return error if clean == text else RuntimeError(f"{type(error).__name__}: {clean}")


# The files of runs in the state folder: room for them, manifests of killed runs, accounts of what a model was asked.
#
# A manifest goes with its run; one that is left belongs to a run that was killed. Accounts are read at the end of their
# run, and stay a month for a person who asks what was charged, as long as the server keeps its own history of runs.

KEPT = timedelta(days=30)
# what the records, locks and lists of a night need that has little to read
LEAST_ROOM = 1 << 20
_FILES = ("*.manifest.json", "*.model.json")


def require_places(settings: Settings, environ: Mapping[str, str], *, dry_run: bool) -> None:
    """Refuse a run whose home is missing, or that could keep nothing of what it finds in hours of reading.

    Raises:
        UnwritableError: there is no home, or the state folder cannot be written or has no room.
    """
    home, state = home_folder(environ), state_folder(environ)
    needs_home = not settings.store.roots or (state.is_relative_to(home) and not dry_run)
    if needs_home and not home.is_dir():
        remedy = "point HOME to the folder of whoever worked with the agents"
        raise UnwritableError(f"{home}: there is no such home folder, so nothing was done; {remedy}")
    if not dry_run:
        require_room(state, LEAST_ROOM)


def require_room(folder: Path, size: int) -> None:
    """Refuse a folder that is not there and cannot be made, or that cannot hold so many bytes more.

    Raises:
        UnwritableError: the system refuses it; the message says why.
    """
    try:
        private_folder(folder)
        with TemporaryFile(dir=folder) as probe:
            write_all(probe.fileno(), bytes(size))
    except OSError as error:
        # the name of the probe tells nobody anything
        where = folder if folder.is_dir() else error.filename or folder
        cause = OSError(error.errno, error.strerror)
        remedy = "; it has to be a folder: move it away" if error.errno in (errno.EEXIST, errno.ENOTDIR) else ""
        raise UnwritableError(f"{told(cause, where)}{remedy} (nothing was done)") from error


def remove_old(environ: Mapping[str, str], now: datetime, run_id: str) -> int:
    """Remove the files of other runs that last changed more than :data:`KEPT` ago; return how many.

    What a process that is gone had not written to its end goes at once, uncounted.

    Args:
        environ: the environment; the state folder is taken from here.
        now: the current time.
        run_id: the run that is at work, whose files stay whatever their time: its clock may stand somewhere else.

    Raises:
        OSError: the state folder cannot be read or written.
    """
    folder = state_folder(environ) / "runs"
    before = (now - KEPT).timestamp()
    removed = 0
    remove_leftovers(folder)
    for path in [path for name in _FILES for path in sorted(folder.glob(name))]:
        with suppress(FileNotFoundError):  # another run was faster
            if not path.name.startswith(f"{run_id}.") and path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed

"""What stands around the steps of a run: contained failures, reports without secrets, the account, whose memories.

At a provider's batch price a night reads the answers to what was asked before, and hands over what was asked last.
"""

import errno
import os
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryFile, gettempdir, mkdtemp
from time import perf_counter, time
from typing import TYPE_CHECKING

import msgspec

from slowwave.context import Run
from slowwave.errors import LockHeldError, SlowwaveError, UnreadableError, UnwritableError, told
from slowwave.files import archive_folder, home_folder, private_folder, state_folder, write_all
from slowwave.locks import locked_file, remove_leftovers
from slowwave.memory.folder import NAME, MemoryFolder, global_folder
from slowwave.models.base import Account, ModelError, read_account
from slowwave.quantities import counted
from slowwave.report import Gate, Item, Report, Span
from slowwave.secrets import NAMELESS, logger_of
from slowwave.settings import Settings
from slowwave.stores.discovery import known_projects
from slowwave.stores.projects import Project, chosen_by
from slowwave.stores.roots import store_roots

if TYPE_CHECKING:
    from slowwave.models.batch import Provider, Spool


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

    def attempt() -> Report:
        try:
            return step(project, run)
        except Exception as error:  # noqa: BLE001 - named in the report, and no other project's matter
            message = _broken(error, step, project.memory)
        failed = [Item(project.key, "failed", message)]
        return Report(step.__name__, run.id, items=failed, failures=[f"{project.key}: {step.__name__}: {message}"])

    return timed(attempt, project.key)


def for_all(step: Whole, projects: Sequence[Project], run: Run) -> Report:
    """Run a step that is about all projects together; what goes wrong is named and costs no other step its report."""
    try:
        return timed(lambda: step(projects, run))
    except Exception as error:  # noqa: BLE001 - named in the report, and no other step's matter
        return Report(step.__name__, run.id, failures=[f"{step.__name__}: {_broken(error, step, step.__name__)}"])


def _broken(error: Exception, step: Step | Whole, place: Path | str) -> str:
    """Return in a line what broke a step; the traceback of a bug goes to the log."""
    if not isinstance(error, SlowwaveError | OSError):
        log.error("%s broke", step.__name__, exc_info=error)
    return NAMELESS(told(error, place))


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
        gates=[_discreet_gate(one) for one in report.gates],
        items=[_discreet_item(item) for item in report.items],
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


def _discreet_gate(gate: Gate) -> Gate:
    return msgspec.structs.replace(gate, project=NAMELESS(gate.project), reason=NAMELESS(gate.reason))


def _discreet_item(item: Item) -> Item:
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

    Raises UnwritableError: there is no home, or the state folder cannot be written or has no room.
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

    Raises UnwritableError: the system refuses it; the message says why.
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

    What a process that is gone had not written to its end goes at once, uncounted. ``environ``: the environment; the
    state folder is taken from here; ``run_id``: the run that is at work, whose files stay whatever their time: its
    clock may stand somewhere else. Raises OSError: the state folder cannot be read or written.
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


def note_account(report: Report, journal: Path) -> None:
    """Say which command answered in a run and who counted, and what it was charged beyond the answers that were of use.

    Answers that were cut off, refused or unreadable cost as much as others. Raises OSError: the journal cannot be read.
    """
    if not journal.exists():
        return
    try:
        account = read_account(journal)
    except ModelError as error:
        report.warnings.append(str(error))
        return
    if account.program or account.estimated:
        report.items.append(Item(report.run_id, "model", _told(account)))
    counts = report.counts
    used = counts.get("model_prompt_tokens", 0) + counts.get("model_completion_tokens", 0)
    charged = account.prompt_tokens + account.completion_tokens
    if charged > used:
        money = f", {account.usd:.4f} USD" if account.usd else ""
        reason = f"the run was charged {charged:,} tokens{money}, of which {charged - used:,} gave no usable answer"
        report.items.append(Item(report.run_id, "model", reason))
        report.count("model_charged_tokens", charged)


def _told(account: Account) -> str:
    money = f", {account.usd:.4f} USD" if account.usd else ""
    counted = "as it reports them" if account.program else "as the server counted"
    if account.estimated:
        counted = f"{account.estimated} of the answers estimated, since nobody counted them"
    tokens = f"{account.prompt_tokens:,} tokens of questions and {account.completion_tokens:,} of answers"
    return f"{account.program or 'the model'} answered {account.calls:,} times: {tokens}{money} ({counted})"


def is_batched(settings: Settings) -> bool:
    """Say whether the model of these settings is asked by batch."""
    return settings.model.batch and settings.model.is_set


def fetch_answers(report: Report, settings: Settings, environ: Mapping[str, str], now: datetime) -> None:
    """Collect the answers of batches that are over, and report them; a server that is away waits for another night.

    A damaged spool is named as a failure and costs the night nothing else.
    """
    from slowwave.models.batch import Fetched, fetch  # noqa: PLC0415 - the usual night has no model

    done = Fetched()
    with _spool_contained(report, environ):
        done = fetch(*_ends(settings, environ), settings.model.base_url, now)
    _count(report, model_batch_answers=done.answers, model_batch_failed=done.failed, model_batch_waiting=done.waiting)
    _count(report, model_batch_tokens=done.tokens)
    report.warnings += done.problems
    if done.answers or done.failed:
        without = counted(done.failed, "question")
        text = f"batches brought {counted(done.answers, 'answer')}, {done.tokens:,} tokens; {without} had none"
        report.items.append(Item(settings.model.name, "model", text))


def hand_over_questions(report: Report, settings: Settings, environ: Mapping[str, str], now: datetime) -> None:
    """Send what waits as a batch, and report it; a server that is away waits for another night.

    A damaged spool is named as a failure and costs the night nothing else.
    """
    from slowwave.models.batch import Handed, hand_over  # noqa: PLC0415 - the usual night has no model

    handed = Handed()
    with _spool_contained(report, environ):
        handed = hand_over(*_ends(settings, environ), settings.model.base_url, now)
    _count(report, model_batch_questions=handed.questions)
    report.warnings += handed.problems
    if handed.questions:
        text = f"{counted(handed.questions, 'question')} went out in a batch; the answers are read another night"
        report.items.append(Item(settings.model.name, "model", text))


def note_left_behind(report: Report, settings: Settings, environ: Mapping[str, str]) -> None:
    """Warn of batches whose answers nobody reads any more, since the settings ask for none."""
    if is_batched(settings):
        return
    # by their names alone: the usual night has no model, and no spool
    number = sum(1 for _ in (state_folder(environ) / "batches" / "sent").glob("*.json"))
    if number:
        report.warnings.append(
            f"{counted(number, 'batch', 'batches')} on the way to a model, not read while model.batch is off"
        )


@contextmanager
def _spool_contained(report: Report, environ: Mapping[str, str]) -> Generator[None]:
    """Name what is wrong with the spool; the miners need none."""
    try:
        yield
    except SlowwaveError as error:
        report.failures.append(f"batches: extract: {error}")
    except OSError as error:
        report.failures.append(f"batches: extract: {told(error, state_folder(environ))}")


def _ends(settings: Settings, environ: Mapping[str, str]) -> "tuple[Spool, Provider]":
    from slowwave.models.batch import Provider, Spool, spool_folder  # noqa: PLC0415 - the usual night has no model
    from slowwave.models.client import Exchange  # noqa: PLC0415 - as above

    return Spool(spool_folder(environ)), Provider(Exchange(settings.model, environ))


def _count(report: Report, **numbers: int) -> None:
    for name, number in numbers.items():
        if number:
            report.count(name, number)


def require_input(settings: Settings, environ: Mapping[str, str], project: str) -> None:
    """Refuse stores and projects that no job could work on; looking for a project takes a walk through the stores.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project matches ``project``.
    """
    if project:
        chosen_by(project, known_projects(settings, environ).projects, lambda p: (p.key, p.root))
    else:
        store_roots(settings, environ, [])


def memory_folders(settings: Settings, environ: Mapping[str, str], project: str = "") -> list[MemoryFolder]:
    """Return the memory folders that exist, of all projects or of the chosen ones; the global one is a project, too.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project matches ``project``.
    """
    projects = known_projects(settings, environ).projects
    everywhere = folders_of(projects, settings, environ)
    if project == NAME and any(folder.is_global for folder in everywhere):
        return [folder for folder in everywhere if folder.is_global]
    if not project:
        return everywhere
    return folders_of(chosen_by(project, projects, lambda p: (p.key, p.root)), settings, environ, chosen=True)


def folders_of(
    projects: Sequence[Project], settings: Settings, environ: Mapping[str, str], *, chosen: bool = False
) -> list[MemoryFolder]:
    """Return the memory folders of projects that exist, and the global one unless they are ``chosen``."""
    archive = archive_folder(environ)
    folders = [MemoryFolder(p.key, p.memory.resolve(), (*p.folders, archive)) for p in projects if p.memory.is_dir()]
    shared = global_folder(settings, environ)
    if not chosen and shared.is_dir():
        everywhere = (*(folder for p in projects for folder in p.folders), archive)
        folders.append(MemoryFolder(NAME, shared.resolve(), everywhere, is_global=True))
    return folders


# What a dry run notes: a dream plans from what extraction noted, and in a dry run nothing may be noted in a memory
# folder. So its notes are copied into a folder of the run on first use, grow there, and go with the run.
#
# What a killed dry run left goes when the next run of any job begins, an erasure too: it quotes what was said.

_PREFIX = "slowwave-dry-run-"
# held as long as the run lives, however it ends
_ALIVE = "lock"


@contextmanager
def rehearsing(*, wanted: bool) -> Generator[Path | None]:
    """Make the folder of a dry run where one is wanted, for its user's eyes only, and remove it at the end.

    Raises OSError: the system's folder for temporary files cannot be written.
    """
    _remove_abandoned(Path(gettempdir()))
    if not wanted:
        yield None
        return
    # under another name until it is locked, lest a run that begins just now takes it for abandoned
    folder = Path(mkdtemp(prefix="slowwave-begins-"))
    with locked_file(folder / _ALIVE, create=True):
        try:
            folder = folder.rename(folder.with_name(folder.name.replace("slowwave-begins-", _PREFIX)))
            yield folder
        finally:
            # the lock last: as long as it is there, no run that begins just now takes the rest for abandoned
            for one in [path for path in folder.iterdir() if path.name != _ALIVE]:
                shutil.rmtree(one) if one.is_dir() else one.unlink()
            with suppress(FileNotFoundError):
                shutil.rmtree(folder)


def _remove_abandoned(temporary: Path) -> None:
    """Remove the folders of dry runs whose process is gone; what belongs to another user stays."""
    for folder in temporary.glob(f"{_PREFIX}*"):
        with suppress(LockHeldError, UnreadableError, FileNotFoundError):
            state = folder.lstat()
            if S_ISDIR(state.st_mode) and state.st_uid == os.getuid():
                # made where a removal was cut short behind it
                with locked_file(folder / _ALIVE, create=True, timeout_s=0):
                    shutil.rmtree(folder)

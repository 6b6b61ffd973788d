"""What does not leave a run: what goes wrong stays within its step, and whatever a report quotes, it holds no secret.

Redaction stands before everything that is kept (:mod:`slowwave.secrets`); but reasons, titles, names of files and
errors quote what they stumbled over, and a report is printed, logged, kept by the scheduler and shown in its pages.
Every report passes here, whichever way it goes: as the result of a direct run, of a portion, or of a whole flow.
"""

from collections.abc import Callable, Sequence
from time import perf_counter, time

import msgspec

from slowwave.errors import SlowwaveError, told
from slowwave.jobs.run import Run, Step, Whole
from slowwave.report import Gate, Item, Report, Span
from slowwave.secrets.logs import logger_of
from slowwave.secrets.redactor import NAMELESS
from slowwave.stores.model import Project

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

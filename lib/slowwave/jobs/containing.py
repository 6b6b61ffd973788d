"""What goes wrong in a step stays within it: it is named in the report, and the other steps go on."""

from collections.abc import Callable, Sequence
from time import perf_counter, time

from slowwave.errors import SlowwaveError, told
from slowwave.jobs.run import Run, Step, Whole
from slowwave.report import Item, Report, Span
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

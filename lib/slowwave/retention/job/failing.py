"""What went wrong with one session: what the machine refused, or nobody expected, is a failure of the run, too."""

from pathlib import Path

from slowwave.errors import SlowwaveError, told
from slowwave.report import Report
from slowwave.secrets.logs import logger_of

_log = logger_of(__name__)


def is_of_machine(error: BaseException) -> bool:
    """Say whether the machine refused something: a full disk, a missing permission; not that something is gone."""
    error = error.__cause__ if isinstance(error, SlowwaveError) and error.__cause__ is not None else error
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError)


def reason_of(error: Exception, place: Path | str = "the file") -> str:
    """Return an error in one line."""
    if isinstance(error, OSError):
        return told(error, place)
    return str(error) if isinstance(error, SlowwaveError) else f"{type(error).__name__}: {error}"


def note_failure(report: Report, where: str, error: Exception, place: Path | str = "the file") -> None:
    """Put a failure into the report unless it is a refusal with a reason, which the report has as such.

    The traceback of what nobody expected goes to the log.
    """
    is_expected = isinstance(error, SlowwaveError | OSError)
    if not is_expected:
        report.count("unexpected")
        _log.error("%s broke", where, exc_info=error)
    if not is_expected or is_of_machine(error):
        report.failures.append(f"{where}: {reason_of(error, place)}")

"""What a run logs: its stages, the phases of its dreams, what was refused, damaged or failed, and how it ended.

As a JSON object a line for machines that collect them, where the settings ask for it; a scheduler keeps the same lines
with its run (``tasks/logs.py``).
"""

import logging
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import SettingsError
from slowwave.observability.night import Night
from slowwave.observability.progress import Watcher, words
from slowwave.report import Report, Span
from slowwave.secrets.logs import logger_of
from slowwave.secrets.redactor import NAMELESS

ROOT = "slowwave"
log = logger_of(__name__)


class JsonFormatter(logging.Formatter):
    """Makes one JSON object of a record: what is always there, and the fields that it was given."""

    def __init__(self, run_id: str) -> None:
        """Note the run that every line names."""
        super().__init__()
        self._run_id = run_id

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without secrets and without line ends."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": NAMELESS(record.getMessage()),
            "run_id": self._run_id,
            **getattr(record, "fields", {}),
        }
        if record.exc_info or record.exc_text:
            line["error"] = NAMELESS(record.exc_text or self.formatException(record.exc_info or (None, None, None)))
        return msgspec.json.encode(line).decode()


@contextmanager
def json_logs(place: str, run_id: str) -> Generator[None]:
    """Write what slowwave logs inside to ``place``: a file, ``-`` for standard error, or nothing for "".

    Raises:
        SettingsError: the file cannot be opened.
    """
    if not place:
        yield
        return
    handler = _handler(place)
    handler.setFormatter(JsonFormatter(run_id))
    with closing(handler), heard_by(handler):
        yield


@contextmanager
def heard_by(handler: logging.Handler) -> Generator[None]:
    """Give a handler everything that slowwave logs inside."""
    root = logging.getLogger(ROOT)
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _handler(place: str) -> logging.Handler:
    if place == "-":
        return logging.StreamHandler(sys.stderr)
    try:
        path = Path(place).expanduser()
        if not path.exists():
            path.touch(mode=0o600)
        # many processes may append: every line is one write
        return logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise SettingsError("telemetry.log_file", place, f"cannot be opened: {error.strerror}") from error


def log_step(span: Span) -> None:
    """Log that a step is over."""
    fields = {"event": "step", "step": span.step, "project": span.project, "seconds": round(span.seconds, 3)}
    log.info("%s of %s: %.1f s", span.step, span.project or "all projects", span.seconds, extra={"fields": fields})


def log_report(report: Report) -> None:
    """Log what one step came to: how long it took, what a dream did, and what was refused, damaged or failed.

    Where nobody listens nothing is said: Python itself would print warnings, and the report holds them.
    """
    if not log.hasHandlers():
        return
    for span in report.spans:
        log_step(span)
    for project, dream in report.phases.items():
        fields = {"event": "dream", "project": project, **msgspec.to_builtins(dream)}
        phases = dream.told() if dream.gathered or dream.pruned else ("nothing new to dream over",)
        for number, phase in enumerate(phases):
            log.info("%s: %s", project, phase, extra={"fields": fields} if number == 0 else None)
    for gate in report.gates:
        if not gate.passed:
            log.info("%s: the gate %s is closed: %s", gate.project, gate.gate, gate.reason)
    for warning in report.warnings:
        log.warning("%s", warning)
    for failure in report.failures:
        log.error("%s", failure)


class LoggedStages:
    """Logs each stage of a run in plain words, and tells whoever else watches."""

    def __init__(self, other: Watcher) -> None:
        """Note who else watches."""
        self._other = other

    def plan(self, step: str, total: int) -> None:
        """Log that a stage begins."""
        log.info("%s%s", words(step), f", in {total} parts" if total > 1 else "")
        self._other.plan(step, total)

    def done(self, step: str, what: str) -> None:
        """Pass it on."""
        self._other.done(step, what)


def log_night(night: Night) -> None:
    """Log how a run ended, and each of its alarms."""
    for alarm in night.alarms:
        if alarm.name == "failures" and not log.hasHandlers():
            continue  # Python itself would print it, and who began the run prints each failure
        fields = {"event": "alarm", "alarm": alarm.name, "count": alarm.count}
        log.warning("%s", alarm.summary, extra={"fields": fields})
    fields = {
        "event": "run",
        "job": night.job,
        "outcome": night.outcome,
        "seconds": night.seconds,
        "counts": night.counts,
    }
    log.info("%s: %s", night.job, night.outcome, extra={"fields": fields})

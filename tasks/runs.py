"""What a run looks like in the scheduler: its name, its lines in the log, how far it is, and no secret in its errors.

How far it is shows an artifact that moves by five percent at a time. A step that may be repeated finds done what it did
before, or does it again with the same result.
"""

import logging
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar, cast
from uuid import UUID

import httpx
from prefect import Task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.logging.handlers import APILogHandler

from slowwave.context import SystemClock
from slowwave.jobs.conclusion import title_of
from slowwave.jobs.run import discreet_error
from slowwave.observability.progress import LeftBy, Watcher, watched_by, watcher
from slowwave.observability.telemetry import ROOT, LoggedStages, heard_by, is_told
from slowwave.secrets import logger_of

# what Prefect calls a run that nobody has named: "brave-otter"
_UNNAMED = re.compile(r"[a-z]+-[a-z]+")

log = logger_of(__name__)


@contextmanager
def logged() -> Generator[None]:
    """Let what slowwave logs inside, and each stage, stand in the log of the flow run, which is named first.

    ``PREFECT_LOGGING_EXTRA_LOGGERS`` does not: it leaves the logger at the level of the root, which is WARNING.
    """
    is_heard = any(isinstance(one, APILogHandler) for one in logging.getLogger(ROOT).handlers)
    handler = logging.NullHandler() if is_heard else APILogHandler()
    handler.addFilter(is_told)  # a log file has it all, for programs
    name_for("")
    with heard_by(handler), watched_by(LoggedStages(watcher())):
        yield


def name_for(what: str) -> None:
    """Name the flow run by its flow and the time, before it is known what it is about; ``what`` as in ``title_of``."""
    context = FlowRunContext.get()
    if context and context.flow:
        name_run(title_of(context.flow.name, SystemClock().now(), (), what=what))


def name_run(title: str) -> None:
    """Name the flow run, unless somebody has; a night does not fail for its name."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or not _UNNAMED.fullmatch(run.name):
        return
    try:
        with get_client(sync_client=True) as client:
            client.update_flow_run(run.id, name=title)
    except httpx.HTTPError as error:
        log.warning("the run could not be named (%s)", error)


@contextmanager
def discreet_errors() -> Generator[None]:
    """Let what is inside, or a function below it, raise what it raises, but without secrets."""
    try:
        yield
    except Exception as error:
        clean = discreet_error(error)
        if clean is not error:
            raise clean from None
        raise


# Every update is a call to the server and an event that it stores; few portions are over before anybody looks.
STEPS = 20


def progress(key: str, number: int) -> Callable[[int], None]:
    """Return a function that takes the number of portions done, of ``number`` in all."""
    if number < STEPS:
        return lambda _done: None
    artifact = cast("UUID", create_progress_artifact(progress=0.0, key=key, description="Portions done"))

    def show(done: int) -> None:
        if done * STEPS // number > (done - 1) * STEPS // number:
            update_progress_artifact(artifact, progress=100.0 * done / number)

    return show


class Shown:
    """Shows how far one step is as an artifact, and tells whoever else watches."""

    def __init__(self, key: str, step: str, other: Watcher) -> None:
        self._key, self._step, self._other = key, step, other
        self._show: Callable[[int], None] = lambda _done: None
        self._done = 0

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Show a step that begins."""
        if step == self._step:
            self._show, self._done = progress(self._key, total), 0
        self._other.plan(step, total, left)

    def done(self, step: str, what: str) -> None:
        """Show that one more is done."""
        if step == self._step:
            self._done += 1
            self._show(self._done)
        self._other.done(step, what)


P = ParamSpec("P")
R = TypeVar("R")
# How often it is tried again, after so many seconds.
RETRIES, DELAYS_S, JITTER = 2, [5.0, 30.0], 0.5


def repeatable(
    *, called: str | None = None, named: str | None = None, timeout_s: float | None = None, retries: int = RETRIES
) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Make a task of a function: it is tried again, and what it raises holds no secret.

    ``called`` is its name, else the function's; ``named`` its run's; ``timeout_s`` only breaks a hung file system out.
    """

    def made(step: Callable[P, R]) -> Task[P, R]:
        once = Task(discreet_errors()(step), name=called, cache_policy=NO_CACHE, task_run_name=named)
        return once.with_options(
            timeout_seconds=timeout_s, retries=retries, retry_delay_seconds=DELAYS_S, retry_jitter_factor=JITTER
        )

    return made

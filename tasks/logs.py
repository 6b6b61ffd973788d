"""What a run looks like in the scheduler: slowwave's own lines in its log, and a name that says what it goes over."""

import logging
import re
from collections.abc import Generator
from contextlib import contextmanager

import httpx
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.logging.handlers import APILogHandler

from slowwave.observability.progress import watched_by, watcher
from slowwave.observability.telemetry import ROOT, LoggedStages, heard_by
from slowwave.secrets.redactor import logger_of

# what Prefect calls a run that nobody has named: "brave-otter"
_UNNAMED = re.compile(r"[a-z]+-[a-z]+")

log = logger_of(__name__)


@contextmanager
def logged() -> Generator[None]:
    """Let what slowwave logs inside, and each stage, stand in the log of the flow run.

    ``PREFECT_LOGGING_EXTRA_LOGGERS`` does not: it leaves the logger at the level of the root, which is WARNING.
    """
    is_heard = any(isinstance(one, APILogHandler) for one in logging.getLogger(ROOT).handlers)
    with heard_by(logging.NullHandler() if is_heard else APILogHandler()), watched_by(LoggedStages(watcher())):
        yield


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

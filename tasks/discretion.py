"""Errors of tasks and flows without secrets: Prefect logs them with their traceback and keeps their message."""

from collections.abc import Generator
from contextlib import contextmanager

from slowwave.jobs.run import discreet_error


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

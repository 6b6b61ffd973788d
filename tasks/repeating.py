"""The task run of a step that may be repeated: what it did before is found done, or done again with the same result."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE

from tasks.logs import discreet_errors

P = ParamSpec("P")
R = TypeVar("R")
# How often it is tried again, after so many seconds.
RETRIES, DELAYS_S, JITTER = 2, [5.0, 30.0], 0.5


def repeatable(*, named: str | None = None, timeout_s: float | None = None) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Make a task of a function: it is tried three times, and what it raises holds no secret.

    ``named`` is the name of its run, with the arguments in braces; ``timeout_s`` only breaks a hung file system out.
    """

    def made(step: Callable[P, R]) -> Task[P, R]:
        once = Task(discreet_errors()(step), cache_policy=NO_CACHE, task_run_name=named, timeout_seconds=timeout_s)
        return once.with_options(retries=RETRIES, retry_delay_seconds=DELAYS_S, retry_jitter_factor=JITTER)

    return made

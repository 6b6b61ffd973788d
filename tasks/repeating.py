"""The task run of a step that may be repeated: what it did before is found done, or done again with the same result."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE

from tasks.discretion import discreet_errors

P = ParamSpec("P")
R = TypeVar("R")


def repeatable(*, named: str | None = None, timeout_s: float | None = None) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Make a task of a function: it is tried three times, and what it raises holds no secret.

    ``named`` is the name of its run, with the arguments in braces; ``timeout_s`` only breaks a hung file system out.
    """

    def made(function: Callable[P, R]) -> Task[P, R]:
        return task(
            cache_policy=NO_CACHE,
            retries=2,
            retry_delay_seconds=[5, 30],
            retry_jitter_factor=0.5,
            timeout_seconds=timeout_s,
            task_run_name=named,
        )(discreet_errors()(function))

    return made

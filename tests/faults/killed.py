"""A piece of work that is killed right before one of its changes to files, as ``kill -9`` may do it."""

import os
import signal
from collections.abc import Callable
from itertools import count

from slowwave import files


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Run ``work`` in a child that is killed right before its ``step``-th change; say whether it came so far."""
    child = os.fork()
    if child == 0:
        seen = count(1)

        def stop(_event: str, _path: str) -> None:
            if next(seen) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        files.fault_hook = stop
        try:
            work()
            os._exit(0)
        finally:
            os._exit(70)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0

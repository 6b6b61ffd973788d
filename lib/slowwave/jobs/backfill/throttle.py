"""Reading no faster than asked: a worker waits before a session until its share of the pace allows it."""

import time
from collections.abc import Callable

from slowwave.jobs.backfill.model import Pace

_MB = 1_000_000
# a pause that somebody asks for is noticed within this time
_LONGEST_NAP_S = 1.0


class PausedError(Exception):
    """Somebody asked the run to pause: what was read of the piece is read again when it is resumed."""


class Throttle:
    """The pace of one worker.

    Args:
        pace: of the whole run.
        workers: among how many it is shared.
        is_paused: asked before every session and while it waits.
        monotonic: a clock that only moves forward.
        sleep: waits.
    """

    def __init__(
        self,
        pace: Pace,
        workers: int,
        is_paused: Callable[[], bool],
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._a_session = workers / pace.sessions if pace.sessions else 0.0
        self._a_byte = workers / (pace.megabytes * _MB) if pace.megabytes else 0.0
        self._is_paused = is_paused
        self._monotonic = monotonic
        self._sleep = sleep
        self._next = monotonic()

    def wait(self, size: int) -> None:
        """Wait until a session of so many bytes may be read.

        Raises:
            PausedError: somebody asked for a pause.
        """
        while True:
            if self._is_paused():
                raise PausedError
            left = self._next - self._monotonic()
            if left <= 0:
                break
            self._sleep(min(left, _LONGEST_NAP_S))
        self._next = self._monotonic() + max(self._a_session, size * self._a_byte)

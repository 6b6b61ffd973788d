"""How often to ask again and how long to wait before it: what the server asks for, else doubling times with jitter."""

from collections.abc import Callable

from slowwave.models.faults import Fault

_FIRST_S = 0.5
_LONGEST_S = 30.0
# a server that asks for more than this is asked again in another night
_MOST_AFTER_S = 120.0
# each of them costs the whole time limit
_MOST_TIMEOUTS = 1


class Patience:
    """Counts the attempts at one question.

    Args:
        retries: how many attempts may follow the first.
        sleep: waits.
        jitter: a random number from 0 to 1.
    """

    def __init__(self, retries: int, sleep: Callable[[float], None], jitter: Callable[[], float]) -> None:
        self._retries = retries
        self._sleep = sleep
        self._jitter = jitter
        self._timeouts = 0
        self.attempts = 1

    def waits(self, fault: Fault) -> bool:
        """Wait and return True, or return False when there is no further attempt."""
        self._timeouts += fault.kind == "timeout"
        if self.attempts > self._retries or self._timeouts > _MOST_TIMEOUTS:
            return False
        if fault.retry_after is not None and fault.retry_after > _MOST_AFTER_S:
            return False
        backoff = min(_LONGEST_S, _FIRST_S * 2 ** (self.attempts - 1))
        wait = backoff if fault.retry_after is None else fault.retry_after
        # only ever longer than what the server asks for; between half and whole of our own time
        self._sleep(wait * (0.5 + self._jitter() / 2) if fault.retry_after is None else wait + self._jitter())
        self.attempts += 1
        return True

"""New ULIDs. Those of one maker only ever grow, also within a millisecond and when the clock goes back."""

import os
from collections.abc import Callable
from datetime import timedelta
from threading import Lock

from slowwave.clock import Clock
from slowwave.dialects.ulid.ids import ALPHABET, EPOCH, LETTERS, RANDOM_BITS


def random_bits() -> int:
    """Return 80 random bits."""
    return int.from_bytes(os.urandom(RANDOM_BITS // 8))


class UlidMaker:
    """Makes ids for new sessions; it may be called from many threads.

    Args:
        clock: gives the time in them.
        random: gives 80 random bits.
    """

    def __init__(self, clock: Clock, random: Callable[[], int] = random_bits) -> None:
        self._clock = clock
        self._random = random
        self._last = 0
        self._lock = Lock()

    def __call__(self) -> str:
        """Return an id that is greater than all before it."""
        milliseconds = (self._clock.now() - EPOCH) // timedelta(milliseconds=1)
        with self._lock:
            first = milliseconds << RANDOM_BITS
            is_later = milliseconds > self._last >> RANDOM_BITS
            self._last = first | self._random() if is_later else self._last + 1
            return _encoded(self._last)


def _encoded(value: int) -> str:
    return "".join(ALPHABET[value >> 5 * place & 31] for place in reversed(range(LETTERS)))

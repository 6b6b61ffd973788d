"""ULIDs: 48 bits of milliseconds and 80 random bits in Crockford's base 32, so that names sort by time.

The ids of one maker only ever grow, also within a millisecond and when the clock goes back: the one before plus one.
"""

import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock

from slowwave.clock import Clock
from slowwave.errors import UsageError

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LETTERS = 26
_RANDOM_BITS = 80
# As the specification has it (§7.1), which also lets pass what is larger than 128 bits.
_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UlidMaker:
    """Makes ids for new sessions; it may be called from many threads.

    Args:
        clock: gives the time in them.
        random_bits: gives that many random bits.
    """

    def __init__(self, clock: Clock, random_bits: Callable[[int], int] = secrets.randbits) -> None:
        self._clock = clock
        self._random_bits = random_bits
        self._last = 0
        self._lock = Lock()

    def __call__(self) -> str:
        """Return an id that is greater than all before it."""
        milliseconds = (self._clock.now() - _EPOCH) // timedelta(milliseconds=1)
        with self._lock:
            first = milliseconds << _RANDOM_BITS
            is_later = milliseconds > self._last >> _RANDOM_BITS
            self._last = first | self._random_bits(_RANDOM_BITS) if is_later else self._last + 1
            return _encoded(self._last)


def is_ulid(text: str) -> bool:
    """Say whether a text can name a session, before any path is made of it (S7.8)."""
    return _ULID.match(text) is not None


def checked_ulid(text: str) -> str:
    """Return ``text`` when it can name a session.

    Raises:
        UsageError: it cannot; no path was made of it (S7.8).
    """
    if not is_ulid(text):
        raise UsageError(f"session id {text[:64]!r} is no ULID: 26 capital letters and digits without I, L, O and U")
    return text


def ulid_time(text: str) -> datetime | None:
    """Return when an id was made; None for what is none, also where its time lies behind the year 9999."""
    if not is_ulid(text):
        return None
    value = 0
    for letter in text:
        value = value << 5 | ALPHABET.index(letter)
    try:
        return _EPOCH + timedelta(milliseconds=value >> _RANDOM_BITS)
    except OverflowError:
        return None


def _encoded(value: int) -> str:
    return "".join(ALPHABET[value >> 5 * place & 31] for place in reversed(range(_LETTERS)))

"""ULIDs: 48 bits of milliseconds and 80 random bits in Crockford's base 32, so that names sort by time."""

import re
from datetime import UTC, datetime, timedelta

from slowwave.errors import UsageError

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LETTERS = 26
RANDOM_BITS = 80
# As the specification has it (§7.1), which also lets pass what is larger than 128 bits.
_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        return EPOCH + timedelta(milliseconds=value >> RANDOM_BITS)
    except OverflowError:
        return None

"""Times as clients write them: ISO 8601 with ``Z`` or an offset, with up to nanoseconds."""

import re
from datetime import MAXYEAR, MINYEAR, UTC, datetime

# Cersei and crabtalk write nanoseconds, which datetime refuses.
_LONG_FRACTION = re.compile(r"(\.\d{6})\d+")
_EDGES = (MINYEAR, MAXYEAR)


def parse_time(text: str | None) -> datetime | None:
    """Return the aware time that ``text`` means, or None when it is missing or unreadable.

    A time without an offset is taken as UTC, as the clients mean it.
    """
    if not text:
        return None
    try:
        at = datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", text))
        if at.tzinfo is None:
            return at.replace(tzinfo=UTC)
        if at.year in _EDGES:
            at.astimezone(UTC)
    except (ValueError, OverflowError):  # also a time that UTC has no year for
        return None
    return at


def millisecond_time(at: datetime) -> str:
    """Return a time as Claude Code writes it: UTC with milliseconds and ``Z``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def offset_time(at: datetime) -> str:
    """Return a time as Cersei writes it: UTC with microseconds and ``+00:00``."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")

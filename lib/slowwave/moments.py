"""Points in time as people write them: ``7d`` (ago), ``2026-11-20``, ``20 Nov 2026 14:30``; and as they are told."""

from datetime import UTC, datetime, time, timedelta
from itertools import product
from math import isinf

from slowwave.errors import UsageError
from slowwave.quantities import Period

_FORMS = "write a date such as 2026-11-20, a date with a time, or how long ago: 36h, 7d, 6 months"
_DAY = timedelta(days=1)


def moment(option: str, value: str, now: datetime, *, ends: bool = False) -> datetime:
    """Return the aware time that ``value`` means; times without a zone are this machine's.

    Args:
        option: name of the option, for the message.
        value: what a person wrote; a bare date is the start of that day.
        now: what time it is.
        ends: a bare date is the end of that day instead, as in ``--until``, which includes what it names.

    Raises:
        UsageError: it is no time, or could mean two days; the message shows accepted forms.
    """
    text = value.strip()
    try:
        ago = Period(text).start(now.astimezone())
    except ValueError:
        pass  # then it is a date
    except OverflowError as error:
        raise UsageError(f"{option} {value!r}: longer ago than dates go back; {_FORMS}") from error
    else:
        if isinf(ago):
            raise UsageError(f"{option} {value!r}: longer ago than dates go back; {_FORMS}")
        return datetime.fromtimestamp(ago, UTC)
    try:
        at, has_time = _date(text)
        if ends and not has_time:
            at += _DAY - timedelta(microseconds=1)
        # the zone of this machine on that day, which summer time may shift
        return at if at.tzinfo else at.astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{option} {value!r}: {error}; {_FORMS}") from error


def told(at: datetime) -> str:
    """Return a moment as a person on this machine reads it: in its zone, which is named."""
    return f"{at.astimezone():%Y-%m-%d %H:%M %Z}"


def _date(text: str) -> tuple[datetime, bool]:
    """Return the date that ``text`` names, and whether it names a time of that day, too."""
    from dateutil import parser  # noqa: PLC0415 - a listing without these options starts without it

    try:
        at = parser.isoparse(text)
    except ValueError:
        # what is not in the text comes from the default, so two defaults show what is missing
        first = datetime(2000, 1, 1)  # noqa: DTZ001 - only compared
        other = datetime(2004, 2, 2, 1)  # noqa: DTZ001 - only compared
        at, twin = parser.parse(text, default=first), parser.parse(text, default=other)
        if at.date() != twin.date():
            raise ValueError("is not a whole date") from None
        orders = product((False, True), repeat=2)
        if len({parser.parse(text, default=first, dayfirst=d, yearfirst=y).date() for d, y in orders}) > 1:
            raise ValueError("could mean two days") from None
        return at, at.time() == twin.time()
    if sum(map(str.isdigit, text)) < len("20261120"):
        raise ValueError("is not a whole date")
    return at, at.time() != time() or "T" in text or " " in text

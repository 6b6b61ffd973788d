"""Points in time as people write them: ``7d`` (ago), ``2026-11-20``, ``20 Nov 2026 14:30``."""

from datetime import datetime, time, timedelta

from slowwave.durations import parse_duration
from slowwave.errors import UsageError

_FORMS = "write a date such as 2026-11-20, a date with a time, or how long ago: 36h, 7d, 2 weeks"
_DAY = timedelta(days=1)


def moment(option: str, value: str, now: datetime, *, ends: bool = False) -> datetime:
    """Return the aware time that ``value`` means; times without a zone are this machine's.

    Args:
        option: name of the option, for the message.
        value: what a person wrote; a bare date is the start of that day.
        now: what time it is.
        ends: a bare date is the end of that day instead, as in ``--until``.

    Raises:
        UsageError: it is no time, or could mean two days; the message shows accepted forms.
    """
    text = value.strip()
    try:
        return now - parse_duration(text)
    except ValueError:
        pass  # then it is a date
    except OverflowError as error:
        raise UsageError(f"{option} {value!r}: longer ago than there are dates; {_FORMS}") from error
    try:
        at, has_time = _date(text)
        if ends and not has_time:
            at += _DAY - timedelta(microseconds=1)
        # the zone of this machine on that day, which summer time may shift
        return at if at.tzinfo else at.astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{option} {value!r}: {error}; {_FORMS}") from error


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
        if at.date() != parser.parse(text, default=first, dayfirst=True).date():
            raise ValueError("could mean two days") from None
        return at, at.time() == twin.time()
    if sum(map(str.isdigit, text)) < len("20261120"):
        raise ValueError("is not a whole date")
    return at, at.time() != time() or "T" in text or " " in text

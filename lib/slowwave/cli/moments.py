"""Dates and times as people type them: ISO, or "1 March 2026"; in the zone of this machine unless they name one."""

from datetime import UTC, datetime

from slowwave.errors import UsageError

# two readings that differ in every part: what a text leaves out shows as a difference
_ONE, _OTHER = datetime(2001, 1, 1), datetime(2002, 2, 2)  # noqa: DTZ001 - only stand-ins for what was not said


def parse_moment(text: str, option: str) -> datetime:
    """Return the moment that a text names, aware and in UTC; a date without a time means its first moment.

    Raises:
        UsageError: it names none, or leaves out day, month or year.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        found = _of_words(text.strip(), option)
    # a naive time is one of this machine's zone
    return found.astimezone(UTC)


def _of_words(text: str, option: str) -> datetime:
    from dateutil.parser import ParserError, parse  # noqa: PLC0415 - ISO needs none

    remedy = f"{option} {text!r}: write 2026-03-01, 2026-03-01T14:30 or 1 March 2026"
    try:
        found, other = parse(text, default=_ONE), parse(text, default=_OTHER)
    except (ParserError, OverflowError) as error:
        raise UsageError(remedy) from error
    if found.date() != other.date():
        raise UsageError(f"{remedy}; day, month and year are needed")
    return found

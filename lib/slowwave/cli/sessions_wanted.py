"""Which sessions the filters of a command ask for."""

import argparse

from slowwave.clock import SystemClock
from slowwave.errors import UsageError
from slowwave.formats.registry import NAMES
from slowwave.moments import moment
from slowwave.stores.discovery import Wanted


def wanted_by(args: argparse.Namespace, *, text: str = "") -> Wanted:
    """Return the filters that were given, checked before anything is read.

    Raises:
        UsageError: a dialect is unknown, or a time cannot be understood.
    """
    if args.dialect and args.dialect not in NAMES:
        raise UsageError(f"unknown dialect {args.dialect!r}: write one of {', '.join(NAMES)}")
    now = SystemClock().now()
    since = None if args.since is None else moment("--since", args.since, now)
    until = None if args.until is None else moment("--until", args.until, now, ends=True)
    if since is not None and until is not None and since > until:
        raise UsageError(f"--since {args.since!r} is after --until {args.until!r}: nothing can be between them")
    return Wanted(args.dialect, args.kind, text, since, until)

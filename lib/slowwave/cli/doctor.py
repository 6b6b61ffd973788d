"""``slowwave doctor``: check this installation, change nothing, and say how to mend what is wrong."""

import argparse
import os

import msgspec

from slowwave.cli.options import add_json_option, add_settings_options, settings_of
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED
from slowwave.service.health import checks


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave doctor``."""
    add_settings_options(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print every check; return 0 when all is well, else 6."""
    done = list(checks(settings_of(args), os.environ, SystemClock()))
    for check in done:
        if args.json:
            print(msgspec.json.encode(check).decode())  # noqa: T201 - the command's own output
        else:
            print(f"{'ok   ' if check.ok else 'WRONG'}  {check.name:<12} {check.seen}")  # noqa: T201 - as above
            if not check.ok:
                print(f"       {'':<12} fix: {check.fix}")  # noqa: T201 - as above
    return DONE if all(check.ok for check in done) else PARTLY_FAILED

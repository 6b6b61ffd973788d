"""``slowwave doctor``: check this installation, change nothing, and say how to mend what is wrong."""

import argparse
import os

from slowwave.cli.options import add_json_option, add_settings_options, settings_of
from slowwave.cli.output import say, say_json
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave doctor``."""
    add_settings_options(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print every check; return 0 when all is well, else 6."""
    from slowwave.service.health import checks  # noqa: PLC0415 - --help stays fast

    is_well = True
    for check in checks(settings_of(args), os.environ, SystemClock()):
        is_well = is_well and check.ok
        if args.json:
            say_json([check])
            continue
        say(f"{'ok   ' if check.ok else 'WRONG'}  {check.name:<12} {check.seen}")
        if not check.ok:
            say(f"       {'':<12} fix: {check.fix}")
    return DONE if is_well else PARTLY_FAILED

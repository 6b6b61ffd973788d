"""``slowwave doctor``: check this installation, change nothing, and say how to mend what is wrong."""

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from slowwave.cli.options import add_json_option, add_settings_options, settings_of
from slowwave.cli.output import bad, good, open_to, say, say_json
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, SettingsError

if TYPE_CHECKING:
    from slowwave.service.checks import Check


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave doctor``."""
    add_settings_options(parser)
    parser.add_argument("--model", action="store_true", help="ask the language model one tiny question")
    parser.add_argument("--archive", action="store_true", help="read every byte of the archive back")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print every check; return 0 when all is well, else 6."""
    is_well = True
    for check in _checks(args):
        is_well = is_well and check.ok
        if args.json:
            say_json([check])
            continue
        mark = bad("WRONG") if not check.ok else open_to("note ") if check.fix else good("ok   ")
        say(f"{mark}  {check.name:<12} {check.seen}")
        if check.fix:
            say(f"       {'':<12} fix: {check.fix}")
    return DONE if is_well else PARTLY_FAILED


def _checks(args: argparse.Namespace) -> "Iterator[Check]":
    from slowwave.service.checks import Check  # noqa: PLC0415 - --help stays fast
    from slowwave.service.health import checks  # noqa: PLC0415 - as above

    try:
        settings = settings_of(args)
    except SettingsError as error:
        # whoever asks what is wrong gets it as an answer; without settings nothing else can be looked at
        where = error.source or "the place that names it"
        yield Check("settings", ok=False, seen=str(error), fix=f"correct {error.key} in {where}")
        return
    yield from checks(settings, os.environ, SystemClock(), ask_model=args.model, read_archive=args.archive)

"""Options that several commands share, and the settings they add up to."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowwave.settings import Settings


# where options can be declared, and what returns such a place for options of some jobs
Place = argparse.ArgumentParser | argparse._ArgumentGroup  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
Options = Callable[..., Place]


def add_settings_options(parser: Place) -> None:
    """Add ``--store``, ``--config`` and ``--set``."""
    parser.add_argument("--store", type=Path, action="append", metavar="DIR", help="store to work on (repeatable)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings file (TOML)")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override one setting",
    )


def add_project_option(parser: Place) -> None:
    """Add ``--project``."""
    parser.add_argument("--project", default="", metavar="TEXT", help="only projects whose key or folder contains this")


def add_json_option(parser: Place) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def positive(text: str) -> int:
    """Return a number of things that somebody wants at most.

    Raises:
        ArgumentTypeError: it is not a whole number above 0.
    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number


def settings_of(args: argparse.Namespace) -> "Settings":
    """Return the settings that the options, the environment and the settings file add up to.

    Raises:
        SettingsError: any of them is wrong.
    """
    from slowwave.settings import load_settings  # noqa: PLC0415  # what names a file needs no settings

    settings = load_settings(os.environ, config=args.config, overrides=args.overrides)
    return settings.with_roots(args.store) if args.store else settings

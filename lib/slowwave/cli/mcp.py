"""``slowwave mcp``: an agent asks about its project, over the Model Context Protocol on the standard streams."""

import argparse
import os

from slowwave.cli.options import add_settings_options, settings_of
from slowwave.errors import DONE, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave mcp``."""
    add_settings_options(parser)


def run(args: argparse.Namespace) -> int:
    """Answer until the client goes away.

    Raises:
        UsageError: the package that speaks the protocol is not installed.
    """
    settings = settings_of(args)
    try:
        from slowwave.mcp.server import serve  # noqa: PLC0415 - --help stays fast
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UsageError("slowwave mcp needs a package that is not installed: pip install 'slowwave[mcp]'") from error
    serve(settings, os.environ)
    return DONE

"""``slowwave uninstall``: what ``slowwave install`` wrote goes, and every file is as it was before."""

from slowwave.cli.install import configure_uninstall as configure
from slowwave.cli.install import run_uninstall as run

__all__ = ["configure", "run"]

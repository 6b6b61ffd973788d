"""Leaving out what only matters in a power cut: on a busy disk it costs minutes, and no figure depends on it."""

from collections.abc import Generator
from contextlib import contextmanager
from unittest.mock import patch

from tests.unit.consolidation.dreams import no_fsync


@contextmanager
def unsynced() -> Generator[None]:
    """Let nothing wait for the disk."""
    with patch("os.fsync", no_fsync), patch("os.fdatasync", no_fsync):
        yield

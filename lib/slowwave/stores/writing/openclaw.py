"""Writing Clawdbot's transcripts, which are pi's files; OpenClaw's databases are never written."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from slowwave.errors import UsageError
from slowwave.stores.ids import base_path
from slowwave.stores.walk import SUFFIX
from slowwave.stores.writing.base import Target, Writer
from slowwave.stores.writing.pi import PiWriter


class OpenclawWriter(PiWriter):
    """Entries as pi writes them, under the client's ``.lock``.

    A session is begun by the client alone, which notes it in its ``sessions.json``. A fork is noted nowhere: the
    client finds it by its id.
    """

    dialect: ClassVar[str] = "openclaw"

    def path(self, folder: Path, session_id: str) -> Path:
        """Refuse: the client begins its sessions itself."""
        return Writer.path(self, folder, session_id)

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Hold the client's lock of a transcript.

        Raises:
            UsageError: the session is rows of a database.
        """
        self._refuse_others(target)
        with super().alone(target):
            yield

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy a transcript; a session in a database is not copied."""
        self._refuse_others(target)
        return super().fork(target, folder, new_id, at)

    def _copy_path(self, target: Target, folder: Path, new_id: str) -> Path:
        del target
        return base_path(folder, new_id)

    def _refuse_others(self, target: Target) -> None:
        if target.path.suffix != SUFFIX:
            what = f"{target.path.name} is a database of {self.dialect}, or a transcript that it has put aside"
            raise UsageError(f"{target.id}: {what}, which only its client writes; nothing was written")


WRITER = OpenclawWriter

"""Writing the bare-message files of Cersei: a role and content, and nothing else."""

from pathlib import Path
from typing import ClassVar

from slowwave.errors import UsageError
from slowwave.files import private_folder
from slowwave.formats.append import append_record
from slowwave.formats.cersei import encode
from slowwave.formats.model import SessionFiles
from slowwave.stores.forking import write_fork
from slowwave.stores.ids import base_path
from slowwave.stores.writing.base import Draft, Target
from slowwave.stores.writing.cersei import said
from slowwave.stores.writing.claimed import ClaimedWriter


class BareWriter(ClaimedWriter):
    """Messages only: the form has no ids, so nothing can refer to another message."""

    dialect: ClassVar[str] = "cersei-bare"

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message; it gets no id.

        Raises:
            UsageError: it is to follow an older message: without ids it can only follow the last one.
        """
        if draft.parent is not None:
            raise UsageError(f"{target.id}: messages of {self.dialect} have no ids, so each follows the last one")
        private_folder(target.path.parent)
        line = encode.bare_line("user" if draft.role == "tool" else draft.role, said(draft))
        append_record(target.path, line.rstrip(b"\n"), fsync=self.means.fsync)
        return ""

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all messages.

        Raises:
            UsageError: only a path is wanted: messages without ids name none.
        """
        if at is not None:
            raise UsageError(f"{target.id}: messages of {self.dialect} have no ids, so a fork copies all of them")
        files = SessionFiles(target.id, target.files)
        return write_fork(files, self.dialect, base_path(folder, new_id), new_id, self.means.part_bytes)


WRITER = BareWriter

"""The proof before a purge: with the new files the client sends what it sends with the old ones."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from slowwave.errors import RefusedError, UnreadableError
from slowwave.files import atomic_write, private_folder
from slowwave.formats.cersei.dialect import Cersei, Mode
from slowwave.formats.messages import normal_form
from slowwave.formats.model import SessionFiles
from slowwave.retention.purging.plan import PartPlan

_MODES: tuple[Mode, ...] = ("seed", "code")


def compare(files: SessionFiles, steps: Sequence[PartPlan], folder: Path) -> None:
    """Make sure that the client sends the same with the new files as with the old ones.

    Raises:
        RefusedError: it would not.
    """
    by_path = {step.path: step.new for step in steps}
    private_folder(folder)
    try:
        new: list[Path] = []
        for path in files.paths:
            new.append(folder / path.name)
            atomic_write(new[-1], by_path[path] if path in by_path else path.read_bytes(), mode=0o600)
        for before, after in zip(_contexts(files), _contexts(SessionFiles(files.id, tuple(new))), strict=True):
            if before != after:
                raise RefusedError("context: its client would send something else afterwards")
    finally:
        shutil.rmtree(folder)


def _contexts(files: SessionFiles) -> Iterator[object]:
    for mode in _MODES:
        dialect = Cersei(mode)
        try:
            yield normal_form(dialect.context(dialect.read(files)))
        except UnreadableError as error:
            yield error.reason.partition(":")[0]  # what its loader refuses it refuses in both

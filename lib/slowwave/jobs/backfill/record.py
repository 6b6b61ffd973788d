"""What one landing writes into a memory folder, noted beside the run before anything is written: done, cut or open.

``landed/<name>/`` holds ``record.json``, the blocks that are to be added and the files that are written anew as they
were before. It appears as a whole, by one rename.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.files import at_fault_point, atomic_write, file_bytes, fsync_folder, private_folder
from slowwave.jobs.backfill.blocks import Block, written
from slowwave.memory.folder import digest, read_or_none
from slowwave.memory.guard import OWN_FOLDER

# written anew by a landing, and brought back by a rollback
RENEWED = ("extracted.md", f"{OWN_FOLDER}/shown.jsonl")


class Record(msgspec.Struct):
    """One landing.

    Attributes:
        memory: the memory folder.
        existed: whether it was there before.
        blocks: what is added, by file.
        has_new: whether candidates are among it, so that ``extracted.md`` changes.
        before: hashes of the renewed files, None where there was none.
        after: the same when it was done.
        counts: what it brought.
        state: open, done, cut (a part of it is there, and no more will be) or rolled-back.
    """

    memory: str
    existed: bool
    blocks: list[Block]
    has_new: bool
    before: dict[str, str | None]
    after: dict[str, str | None] = {}
    counts: dict[str, int] = {}
    state: str = "open"


def write_record(
    folder: Path, record: Record, blocks: Mapping[str, bytes], previous: Mapping[str, str | None] | None
) -> None:
    """Write a record with its blocks and the renewed files as they are now.

    Args:
        folder: where it goes.
        record: the record.
        blocks: the bytes of its blocks.
        previous: the renewed files as this run left them the last time; what is still so needs no copy.

    Raises:
        OSError: the run's folder cannot be written.
    """
    stage = folder.with_name(f".{folder.name}")
    shutil.rmtree(stage, ignore_errors=True)
    private_folder(stage / "before")
    for name, data in blocks.items():
        atomic_write(stage / name, data)
    for name in RENEWED:
        is_known = previous is not None and previous.get(name, "") == record.before[name]
        if not is_known and (data := read_or_none(Path(record.memory) / name)) is not None:
            atomic_write(stage / "before" / Path(name).name, data)
    save_record(stage, record)
    at_fault_point("rename", folder)
    stage.rename(folder)
    fsync_folder(folder.parent)


def save_record(folder: Path, record: Record) -> None:
    """Write a record anew, as it stands now."""
    atomic_write(folder / "record.json", msgspec.json.encode(record))


def read_record(folder: Path) -> Record:
    """Return a record.

    Raises:
        CorruptStateError: it is damaged.
    """
    path = folder / "record.json"
    try:
        return msgspec.json.decode(file_bytes(path), type=Record)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptStateError(path, f"is not a record of a landing ({error})", "undo it by hand") from error


def close_record(folder: Path, record: Record, state: str) -> None:
    """Note what became of a landing; its blocks are in the memory folder now and need no second place."""
    if state == "done":
        record.after = renewed_now(Path(record.memory))
    record.state = state
    save_record(folder, record)
    for block in record.blocks:
        (folder / block.file).unlink(missing_ok=True)


def cut_record(folder: Path, record: Record) -> None:
    """Let the blocks of an open record be what of them stands in the memory folder: nothing more of it is added."""
    own, parts = Path(record.memory) / OWN_FOLDER, list[Block]()
    for block in record.blocks:
        data = file_bytes(folder / block.file)
        there = data[: written(own / block.file, block, data)[0]]
        if there:
            parts.append(block.holding(there))
    record.blocks = parts
    close_record(folder, record, "cut")


def renewed_now(memory: Path) -> dict[str, str | None]:
    """Return the hashes of the files that a landing writes anew."""
    return {name: digest(read_or_none(memory / name)) for name in RENEWED}


def before_of(folder: Path, name: str) -> bytes | None:
    """Return a renewed file as it was before the landing; None also where the landing before it left it so."""
    return read_or_none(folder / "before" / Path(name).name)

"""The history of nights: a file that only grows, a line a run, beside the catalogue in the state folder."""

import os
from collections.abc import Mapping
from datetime import datetime
from operator import itemgetter
from pathlib import Path

import msgspec

from slowwave.errors import UnreadableError
from slowwave.files import at_fault_point, file_bytes, private_folder, write_all
from slowwave.formats.append import locked_file
from slowwave.observability.night import VERSION, Night
from slowwave.places import state_folder

FILE = "nights.jsonl"


def history_path(environ: Mapping[str, str]) -> Path:
    """Return where the history is."""
    return state_folder(environ) / FILE


def append_night(environ: Mapping[str, str], night: Night) -> None:
    """Add a night; a line that a killed process left torn is ended first, so that it costs itself only.

    Raises:
        LockHeldError: another process kept the history locked.
        OSError: the disk is full, or the state folder cannot be written.
    """
    path = history_path(environ)
    private_folder(path.parent)
    with locked_file(path, create=True, append=True) as fd:
        size = os.fstat(fd).st_size
        torn = b"\n" if size and os.pread(fd, 1, size - 1) != b"\n" else b""
        at_fault_point("write", path)
        try:
            write_all(fd, torn + msgspec.json.encode(night) + b"\n")
        except OSError:
            # half a line would be told as damage for good
            os.ftruncate(fd, size)
            raise
        at_fault_point("fsync", path)
        os.fsync(fd)


def read_nights(environ: Mapping[str, str]) -> tuple[list[Night], list[str]]:
    """Return every night by its time, and what of the file could not be read.

    Raises:
        OSError: the file is there and cannot be read.
    """
    path = history_path(environ)
    times: list[tuple[datetime, Night]] = []
    problems: list[str] = []
    try:
        lines = file_bytes(path).split(b"\n") if path.exists() else []
    except UnreadableError as error:
        return [], [str(error)]
    for number, line in enumerate(lines, 1):
        try:
            if line and (night := msgspec.json.decode(line, type=Night)).v <= VERSION:
                times.append((night.began, night))
            elif line:
                problems.append(f"{path}: line {number} was written by a newer slowwave; install that one to see it")
        except ValueError as error:
            # bytes that are no text, text that is no night, a night at no time
            problems.append(f"{path}: line {number} does not parse ({error}); it is left out")
    return [night for _, night in sorted(times, key=itemgetter(0))], problems

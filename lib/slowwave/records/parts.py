"""Sessions that Cersei spread over several files: ``ID.jsonl``, ``ID_part2.jsonl``, ``ID_part3.jsonl``, ...

Cersei reads parts up to the first missing number only and refuses a session of more than 200,000,000 bytes; here a
gap and a large total are reported, and everything that is there is read.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.records.model import Problem

SUFFIX = ".jsonl"
PACKED_SUFFIX = ".zst"
WARN_BYTES = 200_000_000
# Cersei counts from 2 and writes no leading zeros: any other ending belongs to the session's own name
_PART = re.compile(r"(?s)(?P<stem>.+)_part(?P<number>[2-9]|[1-9][0-9]+)")
# pi and Codex put the time before the id: the id alone is what their users know a session by.
_TIMED_NAME = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]+Z_|rollout-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]{8}-)(.+)\Z", re.DOTALL
)


def session_id(name: str) -> str:
    """Return the id that a transcript's file name holds."""
    stem = name.removesuffix(PACKED_SUFFIX).removesuffix(SUFFIX)
    timed = _TIMED_NAME.match(stem) if stem[:1] in "0123456789r" else None
    return timed[1] if timed else stem


def session_stem(name: str) -> tuple[str, int]:
    """Return the session's name and the part number for a file name, with or without ``.jsonl`` (base = 1)."""
    stem = name.removesuffix(SUFFIX)
    match = _PART.fullmatch(stem)
    return (match["stem"], int(match["number"])) if match else (stem, 1)


def part_name(stem: str, number: int) -> str:
    """Return the file name of a part; number 1 is the base file."""
    return f"{stem}{SUFFIX}" if number == 1 else f"{stem}_part{number}{SUFFIX}"


def group_parts(names: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
    """Return the ``.jsonl`` names of one folder by session, each session's parts in order of their numbers."""
    sessions: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if name.endswith(SUFFIX):
            stem, number = session_stem(name)
            sessions.setdefault(stem, []).append((number, name))
    for parts in sessions.values():
        parts.sort()
    return sessions


def missing_parts(base: Path, numbers: Iterable[int]) -> list[Problem]:
    """Return a problem for each gap in the sorted part numbers of a session.

    A missing base file counts as a gap too, although Cersei itself leaves one when the very first record is larger
    than a whole part.
    """
    problems: list[Problem] = []
    due = 1
    for number in numbers:
        if number > due:
            first = base.with_name(part_name(base.name.removesuffix(SUFFIX), due))
            which = f"part {due} is" if number == due + 1 else f"parts {due} to {number - 1} are"
            problems.append(Problem("gap", first, 0, 0, 0, f"{which} missing; later parts are read all the same"))
        due = number + 1
    return problems


def part_paths(base: Path, *, warn_bytes: int = WARN_BYTES) -> tuple[list[Path], list[Problem]]:
    """Return the files of a session in reading order, from one listing of its folder, and what is odd about them.

    Args:
        base: the session's first file, ``ID.jsonl``; it need not exist.
        warn_bytes: total size above which the session is reported as too large for its client.

    Raises:
        UnreadableError: the folder cannot be listed.
    """
    numbers = numbered_parts(base)
    total = 0
    for name in numbers.values():
        try:
            total += os.stat(base.with_name(name)).st_size  # noqa: PTH116 - once a part on every listing
        except FileNotFoundError:
            continue  # moved away since the listing; whoever reads it will say so
    ordered = sorted(numbers)
    problems = missing_parts(base, ordered)
    if total > warn_bytes:
        detail = f"{len(ordered)} files of together {total} bytes; Cersei loads at most {warn_bytes}"
        problems.append(Problem("too-large", base, 0, 0, total, detail))
    return [base.with_name(numbers[number]) for number in ordered], problems


def numbered_parts(base: Path) -> dict[int, str]:
    """Return the file names of a session by part number, from one listing of names.

    Raises:
        UnreadableError: the folder cannot be listed.
    """
    stem = base.name.removesuffix(SUFFIX)
    try:
        names = os.listdir(base.parent)  # noqa: PTH208 - paths would cost more than the listing
    except OSError as error:
        raise UnreadableError(base.parent, error.strerror or "cannot be listed") from error
    numbers = {1: base.name} if base.name in names else {}
    for name in names:
        if name.startswith(stem) and name.endswith(SUFFIX):
            found, number = session_stem(name)
            if found == stem and number > 1:
                numbers[number] = name
    return numbers

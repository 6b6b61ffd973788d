"""What a new record of a log with a ULID needs of the records before it, and the copy of a log up to one of them."""

from pathlib import Path
from typing import NamedTuple

from slowwave.errors import UsageError
from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem, SessionFiles
from slowwave.formats.ulid.dialect import DECODER, ULID, integer, is_message
from slowwave.formats.ulid.metadata import Counted
from slowwave.stores.writing.lookup import records_backward, unknown


class Copy(NamedTuple):
    """The lines of a log up to some message, and what they say."""

    log: bytes
    counted: Counted


def first_kept(path: Path, message_id: str) -> int:
    """Return the number of the message that a compaction is to keep, with all that come after it.

    Raises:
        NotFoundError: the log has no such message.
        UsageError: a tool's result would be kept without its call (S7.13).
    """
    messages = [m for m in ULID.read(SessionFiles(path.parent.name, (path,))).spoken if not m.is_summary]
    at = next((i for i, m in enumerate(messages) if m.id == message_id), None)
    if at is None:
        raise unknown(message_id, path.parent.name)
    called = {call.id for m in messages[:at] for call in m.calls}
    parted = sorted(called & {result.id for m in messages[at:] for result in m.results})
    if parted or messages[at].role == "tool":
        ids = ", ".join(parted) or "its own"
        raise UsageError(f"{message_id}: a cut there parts results from their calls ({ids}); keep from an earlier one")
    return messages[at].seq or 0


def files_before(path: Path) -> tuple[set[str], set[str]]:
    """Return the files that were read and modified according to the latest compaction (S7.15)."""
    for record in records_backward(path):
        if record.get("recordType") == "compaction":
            return _names(record.get("readFiles")), _names(record.get("modifiedFiles"))
    return set(), set()


def _names(value: object) -> set[str]:
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()  # pyright: ignore[reportUnknownVariableType]


def copied(path: Path, at: str | None) -> Copy:
    """Return the records of a log byte for byte, up to the message ``at``; damage is left behind.

    Raises:
        NotFoundError: the log has no such message.
    """
    problems: list[Problem] = []
    lines: list[bytes] = []
    messages, last = 0, ""
    for span, record in read_records(path, DECODER, problems):
        lines.append(span.raw + b"\n")
        if not is_message(record):
            continue
        messages += 1
        last = record.timestamp if isinstance(record.timestamp, str) else last
        if at is not None and str(integer(record.seq)) == at:
            break
    else:
        if at is not None:
            raise unknown(at, path.parent.name)
    return Copy(b"".join(lines), Counted(messages, last))

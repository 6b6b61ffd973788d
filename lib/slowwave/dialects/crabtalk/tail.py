"""The end of a compacted crabtalk session: the last compact marker and what came after it."""

from slowwave.dialects.crabtalk.records import DECODER, SPEAKING, CrabtalkMessage, Meta, kind_of, meta_of
from slowwave.dialects.model import SessionFiles
from slowwave.records.suffix import Suffix, first_record

_MARK = b'"compact"'
# Messages may speak of compacting; past so many of them, all is read.
_MOST_HITS = 50


def tail_of(files: SessionFiles) -> tuple[Meta, list[CrabtalkMessage]] | None:
    """Return the metadata of a sound session and its messages from the last marker on, else None.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    meta = _meta(files)
    if meta is None:
        return None
    suffix = Suffix(files.paths, DECODER)
    for _ in range(_MOST_HITS):
        if not suffix.back_to(_MARK) or suffix.problems or suffix.is_whole:
            return None
        if any(kind_of(line) == "compact" for _, line in suffix.records):
            spoken = [CrabtalkMessage(n, s) for s, n in suffix.records if kind_of(n) in SPEAKING]
            return (meta, spoken) if suffix.is_steady() else None
    return None


def _meta(files: SessionFiles) -> Meta | None:
    first = first_record(files.paths[0], DECODER) if len(files.paths) == 1 else None
    if first is None or first[0].number != 1:
        return None
    return meta_of(first[1], first[0])

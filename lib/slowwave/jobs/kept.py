"""What retention holds on to: the trash, the holds, and the last entry of the audit log: a part of ``status``."""

from collections.abc import Mapping

import msgspec

from slowwave.errors import SlowwaveError
from slowwave.retention.audit import AuditLog
from slowwave.retention.holds import read_holds
from slowwave.stores.freeing import trash_size
from slowwave.stores.trash import trash_folder, trash_items


class Kept(msgspec.Struct):
    """The numbers.

    Attributes:
        trash: items in the trash.
        trash_bytes: their bytes.
        holds: holds that are set.
        last: ISO time of the last line of the audit log, or "".
        problem: what of all that cannot be read, or "".
    """

    trash: int = 0
    trash_bytes: int = 0
    holds: int = 0
    last: str = ""
    problem: str = ""


def kept_by(environ: Mapping[str, str]) -> Kept:
    """Return what there is now; what cannot be read is told and stops nothing."""
    kept = Kept()
    try:
        items = trash_items(trash_folder(environ))
        kept.trash, kept.trash_bytes = len(items), trash_size(items)
        kept.holds = len(read_holds(environ))
        last = AuditLog(environ).last()
        kept.last = last.isoformat() if last else ""
    except SlowwaveError as error:
        kept.problem = str(error)
    return kept

"""What retention holds on to: the trash, the holds, and the last entry of the audit log: a part of ``status``."""

from collections.abc import Mapping

import msgspec

from slowwave.errors import SlowwaveError
from slowwave.places import archive_folder
from slowwave.retention.audit import AuditLog
from slowwave.retention.holds import read_holds
from slowwave.settings import RetentionSettings
from slowwave.stores.archive.shelf import rescue_packs, rescued_bytes
from slowwave.stores.trash import trash_folder, trash_items, trash_size


class Kept(msgspec.Struct):
    """The numbers.

    Attributes:
        trash: items in the trash.
        trash_bytes: their bytes.
        holds: holds that are set.
        last: ISO time of the last line of the audit log, or "".
        rescued: packs of what a client was about to delete; ``rescued_bytes`` is the room that they take.
        rescue_max_bytes: the room that they may take (``retention.rescue_max_bytes``), 0 for any.
        rescue: within what time such a deletion is looked for (``retention.rescue``), or off.
        problem: what of all that cannot be read, or "".
    """

    trash: int = 0
    trash_bytes: int = 0
    holds: int = 0
    last: str = ""
    rescued: int = 0
    rescued_bytes: int = 0
    rescue_max_bytes: int = 0
    rescue: str = ""
    problem: str = ""


def kept_by(settings: RetentionSettings, environ: Mapping[str, str]) -> Kept:
    """Return what there is now; what cannot be read is told and stops nothing."""
    most = settings.rescue_max_bytes
    kept = Kept(rescue=str(settings.rescue), rescue_max_bytes=0 if most.is_unlimited else int(most))
    try:
        archive = archive_folder(environ)
        kept.rescued, kept.rescued_bytes = len(rescue_packs(archive)), rescued_bytes(archive)
        items = trash_items(trash_folder(environ))
        kept.trash, kept.trash_bytes = len(items), trash_size(items)
        kept.holds = len(read_holds(environ))
        last = AuditLog(environ).last()
        kept.last = last.isoformat() if last else ""
    except SlowwaveError as error:
        kept.problem = str(error)
    return kept

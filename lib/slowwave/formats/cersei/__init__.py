"""Cersei: snake_case records in Claude Code's folders, a session in parts; and its files of bare messages."""

from slowwave.formats.claude import ENVELOPE, ProjectFolder
from slowwave.formats.client import CompactionRules, DeliveryRules, Guess

BARE_ROLES = frozenset({"user", "assistant", "system"})
_NO_CLEARING = "a tombstone of Cersei hides whole entries, and providers refuse a call without its result"


class Cersei(ProjectFolder):
    """Cersei: its sessions lie beside Claude Code's."""

    name = "cersei"
    shows = "Cersei (session_id)"
    own_fields = frozenset({"session_id", "deleted_uuid", "parent_uuid"})
    others = ENVELOPE
    reader = "cersei.dialect:CERSEI"
    writer = "cersei.write:CerseiWriter"
    is_folded = True
    names_folder = True
    has_tombstones = True
    has_parts = True
    refuses_large = True
    resume = ("abstract", "--resume", "ID")
    guess = Guess(of_bytes=True, rounds="down")
    compacting = CompactionRules(
        is_written=True,
        trigger="share",
        telling="rounds",
        counts=True,
        names_model=True,
        is_wrapped=True,
        record=b'"summary"',
        no_clearing=_NO_CLEARING,
    )
    delivery = DeliveryRules(loads_memory=True)


class Bare(ProjectFolder):
    """Cersei's other form: messages and nothing else."""

    name = "cersei-bare"
    shows = "bare messages (role, content)"
    reader = "cersei.dialect:CERSEI_BARE"
    writer = "cersei.write:BareWriter"
    is_folded = True
    guess = Guess(of_bytes=True, rounds="down")

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record is a bare message: a role and content, and neither a type nor an envelope."""
        role = record.get("role")
        said = isinstance(role, str) and role in BARE_ROLES and "content" in record
        return said and "type" not in record and "sender" not in record


CLIENT = Cersei()
BARE = Bare()

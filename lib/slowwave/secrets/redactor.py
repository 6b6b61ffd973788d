"""Marks in the place of secrets: ``[secret:github:3fa9c1d2]``, the same for the same secret, and no way back to it.

The mark is keyed with a secret of the person that runs slowwave (:mod:`slowwave.secrets.key`), so equal secrets can be
seen to be equal across all projects of a machine, and whoever reads a memory cannot try candidates against it.
"""

import hashlib
import hmac
from dataclasses import dataclass

from slowwave.secrets.blocked import Blocked
from slowwave.secrets.finder import find_secrets

MARK_OPEN = "[secret:"
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces secrets by marks.

    Attributes:
        key: key of the fingerprints, marks of different keys cannot be compared; without one there are none.
        blocked: what was erased and goes, too, wherever it comes from.
    """

    key: bytes
    blocked: Blocked | None = None

    def __call__(self, text: str) -> str:
        """Return ``text`` without secrets."""
        return self.counted(text)[0]

    def counted(self, text: str) -> tuple[str, int]:
        """Return ``text`` without secrets and how many there were."""
        text, erased = self.blocked.masked(text) if self.blocked else (text, 0)
        found = find_secrets(text)
        if not found:
            return text, erased
        out: list[str] = []
        at = 0
        for one in found:
            out += [text[at : one.start], self.mark(one.family, one.secret)]
            at = one.stop
        return "".join([*out, text[at:]]), len(found) + erased

    def mark(self, family: str, secret: str) -> str:
        """Return the mark of a secret."""
        return f"{MARK_OPEN}{family}:{self.fingerprint(secret)}]" if self.key else f"{MARK_OPEN}{family}]"

    def fingerprint(self, secret: str) -> str:
        """Return the hex digits that stand for a secret, however its lines were broken."""
        plain = "".join(secret.split()).encode("utf-8", "surrogatepass")
        return hmac.new(self.key, plain, hashlib.sha256).hexdigest()[:_DIGITS]


NAMELESS = Redactor(b"")
"""Marks without fingerprints, for messages and logs: they need no key, and nothing is looked up by them."""

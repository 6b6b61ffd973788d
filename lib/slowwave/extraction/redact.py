"""Secrets out of text, before anything is written: literal anchor, then regular expression, then a validity check.

It works on decoded strings: in raw JSON the character before a secret is often the ``n`` of an escaped newline, which
hides it from every word boundary. Equal secrets get equal marks, ``[secret:github:3fa9]``, so that they can be found
again without being known.
"""

import hashlib
import hmac
from dataclasses import dataclass

from slowwave.extraction.secret_rules import RULES, Rule

_MARK_OPEN = "[secret:"


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces secrets by marks.

    Attributes:
        key: key of the fingerprints; marks of different keys cannot be compared.
    """

    key: bytes

    def __call__(self, text: str) -> str:
        """Return ``text`` without secrets."""
        return self.counted(text)[0]

    def counted(self, text: str) -> tuple[str, int]:
        """Return ``text`` without secrets and how many there were."""
        total = 0
        for rule in RULES:
            if any(anchor in text for anchor in rule.anchors) or (rule.folded and _has(text.lower(), rule.folded)):
                text, number = self._apply(rule, text)
                total += number
        return text, total

    def fingerprint(self, secret: str) -> str:
        """Return the four hex digits that stand for a secret."""
        return hmac.new(self.key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:4]

    def _apply(self, rule: Rule, text: str) -> tuple[str, int]:
        out: list[str] = []
        at = 0
        number = 0
        for match in rule.pattern.finditer(text):
            start, stop = match.span("secret")
            secret = match["secret"]
            if start < at or _MARK_OPEN in secret or (rule.is_valid and not rule.is_valid(secret)):
                continue
            out += [text[at:start], f"{_MARK_OPEN}{rule.family}:{self.fingerprint(secret)}]"]
            at = stop
            number += 1
        return ("".join([*out, text[at:]]), number) if number else (text, 0)


def redactor_for(name: str) -> Redactor:
    """Return the redactor of one project: the same marks on every machine, others for every project."""
    return Redactor(hashlib.sha256(b"slowwave redaction\0" + name.encode("utf-8", "surrogatepass")).digest())


def _has(text: str, anchors: tuple[str, ...]) -> bool:
    return any(anchor in text for anchor in anchors)

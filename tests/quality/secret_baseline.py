"""Four rules as Codex's redaction of its memories is described: a key, a cloud id, a bearer token, a named value."""

import re

_RULES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<kept>)\bsk-[A-Za-z0-9]{20,}",
        r"(?P<kept>)\bAKIA[0-9A-Z]{16}\b",
        r"(?i)(?P<kept>\bbearer\s+)[A-Za-z0-9._\-]{16,}",
        r"(?i)(?P<kept>\b(?:api[_-]?key|token|secret|password)\b\s*[:=]\s*[\"']?)[^\s\"']{8,}",
    )
)


def four_rules(text: str) -> tuple[str, int]:
    """Return a text without what the four rules find, and how often they did."""
    total = 0
    for rule in _RULES:
        text, number = rule.subn(r"\g<kept>[REDACTED]", text)
        total += number
    return text, total

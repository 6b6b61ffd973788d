"""Silent turns: an answer that begins or ends with a token is not delivered to anybody.

Source: seed 004 and ``isSilentReplyText`` of Clawdbot 2026.1.24: the exact token, with white space before it and no
letter, digit or underscore of English behind it; or the same at the end, with none of these around it.
"""

import re

TOKEN = "NO_REPLY"  # noqa: S105 - the client's word for it
_FIRST = re.compile(rf"[\s\ufeff]*{TOKEN}(?![A-Za-z0-9_])")
_LAST = re.compile(rf"(?<![A-Za-z0-9_]){TOKEN}[^A-Za-z0-9_]*\Z")


def is_silent(text: str) -> bool:
    """Say whether an answer is kept from the person that it would go to."""
    return TOKEN in text and bool(_FIRST.match(text) or _LAST.search(text))

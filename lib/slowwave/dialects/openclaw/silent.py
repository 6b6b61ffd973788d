"""Silent turns: an answer that begins with a token is not delivered to anybody.

Source: seed 004 and ``isSilentReplyText`` of Clawdbot 2026.1.27: the exact token, with white space before it and no
letter, digit or underscore behind it.
"""

TOKEN = "NO_REPLY"  # noqa: S105 - the client's word for it


def is_silent(text: str) -> bool:
    """Say whether an answer is kept from the person that it would go to."""
    stripped = text.lstrip()
    rest = stripped.removeprefix(TOKEN)
    return rest != stripped and not (rest[:1].isalnum() or rest[:1] == "_")

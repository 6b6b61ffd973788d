"""Codex's estimate of tokens, and its way to shorten a text that does not fit: the middle goes (client)."""

_BYTES_PER_TOKEN = 4


def tokens_of(text: str) -> int:
    """Return the client's estimate: bytes by four, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def middle_cut(text: str, tokens: int) -> str:
    """Return ``text`` in at most ``tokens`` tokens of its start and end, with a note of what is missing between."""
    data = text.encode("utf-8", "replace")
    room = max(tokens, 0) * _BYTES_PER_TOKEN
    if len(data) <= room:
        return text
    head = data[: room // 2].decode("utf-8", "ignore")
    tail = data[len(data) - (room - room // 2) :].decode("utf-8", "ignore") if room else ""
    gone = -(-(len(data) - room) // _BYTES_PER_TOKEN)
    return f"{head}…{gone} tokens truncated…{tail}"

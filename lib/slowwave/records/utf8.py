"""Is it UTF-8? Decoders skip the strings that nobody asked for without looking at their bytes."""

import codecs

_BLOCK = 1 << 20


def is_utf8(raw: bytes) -> bool:
    """Say whether ``raw`` is valid UTF-8, with bounded memory also for a line of 100 MB."""
    if raw.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(raw)
    try:
        for at in range(0, len(raw), _BLOCK):
            decoder.decode(view[at : at + _BLOCK], final=at + _BLOCK >= len(raw))
    except UnicodeDecodeError:
        return False
    return True

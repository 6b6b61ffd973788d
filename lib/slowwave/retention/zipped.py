"""Bytes of a whole file overwritten in place, line by line where it has lines; what is packed is packed again."""

import zstandard

from slowwave.retention.masking import BrokenError, Place, masked
from slowwave.retention.what import What

MAGIC = b"\x28\xb5\x2f\xfd"


def overwritten(data: bytes, what: What, *, packed: bool | None = None) -> tuple[bytes, list[Place]]:
    """Return data with all that must go overwritten, and where it was.

    A line that would break stays as it is. What is packed and damaged stays as it is, too; nobody can read it.

    Args:
        data: the content of a file.
        what: what must go.
        packed: it is packed by zstd; by default its first bytes tell.
    """
    if packed if packed is not None else data.startswith(MAGIC):
        try:
            plain = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        except zstandard.ZstdError:
            return data, []
        new, places = overwritten(plain, what, packed=False)
        return (zstandard.ZstdCompressor(level=3, write_checksum=True).compress(new), places) if places else (data, [])
    lines: list[bytes] = []
    places: list[Place] = []
    for line in data.splitlines(keepends=True):
        try:
            new, found = masked(line, what)
        except BrokenError:
            new, found = line, []
        lines.append(new)
        places += found
    whole = b"".join(lines)
    try:
        # what stands on several lines: a name at the end of one, base64 that is broken into lines
        whole, found = masked(whole, what)
    except BrokenError:
        found = []
    return whole, [*places, *found]

"""Bytes of a whole file overwritten in place; what is packed is packed again."""

import zstandard

from slowwave.errors import RefusedError
from slowwave.records.sources.compressed import STEP_BYTES
from slowwave.retention.masking import Masked, masked
from slowwave.retention.what import What

MAGIC = b"\x28\xb5\x2f\xfd"
_MOST_BYTES = 1 << 30


def overwritten(data: bytes, what: What, *, packed: bool | None = None) -> Masked:
    """Return data with all that must go overwritten, also what stands on several lines, and where it was.

    Args:
        data: the content of a file.
        what: what must go.
        packed: it is packed by zstd; by default its first bytes tell.

    Raises:
        RefusedError: what is packed is damaged, so that nobody can look into it.
    """
    if not (packed if packed is not None else data.startswith(MAGIC)):
        return masked(data, what)
    found = masked(unpacked(data), what)
    if not found.places:
        return found._replace(data=data)
    return found._replace(data=zstandard.ZstdCompressor(level=3, write_checksum=True).compress(found.data))


def unpacked(data: bytes) -> bytes:
    """Return what all frames of packed data hold.

    Raises:
        RefusedError: it is damaged, cut short, or stands for more than a gigabyte.
    """
    plain = bytearray()
    rest = memoryview(data)
    while rest:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while rest and not frame.eof:
            step = rest[:STEP_BYTES]
            try:
                plain += frame.decompress(step)
            except zstandard.ZstdError as error:
                raise RefusedError(f"what is packed in it is damaged, so nobody can look into it: {error}") from error
            if len(plain) > _MOST_BYTES:
                raise RefusedError("it unpacks to more than a gigabyte, which is not looked into")
            rest = rest[len(step) - len(frame.unused_data) :]
        if not frame.eof:
            raise RefusedError("what is packed in it is cut short, so nobody can look into its end")
    return bytes(plain)

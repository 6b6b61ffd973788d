"""What all frames of zstd in some bytes hold."""

import zstandard

from slowwave.errors import RefusedError
from slowwave.formats.lines import STEP_BYTES

ZSTD = b"\x28\xb5\x2f\xfd"
MOST_BYTES = 1 << 30
TOO_LARGE = "it unpacks to more than a gigabyte, which is not looked into"


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
            if len(plain) > MOST_BYTES:
                raise RefusedError(TOO_LARGE)
            rest = rest[len(step) - len(frame.unused_data) :]
        if not frame.eof:
            raise RefusedError("what is packed in it is cut short, so nobody can look into its end")
    return bytes(plain)

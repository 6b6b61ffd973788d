"""The hash of what stands before a cursor: it must still hold before anything behind the cursor is trusted."""

import os

_CHECK_BYTES = 4096


def hash_before(fd: int, cursor: int) -> bytes:
    """Return the hash of the last bytes before an offset of a file.

    Raises:
        OSError: they cannot be read.
    """
    import hashlib  # noqa: PLC0415 - a listing of unchanged sessions needs none

    begin = max(0, cursor - _CHECK_BYTES)
    return hashlib.blake2b(os.pread(fd, cursor - begin, begin), digest_size=16).digest()

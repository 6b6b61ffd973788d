"""Bytes of a whole file overwritten in place; what is packed by zstd or gzip is packed again."""

import gzip
from collections.abc import Iterable

import zstandard

from slowwave.errors import RefusedError
from slowwave.retention.layers import GZIP, layers
from slowwave.retention.masking import Masked, masked
from slowwave.retention.unpacking import ZSTD, unpacked
from slowwave.retention.what import What

ONLY_READ = "what is packed in it holds what must go, in a form that is not packed again; remove it, or unpack it"


def overwritten(data: bytes, what: What, *, packed: bool | None = None) -> Masked:
    """Return data with all that must go overwritten, also what stands on several lines, and where it was.

    Args:
        data: the content of a file.
        what: what must go.
        packed: it is packed by zstd; by default its first bytes tell.

    Raises:
        RefusedError: what is packed is damaged, so that nobody can look into it; or it holds what must go and is packed
            by something else than zstd or gzip, or packed twice.
    """
    if packed if packed is not None else data.startswith(ZSTD):
        found = masked(_plain(unpacked(data), what), what)
        packer = zstandard.ZstdCompressor(level=3, write_checksum=True).compress
    elif packed is None and data.startswith(GZIP):
        plain, *inside = layers(data)
        _refuse_inside(inside, what)
        found = masked(plain, what)
        packer = _gzipped
    else:
        return masked(_plain(data, what) if packed is None else data, what)
    return found._replace(data=packer(found.data) if found.places else data)


def _plain(data: bytes, what: What) -> bytes:
    """Return data again, unless something is packed in it that must go and cannot.

    Raises:
        RefusedError: so it is.
    """
    _refuse_inside(layers(data), what)
    return data


def _refuse_inside(inside: Iterable[bytes], what: What) -> None:
    if any(what.hits(one) for one in inside):
        raise RefusedError(ONLY_READ)


def _gzipped(plain: bytes) -> bytes:
    return gzip.compress(plain, mtime=0)

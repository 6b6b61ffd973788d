"""How packs compress: large files by themselves, small ones with a dictionary that was trained on them (perf.md J8)."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import zstandard

from slowwave.stores.archive.model import CHUNK, HASH_LOG, LEVEL, LEVEL_OF_SMALL, MIN_MATCH, WINDOW_LOG

# a dictionary pays when so many times its size is packed with it
_PAYS = 15
_LARGEST_DICTIONARY = 112 << 10
_SMALLEST_DICTIONARY = 4 << 10
# training looks at so many times its size at most
_SAMPLES = 100
# It is put together of pieces this long, chosen by runs of so many bytes that many files share. To let the trainer try
# several lengths at this level takes three times as long, and what it finds on real sessions differs by 0.3 %.
_PIECE, _RUN = 500, 8
_PLAIN = cast("Any", zstandard.ZstdCompressionParameters).from_level(
    LEVEL, source_size=CHUNK, window_log=WINDOW_LOG, hash_log=HASH_LOG, min_match=MIN_MATCH, write_checksum=True
)

T = TypeVar("T")


def compressor(trained: zstandard.ZstdCompressionDict | None = None) -> zstandard.ZstdCompressor:
    """Return what compresses files, small ones with the dictionary that was trained on them."""
    if trained is None:
        return zstandard.ZstdCompressor(compression_params=_PLAIN)
    # the number of the dictionary would be one byte in a hundred; the table says what needs it, a checksum that it fits
    return zstandard.ZstdCompressor(level=LEVEL_OF_SMALL, write_checksum=True, write_dict_id=False, dict_data=trained)


def packed_dictionary(trained: zstandard.ZstdCompressionDict) -> bytes:
    """Return a dictionary as packs hold it: most of it is text, too."""
    return zstandard.ZstdCompressor(level=LEVEL_OF_SMALL, write_checksum=True).compress(trained.as_bytes())


def train(small: Sequence[tuple[T, int]], read: Callable[[T], bytes]) -> zstandard.ZstdCompressionDict | None:
    """Return a dictionary for small files, None where one would not pay.

    Args:
        small: the files and their sizes.
        read: returns the bytes of one.
    """
    size = min(_LARGEST_DICTIONARY, sum(size for _, size in small) // _PAYS)
    if size < _SMALLEST_DICTIONARY:
        return None
    every = max(1, sum(size for _, size in small) // (size * _SAMPLES))
    samples = [read(one) for one, _ in small[::every]]
    try:
        # what is to be frequent in it depends on the level that it is used at
        return zstandard.train_dictionary(size, cast("list[Any]", samples), k=_PIECE, d=_RUN, level=LEVEL_OF_SMALL)
    except zstandard.ZstdError:
        return None  # the files have too little in common; they are packed without one

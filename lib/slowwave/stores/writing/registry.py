"""Which dialects can be written, and why the others cannot; a writer is imported when it is needed.

The module of a dialect holds its writer class as ``WRITER``.
"""

import importlib

from slowwave.errors import UsageError
from slowwave.stores.writing.base import Means, Writer

_MODULES = {
    "cersei": "cersei",
    "cersei-bare": "bare",
    "claude": "claude",
    "pi": "pi",
    "openclaw": "openclaw",
    "codex": "codex",
    "crabtalk": "crabtalk",
    "ulid": "ulid",
}
READ_ONLY = {
    "opencode": "its sessions are rows of a database that only its client writes; `slowwave sessions export`"
    " writes a file that its own import adds"
}
WRITABLE = tuple(_MODULES)


def writer_for(dialect: str, means: Means) -> Writer:
    """Return the writer of a dialect.

    Raises:
        UsageError: sessions of this dialect are only read; the message says why.
    """
    module = _MODULES.get(dialect)
    if module is None:
        reason = READ_ONLY.get(dialect, f"write to one of {', '.join(WRITABLE)}")
        raise UsageError(f"a session of {dialect} is read only: {reason}; nothing was written")
    found: type[Writer] = importlib.import_module(f"slowwave.stores.writing.{module}").WRITER
    return found(means)

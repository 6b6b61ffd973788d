"""One check of an installation."""

import msgspec


class Check(msgspec.Struct, frozen=True):
    """One check: its name, whether all is well, what was seen, and what to do.

    A check that is well may have a ``fix``, too: something that could be better.
    """

    name: str
    ok: bool
    seen: str
    fix: str = ""

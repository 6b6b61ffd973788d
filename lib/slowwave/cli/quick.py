"""A quick start for the commands that answer at once: imports that cost more than what is taken from them.

- msgspec takes three names from ``typing_extensions``, which its Python's ``typing`` has as well and which it falls
  back on, and imports ``uuid``, which imports ``platform`` to ask for one name that ``os`` knows.
- ``pathlib`` takes one function from ``urllib.parse``, for addresses that nobody asks for here; that module brings
  ``ipaddress`` with it.

Together they are a quarter of the time in which a context is told. Each stands aside while one module is imported, and
anybody who imports it himself gets the real one.
"""

import importlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast


def import_pathlib() -> None:
    """Import ``pathlib`` without ``urllib.parse``, unless somebody imported either before."""

    def quote_from_bytes(*args: Any) -> str:
        return importlib.import_module("urllib.parse").quote_from_bytes(*args)

    stand_in: Any = ModuleType("urllib.parse")
    stand_in.quote_from_bytes = quote_from_bytes
    _import("pathlib", "urllib.parse", stand_in)


def import_msgspec() -> None:
    """Import msgspec without ``typing_extensions`` and ``platform``, unless somebody imported any before."""
    stand_in: Any = ModuleType("platform")
    stand_in.system = lambda: os.uname().sysname
    _import("uuid", "platform", stand_in)
    # an import of it fails as if it were not installed
    _import("msgspec", "typing_extensions", None)


def _import(wanted: str, name: str, stand_in: ModuleType | None) -> None:
    try:
        with _instead(wanted, name, stand_in):
            importlib.import_module(wanted)
    except (AttributeError, ImportError):
        # another version of it takes more from that module: it gets the real one
        importlib.import_module(wanted)


@contextmanager
def _instead(wanted: str, name: str, stand_in: ModuleType | None) -> Generator[None]:
    """Let ``stand_in`` be the module ``name`` until ``wanted`` is imported, where neither is there yet."""
    modules = cast("dict[str, Any]", sys.modules)
    if wanted in modules or name in modules:
        yield
        return
    modules[name] = stand_in
    try:
        yield
    finally:
        if modules.get(name) is stand_in:
            del modules[name]

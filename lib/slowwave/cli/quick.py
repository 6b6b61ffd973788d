"""A quick start for the commands that answer at once.

msgspec takes three names from ``typing_extensions``, which its Python's ``typing`` has as well and which it falls back
on; together with what that package imports it is a seventh of the time in which a context is told.
"""

import importlib
import sys
from typing import Any, cast


def import_msgspec() -> None:
    """Import msgspec without ``typing_extensions``, unless somebody imported either before."""
    modules = cast("dict[str, Any]", sys.modules)
    if "msgspec" in modules or "typing_extensions" in modules:
        return
    modules["typing_extensions"] = None  # an import of it fails as if it were not installed
    try:
        importlib.import_module("msgspec")
    finally:
        del modules["typing_extensions"]

"""Slowwave: a nightly pipeline that turns coding-agent transcripts into memory, without ever losing anything.

What other programs may import stands in ``__all__`` (``docs/library.md``); each is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slowwave.formats.model import Message, Text, ToolCall, Transcript
    from slowwave.library import Dreaming, context_of, read_session
    from slowwave.stores.sessions import Sessions
    from slowwave.stores.writing.base import Compaction, Draft

__version__ = "0.1.0"
__all__ = [
    "Compaction",
    "Draft",
    "Dreaming",
    "Message",
    "Sessions",
    "Text",
    "ToolCall",
    "Transcript",
    "context_of",
    "read_session",
]

_PLACES = {
    "Compaction": "stores.writing.base",
    "Draft": "stores.writing.base",
    "Dreaming": "library",
    "Message": "formats.model",
    "Sessions": "stores.sessions",
    "Text": "formats.model",
    "ToolCall": "formats.model",
    "Transcript": "formats.model",
    "context_of": "library",
    "read_session": "library",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: a command that needs none of it starts no slower for it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)

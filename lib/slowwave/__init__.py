"""Slowwave: a nightly pipeline that turns coding-agent transcripts into memory, without ever losing anything.

What other programs may import stands in ``__all__`` (``docs/library.md``); each is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from slowwave.formats import Message, Text, ToolCall, Transcript
    from slowwave.formats.writing import Compaction, Draft
    from slowwave.library import Dreaming, Sessions, context_of, read_session

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
    "Compaction": "formats.writing",
    "Draft": "formats.writing",
    "Dreaming": "library",
    "Message": "formats",
    "Sessions": "library",
    "Text": "formats",
    "ToolCall": "formats",
    "Transcript": "formats",
    "context_of": "library",
    "read_session": "library",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: a command that needs none of it starts no slower for it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def release() -> str:
    """Return the version and, where it is known, the commit: noted in what was built, else that of the checkout."""
    from pathlib import Path  # noqa: PLC0415 - --help starts no slower for it

    package = Path(__file__).parent
    built = package / "COMMIT"
    commit = built.read_text(encoding="utf-8") if built.is_file() else commit_of(package.parents[1])
    return f"{__version__} ({commit})" if commit else __version__


def commit_of(checkout: "Path") -> str:
    """Return the commit of a checkout, its day, and whether files differ from it; "" when no git tells it."""
    import subprocess  # noqa: PLC0415 - only who asks for it waits for it

    noted = checkout / "COMMIT"
    if noted.is_file():
        return noted.read_text(encoding="utf-8")
    if not (checkout / ".git").exists():
        return ""  # a repository further up is somebody else's
    git = ["git", "-C", str(checkout)]
    log = [*git, "log", "-1", "--abbrev=12", "--format=commit %h of %cs"]
    status = [*git, "status", "--porcelain", "--untracked-files=no"]
    try:
        said = [subprocess.run(ask, capture_output=True, text=True, check=False).stdout for ask in (log, status)]  # noqa: S603
    except OSError:
        return ""
    commit, changed = said
    return commit.strip() + (", with changes" if commit and changed else "")

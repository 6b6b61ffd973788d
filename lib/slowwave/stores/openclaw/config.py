"""What a person set in the client's own configuration, a JSON5 file in its state folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from slowwave.errors import UnreadableError
from slowwave.stores.openclaw.store import json5_of

# the client's names for it, newest first
_FILES = ("openclaw.json", "moltbot.json", "clawdbot.json")
_PATH = ("agents", "defaults", "compaction")


def config_file(transcript: Path) -> Path | None:
    """Return the configuration that holds for a session under ``STATE/agents/AGENT/sessions/``, None without one."""
    sessions, agents = transcript.parent, transcript.parent.parent.parent
    if sessions.name != "sessions" or agents.name != "agents":
        return None
    return next((path for name in _FILES if (path := agents.parent / name).is_file()), None)


def compaction_config(transcript: Path) -> Mapping[str, object]:
    """Return ``agents.defaults.compaction`` of what holds for a session; empty without a configuration.

    Raises:
        UnreadableError: the file is there and cannot be read.
    """
    file = config_file(transcript)
    if file is None:
        return {}
    try:
        found = json5_of(file, file.read_bytes())
    except OSError as error:
        raise UnreadableError(file, error.strerror or "cannot be read") from error
    for name in _PATH:
        found = cast("Mapping[str, object]", found).get(name) if isinstance(found, Mapping) else None
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}

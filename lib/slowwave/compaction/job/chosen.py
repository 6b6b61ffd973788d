"""What a person set about compaction in the settings of the client itself: whether at all, when, and how much stays.

Read in code: Claude Code 2.1.330 (``autoCompactEnabled`` and ``autoCompactWindow`` of its files of settings, the
nearest first, then of ``.claude.json``; the switches among the variables that settings set), Codex
(``auto_compact_token_limit``: a limit of one's own lowers the nine tenths of the window and never raises them), pi
0.73.1 (the settings of a project over those of the home). OpenClaw reads pi's settings from the folder of the agent and
raises their reserve to its own floor; the specification with ULIDs names ``config.yaml`` (section 7.5.1).
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from slowwave.compaction.flush import RESERVE_FLOOR, count_or, reserve_floor
from slowwave.compaction.javascript import fields_of
from slowwave.errors import UnreadableError, UsageError

_SWITCHES = ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT")
_TRUE = ("1", "true", "yes", "on")
# below it Claude Code takes no window
_LEAST_WINDOW = 100_000


class Chosen(NamedTuple):
    """The client's own settings; whatever they leave out is None, 0 or "".

    Attributes:
        off_in: the file that turns automatic compaction off.
        reserve_tokens: tokens that are left free.
        keep_recent_tokens: tokens that stay as they are.
        reserve_floor: tokens that are left free at least (OpenClaw).
        window: tokens that are used of a larger window (Claude Code).
        limit: tokens from which on it compacts, where that is earlier (Codex).
    """

    off_in: str = ""
    reserve_tokens: int | None = None
    keep_recent_tokens: int | None = None
    reserve_floor: int = 0
    window: int = 0
    limit: int = 0


NOTHING_CHOSEN = Chosen()


def settings_files(dialect: str, transcript: Path, cwd: str) -> list[Path]:
    """Return the files that a client would look into for a session, in its order; they may not exist.

    Args:
        dialect: name of the session's dialect.
        transcript: its first file, from which the client's home is told.
        cwd: the working folder, or "".
    """
    look = _FILES.get(dialect)
    return look(transcript, Path(cwd) if cwd else None) if look is not None else []


def chosen_by_client(dialect: str, transcript: Path, cwd: str) -> Chosen:
    """Return what a person chose for the sessions of a client.

    Raises:
        UsageError: a file of settings cannot be read, so that nobody knows what was chosen.
    """
    found = NOTHING_CHOSEN
    try:
        for path in settings_files(dialect, transcript, cwd):
            if path.is_file():
                found = _READERS[dialect](found, _fields_in(path), str(path))
        if dialect == "openclaw":
            found = found._replace(reserve_floor=_floor_of(transcript))
    except (OSError, UnreadableError) as error:
        reason = error if isinstance(error, UnreadableError) else f"{error.filename}: {error.strerror}"
        raise UsageError(f"what its client was told about compaction cannot be read: {reason}") from error
    return found


def _floor_of(transcript: Path) -> int:
    """Return OpenClaw's floor; a configuration that cannot be read stands for the default, as in the client."""
    from slowwave.stores.openclaw.config import compaction_config  # noqa: PLC0415 - only where this client is

    try:
        return reserve_floor(compaction_config(transcript))
    except UnreadableError:
        return RESERVE_FLOOR


def _of_claude(transcript: Path, cwd: Path | None) -> list[Path]:
    home = next((parent.parent for parent in transcript.parents if parent.name == "projects"), None)
    if home is None:
        return []
    own = [cwd / ".claude" / name for name in ("settings.json", "settings.local.json")] if cwd is not None else []
    return [home.parent / ".claude.json", home / ".claude.json", home / "settings.json", *own]


def _of_pi(transcript: Path, cwd: Path | None) -> list[Path]:
    home = next((parent.parent for parent in transcript.parents if parent.name == "sessions"), None)
    return [*([home / "settings.json"] if home else []), *([cwd / ".pi" / "settings.json"] if cwd else [])]


def _of_openclaw(transcript: Path, cwd: Path | None) -> list[Path]:
    agent = transcript.parent.parent / "agent" / "settings.json"
    return [agent, *([cwd / ".pi" / "settings.json"] if cwd else [])]


def _of_codex(transcript: Path, _cwd: Path | None) -> list[Path]:
    from slowwave.dialects.codex.home import home_of  # noqa: PLC0415 - only where this client is

    home = home_of(transcript)
    return [home / "config.toml"] if home is not None else []


def _of_ulid(transcript: Path, _cwd: Path | None) -> list[Path]:
    sessions = transcript.parent.parent
    return [sessions.parent / "config.yaml"] if sessions.name == "sessions" else []


def _fields_in(path: Path) -> Mapping[str, object]:
    """Return the settings in a file.

    Raises:
        UnreadableError: it is not of the form that its name says.
        OSError: it cannot be opened.
    """
    raw = path.read_bytes()
    if not raw.strip():
        return {}
    if path.suffix == ".json":
        from slowwave.stores.openclaw.store import json5_of  # noqa: PLC0415 - few sessions are looked at

        return fields_of(json5_of(path, raw))  # people write comments into them
    if path.suffix == ".yaml":
        return fields_of(_of_yaml(path, raw))
    try:
        return tomllib.loads(raw.decode())
    except ValueError as error:
        raise UnreadableError(path, f"is not TOML: {error}") from error


def _of_yaml(path: Path, raw: bytes) -> object:
    import yaml  # noqa: PLC0415 - few homes have such a file

    try:
        return yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise UnreadableError(path, f"is not YAML: {error}") from error


def _compaction(found: Chosen, fields: Mapping[str, object], path: str, names: tuple[str, str]) -> Chosen:
    """Lay the section ``compaction`` of one file over what stood in those before it."""
    section = fields_of(fields.get("compaction"))
    reserve, keep = (count_or(section.get(name), None) for name in names)
    enabled = section.get("enabled")
    return found._replace(
        off_in=path if enabled is False else "" if enabled is True else found.off_in,
        reserve_tokens=found.reserve_tokens if reserve is None else reserve,
        keep_recent_tokens=found.keep_recent_tokens if keep is None else keep,
    )


def _in_pi(found: Chosen, fields: Mapping[str, object], path: str) -> Chosen:
    return _compaction(found, fields, path, ("reserveTokens", "keepRecentTokens"))


def _in_ulid(found: Chosen, fields: Mapping[str, object], path: str) -> Chosen:
    return _compaction(found, fields, path, ("reserve_tokens", "keep_recent_tokens"))


def _in_codex(found: Chosen, fields: Mapping[str, object], _path: str) -> Chosen:
    return found._replace(limit=count_or(fields.get("model_auto_compact_token_limit"), None) or 0)


def _in_claude(found: Chosen, fields: Mapping[str, object], path: str) -> Chosen:
    enabled, variables = fields.get("autoCompactEnabled"), fields_of(fields.get("env"))
    is_off = enabled is False or any(str(variables.get(name, "")).lower() in _TRUE for name in _SWITCHES)
    window = count_or(fields.get("autoCompactWindow"), None) or 0
    return found._replace(
        off_in=path if is_off else "" if enabled is True else found.off_in,
        window=window if window >= _LEAST_WINDOW else found.window,
    )


_FILES: Mapping[str, Callable[[Path, Path | None], list[Path]]] = {
    "claude": _of_claude,
    "pi": _of_pi,
    "openclaw": _of_openclaw,
    "codex": _of_codex,
    "ulid": _of_ulid,
}
_READERS: Mapping[str, Callable[[Chosen, Mapping[str, object], str], Chosen]] = {
    "claude": _in_claude,
    "pi": _in_pi,
    "openclaw": _in_pi,
    "codex": _in_codex,
    "ulid": _in_ulid,
}

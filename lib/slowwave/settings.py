"""Settings: TOML file, then ``SLOWWAVE_*`` environment, then ``--set``; checked at once, never half applied.

An unknown key or a malformed value is an error that names key, value and remedy; it never turns into a default.
"""

import tomllib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slowwave.durations import Duration
from slowwave.errors import SettingsError

ENV_PREFIX = "SLOWWAVE_"
# Variables of the same prefix that are not settings.
_NOT_SETTINGS = {"SLOWWAVE_CONFIG"}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoreSettings(_Section):
    """Where transcripts are and how part files are written."""

    roots: tuple[Path, ...] = Field(default=(), description="Store folders; empty means the clients' own places")
    part_bytes: int = Field(50_000_000, gt=0, description="Cersei: a part file never grows past this")
    warn_bytes: int = Field(200_000_000, gt=0, description="Cersei: warn when all parts together exceed this")
    write_spelling: Literal["claude", "cersei", "cersei-cli"] = Field(
        "claude", description="Spelling of a new project folder's name"
    )
    fsync: bool = Field(default=False, description="fsync after every appended record")


class ExtractionSettings(_Section):
    """Gates and batches of extraction (gates after seed 000)."""

    min_messages: int = Field(20, ge=0, description="Messages a session needs before anything is extracted")
    min_tool_calls: int = Field(
        3, ge=0, description="Tool calls needed since the last extraction; waived for the first"
    )
    idle: Duration = Field(timedelta(minutes=30), description="A session must have rested this long")
    batch_sessions: int = Field(500, ge=1, le=5000, description="Sessions in one task run")
    min_confidence: float = Field(0.5, ge=0, le=1, description="Candidates below this are dropped and counted")


class ConsolidationSettings(_Section):
    """Gates and limits of a dream (gates after seed 000)."""

    min_hours: float = Field(24.0, ge=0, description="Hours since the last dream")
    min_sessions: int = Field(5, ge=0, description="Sessions changed since the last dream")
    lock_stale: Duration = Field(timedelta(hours=1), description="A lock this old may be taken over")
    mode: Literal["auto", "review"] = Field("auto", description="review parks every dream for a person")
    max_loss: float = Field(
        0.25, ge=0, le=1, description="Share of prior memories a dream may drop before it is parked"
    )
    index_lines: int = Field(200, ge=10, description="Most lines of MEMORY.md")
    index_bytes: int = Field(25_000, ge=1000, description="Most bytes of MEMORY.md")
    accept_confidence: float = Field(0.6, ge=0, le=1, description="Candidates below this wait for more evidence")


class MemorySettings(_Section):
    """Where memory folders are."""

    folder: str = Field("{project}/memory", description="Template; {project} is the project's folder in its store")


class Settings(_Section):
    """All settings of slowwave."""

    store: StoreSettings = StoreSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    memory: MemorySettings = MemorySettings()


def load_settings(
    environ: Mapping[str, str],
    *,
    config: Path | None = None,
    overrides: Sequence[str] = (),
    cwd: Path | None = None,
) -> Settings:
    """Return the settings that hold for a run.

    Args:
        environ: the process environment; ``SLOWWAVE_SECTION__KEY`` sets ``section.key``.
        config: the TOML file; without it ``$SLOWWAVE_CONFIG``, ``./slowwave.toml`` and
            ``$XDG_CONFIG_HOME/slowwave/config.toml`` are tried in this order.
        overrides: ``section.key=value`` items of ``--set``.
        cwd: the folder that ``./slowwave.toml`` is looked for in; the current one by default.

    Raises:
        SettingsError: a file is missing or not TOML, a key is unknown, or a value is malformed.
    """
    source = _find_config(environ, config, cwd or Path.cwd())
    tree: dict[str, Any] = _read_toml(source) if source else {}
    origin = dict.fromkeys(_leaves(tree), str(source))
    for name, text in sorted(environ.items()):
        if name.startswith(ENV_PREFIX) and name not in _NOT_SETTINGS:
            key = name[len(ENV_PREFIX) :].lower().replace("__", ".")
            _put(tree, key, text, name)
            origin[key] = f"environment variable {name}"
    for item in overrides:
        key, eq, text = item.partition("=")
        if not eq:
            raise SettingsError(item, "", "write --set section.key=value", "--set")
        _put(tree, key.strip(), text.strip(), "--set")
        origin[key.strip()] = "--set"
    return _checked(tree, origin)


def _find_config(environ: Mapping[str, str], config: Path | None, cwd: Path) -> Path | None:
    named = config or (Path(environ["SLOWWAVE_CONFIG"]) if environ.get("SLOWWAVE_CONFIG") else None)
    if named is not None:
        return named
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".config")
    usual = (cwd / "slowwave.toml", Path(base) / "slowwave" / "config.toml")
    return next((p for p in usual if p.is_file()), None)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError("--config", str(path), f"cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError("--config", str(path), f"is not TOML: {error}") from error


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> list[str]:
    found: list[str] = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            found += _leaves(cast("Mapping[str, Any]", value), f"{prefix}{key}.")
        else:
            found.append(prefix + key)
    return found


def _put(tree: dict[str, Any], key: str, text: str, source: str) -> None:
    section, dot, leaf = key.partition(".")
    if not dot or not leaf:
        raise SettingsError(key, text, f"unknown key; keys look like extraction.idle ({_known_keys()})", source)
    at = tree.setdefault(section, {})
    if not isinstance(at, dict):
        raise SettingsError(section, at, "is a section, not a value", source)
    is_list = section == "store" and leaf == "roots"
    cast("dict[str, Any]", at)[leaf] = [p for p in text.split(":") if p] if is_list else text


def _checked(tree: Mapping[str, Any], origin: Mapping[str, str]) -> Settings:
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        unknown = first["type"] == "extra_forbidden"
        remedy = f"unknown key; known keys: {_known_keys()}" if unknown else first["msg"].removeprefix("Value error, ")
        raise SettingsError(key, first["input"], remedy, origin.get(key, "")) from error


def _known_keys() -> str:
    names: list[str] = []
    for section, field in Settings.model_fields.items():
        kind = cast("type[BaseModel]", field.annotation)
        names += [f"{section}.{leaf}" for leaf in kind.model_fields]
    return ", ".join(names)

"""What a person set about compaction in the settings of the client itself: whether at all, when, and how much stays.

Read in code: Claude Code 2.1.330 (``autoCompactEnabled`` and ``autoCompactWindow``, the latter also below
``modelSettings``, of the machine's policy, of its files of settings, the nearest first, then of ``.claude.json``; the
variables that these set, which go before), Codex (``auto_compact_token_limit``: a limit of one's own lowers the nine
tenths of the window and never raises them), pi 0.73.1 (the settings of a project over those of the home). OpenClaw
reads pi's settings from the folder of the agent and raises their reserve to its own floor; the specification with ULIDs
names ``config.yaml`` (section 7.5.1).
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import NamedTuple, TypeVar

from slowwave.errors import UnreadableError, UsageError
from slowwave.formats import fields_of
from slowwave.formats.client import CompactionRules
from slowwave.formats.registry import client_of

_SWITCHES = ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT")
_TRUE = ("1", "true", "yes", "on")
# below it Claude Code takes no window of its settings, and this one for a variable
_LEAST_WINDOW = 100_000
_WINDOW, _PERCENT = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_WHOLE = 100
_UNITS = {"k": 1_000, "m": 1_000_000}
# a file of settings, and what stands in it
_Told = tuple[str, Mapping[str, object]]


def reserve_floor(compaction: Mapping[str, object]) -> int:
    """Return the tokens that the client leaves free at least, by its ``compaction`` settings; 0 turns the floor off.

    Source: ``resolveCompactionReserveTokensFloor`` of Clawdbot 2026.1.24. What is no number, or below 0, stands for
    the default.
    """
    return count_or(compaction.get("reserveTokensFloor"), RESERVE_FLOOR)


class Chosen(NamedTuple):
    """The client's own settings; whatever they leave out is None, 0 or ""."""

    off_in: str = ""  # the file that turns automatic compaction off
    reserve_tokens: int | None = None  # tokens that are left free
    keep_recent_tokens: int | None = None  # tokens that stay as they are
    reserve_floor: int = 0  # tokens that are left free at least (OpenClaw)
    window: int = 0  # tokens that are used of a larger window (Claude Code)
    limit: int = 0  # tokens from which on it compacts, where that is earlier (Codex)
    # share of the room for a context from which on it compacts, where that is earlier; 0 for none (Claude Code)
    percent: float = 0


T = TypeVar("T")
RESERVE_FLOOR = 20_000


def count_or(value: object, default: T) -> int | T:
    """Return a number of a client's settings, ``default`` where it is none or below 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return default
    return int(value)


NOTHING_CHOSEN = Chosen()


def settings_files(dialect: str, transcript: Path, cwd: str) -> list[Path]:
    """Return the files that a client would look into for a session, in its order; they may not exist.

    ``transcript``: its first file, from which the client's home is told.
    """
    return client_of(dialect).settings_files(transcript, Path(cwd) if cwd else None)


def chosen_by_client(dialect: str, transcript: Path, cwd: str, model: str = "") -> Chosen:
    """Return what a person chose for the sessions of a client.

    ``model``: the model that answers, for what is set for it alone; "" where nobody knows. Raises UsageError: a file of
    settings cannot be read, or a value in it is none, so that nobody knows what was chosen.
    """
    try:
        files = [path for path in settings_files(dialect, transcript, cwd) if path.is_file()]
        told = ((str(path), _fields_in(path)) for path in files)
        found = NOTHING_CHOSEN
        if files:
            found = _in(told, client_of(dialect).compacting, model)
        if client_of(dialect).compacting.has_floor:
            found = found._replace(reserve_floor=_floor_of(transcript))
    except (OSError, UnreadableError) as error:
        reason = error if isinstance(error, UnreadableError) else f"{error.filename}: {error.strerror}"
        raise UsageError(f"what its client was told about compaction cannot be read: {reason}") from error
    return found


def _floor_of(transcript: Path) -> int:
    """Return OpenClaw's floor; a configuration that cannot be read stands for the default, as in the client."""
    from slowwave.formats.openclaw.store import compaction_config  # noqa: PLC0415 - only where this client is

    try:
        return reserve_floor(compaction_config(transcript))
    except UnreadableError:
        return RESERVE_FLOOR


def _fields_in(path: Path) -> Mapping[str, object]:
    """Return the settings in a file. Raises UnreadableError: it is not of the form that its name says."""
    raw = path.read_bytes()
    if not raw.strip():
        return {}
    if path.suffix == ".json":
        from slowwave.formats.openclaw.store import json5_of  # noqa: PLC0415 - few sessions are looked at

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


def _compaction(files: Iterable[_Told], names: tuple[str, str]) -> Chosen:
    """Lay the section ``compaction`` of each file over what stood in those before it."""
    found = NOTHING_CHOSEN
    for path, fields in files:
        section = fields_of(given := fields.get("compaction"))
        if given is not None and not isinstance(given, Mapping):
            raise UnreadableError(
                Path(path), f"compaction is {given!r}, which is no section of settings; mend it there"
            )
        reserve, keep = (_count_in(path, section, name) for name in names)
        enabled = section.get("enabled")
        if enabled is not None and not isinstance(enabled, bool):
            raise UnreadableError(Path(path), f"compaction.enabled is {enabled!r}; only true or false can be meant")
        found = found._replace(
            off_in=path if enabled is False else "" if enabled is True else found.off_in,
            reserve_tokens=found.reserve_tokens if reserve is None else reserve,
            keep_recent_tokens=found.keep_recent_tokens if keep is None else keep,
        )
    return found


def _count_in(path: str, fields: Mapping[str, object], name: str) -> int | None:
    """Return a number of tokens, None where the name is not there.

    Raises UnreadableError: what is there is no number of tokens.
    """
    value = fields.get(name)
    tokens = count_or(value, None)
    if value is not None and tokens is None:
        raise UnreadableError(Path(path), f"{name} is {value!r}, which is no number of tokens; mend it there")
    return tokens


def _in(files: Iterable[_Told], rules: CompactionRules, model: str) -> Chosen:
    if rules.has_variables:
        return _in_claude(files, model)
    if rules.limit_key:
        limits = (_count_in(path, fields, rules.limit_key) for path, fields in files)
        return Chosen(limit=next(limits) or 0)
    return _compaction(files, rules.sections) if rules.sections else NOTHING_CHOSEN


def _in_claude(files: Iterable[_Told], model: str) -> Chosen:
    off_in, window, of_model = "", 0, None
    variables: dict[str, tuple[str, str]] = {}
    for path, fields in files:
        enabled = fields.get("autoCompactEnabled")
        off_in = path if enabled is False else "" if enabled is True else off_in
        window = _window_of(fields, window)
        of_model = _window_of(_of_model(fields, model), of_model)
        variables |= {name.upper(): (str(value), path) for name, value in fields_of(fields.get("env")).items()}
    for name in _SWITCHES:
        value, path = variables.get(name, ("", ""))
        off_in = path if value.strip().lower() in _TRUE else off_in
    tokens = _tokens(variables.get(_WINDOW, ("", ""))[0])
    percent = _number(variables.get(_PERCENT, ("", ""))[0])
    return Chosen(
        off_in=off_in,
        window=max(tokens, _LEAST_WINDOW) if tokens >= 1 else window if of_model is None else of_model,
        percent=percent if 0 < percent <= _WHOLE else 0,
    )


def _window_of(fields: Mapping[str, object], before: T) -> int | T:
    """Return the window that settings name, 0 for the whole one, ``before`` where they name none that counts."""
    size = fields.get("autoCompactWindow")
    tokens = count_or(size, None) or 0
    return tokens if tokens >= _LEAST_WINDOW else 0 if size == "auto" else before


def _of_model(fields: Mapping[str, object], model: str) -> Mapping[str, object]:
    """Return what ``modelSettings`` say for a model: under its whole name, else without the date at its end."""
    every = fields_of(fields.get("modelSettings"))
    return fields_of(every.get(model) or every.get(_DATED.sub("", model)))


_DATED = re.compile(r"-\d{8}\Z")


def _tokens(text: str) -> int:
    """Return a number of tokens as it may stand in a variable (``200000``, ``200k``), 0 when it is none."""
    unit = _UNITS.get(text.strip()[-1:].lower())
    number = _number(text.strip()[:-1]) * unit if unit else _number(text)
    return round(number)


def _number(text: str) -> float:
    """Return the number that a text is, 0 when it is none."""
    try:
        number = float(text)
    except ValueError:
        return 0
    return number if isfinite(number) else 0

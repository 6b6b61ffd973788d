"""About how many tokens a record takes, told by the size of its content without a look at its words."""

from collections.abc import Callable

import msgspec

from slowwave.compaction.estimates import Rule
from slowwave.dialects.model import Message

# Of the bytes of a content about one in twenty-five marks another as escaped (measured over code and prose).
_ESCAPED = 0.04
# An image of this size takes no more tokens than a small one: what is as large is looked at.
LARGE_BYTES = 64 << 10
# Blocks whose bytes tell nothing of their tokens: images, and what hides the reasoning of a model.
_OPAQUE = (b'"base64"', b'_image"', b'"image"', b'"encrypted_content"')
_SIGNATURE = b'"signature":"'


class Scales:
    """What turns the size of a content into tokens; a session has a hundred thousand of them.

    Args:
        rule: the client's.
        around: bytes of a content that are no words: names of fields, ids, brackets.
    """

    def __init__(self, rule: Rule, around: int) -> None:
        self._rule = rule
        self._around = around
        self._share = (1 - _ESCAPED) / rule.per_token

    def weight(self, content: msgspec.Raw, message: Callable[[], Message]) -> int:
        """Return about what the rule makes of a message; exactly that where its size would mislead.

        Args:
            content: the JSON of its content.
            message: decodes it.
        """
        size = len(content)
        if size > LARGE_BYTES and any(mark in bytes(content) for mark in _OPAQUE):
            return self._rule.of_message(message())
        return int((size - self._around) * self._share) if size > self._around else 0

    def unsigned(self, content: bytes) -> int:
        """Return the same of a content that begins with reasoning, without what signs that."""
        begin = content.find(_SIGNATURE)
        signed = content.find(b'"', begin + len(_SIGNATURE)) - begin if begin >= 0 else 0
        return max(0, int((len(content) - signed - self._around) * self._share))

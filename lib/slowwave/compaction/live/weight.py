"""About how much a record says, told by the size of its content without a look at its words.

Weights are bytes of JSON that hold words; a whole context of them is turned into tokens at once.
"""

from collections.abc import Callable, Sequence
from itertools import compress, count

import msgspec

from slowwave.compaction.estimates import Rule
from slowwave.formats.model import Message

# Of the bytes of a content about one in twenty-five marks another as escaped (measured over code and prose).
_ESCAPED = 0.04
# An image of this size takes no more tokens than a small one: what is as large is looked at.
LARGE_BYTES = 64 << 10
# Blocks whose bytes tell nothing of their tokens: images, and what hides the reasoning of a model.
_OPAQUE = (b'"base64"', b'_image"', b'"image"', b'"encrypted_content"')
_SIGNATURE = b'"signature":"'


class Scales:
    """What turns the sizes of contents into weights and tokens.

    Args:
        rule: the client's.
        around: bytes of a content that are no words: names of fields, ids, brackets.
    """

    def __init__(self, rule: Rule, around: int) -> None:
        self._rule = rule
        self._around = around
        self._share = (1 - _ESCAPED) / rule.per_token

    def tokens(self, weight: int) -> int:
        """Return about how many tokens a weight is."""
        return int(weight * self._share)

    def weight(self, size: int) -> int:
        """Return the weight of a content of so many bytes, no more than :data:`LARGE_BYTES`."""
        return size - self._around if size > self._around else 0

    def weights(self, sizes: Sequence[int], of_large: Callable[[int], int]) -> list[int]:
        """Return the weights of contents of so many bytes.

        Args:
            sizes: of the contents.
            of_large: returns the weight of the one at an index, which is larger than :data:`LARGE_BYTES`.
        """
        around = self._around
        found = [size - around if size > around else 0 for size in sizes]
        if sizes and max(sizes) > LARGE_BYTES:
            for at in compress(count(), map(LARGE_BYTES.__lt__, sizes)):
                found[at] = of_large(at)
        return found

    def of_large(self, content: msgspec.Raw | bytes, message: Callable[[], Message]) -> int:
        """Return the weight of a larger one; it is looked at where its size would mislead.

        Args:
            content: the JSON of its content.
            message: decodes it.
        """
        written = bytes(content)
        return self.exact(message()) if any(mark in written for mark in _OPAQUE) else self.weight(len(written))

    def exact(self, message: Message) -> int:
        """Return the weight that makes the tokens of a message what the rule says."""
        return self.of_tokens(self._rule.of_message(message))

    def of_tokens(self, tokens: int) -> int:
        """Return the weight of so many tokens."""
        return round(tokens / self._share)

    def unsigned(self, content: bytes) -> int:
        """Return the weight of a content that begins with reasoning, without what signs that."""
        begin = content.find(_SIGNATURE)
        signed = content.find(b'"', begin + len(_SIGNATURE)) - begin if begin >= 0 else 0
        return self.weight(len(content) - signed)

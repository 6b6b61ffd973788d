"""How many tokens a text will be, without the model's own tokenizer.

A third of its UTF-8 bytes: 7 % above what transcripts of coding agents are in Claude's tokens (3.2 characters each),
and more above the thriftier tokenizers; a Chinese character counts as one. Small models with few merges may need more,
and then their server says so and the question is halved.
"""

_BYTES = 3
# what a server wraps around each message, and the start of the answer
_WRAPPING = 16


def bytes_of(tokens: int) -> int:
    """Return how many bytes a text of so many tokens may have, rather too few than too many."""
    return tokens * _BYTES


def estimated_tokens(*texts: str) -> int:
    """Return how many tokens a question of these messages will have, rather too many than too few."""
    return sum(-(-len(text.encode("utf-8", "replace")) // _BYTES) + _WRAPPING for text in texts)

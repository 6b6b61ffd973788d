"""Messages of any words and calls, together with the blocks that they must be read back as."""

from collections.abc import Sequence

from hypothesis import strategies as st

from slowwave.formats import Block, Text, Thinking, ToolCall, ToolResult
from slowwave.formats.writing import Block as Written
from slowwave.formats.writing import Draft

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    ["{", '"}\n{"compact":"x"}', "\u2028", "\0", "\\", "NaN", "Infinity"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.builds(ToolCall, TEXTS, TEXTS, st.dictionaries(TEXTS, VALUES, max_size=3))


class Said:
    """A message, and the blocks that it must come back as."""

    def __init__(self, draft: Draft, blocks: Sequence[Block]) -> None:
        self.draft = draft
        self.blocks = tuple(blocks)

    def __repr__(self) -> str:
        return f"Said({self.draft})"


def user(text: str) -> Said:
    return Said(Draft("user", text), [Text(text)])


def answer(text: str, calls: list[ToolCall], thought: str = "") -> Said:
    blocks: list[Thinking | Text | ToolCall] = [Thinking(thought)] if thought else []
    blocks += [Text(text), *calls]
    written: tuple[Written, ...] = tuple(blocks)
    return Said(Draft("assistant", written), blocks)


def result(call_id: str, text: str, *, is_error: bool = False) -> Said:
    return Said(Draft("tool", text, call_id=call_id, is_error=is_error), [ToolResult(call_id, text, is_error)])

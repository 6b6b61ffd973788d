"""Exact counts of tokens, offline: where the extra ``tokens`` is installed and the model's vocabulary is published.

That holds for OpenAI's models. Claude's vocabulary is not published: there o200k counts a fifth too few, so lengths
divided by what was measured are the better guess (reference: local-llm.md, section 5). ``toktok-rs`` carries the
vocabularies in its wheel and opens no connection, where tiktoken would fetch them.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from typing import cast

from slowwave.compaction.javascript import stringify
from slowwave.formats.model import Message, ToolCall

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
            yield block.args if isinstance(block.args, str) else "" if block.args is None else stringify(block.args)
        else:
            yield getattr(block, "text", "")

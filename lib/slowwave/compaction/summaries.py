"""Summaries among the messages of a context, without the words that their clients put around them."""

import re
from collections.abc import Sequence

from slowwave.formats.model import Message

_INNER = re.compile(r"<(?P<tag>summary|context_summary)>\n?(?P<text>.*)\n?</(?P=tag)>", re.DOTALL)
# client: Claude Code writes a sentence, its thoughts, and the summary itself behind them
_ANALYSIS = re.compile(
    r"\A.{0,300}?(?:<analysis>.*?</analysis>|^Analysis:\n.*?^(?=Summary:))", re.DOTALL | re.MULTILINE
)
_LEAD = re.compile(r"\A(?:This session is being continued from a previous conversation[^\n]*\s+)?(?:Summary:\s*)?")
_TAIL = re.compile(
    r"^(?:If you need specific details from before compaction|Please continue the conversation from where we left"
    r"|Continue the conversation from where it left off)[^\n]*\n?",
    re.MULTILINE,
)
# client: pi says of which kind a summary is
_OF_BRANCH = "summary of a branch"


def inner_text(text: str) -> str:
    """Return a summary without its wrapping; one that has none as it is."""
    inner = _INNER.search(text)
    return (inner["text"] if inner is not None else _bare(text)).strip()


def _bare(text: str) -> str:
    return _TAIL.sub("", _LEAD.sub("", _ANALYSIS.sub("", text).lstrip()))


def last_summary(messages: Sequence[Message]) -> str:
    """Return the summary of the last compaction among messages, and those of branches after it; "" for none."""
    found: list[str] = []
    for message in messages:
        if message.origin != "summary" or not message.text.strip():
            continue
        if _OF_BRANCH not in message.text[:200]:
            found.clear()
        found.append(inner_text(message.text))
    return "\n\n".join(found)

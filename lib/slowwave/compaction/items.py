"""A session's context as the items that a compaction weighs, whatever dialect it is of."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from slowwave.compaction.estimates import Rule
from slowwave.compaction.file_lists import NO_FILES, FileOperations, of_tags, without_tags
from slowwave.compaction.summaries import inner_text
from slowwave.compaction.usage import Usage
from slowwave.formats.model import Message

Kind = Literal[
    "user",  # what starts a turn: a person's words, a command that they ran, a message that stands for theirs
    "assistant",
    "result",  # what a tool answered; a kept range cannot begin with it
    "note",  # speaks to the model in the middle of a turn
    "compaction",  # the summary of what came before
    "setting",  # says nothing to the model
]


class Item(NamedTuple):
    """One entry of a context.

    Attributes:
        id: how the dialect names the entry.
        kind: what it is to a compaction.
        tokens: its estimate.
        message: what it says; None for settings.
        calls: ids of the tool calls that it makes.
        results: ids of the tool calls that it answers.
        summary: of a compaction: its text alone.
        files: of a compaction: the files that it carries on.
        usage: of an answer: what the provider counted.
        is_stale: it was written before the latest compaction.
    """

    id: str | None
    kind: Kind
    tokens: int = 0
    message: Message | None = None
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    summary: str = ""
    files: FileOperations = NO_FILES
    usage: Usage | None = None
    is_stale: bool = False

    @property
    def speaks(self) -> bool:
        """Say whether the model gets to see it."""
        return self.kind != "setting"


def items_of(context: Sequence[Message], rule: Rule) -> list[Item]:
    """Return the items of a context as a dialect gives it: its last summary is the previous compaction.

    What the summary hides is not in a context and what it keeps is, so a plan over these items begins where the
    previous compaction's kept range does. A message that stands in front of the summary's record is stale, whether the
    client shows it before the summary (Codex) or behind it (Claude Code).
    """
    last = max((i for i, message in enumerate(context) if message.origin == "summary"), default=-1)
    if last < 0:
        return [item_of(m, rule.of_message(m)) for m in context]
    border = _place(context[last])
    return [
        _compaction(m, rule)
        if i == last
        else item_of(m, rule.of_message(m))._replace(is_stale=i < last or _place(m) <= border)
        for i, m in enumerate(context)
    ]


def item_of(message: Message, tokens: int, kind: Kind | None = None) -> Item:
    """Return one message as an item; its kind is told by its role and blocks."""
    calls, results = tuple(c.id for c in message.calls), tuple(r.id for r in message.results)
    return Item(message.id, kind or _kind(message, results), tokens, message, calls, results)


def _place(message: Message) -> tuple[int, int]:
    """Return part and offset of the last record of a message."""
    return max(((span.part, span.offset) for span in message.sources), default=(-1, -1))


def _kind(message: Message, results: tuple[str, ...]) -> Kind:
    if results or message.role == "tool":
        return "result"
    if message.role == "assistant":
        return "assistant"
    return "user" if message.role == "user" else "note"


def _compaction(message: Message, rule: Rule) -> Item:
    summary = inner_text(message.text)
    item = Item(message.id, "compaction", rule.of_message(message), message)
    return item._replace(summary=without_tags(summary), files=of_tags(summary))

"""A session as compaction looks at it: the items of its context, how large its provider counted it, and its model.

Only the end of a session that was compacted before is read, where that is surely enough.
"""

from datetime import datetime
from typing import NamedTuple

from slowwave.compaction.items import ContextTokens, Item, Usage, context_tokens, items_of, model_in
from slowwave.compaction.job.settings import NOTHING_CHOSEN, Chosen, chosen_by_client
from slowwave.compaction.live.trail import About, Earlier, Trail
from slowwave.compaction.live.window import (
    WINDOW_BYTES,
    Window,
    has_trail,
    reading_by,
    seems_compacted,
    trail_of,
    window_of,
)
from slowwave.compaction.plan import KEEP_RECENT_MESSAGES, KEEP_RECENT_TOKENS, reach
from slowwave.compaction.tokens import Rule, rule_of
from slowwave.formats.client import CompactionRules, Dialect, TailDialect
from slowwave.formats.model import SessionFiles, Transcript
from slowwave.formats.registry import by_name, client_of
from slowwave.formats.writing import first_record

# Calls may stand further than this many windows before their results.
_MOST_GROWTH = 8
# Of the size up to which sessions are read as a whole, this part of a longer one is decoded first.
_FIRST_SHARE = 4


class Reading(NamedTuple):
    """What compaction needs to know of a session.

    Attributes:
        dialect: name of its dialect.
        items: its context.
        rule: how its client guesses tokens.
        keeps: messages before a compaction can stay as they are.
        cwd: the working folder that it was begun in, or that its records name first, or "".
        model: the model that answered last, or "".
        window: tokens that this model can see, where the client noted it; 0 where not.
        recorded: what the provider counted last, where that stands beside the messages (Codex).
        behind: the estimate of what was said since then.
        at: when its last message was written, where messages tell.
        earlier: what lies before the items and is not held; None where that is nothing.
        chosen: what a person set about compaction in the settings of its client.
    """

    dialect: str
    items: list[Item]
    rule: Rule
    keeps: bool = True
    cwd: str = ""
    model: str = ""
    window: int = 0
    recorded: Usage | None = None
    behind: int = 0
    at: datetime | None = None
    earlier: Earlier | None = None
    chosen: Chosen = NOTHING_CHOSEN

    @property
    def rules(self) -> CompactionRules:
        """What is peculiar to compactions of its client."""
        return client_of(self.dialect).compacting

    @property
    def size(self) -> ContextTokens:
        """The size of the context: what the provider counted as far as it goes, then an estimate."""
        if self.recorded is not None:
            return ContextTokens(self.recorded.context_tokens, self.behind)
        size = context_tokens(self.items)
        return size if size.counted or self.earlier is None else size._replace(guessed=self.guess)

    @property
    def guess(self) -> int:
        """The estimate of the whole context, whatever a provider counted."""
        return sum(item.tokens for item in self.items) + (self.earlier.tokens if self.earlier is not None else 0)

    @property
    def spoken(self) -> list[Item]:
        """The items that the model sees, without the latest summary."""
        return [item for item in self.items if item.speaks and item.kind != "compaction"]


def read_session(
    dialect: str, files: SessionFiles, *, keep: int | None = None, window_bytes: int = WINDOW_BYTES
) -> Reading:
    """Read a session: the end that its last compaction left, else about the end that a plan needs, else all of it.

    Args:
        dialect: name of its dialect.
        files: the session.
        keep: tokens that a plan is to keep, by default as many as its client; the items reach back to where it cuts,
            and the turn around that.
        window_bytes: a session up to this size is read as a whole, and of any other a part of so much, or more.

    Raises:
        UnreadableError: a file of it cannot be opened.
        UsageError: nothing can be told of where its client would go on; the message says why.
    """
    chosen = chosen_by_client(dialect, files.paths[0], _folder_of(dialect, files))
    if keep is None:
        keep = KEEP_RECENT_TOKENS if chosen.keep_recent_tokens is None else chosen.keep_recent_tokens
    is_long = has_trail(dialect, files) and sum(path.stat().st_size for path in files.paths) > window_bytes
    trail = tail = None
    is_walked = is_long and not seems_compacted(dialect, files)
    if is_walked:
        trail = trail_of(dialect, files)
    if trail is None and isinstance(rules := by_name(dialect), TailDialect):
        tail = rules.tail(files)
    if tail is None and is_long and not is_walked:
        trail = trail_of(dialect, files)
    reading = _end(dialect, files, trail, keep, window_bytes) if trail is not None else _whole(dialect, files, tail)
    messages = [item.message for item in reading.items if item.message is not None]
    cwd = reading.cwd or next((m.cwd for m in messages if m.cwd), "")
    return reading._replace(
        keeps=reading.keeps and reading.rules.keeps,
        cwd=cwd,
        chosen=chosen_by_client(dialect, files.paths[0], cwd, reading.model) if reading.rules.has_variables else chosen,
        at=max((m.timestamp for m in messages if m.timestamp is not None), default=None),
    )


def _folder_of(dialect: str, files: SessionFiles) -> str:
    """Return the working folder that a header names; clients with other settings for it keep no other number there."""
    if client_of(dialect).compacting.sections is None:
        return ""
    cwd = first_record(files.paths[0]).get("cwd")
    return cwd if isinstance(cwd, str) else ""


def _end(dialect: str, files: SessionFiles, trail: Trail, keep: int, size: int) -> Reading:
    """Return the end of a context, as far as a plan that keeps so many tokens looks at it."""
    most, longest = size * _MOST_GROWTH, size
    rules = client_of(dialect).compacting
    least = KEEP_RECENT_MESSAGES if rules.counts else 0
    size //= _FIRST_SHARE  # most plans need no more
    while True:
        window = window_of(dialect, files, trail, size)
        reading = (reading_by(dialect, "end_reading") or _end_of_any)(window, files, dialect)
        found = reach(reading.items, keep, least=least)
        if window.start == 0 or (found is not None and size >= most):
            return reading
        if found is None or (found.loose and window.may_answer(files, found.loose)):
            size *= 2
            continue
        turn = 0 if found.has_turn or not rules.keeps else trail.turn_size(window.start)
        if not 0 < turn <= longest:
            return reading  # what was said before in a longer turn is told like everything earlier
        size = turn


def _end_of_any(window: Window, files: SessionFiles, dialect: str) -> Reading:
    about = About()
    items = window.items(about)
    return Reading(dialect, items, rule_of(dialect), model=_model(dialect, items), earlier=window.earlier(files, about))


def _whole(dialect: str, files: SessionFiles, tail: Transcript | None) -> Reading:
    """Return a session that is read as a whole, or from its last compaction on."""
    rules = by_name(dialect)
    return (reading_by(dialect, "whole_reading") or _any)(rules, rules.read(files) if tail is None else tail)


def _any(dialect: Dialect, transcript: Transcript) -> Reading:
    rule = rule_of(dialect.name)
    items = items_of(dialect.context(transcript), rule)
    return Reading(dialect.name, items, rule, model=_model(dialect.name, items))


def _model(dialect: str, items: list[Item]) -> str:
    """Return the model that answered last, where the messages of a dialect without rules of its own name it."""
    return model_in(items) if client_of(dialect).compacting.names_model else ""


# What a rollout of Codex notes beside its messages: what the provider counted, the window and the model.

"""Whether a session is due for compaction, and the plan: what is summarised, kept, carried on; or why there is none.

Due by the rule of its own client: Claude Code, pi, OpenClaw and the ULID specification leave room for the answer;
Cersei and Codex take a share of the window; crabtalk a number of tokens. What a person sets here goes before what they
set in the client, and that before what the client does by itself; a client that was told not to compact is heeded. What
a person sets as the window goes before what the client noted, that before the table; a provider that counted more than
the table knows proves that the model sees more. The size is what the provider counted; else what a tokenizer counts,
where one is installed that knows the model; else an estimate, by lengths to a token that were measured.

A plan is over the items of a context, so a second compaction summarises what the first one kept, and no message falls
between the two. Nothing is decided twice: without new words since the last compaction there is no plan.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from slowwave.compaction.calls import answers
from slowwave.compaction.files import NO_FILES, FileOperations, of_calls
from slowwave.compaction.items import ContextTokens, Item, Reading, context_tokens
from slowwave.compaction.settings import Chosen, settings_files
from slowwave.compaction.tokens import OPENCODE, Rule, context_window, exact_tokens
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.formats import Block, Message, Other, Span, Thinking, ToolResult
from slowwave.formats.messages import PlainMessage
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession

if TYPE_CHECKING:
    from slowwave.settings import CompactionSettings
    from slowwave.stores.projects import Project


@dataclass(frozen=True)
class Plan:
    """What a compaction would do."""

    history: tuple[Item, ...]  # whole turns that are summarised
    prefix: tuple[Item, ...]  # the beginning of a turn that the cut splits; summarised for itself
    kept: tuple[Item, ...]  # what stays as it is, settings included
    previous_summary: str  # the summary that the new one goes on from, without its lists of files; "" for the first
    files: FileOperations  # read and changed so far, those of earlier compactions included, those of the kept range not
    context: ContextTokens  # the size of the context before

    @property
    def gone(self) -> tuple[Item, ...]:
        """All that goes away, in order."""
        return self.history + self.prefix

    @property
    def messages_summarised(self) -> int:
        """How many messages the summary will stand for."""
        return sum(item.speaks for item in self.gone)

    @property
    def first_kept(self) -> str | None:
        """How the dialect names the first entry that stays; None where none does."""
        return self.kept[0].id if self.kept else None

    @property
    def is_split(self) -> bool:
        """The cut is in the middle of a turn."""
        return bool(self.prefix)

    @property
    def tokens_summarised(self) -> int:
        """Estimate of what the summary will stand for, without the summary before it."""
        return sum(item.tokens for item in self.gone)

    @property
    def tokens_kept(self) -> int:
        """Estimate of what stays."""
        return sum(item.tokens for item in self.kept)


@dataclass(frozen=True)
class NoPlan:
    """Why nothing is compacted."""

    reason: str


# When a context is too large: the thresholds of every source, each compared exactly as its client compares.
#
# pi and the ULID specification leave room for the answer (more than window - reserve); OpenClaw does not let that room
# shrink below a floor; Cersei and Codex take a share of the window (at or above it); crabtalk a number of tokens.

RESERVE_TOKENS = 16_384
KEEP_RECENT_TOKENS = 20_000


class Budget(NamedTuple):
    """The settings of a compaction.

    A reserve below ``reserve_floor`` is raised to it (0 turns the floor off). With ``keep_messages`` so many messages
    stay, and not so many tokens (Cersei).
    """

    enabled: bool = True
    reserve_tokens: int = RESERVE_TOKENS
    keep_recent_tokens: int = KEEP_RECENT_TOKENS
    reserve_floor: int = 0
    keep_messages: int = 0

    @property
    def reserve(self) -> int:
        """The tokens that are left free."""
        return max(self.reserve_tokens, self.reserve_floor)


def prepare(items: Sequence[Item], budget: Budget) -> Plan | NoPlan:
    """Return the plan for a context, its latest compaction among the items; ``budget``: how much of it is kept."""
    previous, region = _apart(items)
    if nothing := _nothing_new(region, previous):
        return nothing
    if budget.keep_messages:
        cut = find_cut_before(region, budget.keep_messages)
    else:
        cut = find_cut(region, budget.keep_recent_tokens)
    plan = divided(items, cut)
    return _refusal(plan, budget) or plan


def prepare_whole(items: Sequence[Item]) -> Plan | NoPlan:
    """Return the plan for a client that keeps nothing before a compaction: all of the context is summarised."""
    previous, region = _apart(items)
    return _nothing_new(region, previous) or divided(items, Cut(len(region)))


def _apart(items: Sequence[Item]) -> tuple[Item | None, list[Item]]:
    """Return the latest compaction, and everything else."""
    previous = next((item for item in reversed(items) if item.kind == "compaction"), None)
    return previous, [item for item in items if item.kind != "compaction"]


def _nothing_new(region: Sequence[Item], previous: Item | None) -> NoPlan | None:
    if not any(item.speaks for item in region):
        return NoPlan("no messages")
    if previous is not None and all(item.is_stale for item in region if item.speaks):
        return NoPlan("no messages since the last compaction")
    return None


class Cut(NamedTuple):
    """Where to cut a sequence of items."""

    first_kept: int  # index of the first item that stays; settings right before the first message stay with it
    # index of the item that began the turn which the cut splits, or None when it splits none
    turn_start: int | None = None


def divided(items: Sequence[Item], cut: Cut) -> Plan:
    """Return the plan that cuts a context, without its latest compaction, at a place; refusals are not looked at."""
    previous, region = _apart(items)
    turn = cut.first_kept if cut.turn_start is None else cut.turn_start
    gone = region[: cut.first_kept]
    calls = (call for item in gone if item.message is not None for call in item.message.calls)
    return Plan(
        tuple(region[:turn]),
        tuple(region[turn : cut.first_kept]),
        tuple(region[cut.first_kept :]),
        "" if previous is None else previous.summary,
        (NO_FILES if previous is None else previous.files) | of_calls(calls),
        context_tokens(items),
    )


def _refusal(plan: Plan, budget: Budget) -> NoPlan | None:
    if plan.messages_summarised == 0:
        if budget.keep_messages:
            return NoPlan(f"nothing stands before the {budget.keep_messages} newest messages, which always stay")
        if plan.tokens_kept < budget.keep_recent_tokens:
            return NoPlan(f"all of it, {plan.tokens_kept:,} tokens, fits into the {budget.keep_recent_tokens:,} kept")
        return NoPlan(f"nothing stands before the first message that can be kept, {plan.tokens_kept:,} tokens")
    return None if plan.tokens_summarised else NoPlan("no token to summarise")


# Where the kept range of a compaction begins.
#
# Source: ``findCutPoint`` of pi 0.58.3 and §7.5.3 of the ULID specification, with what they promise and miss mended: a
# call is never parted from its result, also where other messages stand between them; a result at the end that is larger
# than the whole kept range still gives a cut; a setting in front of a person's message does not make it look like the
# middle of the turn before.


def find_cut(items: Sequence[Item], keep_recent_tokens: int) -> Cut:
    """Return the cut that keeps about ``keep_recent_tokens``: the first boundary at or after the item that fills them.

    Where no boundary follows, it is the last one before. When everything fits, the first boundary is returned, which
    leaves nothing to summarise.
    """
    points = cut_points(items)
    if not points:
        return Cut(0)
    filled = _filled_at(items, keep_recent_tokens)
    return _cut_at(items, points[0] if filled is None else next((p for p in points if p >= filled), points[-1]))


def find_cut_before(items: Sequence[Item], keep_messages: int) -> Cut:
    """Return the cut that keeps so many messages: the last boundary that leaves no fewer (Cersei)."""
    spoken = [at for at, item in enumerate(items) if item.speaks]
    most = spoken[-keep_messages] if len(spoken) >= keep_messages else 0
    return _cut_at(items, next((p for p in reversed(cut_points(items)) if p <= most), 0))


def _cut_at(items: Sequence[Item], at: int) -> Cut:
    start = _turn_start(items, at)
    first = at
    while first > 0 and items[first - 1].kind == "setting":
        first -= 1
    return Cut(first, start if start is not None and start < first else None)


def cut_points(items: Sequence[Item]) -> list[int]:
    """Return the indexes at which a kept range may begin."""
    parting = parted(items)
    return [i for i, item in enumerate(items) if item.kind in ("user", "assistant", "note") and not parting[i]]


def parted(items: Sequence[Item]) -> list[bool]:
    """Say for every index whether a cut before it would part a call from its result."""
    changes = [0] * (len(items) + 1)
    for at, found in enumerate(answers((item.calls, item.results) for item in items)):
        for answer in found:
            if answer is not None:
                changes[answer.at + 1] += 1
                changes[at + 1] -= 1
    return [depth > 0 for depth in accumulate(changes[:-1])]


def _filled_at(items: Sequence[Item], keep_recent_tokens: int) -> int | None:
    """Return the index of the item with which the newest ones fill the budget, or None when all of them fit."""
    total = 0
    for at in range(len(items) - 1, -1, -1):
        total += items[at].tokens
        if items[at].speaks and total >= keep_recent_tokens:
            return at
    return None


def _turn_start(items: Sequence[Item], at: int) -> int | None:
    """Return the index of the item that began the turn of the one at ``at``."""
    return next((i for i in range(at, -1, -1) if items[i].kind == "user"), None)


# Cersei
KEEP_RECENT_MESSAGES = 10
AUTO_COMPACT_SHARE = 0.90
WARNING_SHARE = 0.80
CRITICAL_SHARE = 0.95
CRABTALK_THRESHOLD = 100_000
Level = Literal["ok", "warning", "critical"]


def is_over_budget(tokens: int, window: int, budget: Budget) -> bool:
    """Say whether a context leaves less room than the reserve (pi, OpenClaw, the ULID specification)."""
    return budget.enabled and tokens > window - budget.reserve


def is_over_share(tokens: int, window: int, share: float = AUTO_COMPACT_SHARE) -> bool:
    """Say whether a context fills a share of the window (Cersei, Codex); an unknown window of 0 never fills."""
    return window > 0 and tokens / window >= share


def warning_level(tokens: int, window: int) -> Level:
    """Return how full the window is (Cersei)."""
    if is_over_share(tokens, window, CRITICAL_SHARE):
        return "critical"
    return "warning" if is_over_share(tokens, window, WARNING_SHARE) else "ok"


def is_over_threshold(tokens: int) -> bool:
    """Say whether a context is larger than a fixed number of tokens (crabtalk)."""
    return tokens > CRABTALK_THRESHOLD


# Old outputs of tools that a summary does not need: cleared first, so that there is less to summarise.
#
# Source: ``SessionCompaction.prune`` of opencode. From the newest output backwards: those of the last two turns and the
# newest 40,000 tokens before them stay; the rest goes, but only when that frees more than 20,000. It stops at a summary
# and at an output that was cleared before: what lies behind was looked at already.

PROTECTED_TOKENS = 40_000
MINIMUM_TOKENS = 20_000
SPARED_TURNS = 2
SPARED_TOOLS = frozenset({"skill"})
CLEARED = "[Old tool result content cleared]"


class Output(NamedTuple):
    """The output of a tool: the item that holds it, which of its results it is, and its size."""

    at: int
    number: int
    tokens: int


class Pruning(NamedTuple):
    """Outputs to clear, the newest first, and the tokens that they free."""

    outputs: tuple[Output, ...] = ()
    freed_tokens: int = 0


def prune(items: Sequence[Item]) -> Pruning:
    """Return which outputs to clear; none when too little would be freed."""
    total = 0
    found: list[Output] = []
    for output in _old_outputs(items):
        total += output.tokens
        if total > PROTECTED_TOKENS:
            found.append(output)
    freed = sum(output.tokens for output in found)
    return Pruning(tuple(found), freed) if freed > MINIMUM_TOKENS else Pruning()


def cleared(items: Sequence[Item], pruning: Pruning, rule: Rule = OPENCODE) -> list[Item]:
    """Return items with the outputs of a pruning cleared; nothing else changes."""
    gone: dict[int, set[int]] = {}
    for output in pruning.outputs:
        gone.setdefault(output.at, set()).add(output.number)
    return [_without(item, gone[at], rule) if at in gone else item for at, item in enumerate(items)]


def _old_outputs(items: Sequence[Item]) -> Iterator[Output]:
    """Yield the outputs behind the spared turns, the newest first, up to the first that is no longer looked at."""
    tools = _tools(items)
    turns = 0
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        turns += item.kind == "user"
        if turns < SPARED_TURNS:
            continue
        if item.kind == "compaction":
            return
        for number, result in reversed(list(enumerate(item.message.results if item.message is not None else ()))):
            if tools.get((at, number)) in SPARED_TOOLS:
                continue
            if result.text == CLEARED:
                return
            yield Output(at, number, OPENCODE.of_text(result.text))


def _tools(items: Sequence[Item]) -> dict[tuple[int, int], str]:
    """Return the tool behind each result, by the item that holds it and which of its results it is."""
    tools: dict[tuple[int, int], str] = {}
    for at, found in enumerate(answers((item.calls, item.results) for item in items)):
        for number, answer in enumerate(found):
            caller = items[answer.at].message if answer is not None else None
            if caller is not None and answer is not None:
                tools[at, number] = caller.calls[answer.number].name
    return tools


def _without(item: Item, numbers: set[int], rule: Rule) -> Item:
    if item.message is None:
        return item
    message = _cleared(item.message, numbers)
    return item._replace(message=message, tokens=rule.of_message(message))


def _cleared(message: Message, numbers: set[int]) -> Message:
    blocks: list[Block] = []
    number = 0
    for block in message.blocks:
        if isinstance(block, ToolResult):
            blocks.append(ToolResult(block.id, CLEARED, block.is_error) if number in numbers else block)
            number += 1
        else:
            blocks.append(block)
    place = (message.id, message.timestamp, message.cwd)
    return PlainMessage(message.role, tuple(blocks), message.sources, message.origin, *place)


# The plan for one session of one client: where it is cut, and that the client can say what stays.


def planned(reading: Reading, budget: Budget) -> Plan | NoPlan:
    """Return the plan for a session, or why there is none."""
    if not reading.keeps:
        return prepare_whole(reading.items)
    plan = prepare(reading.items, budget)
    return plan if isinstance(plan, NoPlan) else _nameable(plan, reading.items)


def _nameable(plan: Plan, items: Sequence[Item]) -> Plan:
    """Return the plan with the next cut whose first message the client can name; without one nothing is kept.

    Older rollouts of Codex give their items no ids, and what a person asked stands there in front of the summary, which
    cannot stay behind it. An item of reasoning is never parted from what was done for it: the API refuses the one
    without the other.
    """
    region = [*plan.history, *plan.prefix, *plan.kept]
    start = len(plan.history) + len(plan.prefix)
    border = next((i for i in range(len(items) - 1, -1, -1) if items[i].kind == "compaction"), 0)
    points = [start] if start >= border else []
    points += [point for point in cut_points(region) if point > start and point >= border]
    at = next((p for p in points if region[p].id is not None and not (p and _only_thinks(region[p - 1]))), None)
    if at == start:
        return plan
    return divided(items, Cut(len(region) if at is None else at))


def _only_thinks(item: Item) -> bool:
    message = item.message
    if item.kind != "assistant" or message is None or not message.blocks:
        return False
    return all(
        isinstance(block, Thinking) or (isinstance(block, Other) and block.type == "reasoning")
        for block in message.blocks
    )


def tokens_after(reading: Reading, plan: Plan, summary: str) -> int:
    """Return the estimate of the context that a compaction leaves."""
    stays = plan.tokens_kept + reading.rule.of_text(summary + " " * reading.rules.introduced)
    if reading.rules.keeps_asked:
        from slowwave.formats.codex.dialect import USER_TOKENS, is_boundary  # noqa: PLC0415

        # the client keeps what a person asked, up to a number of tokens, also where it is summarised
        asked = (item for item in plan.gone if item.message is not None and is_boundary(item.message))
        stays += min(USER_TOKENS, sum(item.tokens for item in asked))
    return stays


def live_bytes(reading: Reading) -> int:
    """Return the bytes of the records that a context is made of."""
    return sum(len(span.raw) for span in spans_of(reading.items))


def dropped_by(plan: Plan) -> list[tuple[int, int, int]]:
    """Return part, offset and length of the bytes that a plan's summary stands for, neighbours joined."""
    return ranges_of([item for item in plan.gone if item.speaks])


def spans_of(items: Sequence[Item]) -> list[Span]:
    """Return the records that items come from, each once, in the order of the file."""
    found = {(s.part, s.offset): s for item in items if item.message is not None for s in item.message.sources}
    return [found[place] for place in sorted(found)]


def ranges_of(items: Sequence[Item]) -> list[tuple[int, int, int]]:
    """Return part, offset and length of the bytes that items come from, neighbours joined: where to read them again."""
    found: list[tuple[int, int, int]] = []
    for span in spans_of(items):
        part, offset, length = span.part, span.offset, len(span.raw)
        # no more than a line end lies between neighbours
        if found and found[-1][0] == part and offset <= found[-1][1] + found[-1][2] + 2:
            _, start, known = found[-1]
            found[-1] = (part, start, max(start + known, offset + length) - start)
        else:
            found.append((part, offset, length))
    return found


# What the next larger kind of model sees (Claude and GPT with a long context, Gemini).
_LONG_WINDOW = 1_000_000
# what Claude Code leaves free for an answer before it takes a share of the rest
_ANSWER_TOKENS = 20_000


class Due(NamedTuple):
    """A decision with its reason."""

    is_due: bool  # compact now
    is_near: bool  # not yet, but within the soft threshold of seed 004, so that memories are saved already
    reason: str  # both numbers, for a person
    tokens: int  # the size of the context before
    window: int  # tokens that the model can see
    is_off: bool = False  # it would be due, and its client was told not to compact by itself

    @property
    def level(self) -> Level:
        """How full the window is."""
        return warning_level(self.tokens, self.window)


def due(reading: Reading, settings: "CompactionSettings", *, soft: int, live_bytes: int = 0) -> Due:
    """Decide for one session.

    ``soft``: how many tokens below the trigger counts as near. ``live_bytes``: bytes of the records that its context is
    made of.
    """
    window = window_of(reading, settings)
    limit = limit_of(reading, window, settings)
    total, how = _size(reading, limit)
    is_due = _is_over(reading, total, window, settings)
    reason = f"{total:,} tokens {how} of {window:,}, limit {limit:,}"
    if not is_due and 0 < settings.trigger_bytes < live_bytes:
        is_due, reason = True, f"{live_bytes:,} bytes in the context, limit {settings.trigger_bytes:,}"
    is_near = not is_due and total + soft >= limit  # Clawdbot's own comparison
    if (off := reading.chosen.off_in) and (is_due or is_near):
        return Due(
            is_due=False,
            is_near=False,
            reason=f"{reason}; its client is told in {off} not to compact",
            tokens=total,
            window=window,
            is_off=is_due,
        )
    return Due(is_due, is_near, reason, total, window)


def _size(reading: Reading, limit: int) -> tuple[int, str]:
    """Return the size of a context and how it is known: counted by its provider, by a tokenizer, or estimated.

    A tokenizer is asked where the estimate alone could be wrong about the limit: it is off by a half at most.
    """
    size = reading.size._replace(guessed=reading.rule.likely(reading.size.guessed))
    if size.counted:
        return size.total, "counted"
    if limit <= size.total * 2 and size.total <= limit * 2:
        messages = (item.message for item in reading.items if item.message is not None)
        if (exact := exact_tokens(messages, reading.model)) is not None:
            return exact, "counted by the tokenizer"
    return size.total, "estimated"


def budget_of(reading: Reading, settings: "CompactionSettings") -> Budget:
    """Return what is kept and left free: as the settings say, else as those of the client do, else by default."""
    chosen = reading.chosen
    reserve = next((n for n in (settings.reserve_tokens, chosen.reserve_tokens) if n is not None), RESERVE_TOKENS)
    return Budget(
        reserve_tokens=reserve,
        keep_recent_tokens=keep_of(chosen, settings),
        reserve_floor=chosen.reserve_floor,
        keep_messages=KEEP_RECENT_MESSAGES if reading.rules.trigger == "share" else 0,
    )


def keep_of(chosen: Chosen, settings: "CompactionSettings") -> int:
    """Return about how many of the newest tokens stay as they are."""
    found = (settings.keep_recent_tokens, chosen.keep_recent_tokens)
    return next((number for number in found if number is not None), KEEP_RECENT_TOKENS)


def window_of(reading: Reading, settings: "CompactionSettings") -> int:
    """Return how many tokens the model of a session can see, and its client uses."""
    if settings.context_window:
        return settings.context_window
    window = reading.window or context_window(reading.model, settings.windows)
    window = max(window, _LONG_WINDOW) if reading.size.counted > window else window
    return min(window, reading.chosen.window) if reading.chosen.window else window


def limit_of(reading: Reading, window: int, settings: "CompactionSettings") -> int:
    """Return the tokens from which on a session is due."""
    trigger = reading.rules.trigger
    if trigger == "share":
        return int(window * settings.threshold)
    if trigger == "automatic":
        return min(int(window * AUTO_COMPACT_SHARE), reading.chosen.limit or window)
    if trigger == "threshold" and not settings.context_window:
        return CRABTALK_THRESHOLD
    limit = window - budget_of(reading, settings).reserve
    share = _share_of(reading, settings)
    return min(limit, int((window - _ANSWER_TOKENS) * share)) if share else limit


def _share_of(reading: Reading, settings: "CompactionSettings") -> float:
    """Return the share of its room that a client was told to fill at most, 0 where nothing or slowwave says so."""
    return reading.chosen.percent / 100 if settings.reserve_tokens is None else 0


def _is_over(reading: Reading, tokens: int, window: int, settings: "CompactionSettings") -> bool:
    trigger = reading.rules.trigger
    if trigger == "share":
        return is_over_share(tokens, window, settings.threshold)
    if trigger == "automatic":
        return is_over_share(tokens, window) or 0 < reading.chosen.limit <= tokens
    if trigger == "threshold" and not settings.context_window:
        return is_over_threshold(tokens)
    if _share_of(reading, settings):
        return tokens >= limit_of(reading, window, settings)
    return is_over_budget(tokens, window, budget_of(reading, settings))


# Sessions that were read and were not due: as long as they and the settings stay the same, they are not read again.
#
# A cache beside the books, one file a project; delete it any time.

_FOLDER = "rested"
_DIGITS = 24
_decoder = msgspec.json.Decoder(dict[str, str])


class Rested:
    """The sessions of one project that were not due.

    ``folder``: where the books are. ``project``: the project. ``settings``: what was due by these may not be by others,
    nor by others of the client.
    """

    def __init__(self, folder: Path, project: "Project", settings: "CompactionSettings") -> None:
        self._file = folder / _FOLDER / hashlib.sha256(os.fsencode(project.key)).hexdigest()[:_DIGITS]
        self._root = project.root
        self._chosen: dict[tuple[str, Path], str] = {}
        self._settings = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()[:_DIGITS]
        self._known = self._read()
        self._now: dict[str, str] = {}

    def knows(self, session: StoredSession) -> bool:
        """Say whether a session was not due and has not changed since."""
        path, state = self._state(session)
        if self._known.get(path) != state:
            return False
        self._now[path] = state
        return True

    def add(self, session: StoredSession) -> None:
        """Note that a session was not due."""
        path, state = self._state(session)
        self._now[path] = state

    def save(self) -> None:
        """Keep what is known of the sessions of this run. Raises OSError: the folder cannot be written."""
        if self._now != self._known:
            private_folder(self._file.parent)
            atomic_write(self._file, msgspec.json.encode(self._now))

    def _state(self, session: StoredSession) -> tuple[str, str]:
        path = os.fsencode(os.path.realpath(session.files.paths[0])).decode("utf-8", "backslashreplace")
        return path, f"{session.size}:{session.mtime_ns}:{self._settings}{self._told(session)}"

    def _told(self, session: StoredSession) -> str:
        """Return what the client's files of settings look like, "" where there are none."""
        path = session.files.paths[0]
        place = (session.dialect, path.parent)
        if place not in self._chosen:
            try:
                self._chosen[place] = self._files_of(session.dialect, path)
            except OSError:
                self._chosen[place] = ":?"  # whoever reads them for a session says why it cannot be done
        return self._chosen[place]

    def _files_of(self, dialect: str, path: Path) -> str:
        files = [*settings_files(dialect, path, self._root), *client_of(dialect).own_settings(path)]
        return "".join(f":{at.st_ino}:{at.st_size}:{at.st_mtime_ns}" for at in (f.stat() for f in files if f.is_file()))

    def _read(self) -> dict[str, str]:
        try:
            return _decoder.decode(file_bytes(self._file))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}  # a cache: the sessions are read once more

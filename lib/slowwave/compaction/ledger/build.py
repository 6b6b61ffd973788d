"""The ledger of a region of messages: what is new by exact rules, after what an earlier summary said."""

from collections.abc import Iterable, Iterator, Sequence

from slowwave.compaction.exchanges import Redact, exchanges
from slowwave.compaction.file_lists import NO_FILES, FileOperations, of_lists
from slowwave.compaction.file_operations import of_messages
from slowwave.compaction.ledger.asks import asks
from slowwave.compaction.ledger.earlier import entries_of
from slowwave.compaction.ledger.identifiers import identifiers
from slowwave.compaction.ledger.model import Entry, Ledger, LedgerSettings
from slowwave.compaction.ledger.said import by_agent, personal
from slowwave.compaction.ledger.work import command_key, commands, commits, errors, said_last, tasks
from slowwave.compaction.summaries import last_summary
from slowwave.formats.model import Message
from slowwave.reading.session import read
from slowwave.secrets.redactor import NAMELESS

_DEFAULT = LedgerSettings()
# what was going on is no longer, once something newer is
_SUPERSEDED = {"next": 44, "in_progress": 42}
_CARRIED_ASK = 72


def ledger_of(
    messages: Sequence[Message],
    previous: str = "",
    cwd: str = "",
    *,
    files: FileOperations = NO_FILES,
    redact: Redact = NAMELESS,
    settings: LedgerSettings = _DEFAULT,
) -> Ledger:
    """Return the ledger of messages that are about to be summarised.

    Args:
        messages: in order, of one context; abandoned branches and sub-agents among them do not count.
        previous: the earlier summary, ours or a client's, with or without its lists; by default the last compaction's
            among the messages. It is carried on once, wherever it stands.
        cwd: the folder that paths are seen from.
        files: the lists that earlier compactions carry in their records.
        redact: takes secrets out.
        settings: how large it may become.
    """
    own = [message for message in messages if message.active and not message.sidechain]
    given = redact(previous or last_summary(own))
    carried = entries_of(given)
    new = list(_new([m for m in own if m.origin != "summary"], redact, settings, goes_on=bool(carried)))
    return Ledger(tuple(_merged(carried, new)), of_messages(own, cwd, files | of_lists(given)), settings)


def _new(messages: Sequence[Message], redact: Redact, settings: LedgerSettings, *, goes_on: bool) -> Iterator[Entry]:
    reading = read(messages, redact)
    every = list(exchanges(messages))
    yield from asks(reading, settings, goes_on=goes_on)
    yield from personal(reading, settings)
    yield from by_agent(reading, settings)
    yield from tasks(every, redact, settings)
    yield from commits(every, redact)
    yield from commands(every, redact)
    yield from errors(every, redact)
    yield from said_last(messages, redact, settings)
    yield from identifiers(reading, every, redact)


def _merged(carried: Sequence[Entry], new: Sequence[Entry]) -> Iterator[Entry]:
    """Yield every line once, the earlier ones first; what is new takes the place of what says the same."""
    latest = {_place(entry): entry for entry in new}
    parts = {entry.part for entry in new}
    ok = {entry.key for entry in new if entry.kind == "command" and ": ok" in entry.text}
    had_goal = any(entry.part == "goal" for entry in carried)
    met: set[tuple[str, str]] = set()
    for entry in carried:
        if _place(entry) not in latest and _place(entry) not in met:
            met.add(_place(entry))
            yield _aged(entry, parts, ok)
    for entry in new:
        if _place(entry) not in met:
            met.add(_place(entry))
            last = latest[_place(entry)]
            yield last._replace(value=min(last.value, _CARRIED_ASK + 8)) if had_goal and _was_first(last, new) else last


def _place(entry: Entry) -> tuple[str, str]:
    """Tasks, wherever they stand, take each other's place; other kinds only their own."""
    return ("ask" if entry.kind == "ask" and entry.part == "goal" else entry.kind, entry.key)


def _was_first(entry: Entry, new: Iterable[Entry]) -> bool:
    asked = [e for e in new if e.kind == "ask" and e.part == "goal"]
    return len(asked) > 1 and entry == asked[0]


def _aged(entry: Entry, parts: set[str], ok: set[str]) -> Entry:
    if entry.kind == "error" and entry.part == "blocked":
        what = entry.text.removeprefix("error in `").partition("`")[0]
        if command_key(what) in ok:
            text = entry.text.replace(" - not resolved", " - resolved: it succeeded later")
            return entry._replace(part="context", text=text)
    if entry.part in parts and entry.part in _SUPERSEDED and entry.kind != "error":
        return entry._replace(value=min(entry.value, _SUPERSEDED[entry.part]))
    return entry

"""The exact ledger: what a region of a session comes down to without a model, in the sections that the seeds ask for.

Offline and deterministic: the same messages give the same bytes. :func:`ledger_of` collects, :func:`render` writes as
much as there is room for; changed files and error signatures are never left out. Its lines are those of
:mod:`slowwave.compaction.entries`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from slowwave.compaction.calls import Redact, exchanges
from slowwave.compaction.entries import (
    HEADINGS,
    NAMED,
    NOT_LISTED,
    NOTE,
    PROGRESS,
    Entry,
    Kind,
    Ledger,
    LedgerSettings,
    Part,
    Rendering,
    asks,
    by_agent,
    command_key,
    commands,
    commits,
    error_key,
    errors,
    identifiers,
    key_of,
    line_of,
    personal,
    said_last,
    tasks,
)
from slowwave.compaction.files import NO_FILES, FileOperations, of_lists, of_messages, without_tags
from slowwave.compaction.items import last_summary
from slowwave.formats.model import Message
from slowwave.reading.session import read
from slowwave.secrets import NAMELESS

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


# An earlier summary taken apart, so that the next one goes on from it: ours line by line, a client's by its sections.
#
# What stood in the seeds' sections stays in them; lines of any other form are carried on below Critical Context. Every
# line is carried once, keeps its kind where it is one of our own, and is worth less than what is new.

SEPARATOR = " \N{MIDDLE DOT} "
NONE = "(none)"
_HEADING = re.compile(
    r"^\s{0,3}(?:(?P<hashes>#{1,6})\s+(?P<title>.+?)|(?:\d{1,2}[.)]\s+)?\*\*(?P<bold>[^*]{2,60}?):?\*\*:?"
    r"|\d{1,2}[.)]\s+(?P<plain>[A-Z][^.:*`]{3,50}):)\s*:?\s*$"
)
_SECTIONS = re.compile(r"^##+ \S", re.MULTILINE)
_TITLES: tuple[tuple[re.Pattern[str], Part], ...] = (
    (re.compile(r"^(?:goals?|primary request.*|objective|original request|task)$", re.IGNORECASE), "goal"),
    (re.compile(r"^(?:constraints?.*|preferences?|instructions|requirements)$", re.IGNORECASE), "constraints"),
    (re.compile(r"^(?:done|completed.*|accomplished|early progress)$", re.IGNORECASE), "done"),
    (
        re.compile(r"^(?:in progress|current work|current (?:state|task|progress)|ongoing)$", re.IGNORECASE),
        "in_progress",
    ),
    (re.compile(r"^(?:blocked|blockers?|open issues)$", re.IGNORECASE), "blocked"),
    (re.compile(r"^(?:key )?decisions?(?: made)?$", re.IGNORECASE), "decisions"),
    (re.compile(r"^(?:(?:optional )?next steps?|pending tasks?|remaining.*|open todos?)$", re.IGNORECASE), "next"),
    (re.compile(r"^critical context$", re.IGNORECASE), "context"),
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[(?P<box>[ xX])\]\s+)?")
_NUMBERED_TITLE = re.compile(r"^\d+\.\s+")
_COMMAND = re.compile(r"^`(?P<line>[^`]+)`(?: \([^)]*\))?: (?:ok|failed|ran)\b")
_EARLIER_CHARS = 1_300
_PREFIXES = re.compile(r"^(?:by the agent|the person answered|found): ")
_VALUES: dict[Part, int] = {
    "goal": 72,
    "constraints": 84,
    "done": 46,
    "in_progress": 60,
    "blocked": 58,
    "decisions": 75,
    "next": 62,
    "context": 56,
}
_KINDS: dict[Part, Kind] = {
    "goal": "ask",
    "constraints": "constraint",
    "done": "task",
    "in_progress": "task",
    "decisions": "decision",
    "next": "task",
}
_FIRST = 100
# of a summary that has none of the seeds' sections the beginning tells most
_DECAY = 20
# its files still have the code
_CODE = 18
_FENCE = "```"
_CONTEXT: Part = "context"
_WORDS = re.compile(r"\w")


class _Line(NamedTuple):
    part: Part
    title: str
    text: str
    is_code: bool = False


def entries_of(summary: str) -> list[Entry]:
    """Return the lines of an earlier summary; "" has none."""
    found: list[Entry] = []
    lines = list(_lines(without_tags(summary)))
    for at, line in enumerate(lines):
        for entry in _entries(line):
            is_first = line.part == "goal" and not any(e.part == "goal" for e in found)
            less = (_DECAY * at // len(lines) if entry.kind == "earlier" else 0) + _CODE * line.is_code
            found.append(entry._replace(value=_FIRST if is_first else entry.value - less))
    return found


def lines_by_part(summary: str) -> dict[Part, list[str]]:
    """Return the lines of a summary by their section, as they are; without sections all are Critical Context."""
    found: dict[Part, list[str]] = {}
    for line in _lines(summary):
        words = f"{line.title}: {line.text}" if line.title else line.text
        found.setdefault(line.part, []).append(words)
    return found


def _lines(text: str) -> Iterator[_Line]:
    reader = _Reader(by_hashes=_SECTIONS.search(text) is not None)
    for raw in text.split("\n"):
        line = reader.read(raw)
        if line is not None:
            yield line


class _Reader:
    """Goes through a summary and knows the section that it is in; lines in bold are headings where no others are."""

    def __init__(self, *, by_hashes: bool) -> None:
        self._part: Part = _CONTEXT
        self._title = ""
        self._is_code = False
        self._by_hashes = by_hashes

    def read(self, raw: str) -> _Line | None:
        if raw.lstrip().startswith(_FENCE):
            self._is_code = not self._is_code
            return None
        if not _WORDS.search(raw):
            return None
        if self._is_code:
            return _Line(self._part, self._title, raw.strip(), is_code=True)
        if self._enters(raw):
            return None
        body = _BULLET.sub("", raw).strip()
        if not body or body in (NONE, NOTE) or body.endswith(NOT_LISTED):
            return None
        return _Line(self._part, self._title, body)

    def _enters(self, raw: str) -> bool:
        """Say whether a line is a heading, and note its section."""
        heading = _HEADING.match(raw)
        if heading is None or (self._by_hashes and not heading["hashes"]):
            return False
        name = _NUMBERED_TITLE.sub("", (heading["title"] or heading["bold"] or heading["plain"]).strip(" *:"))
        known: Part | None = next((own for pattern, own in _TITLES if pattern.match(name)), None)
        self._part = _CONTEXT if known is None else known
        self._title = "" if known or name.casefold() == "progress" else name
        return True


def _entries(line: _Line) -> Iterator[Entry]:
    text = line.text
    if line.part == "context" and text.startswith(NAMED):
        for name in text.removeprefix(NAMED).split(SEPARATOR):
            yield Entry("context", "identifier", name, name.casefold(), 48)
    elif text.startswith("error in `"):
        yield Entry(line.part, "error", text, error_key(text), 90, stays=True)
    elif command := _COMMAND.match(text):
        yield Entry(line.part, "command", text, command_key(command["line"]), 44)
    elif text.startswith("asked last: "):
        yield Entry("in_progress", "ask", text, "asked last", 70)
    elif text.startswith("the agent said last: "):
        yield Entry("in_progress", "said", text, "said last", 50)
    else:
        words = f"{line.title}: {text}" if line.title and not text.startswith(f"{line.title}: ") else text
        one = line_of(words, _EARLIER_CHARS)
        yield Entry(
            line.part, _KINDS.get(line.part, "earlier"), one, key_of(_PREFIXES.sub("", one)), _VALUES[line.part]
        )


# A ledger as the text of a summary: the seeds' sections, the lists of files; what there is no room for is told.

_BULLETS: dict[Part, str] = {"done": "- [x] ", "in_progress": "- [ ] "}
# of the room: no more than this for files that were only read, and at least this for the ledger beside a narrative
_READ_SHARE = 0.4
_LEDGER_SHARE = 0.5
_LEAST_KEY = 20


def rendered(ledger: Ledger, narrative: str = "", *, redact: Redact = NAMELESS) -> str:
    """Return a ledger as text, with the narrative of a model before its lines in every section."""
    return render(ledger, narrative, redact=redact).text


def render(ledger: Ledger, narrative: str = "", *, redact: Redact = NAMELESS) -> Rendering:
    """Return a ledger as text, and what there was no room for.

    Args:
        ledger: what is to be told.
        narrative: a summary by a model, in the seeds' sections or in any other form; its lists of files are not
            believed. It is never cut.
        redact: takes secrets out of all of it once more.
    """
    told = lines_by_part(without_tags(narrative)) if narrative.strip() else {}
    taken = sum(len(line.encode("utf-8", "surrogatepass")) + 3 for lines in told.values() for line in lines)
    most = max(ledger.settings.most_bytes - taken, int(ledger.settings.most_bytes * _LEDGER_SHARE))
    files, left_out = _files(ledger.files, int(most * _READ_SHARE))
    words = f" {' '.join(key_of(line, whole=True) for lines in told.values() for line in lines)} "
    new = [entry for entry in ledger.entries if entry.stays or not _is_told(entry, words)]
    fixed = len(_text([], told, files, len(left_out)).encode("utf-8", "surrogatepass")) - taken + len(f"- {NAMED}\n")
    chosen = _chosen(new, most - fixed)
    kept = [entry for at, entry in enumerate(new) if at in chosen]
    dropped = tuple(entry for at, entry in enumerate(new) if at not in chosen)
    return Rendering(redact(_text(kept, told, files, len(left_out))), dropped, left_out)


def _is_told(entry: Entry, words: str) -> bool:
    return len(entry.key) >= _LEAST_KEY and f" {entry.key} " in words


def _files(files: FileOperations, most: int) -> tuple[FileOperations, tuple[str, ...]]:
    """Return the lists that are written; changed files all, those only read as far as there is room."""
    room, kept, left_out = most, set[str](), list[str]()
    for path in files.read_files:
        room -= len(path.encode("utf-8", "surrogatepass")) + 1
        (kept.add if room >= 0 else left_out.append)(path)
    return FileOperations(frozenset(kept), files.modified), tuple(left_out)


def _chosen(entries: Sequence[Entry], room: int) -> set[int]:
    """Return which lines there is room for: those that stay, then the most worthy, the newer of two equals first."""
    order = sorted(range(len(entries)), key=lambda at: (not entries[at].stays, -entries[at].value, -at))
    chosen: set[int] = set()
    for at in order:
        size = _size(entries[at])
        if entries[at].stays or size <= room:
            room -= size
            chosen.add(at)
    return chosen


def _size(entry: Entry) -> int:
    # names stand in one line
    return entry.size - (len("- [ ] \n") - len(SEPARATOR.encode())) if entry.kind == "identifier" else entry.size


def _text(kept: Sequence[Entry], told: dict[Part, list[str]], files: FileOperations, left_out: int = 0) -> str:
    blocks: list[str] = []
    for part, heading in HEADINGS:
        lines = [*told.get(part, []), *_lines_of(part, [entry for entry in kept if entry.part == part], left_out)]
        if part == "done":
            blocks.append(PROGRESS)
        blocks.append("\n".join((heading, *_numbered(part, lines))))
    return "\n\n".join(blocks) + files.tags()


def _lines_of(part: Part, entries: Iterable[Entry], left_out: int) -> list[str]:
    entries = list(entries)
    lines = [entry.text for entry in entries if entry.kind != "identifier"]
    if part != "context":
        return lines
    if names := [entry.text for entry in entries if entry.kind == "identifier"]:
        lines.append(NAMED + SEPARATOR.join(names))
    if left_out:
        lines.append(f"{left_out} {NOT_LISTED}")
    return [*dict.fromkeys((*lines, NOTE))]


def _numbered(part: Part, lines: Sequence[str]) -> list[str]:
    if not lines:
        return [f"- {NONE}"]
    if part == "next":
        return [f"{number}. {line}" for number, line in enumerate(lines, 1)]
    return [f"{_BULLETS.get(part, '- ')}{line}" for line in lines]

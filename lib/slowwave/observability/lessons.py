"""What did it learn? One answer for all: the end of a run, ``status``, ``nights``, the report, Prefect's pages.

What changed is told out of the ledgers of the memory folders, which say which dream of which run did what; what would
change, out of what a plan would write there. What needs a person is the inbox, and what was read is what the run
counted. Words stand in the ledgers alone, so what was erased there is in no screen that is drawn later.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import msgspec

from slowwave import __version__
from slowwave.errors import SlowwaveError
from slowwave.files import ASKS, atomic_write, file_bytes, private_folder, state_folder
from slowwave.memory import OF_VOICE, PASTED, QUOTED, RETRACTS, Evidence
from slowwave.memory.book import Book, replay
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.folder import OWN_FOLDER, MemoryFolder
from slowwave.memory.ledger import ARRANGED, REVIEW, Event, Sighting, read_ledger, undone_in
from slowwave.memory.ledger import FILE as LEDGER
from slowwave.quantities import counted, in_hundred
from slowwave.report import Report
from slowwave.settings import ConsolidationSettings

if TYPE_CHECKING:
    from slowwave.consolidation.inbox import Parked, Waiting

T = TypeVar("T")

Kind = Literal["new", "changed", "replaced", "dropped", "moved"]
KINDS: tuple[Kind, ...] = ("new", "changed", "replaced", "dropped", "moved")
# what of all that waits is a fact that was noted
FACTS = ("fact", "everywhere")
# folders whose inbox is looked at for one screen: a fleet has more than a person reads in one morning
MOST_INBOXES = 200
# counts of inboxes that are kept, with those of folders as they were before
_MOST_KNOWN = 10_000
# where something waits, at least one of these is there: notes, memories that lines contradict, dreams
_WAITING = tuple(f"{OWN_FOLDER}/{name}" for name in (CANDIDATES, LEDGER, "parked"))
# what a person is asked where only they can say whose words they typed
_DOUBTS = {
    QUOTED: "it may be a quotation: only you can say whether you meant it yourself",
    PASTED: "it reads like pasted text: only you can say whether you meant it yourself",
}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that agents know now and did not before, or the other way round."""

    kind: Kind  # new, changed, replaced, dropped, or moved out of the full index to a page
    project: str  # key of the project
    memory: str  # id of the memory that it is about
    memories: tuple[str, ...] = ()  # ids of the memories that moved with a section
    text: str  # what is remembered now; of what was dropped, what it was
    before: str = ""  # what was said in its place before, or ""
    why: str = ""  # why it was dropped, changed or moved, or ""
    category: str = ""
    confidence: float = 0.0  # how certain it is, 0.0 to 1.0
    sessions: int = 0  # how many sessions showed it
    said: str = ""  # in a dry run the words that it rests on, where they are not its own


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that waits for a person."""

    # fact, everywhere (a fact that would hold in all projects), line (a memory that contradicts a person's line) or
    # dream (a whole dream that was not carried out)
    kind: Literal["fact", "everywhere", "line", "dream"]
    project: str  # key of the project
    id: str  # what ``slowwave review`` calls it by
    text: str  # what it says
    why: str  # why a person is asked
    category: str = ""  # its category, "" for a dream
    confidence: float = 0.0  # how certain it is
    # whether nobody else can decide it; else it waits for more evidence, and may decide itself
    is_worth_it: bool = True
    is_said: bool = False  # whether a person's words stand behind it
    evidence: tuple[Evidence, ...] = ()  # where it was said

    @property
    def message(self) -> str:
        """What stands for the one message that it came from, "" where it came from several or from none."""
        records = {piece.sha256 for piece in self.evidence} if self.kind == "fact" else set[str]()
        return f"{self.project} {records.pop()}" if len(records) == 1 else ""


class Dream(msgspec.Struct, kw_only=True):
    """A dream that was committed, or what a person decided in review."""

    id: str  # its id, which ``slowwave memory undo`` takes
    project: str  # key of the project
    memory: str  # its memory folder
    at: str  # ISO time
    run: str = ""  # id of the run, "review" for a person's decision
    is_undone: bool = False  # whether somebody took it back
    undone_at: str = ""  # when they did, ISO
    changes: list[Change] = []  # what it changed
    again: int = 0  # memories that were shown again and say the same as before
    adopted: int = 0  # lines of agents or tools that take part from now on

    @property
    def is_by_person(self) -> bool:
        """Whether it is a person's decision."""
        return self.run == REVIEW

    @property
    def anew(self) -> str:
        """What one does who has it again after it was taken back, in words."""
        is_drop = self.is_by_person and {change.kind for change in self.changes} == {"dropped"}
        return "drop it again" if is_drop else "have it again"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory folder with all its dreams, oldest first."""

    folder: MemoryFolder
    book: Book
    dreams: list[Dream]


class Learned(msgspec.Struct):
    """What some dreams changed and what waits, most useful first."""

    changes: list[Change] = []  # what changed, project by project
    asks: list[Ask] = []  # what waits for a person, those first that are worth their time
    dreams: list[Dream] = []
    is_planned: bool = False  # nothing of it was done
    problems: list[str] = []  # memory folders that could not be read, and why
    # by project, clients that load no memory folder, and for which nobody asked for a file that they read
    unloaded: dict[str, list[str]] = {}
    # by project that changed, whether each client loads its memory, why not and what to do
    reaches: dict[str, dict[str, str]] = {}
    bar: float = 0.0  # how likely to be worth keeping a fact had to be to be kept, 0.0 where that is not known
    due: str = ""  # when the last of these projects may dream again, ISO time, or ""

    @property
    def numbers(self) -> dict[Kind, int]:
        """How many changes of each kind there are."""
        found = Counter(change.kind for change in self.changes)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    @property
    def needs(self) -> list[Ask]:
        """What is worth a person's time."""
        return [ask for ask in self.asks if ask.is_worth_it]

    def by_project(self) -> Iterator[tuple[str, list[Change]]]:
        """Yield each project with its changes, the busiest first."""
        found: dict[str, list[Change]] = {}
        for change in self.changes:
            found.setdefault(change.project, []).append(change)
        yield from sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))

    def __str__(self) -> str:
        """Say it in a few words: ``12 new memories, 3 replaced``."""
        return in_words(self.numbers)


def in_words(numbers: Mapping[Kind, int]) -> str:
    """Return how much changed in a few words: ``12 new memories, 3 replaced``, or that nothing did."""
    parts = [f"{number:,} {kind}" for kind, number in numbers.items() if number and kind != "moved"]
    if parts:
        number, kind = parts[0].split(" ", 1)
        parts[0] = f"{number} {kind} {'memory' if number == '1' else 'memories'}"
    if moved := numbers.get("moved"):
        parts.append(f"{moved:,} moved to pages")
    return ", ".join(parts) or "nothing new"


def in_all(dreams: Iterable[Dream]) -> str:
    """Return how much dreams changed, and how much of it was taken back since: both, so that the numbers stay."""
    every = list(dreams)
    found = Counter(change.kind for dream in every for change in dream.changes)
    said = in_words({kind: found[kind] for kind in KINDS if found[kind]})
    gone = sum(change.kind != "moved" for dream in every if dream.is_undone for change in dream.changes)
    if not gone:
        return said
    return f"{said}, {'all' if gone == sum(found.values()) - found['moved'] else gone} of them taken back"


def remembered(folders: Iterable[MemoryFolder]) -> tuple[list[Remembered], list[str]]:
    """Return the dreams of memory folders, and which folders could not be read."""
    found: list[Remembered] = []
    problems: list[str] = []
    for folder in folders:
        try:
            events = read_ledger(folder.path)
            found.append(Remembered(folder, replay(events), dreams_of(folder, events)))
        except (SlowwaveError, OSError) as error:
            problems.append(f"{folder.project}: {error}")
    return found, problems


def learned(every: Sequence[Remembered], wanted: Callable[[Dream], bool]) -> Learned:
    """Return what the wanted dreams changed, as far as they were not taken back."""
    dreams = sorted((d for one in every for d in one.dreams if wanted(d)), key=lambda d: (d.at, d.project, d.id))
    changes = [change for dream in dreams if not dream.is_undone for change in dream.changes]
    return Learned(sorted(changes, key=_worth), dreams=dreams)


def planned(report: Report) -> Learned:
    """Return what the dreams of a dry run would change, with the words behind new memories, and what would wait."""
    from slowwave.secrets import NAMELESS  # noqa: PLC0415 - only a dry run waits for it

    changes: list[Change] = []
    for project, memory, events in report.dreamt:
        before = read_ledger(Path(memory))
        dream = dreams_of(MemoryFolder(project, Path(memory), ()), [*before, *events])[-1]
        said = {event.memory: event.evidence[0].quote for event in events if event.evidence}
        changes += [_with_words(change, said.get(change.memory, ""), NAMELESS) for change in dream.changes]
    asks = [_without_secrets(ask, NAMELESS) for ask in report.asks if ask.is_worth_it]
    return Learned(sorted(changes, key=_worth), sorted(asks, key=urgency), is_planned=True)


def _without_secrets(ask: Ask, redact: Callable[[str], str]) -> Ask:
    clean = {name: redact(getattr(ask, name)) for name in ("project", "text", "why")}
    return msgspec.structs.replace(ask, **clean, evidence=())


def _with_words(change: Change, said: str, redact: Callable[[str], str]) -> Change:
    said = " ".join(said.split())
    is_same = change.kind == "dropped" or said.rstrip(".…") in change.text
    clean = {name: redact(getattr(change, name)) for name in ("project", "text", "before", "why")}
    return msgspec.structs.replace(change, **clean, said="" if is_same else redact(said))


def _worth(change: Change) -> tuple[int, float, int, str]:
    return KINDS.index(change.kind), -change.confidence, -change.sessions, change.text


def dreams_of(folder: MemoryFolder, events: Sequence[Event]) -> list[Dream]:
    """Return the dreams that a ledger tells of, oldest first."""
    gone = undone_in(events)
    said: dict[str, Event] = {}
    found: list[Dream] = []
    at_work: _Telling | None = None
    for event in events:
        if at_work and event.dream != at_work.dream.id:
            found.append(at_work.told())
            at_work = None
        if event.event == "dream":
            dream = Dream(id=event.dream, project=folder.project, memory=str(folder.path), at=event.at, run=event.run)
            dream.is_undone, dream.undone_at = event.dream in gone, gone.get(event.dream, "")
            at_work = _Telling(dream, said)
        elif at_work:
            at_work.take(event)
        if event.text and event.memory:
            said[event.memory] = event
    return [*found, at_work.told()] if at_work else found


class _Telling:
    """What one dream changed, event by event."""

    def __init__(self, dream: Dream, said: dict[str, Event]) -> None:
        self.dream, self._said = dream, said
        self._fresh: dict[str, Event] = {}
        self._others: list[tuple[Kind, Event, str, str]] = []
        self._ended: list[Event] = []

    def take(self, event: Event) -> None:  # noqa: C901 - one kind of event after the other
        """Take the next event of the dream."""
        before = self._said.get(event.memory)
        was = before.text if before else ""
        match event.event:
            case "add":
                self._fresh[event.memory] = event
            case "adopt":
                self.dream.adopted += 1
            case "merge" | "update" if event.text and was and event.text != was:
                self._others.append(("changed", event, was, ""))
            case "merge":
                self.dream.again += 1
            case "move" if event.stands:
                pass  # its section tells of it
            case "move" if event.reason != ARRANGED:
                self._others.append(("moved", event, "", event.reason))
            case "section" if event.file:
                self._others.append(("moved", event, "", event.reason))
            case "supersede":
                self._ended.append(event)
            case "drop" | "removed-by-person" if before:
                yours = "you dropped it" if self.dream.is_by_person else "you deleted its line"
                why = yours if event.event == "removed-by-person" else event.reason
                self._others.append(("dropped", before, "", why))
            case "edited-by-person" if before:
                self._others.append(("changed", before, "", "you reworded its line, and it is yours now"))
            case _:
                pass

    def told(self) -> Dream:
        """Return the dream with its changes, most useful first."""
        changes = [self._change(*other) for other in self._others]
        shown = {event.memory for event in self._ended}
        for event in self._ended:
            old, now = self._said.get(event.memory), self._said.get(event.successor)
            if old is None or event.memory in self._fresh:
                continue  # what came and went in one dream was never remembered
            if now is None or now.key == RETRACTS:
                changes.append(self._change("dropped", old, "", f"taken back: {now.text}" if now else event.reason))
            else:
                shown.add(now.memory)
                changes.append(self._change("replaced", now, old.text, ""))
        fresh = [e for name, e in self._fresh.items() if name not in shown and e.key != RETRACTS]
        changes += [self._change("new", event, "", "") for event in fresh]
        self.dream.changes = sorted(changes, key=_worth)
        return self.dream

    def _change(self, kind: Kind, event: Event, before: str, why: str) -> Change:
        moved = tuple(entry.ref for entry in event.entries if entry.ref)
        return Change(
            kind=kind,
            project=self.dream.project,
            memory=event.memory,
            memories=moved,
            text=told_section(event) if event.event == "section" else event.text,
            before=before,
            why=why,
            category=event.category,
            confidence=event.confidence,
            sessions=number_of_sessions(event.sightings),
        )


def told_section(event: Event) -> str:
    """Return what a screen calls a section that moved: ``the section Frontend, 9 lines, to frontend.md``."""
    return f"the section {event.text}, {counted(event.number, 'line')}, to {event.file}"


def number_of_sessions(sightings: Iterable[Sighting]) -> int:
    """Return how many sessions showed a fact."""
    return len({(sighting.dialect, sighting.session) for sighting in sightings})


def asked(
    folders: Sequence[MemoryFolder], settings: ConsolidationSettings, now: datetime, environ: Mapping[str, str]
) -> tuple[list[Ask], list[str]]:
    """Return what waits for a person in memory folders, what is worth their time first, and what cannot be told.

    A folder that nobody touched is not looked through again, as with :func:`needs_in`.
    """
    settings = msgspec.structs.replace(settings, review_confidence=0.0)
    kept = _Kept(state_folder(environ) / ASKS, list[Ask], 2 * MOST_INBOXES)
    found: list[Ask] = []
    problems: list[str] = []
    for folder in folders[:MOST_INBOXES]:
        try:
            name = _as_it_is(folder, settings)
            if name not in kept:
                kept.add(name, list(asks_of(folder, settings, now)))
            found += kept[name]
        except (SlowwaveError, OSError) as error:
            problems.append(f"{folder.project}: {error}")
    if len(folders) > MOST_INBOXES:
        problems.append(f"what waits in {len(folders) - MOST_INBOXES} more projects: slowwave review tells it")
    kept.save()
    return sorted(found, key=urgency), problems


class Needs(msgspec.Struct, frozen=True):
    """How much of a memory folder waits that is worth a person's time."""

    things: int  # all of it: facts, lines that memories contradict, dreams
    facts: int  # the facts among them; those that wait besides wait for more sessions


def needs_in(
    folders: Sequence[MemoryFolder], settings: ConsolidationSettings, now: datetime, environ: Mapping[str, str]
) -> tuple[dict[Path, Needs], bool]:
    """Return how much waits in memory folders that is worth a person's time, by folder, and whether that is all.

    To find out is to plan a dream, so it is kept for each folder as it is: what nobody touched is not planned again,
    and of a fleet no more is planned at once than one screen may wait for. A folder that cannot be read counts nothing;
    whoever looks at it says why.
    """
    kept = _Kept(state_folder(environ) / "waiting.json", Needs, _MOST_KNOWN)
    found: dict[Path, Needs] = {}
    new, is_all = 0, True
    for folder in folders:
        try:
            if not any((folder.path / one).exists() for one in _WAITING):
                continue
            name = _as_it_is(folder, settings)
            if name not in kept and new == MOST_INBOXES:
                is_all = False
                continue
            if name not in kept:
                new += 1
                asks = [ask for ask in asks_of(folder, settings, now) if ask.is_worth_it]
                kept.add(name, Needs(len(asks), sum(ask.kind in FACTS for ask in asks)))
            found[folder.path] = kept[name]
        except (SlowwaveError, OSError):
            continue
    kept.save()
    return found, is_all


class _Kept(Generic[T]):
    """What was found out about memory folders as they are, in a file that may go at any time."""

    def __init__(self, path: Path, kind: type[T], most: int) -> None:
        self._path, self._most = path, most
        self._found: dict[str, T] = {}
        self._is_new = False
        try:
            self._known: dict[str, T] = msgspec.json.decode(file_bytes(path), type=dict[str, kind])
        except (OSError, SlowwaveError, msgspec.MsgspecError, UnicodeDecodeError):
            self._known = {}  # it is only what would be found out again

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __getitem__(self, name: str) -> T:
        self._found[name] = self._known[name]
        return self._found[name]

    def add(self, name: str, found: T) -> None:
        self._known[name] = found
        self._is_new = True

    def save(self) -> None:
        """Write it where something is new; of folders as they were before no more stays than there is room for."""
        if not self._is_new:
            return
        with suppress(OSError, SlowwaveError):
            private_folder(self._path.parent)
            kept = self._known if len(self._known) <= self._most else self._found
            atomic_write(self._path, msgspec.json.encode(kept))


def _as_it_is(folder: MemoryFolder, settings: ConsolidationSettings) -> str:
    """Return what stands for a memory folder and the settings: when it is the same, the same waits."""
    stamp = hashlib.sha256(f"{__version__} {settings} {folder.is_global}".encode())
    below = [folder.path]
    while below:
        with os.scandir(below.pop()) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.is_dir(follow_symlinks=False):
                    below += [] if entry.name == "undo" else [Path(entry.path)]
                    continue
                at = entry.stat()
                stamp.update(f"{entry.path} {at.st_size} {at.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return stamp.hexdigest()[:32]


def asks_of(
    folder: MemoryFolder, settings: ConsolidationSettings, now: datetime, noted: Path | None = None
) -> Iterator[Ask]:
    """Yield what waits for a person in one memory folder; ``noted`` is where extraction noted it, if elsewhere."""
    from slowwave.consolidation.inbox import inbox, parked_dreams  # noqa: PLC0415 - what only reads ledgers plans nothing

    yield from (ask_of_dream(folder, parked) for parked in parked_dreams(folder.path))
    for waiting in inbox(folder.path, folder.transcripts, settings, now, is_global=folder.is_global, noted=noted):
        yield ask_of(folder, waiting, settings)


def ask_of(folder: MemoryFolder, waiting: "Waiting", settings: ConsolidationSettings) -> Ask:
    """Return what a person is asked about a fact in the inbox."""
    lead = waiting.fact.lead
    why = waiting.reason.removesuffix(": waits for a person")
    if not waiting.asks and all(c.doubt in ("", *OF_VOICE) for c in waiting.fact.candidates):
        is_shown = waiting.fact.confidence >= settings.review_confidence
        least = settings.accept_confidence if is_shown else settings.review_confidence
        why = f"fewer than {in_hundred(least)} are worth keeping: it waits for more sessions"
    return Ask(
        kind="everywhere" if folder.is_global else "line" if waiting.fact.memory else "fact",
        project=folder.project,
        id=waiting.id,
        text=lead.text,
        why=_DOUBTS.get(why, why),
        category=lead.category,
        confidence=waiting.fact.confidence,
        is_worth_it=waiting.asks,
        is_said=waiting.fact.is_from_person,
        evidence=waiting.fact.evidence,
    )


def ask_of_dream(folder: MemoryFolder, parked: "Parked") -> Ask:
    """Return what a person is asked about a dream that was parked."""
    done = Counter(o.action for o in parked.operations)
    words = {"ADD": "add", "MERGE": "add evidence to", "UPDATE": "change", "SUPERSEDE": "replace", "DROP": "drop"}
    would = ", ".join(f"{word} {done[action]}" for action, word in words.items() if done[action])
    return Ask(kind="dream", project=folder.project, id=parked.id, text=f"A dream would {would}", why=parked.reason)


def urgency(ask: Ask) -> tuple[bool, int, bool, float, str, str]:
    """Return what things that wait are sorted by: what is worth a person's time first."""
    return (
        not ask.is_worth_it,
        ("dream", "line", "everywhere", "fact").index(ask.kind),
        not ask.is_said,
        -ask.confidence,
        ask.text,
        ask.id,
    )


def by_reason(asks: Iterable[Ask]) -> dict[str, list[Ask]]:
    """Return what waits by the reason that is told once of all of it, "" where each has its own; in their order."""
    found: dict[str, list[Ask]] = {}
    for ask in asks:
        found.setdefault(ask.why[:1].upper() + ask.why[1:] if ask.kind == "fact" else "", []).append(ask)
    return found

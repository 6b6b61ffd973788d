"""One reading of a memory folder: what a plan is made from, and the hashes that its commit will check again."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rapidfuzz import fuzz

from slowwave.consolidation.gates import parse_state
from slowwave.consolidation.model import Gathered, State
from slowwave.consolidation.slots import decision_key, key_of
from slowwave.formats import Problem
from slowwave.memory import CATEGORIES, Candidate, Category, ExtractedRange, iso
from slowwave.memory.authors import Author, Authors, Writes, committed, read_writes
from slowwave.memory.book import DECISIONS, NOTED, WORKING, Book, Memory, Phrase, page_of_heading, replay
from slowwave.memory.candidates import (
    EXTRACTED,
    MOST_REMOVED,
    USUAL_LOSS,
    Waiting,
    candidates_path,
    read_entries,
    reconciled,
    shown_before,
)
from slowwave.memory.candidates import waiting as waiting_now
from slowwave.memory.effects import read_effects
from slowwave.memory.folder import INDEX, PAGE, PAGES, POINTER, STATE_FILE, digest, read_or_none, read_texts
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import VERSION, Event, Sighting, Writer, line_hash, parse_ledger
from slowwave.memory.pages import Statement, front_of, statements
from slowwave.memory.provenance import foreign_lines, known_numbers, read_foreign, strange_files
from slowwave.memory.team import read_others
from slowwave.secrets import NAMELESS


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A memory folder as it was read."""

    memory: Path  # the folder
    state: State  # who wrote which line
    last: int | None  # the second at which the last dream began
    entries: tuple[Candidate | ExtractedRange, ...]  # all candidates and ranges in file order
    problems: tuple[Problem, ...]  # lines of ``candidates.jsonl`` and ``effects.jsonl`` that could not be read
    seen: Mapping[str, str | None]  # the hash of every file that was read
    # the lines that ``extracted.md`` was given, by candidate
    shown: Mapping[str, str] = field(default_factory=dict[str, str])
    max_loss: float = USUAL_LOSS  # the share of these lines that a person may take out at once

    @property
    def waiting(self) -> Waiting:
        """What ``extracted.md`` shall show, and what a person's change or an accident did to it."""
        text = (self.state.files.get(EXTRACTED) or b"").decode("utf-8", "surrogateescape")
        return waiting_now(text, self.entries, self.state.book.done, self.shown, max_loss=self.max_loss)

    @property
    def candidates(self) -> dict[str, Candidate]:
        """All candidates by id."""
        return {e.id: e for e in self.entries if isinstance(e, Candidate)}

    def extracted_without(self, done: frozenset[str]) -> bytes | None:
        """Return ``extracted.md`` when these candidates are dealt with as well, None when nothing changes."""
        old = self.state.files.get(EXTRACTED)
        text = (old or b"").decode("utf-8", "surrogateescape")
        new = reconciled(text, self.entries, done | self.state.book.done.keys(), self.shown, self.max_loss)
        data = new.encode("utf-8", "surrogateescape")
        return None if data == (old or b"") else data


def read_snapshot(
    memory: Path, max_loss: float = USUAL_LOSS, writes: Writes | None = None, noted: Path | None = None
) -> Snapshot:
    """Read a memory folder; one that does not exist is empty.

    Hashes are taken of exactly the bytes that were parsed, except for the candidates, which are hashed first: when
    they grow in between, the commit notices and the plan is made anew.

    Args:
        memory: the memory folder.
        max_loss: the share of waiting lines that a person may take out at once.
        writes: what transcripts tell about its lines; without it, what was noted of that.
        noted: the folder that what extraction noted is in, where that is another one: such a plan is not carried out.

    Raises:
        CorruptStateError: ledger or state are damaged.
        UnreadableError: a file cannot be read.
    """
    waiting = candidates_path(memory).relative_to(memory).as_posix()
    hashed = digest(read_or_none(memory / waiting))
    entries, problems = read_entries(noted or memory)
    shown = shown_before(memory)
    files = read_texts(memory)
    words = read_foreign(noted or memory).lines
    ledger = read_or_none(memory / LEDGER)
    state = read_or_none(memory / STATE_FILE)
    events = parse_ledger(ledger or b"", memory / LEDGER)
    book = replay(events)
    book.watched, unread = read_effects(memory)
    last = parse_state(state, memory / STATE_FILE)
    stand = set(book.dreams)
    seen = {name: digest(files.get(name)) for name in (INDEX, EXTRACTED, *PAGES, *files)}
    oriented = orient(
        files,
        book,
        {key: known.writer for key, known in words.items()},
        Authors(
            files,
            writes or read_writes(memory),
            words,
            {name: book.moved_lines(name) for name in book.sections},
            committed(memory, strange_files(files, book)),
        ),
        since=max([iso(datetime.fromtimestamp(last or 0, UTC)), *(e.at for e in events if e.dream in stand)]),
        max_loss=max_loss,
        is_news=any(book.waits(e) and e.observed_at > book.undone_at for e in entries if isinstance(e, Candidate)),
    )
    return Snapshot(
        memory=memory,
        state=replace(oriented, others=read_others(memory)),
        last=last,
        entries=tuple(entries),
        problems=(*problems, *unread),
        shown=shown,
        max_loss=max_loss,
        seen=seen | {LEDGER: digest(ledger), STATE_FILE: digest(state), waiting: hashed},
    )


# Orient: which lines of the memory files are ours, which are people's, and what people did to ours.

# A line that a person left at least this like ours (Indel ratio, 0 to 100) is taken for a rewording of it.
REWORDED = 60.0


def orient(
    files: Mapping[str, bytes],
    book: Book,
    writers: Mapping[str, Writer] | None = None,
    authors: Authors | None = None,
    *,
    since: str = "",
    max_loss: float = USUAL_LOSS,
    is_news: bool = False,
) -> State:
    """Return who wrote which line, and what became of each active memory's line.

    A line is slowwave's only if the ledger holds the hash of exactly that line. Without it every line is foreign.

    Args:
        files: the Markdown files of the folder.
        book: what its ledger adds up to.
        writers: who wrote foreign lines, as far as that is known.
        authors: tells which lines agents wrote, which become entries; without it none does.
        since: when a dream, or a decision of a person, last wrote the pages anew, ISO.
        max_loss: the share of our lines that a person may take out of the index at once.
        is_news: whether something was noted since a person last took a dream back.
    """
    adopted = adoptions(files, book, authors) if authors else []
    if not is_news and all(event.memory in book.left for event in adopted):
        adopted = []
    book = book.after(adopted)
    new = [book.memories[event.memory] for event in adopted]
    owned = {name: known_numbers(name, data, book) for name, data in files.items()}
    foreign = foreign_lines(files, book)
    texts: dict[str, list[str]] = {}
    for line in foreign:
        texts.setdefault(line.file, []).append(line.text)
    from_tools = {line.text for line in foreign if (writers or {}).get(line.key) == "tool"}
    standing: list[Memory] = []
    edited: list[tuple[Memory, str]] = []
    removed: list[Memory] = []
    unshown: list[Memory] = []
    back: set[str] = set()
    rewritten: list[tuple[Memory, str]] = []
    spoken_for: dict[tuple[str, str], Phrase | None] = {}
    on_pages = {name: set(numbers.values()) for name, numbers in owned.items()}
    there = set(owned.get(INDEX, {}).values())
    shown = {e.ref for e in book.index if e.sha256 in there or INDEX not in files}
    for memory in book.active:
        lines = {memory.sha256, line_hash(book.line_of(memory))} if memory.id in book.phrases else {memory.sha256}
        if memory.id in shown or lines & on_pages.get(memory.file, set()):
            standing.append(memory)
            continue
        wording = _rewording(memory, book.phrases.get(memory.id), texts.get(memory.place, ()), spoken_for)
        anew = "" if wording else _anew(memory, new)
        if anew and not memory.is_from_person:
            rewritten.append((memory, anew))
        elif wording in from_tools or anew:
            # who planted it does not end what a person said: the line comes back beside it
            standing.append(memory)
            back.add(memory.id)
        elif wording:
            spoken_for[memory.place, wording] = book.phrases.get(memory.id)
            edited.append((memory, wording))
        else:
            (unshown if memory.indexed else removed).append(memory)
    by_agent = authors is not None and authors.writes.latest.get(INDEX, "") > since
    is_accident = not by_agent and len(unshown) > max(MOST_REMOVED, max_loss * len(book.active))
    if by_agent or is_accident:
        ranks = {name: number for number, name in enumerate(book.memories)}
        standing = sorted([*standing, *unshown], key=lambda m: ranks[m.id])
    else:
        removed += unshown
    back |= {m.id for m in unshown} if is_accident else set[str]()
    out = _unindexed(files, book, owned, {m.id for m in standing} - back)
    if by_agent or is_accident:
        # whoever wrote the index anew said nothing about what leads to pages
        out = tuple(ref for ref in out if not ref.startswith((PAGE, POINTER)))
    return State(
        book=book,
        files=files,
        standing=tuple(standing),
        edited=tuple(edited),
        removed=tuple(removed),
        unindexed=out,
        foreign=tuple(foreign),
        writers=dict(writers or {}),
        rewritten=tuple(rewritten),
        adopted=tuple(adopted),
        written=authors.written() if authors else {},
        given_back=len(unshown) if is_accident else 0,
    )


def changed_by_hand(memory: Path, book: Book, max_loss: float = USUAL_LOSS) -> dict[str, str]:
    """Return, by memory, what somebody did to its line since the last dream, which the next one takes note of.

    Raises:
        UnreadableError: a file cannot be read.
    """
    state = orient(read_texts(memory), book, max_loss=max_loss)
    found = {m.id: f"its line was deleted from {m.place}; the next dream drops it" for m in state.removed}
    return found | {m.id: f"its line in {m.place} was reworded; the next night takes note" for m, _ in state.edited}


def still_told(memory: Path, book: Book, max_loss: float = USUAL_LOSS) -> list[Memory]:
    """Return the memories that hold, without those whose line somebody has taken out since the last dream.

    Raises:
        UnreadableError: a file cannot be read.
    """
    gone = {m.id for m in orient(read_texts(memory), book, max_loss=max_loss).removed}
    return [one for one in book.active if one.id not in gone]


def _anew(memory: Memory, new: Sequence[Memory]) -> str:
    """Return the line of an agent that a line became: other words in its file, or the same words in another."""
    alike = [
        (fuzz.ratio(memory.text, one.text), one.id)
        for one in new
        if one.file == memory.place or one.text == memory.text
    ]
    score, found = max(alike, default=(0.0, ""))
    return found if score >= REWORDED else ""


def _rewording(
    memory: Memory,
    phrase: Phrase | None,
    lines: Sequence[str],
    spoken_for: Mapping[tuple[str, str], Phrase | None],
) -> str:
    """Return the person's line that our line became, or ""."""
    best, score = "", REWORDED
    said = phrase.text if phrase else memory.text
    for text in lines:
        likeness = fuzz.ratio(said, text, score_cutoff=score)
        place = memory.place, text
        is_free = place not in spoken_for or (phrase is not None and spoken_for[place] == phrase)
        if likeness >= score and is_free:
            best, score = text, likeness
    return best


def _unindexed(
    files: Mapping[str, bytes], book: Book, owned: Mapping[str, Mapping[int, str]], standing: set[str]
) -> tuple[str, ...]:
    """Return what a person took out of the index, and which headings of pages; a file that is gone is made again."""
    there = {name: set(numbers.values()) for name, numbers in owned.items()}
    return tuple(
        entry.ref
        for entry in (*book.index, *book.heads)
        if (name := page_of_heading(entry.ref) or INDEX) in files
        and entry.sha256 not in there[name]
        and entry.ref not in book.unindexed
        and (entry.ref not in book.memories or entry.ref in standing)
    )


# Lines that agents wrote become entries of the ledger, so that a dream may tidy them as it does its own.
#
# They stay where they stand until there is a reason to change them. A person's line never becomes an entry, nor does
# one whose words a tool brought, nor one that a person took back from a dream.

_QUOTED = 160
# what the kinds of pages of Claude Code's memory are here
_OF_KIND: dict[str, Category] = {"user": "preference", "feedback": "constraint", "reference": "pattern"}


def _section(one: Statement, kind: str) -> str:
    """Return where a line of an index belongs among our headings by its words, "" where its category tells."""
    if one.label or one.target or kind or _category(one, kind) != "project":
        return ""
    from slowwave.extraction.classifier import weights  # noqa: PLC0415 - only where an agent wrote lines

    found = weights().section(one.text)
    return "" if found == "project" else DECISIONS if found == "decision" else WORKING


def adoptions(files: Mapping[str, bytes], book: Book, authors: Authors) -> list[Event]:
    """Return an event for each line of an agent that is no entry yet; dream and time are left empty."""
    found: list[Event] = []
    for file, data in files.items():
        if file == EXTRACTED:
            continue
        known = known_numbers(file, data, book)
        numbers = Counter(known.values())
        kind = front_of(data).get("type", "")
        for one in statements(data):
            digest = line_hash(one.line)
            if one.number in known:
                continue
            author = authors.of(file, one)
            # a secret in a page is not copied anywhere
            if author.writer == "agent" and NAMELESS(one.line) == one.line:
                name = _name_of(file, digest, numbers[digest], book)
                found.append(_adopted(file, one, author, kind, digest, name))
                numbers[digest] += 1
    return found


def _name_of(file: str, digest: str, number: int, book: Book) -> str:
    """Return the id of a line of a file; what stands on a page since its section went there keeps its own."""
    while True:
        name = "a" + hashlib.sha256(f"{file}\x1f{digest}\x1f{number}".encode()).hexdigest()[:11]
        known = book.memories.get(name)
        if not (known and known.status == "active" and known.stands and known.file != file):
            return name
        number += 1


def _adopted(file: str, one: Statement, author: Author, kind: str, digest: str, name: str) -> Event:
    from slowwave.extraction.classifier import weights  # noqa: PLC0415 - as above

    category = _category(one, kind)
    key, value = decision_key(one.text) if category == "decision" else ("", "")
    if not key and not one.target:
        key, value = key_of(one.text)
    place, at = author.written, _written_at(one, author)
    confidence = one.confidence or (NOTED if one.target else round(NOTED * weights().noted(one.text), 2))
    sighting = Sighting(
        place.dialect if place else "",
        place.session if place else "",
        place.path if place else "",
        "assistant",
        confidence,
        at,
    )
    return Event(
        v=VERSION,
        event="adopt",
        dream="",
        at="",
        memory=name,
        category=category,
        text=one.text,
        key=key,
        value=value,
        confidence=confidence,
        valid_from=at,
        sightings=(sighting,),
        evidence=(msgspec.structs.replace(place.evidence, quote=one.text[:_QUOTED]),) if place else (),
        file=file,
        line=one.line,
        sha256=digest,
        writer=author.writer,
        section=_section(one, kind),
        reason=author.why,
    )


def _written_at(one: Statement, author: Author) -> str:
    """Return when a line was first written: a page that is written anew tells the days of its notes in its headings."""
    is_earlier = one.day and (not author.at or one.day < author.at[: len(one.day)])
    return f"{one.day}T00:00:00Z" if is_earlier else author.at


def _category(one: Statement, kind: str) -> Category:
    for category in CATEGORIES:
        if category == one.label:
            return category
    if kind in _OF_KIND:
        return _OF_KIND[kind]
    if decision_key(one.text)[0]:
        return "decision"
    key = key_of(one.text)[0]
    return "preference" if key.startswith("pref:") else "project"


# Gather: the candidates that no dream has dealt with, and whether their evidence still re-reads.


def gather(
    book: Book, candidates: Sequence[Candidate], unproven: Callable[[Sequence[Candidate]], Mapping[str, str]]
) -> Gathered:
    """Return the waiting candidates, in an order that does not depend on that of the file.

    Args:
        book: what the ledger adds up to.
        candidates: all candidates of the memory folder.
        unproven: returns why evidence of some candidates does not re-read, by their ids; none for what does.
    """
    ordered = sorted(candidates, key=lambda c: (c.observed_at, c.id))
    waiting = [c for c in ordered if book.waits(c)]
    undone = [c for c in ordered if c.id in book.undone and c.id not in book.done and not book.waits(c)]
    return Gathered(
        waiting=tuple(waiting),
        undone=tuple((c, book.undone[c.id]) for c in undone),
        unproven=dict(unproven(waiting)),
        known={c.id: c for c in ordered if c.id in book.done},
        rejected=tuple(c for c in ordered if c.id in book.rejected),
    )

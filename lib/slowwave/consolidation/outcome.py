"""What operations amount to: events for the ledger, and every memory file as it shall be. A pure function."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import msgspec

from slowwave.consolidation.facts import Fact
from slowwave.consolidation.model import Moved, Operation, Outcome, State, dispute_of
from slowwave.memory import Candidate
from slowwave.memory.authors import part_key
from slowwave.memory.book import (
    AWAY,
    NOTED,
    Book,
    Memory,
    Standing,
    deed,
    is_of_a_task,
    own_line,
    page_of,
    page_of_heading,
    standing_of,
)
from slowwave.memory.candidates import EXTRACTED
from slowwave.memory.folder import INDEX, PAGE, PAGES, TOPICS, fact_line, new_index_file, new_topic_file, page_line
from slowwave.memory.index import (
    FURTHER,
    MARGIN,
    IndexBlock,
    Room,
    Section,
    gathered,
    in_order,
    index_block,
    is_called_list,
    is_list,
    page_for,
    page_lines,
    placed,
    pointer_to,
    section_of,
    sections,
    tail,
    title_of,
    with_section,
    without_empty,
    without_section,
    worths,
)
from slowwave.memory.ledger import ARRANGED, FULL, VERSION, Event, EventKind, IndexEntry, line_hash
from slowwave.memory.pages import (
    front_of,
    headings,
    is_empty,
    line_count,
    linked,
    own_lines,
    split,
    stale_in,
    standing_lines,
    statements,
    target_of,
    weave,
    with_lines,
    without_own,
    without_stale,
)
from slowwave.memory.provenance import bare
from slowwave.quantities import counted
from slowwave.settings import ConsolidationSettings


@dataclass(frozen=True, slots=True)
class Stamp:
    """What every event of a dream carries."""

    dream: str
    at: str


def amount_of(
    operations: Sequence[Operation],
    state: State,
    candidates: Mapping[str, Candidate],
    settings: ConsolidationSettings,
    stamp: Stamp,
    uses: Mapping[str, Sequence[str]] | None = None,
) -> Outcome:
    """Return the events and files that operations amount to.

    Args:
        operations: as :func:`slowwave.consolidation.decisions.consolidate` returned them.
        state: what orient found.
        candidates: all candidates that the operations name, by id.
        settings: the limits of the index.
        stamp: id and time of the dream.
        uses: sessions that read a memory file, by file; noted when there is anything else to do.
    """
    facts = _facts(operations, state, candidates)
    events = [msgspec.structs.replace(e, dream=stamp.dream, at=stamp.at) for e in state.adopted]
    events += _people_events(state, stamp)
    events += [e for o in operations if o.action == "ADD" or o.is_new for e in [_add(o, facts[o.memory], stamp)]]
    events += [e for o in operations for e in _other(o, facts, stamp)]
    events += [
        _event("phrase", stamp, text=o.text, memories=o.memories, reason=o.reason)
        for o in operations
        if o.action == "PHRASE"
    ]
    events += [dispute_of(o, stamp.dream, stamp.at) for o in operations if o.action == "DISPUTE"]
    if under := {o.memory: o.under for o in operations if o.under}:
        said = state.book.after(events).memories
        events += [_arranged(said[name], stamp) for name in under]
    events += [_relined(m, stamp) for m in state.book.after(events).active if not m.stands and own_line(m) != m.line]
    if events:
        events += [
            _event("use", stamp, file=file, sessions=tuple(sessions)) for file, sessions in sorted((uses or {}).items())
        ]
    is_busy = bool(events)
    plain = {o.memory for o in operations if o.action == "KEEP" and not o.spans} - {o.successor for o in operations}
    pages = rendered(
        state.files,
        state.book,
        state.book.after(events),
        settings,
        state.written,
        is_busy=is_busy,
        may_go=plain,
        under=under,
    )
    events += [_event("drop", stamp, memory=one, valid_to=stamp.at, reason=why) for one, why in pages.gone.items()]
    for memory, why in pages.moved:
        fields = {"memory": memory.id, "confidence": memory.confidence, "reason": why, "stands": memory.stands}
        events.append(_event("move", stamp, **fields, **_placed(memory, memory.text, memory.file, memory.line)))
    events += [_event("section", stamp, **one.fields) for one in pages.sections]
    if pages.entries != (*state.book.index, *state.book.heads):
        events.append(_event("index", stamp, entries=pages.entries))
    moved = {memory.id: why for memory, why in pages.moved}
    warnings = (*pages.warnings, *(_stale({**state.files, **pages.files}) if events else ()))
    return Outcome(tuple(events), pages.files, state.book.after(events), warnings, moved, pages.sections, pages.gone)


def _stale(files: Mapping[str, bytes | None]) -> Iterator[str]:
    """Yield what is to be said of lines that lead to pages which are not there, and stay since they say more."""
    there = {name for name, data in files.items() if data is not None}
    for name in sorted(there - {EXTRACTED}):
        for line in split(files[name] or b""):
            text = bare(line)
            for page in stale_in(text, there):
                yield f'{name} leads to {page}, which is not there; the line says more and stays: "{text[:_SHOWN]}"'


def _facts(operations: Sequence[Operation], state: State, candidates: Mapping[str, Candidate]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for operation in operations:
        if operation.memory:
            memory = None if operation.is_new else state.book.memories[operation.memory]
            known = [candidates[c] for c in memory.candidates if c in candidates] if memory else []
            facts[operation.memory] = Fact(memory, [candidates[c] for c in operation.candidates], known)
    return facts


def _people_events(state: State, stamp: Stamp) -> list[Event]:
    events = [
        _event("edited-by-person", stamp, memory=m.id, text=wording, valid_to=stamp.at) for m, wording in state.edited
    ]
    events += [_event("removed-by-person", stamp, memory=m.id, valid_to=stamp.at) for m in state.removed]
    events += [_event("rewritten", stamp, memory=m.id, successor=new, valid_to=stamp.at) for m, new in state.rewritten]
    return events + [_event("unindexed-by-person", stamp, memory=ref) for ref in state.unindexed]


def _event(kind: EventKind, stamp: Stamp, **fields: object) -> Event:
    return Event(v=VERSION, event=kind, dream=stamp.dream, at=stamp.at, **fields)  # pyright: ignore[reportArgumentType]


def _add(operation: Operation, fact: Fact, stamp: Stamp) -> Event:
    begin = operation.spans[-1][0] if operation.spans else fact.first_seen
    return _event(
        "add",
        stamp,
        memory=operation.memory,
        **_wording(fact.lead, operation.text, begin),
        confidence=fact.confidence,
        valid_from=begin,
        spans=operation.spans if len(operation.spans) > 1 else (),
        candidates=operation.candidates,
        sightings=fact.sightings,
        evidence=fact.evidence,
        reason=operation.reason,
    )


def _arranged(memory: Memory, stamp: Stamp) -> Event:
    """Return the event of an agent's line that stands below another heading of its page now."""
    fields = _placed(memory, memory.text, memory.file, memory.line)
    return _event("move", stamp, memory=memory.id, reason=ARRANGED, stands=True, confidence=memory.confidence, **fields)


def _relined(memory: Memory, stamp: Stamp) -> Event:
    """Return the event of a memory whose line is written in another form now, or tells another day."""
    fields = _placed(memory, memory.text, page_of(memory), own_line(memory))
    return _event("update", stamp, memory=memory.id, reason="its line says since when it holds", **fields)


def _wording(lead: Memory | Candidate, text: str = "", since: str = "", line: str = "") -> dict[str, object]:
    """Return the fields of an event that say in which words a memory stands where."""
    words = " ".join((text or lead.text).split())
    if isinstance(lead, Memory) and lead.stands:
        return _placed(lead, text, lead.file, line or lead.line.replace(lead.text, text, 1))
    return _placed(lead, words, TOPICS[lead.category].file, fact_line(lead.category, words, since))


def _placed(lead: Memory | Candidate, words: str, file: str, line: str) -> dict[str, object]:
    return {
        "category": lead.category,
        "text": words,
        "key": lead.key,
        "value": lead.value,
        "file": file,
        "line": line,
        "sha256": line_hash(line),
    }


def _other(operation: Operation, facts: Mapping[str, Fact], stamp: Stamp) -> list[Event]:
    """Return the event of an operation that is not just a new memory; keeping and waiting leave no trace."""
    if operation.by_person or operation.action in {"ADD", "WAIT", "MOVE", "PHRASE", "DISPUTE"}:
        return []
    if not operation.memory:
        return [_event("refuse", stamp, candidates=operation.candidates, reason=operation.reason)]
    fields: dict[str, object] = {"memory": operation.memory, "reason": operation.reason}
    is_joined = not (operation.candidates or operation.spans or operation.text)
    match operation.action:
        case "KEEP":
            return [_event("revise", stamp, spans=operation.spans, **fields)] if operation.spans else []
        case "DROP":
            return [_event("drop", stamp, valid_to=stamp.at, **fields)]
        case "MERGE" if is_joined:
            return [_event("join", stamp, successor=operation.successor, valid_to=stamp.at, **fields)]
        case _:
            return [_changed(operation, facts[operation.memory], fields, stamp)]


def _changed(operation: Operation, fact: Fact, fields: dict[str, object], stamp: Stamp) -> Event:
    """Return the event of a memory that gets evidence or other words, or whose place something newer takes."""
    fields |= {"spans": operation.spans}
    if operation.candidates and not operation.is_new:
        fields |= {
            "candidates": operation.candidates,
            "sightings": fact.sightings,
            "evidence": fact.evidence,
            "confidence": fact.confidence,
        }
    if operation.text:
        fields |= _wording(fact.lead, operation.text, line=operation.line)
    elif operation.words:
        fields |= _wording(next(c for c in (*fact.known, *fact.candidates) if c.id == operation.words))
    if operation.action != "SUPERSEDE":
        return _event("update" if operation.action == "UPDATE" else "merge", stamp, **fields)
    until = (operation.spans[-1][1] if operation.spans else "") or fact.last_seen or stamp.at
    return _event("supersede", stamp, successor=operation.successor, valid_to=until, by=operation.by, **fields)


# Every memory file as it shall be: lines of agents in their places, own ones in blocks, the index in its limits.

# a part of the index in which some lines, and such a share of them, tell of one task is a log; one line tells where it
# is a greater share
_SOME, _MANY, _MOST = 2, 1 / 4, 1 / 3
# so much of a line is quoted in a warning
_SHOWN = 100
_EMPTY = "nothing stood below it"
_GATHERED = "its lines stand with those below the first heading of that name"
# a smaller share of what an index may hold is read at a glance, in whatever order
_LARGE = 1 / 4


@dataclass(frozen=True, slots=True)
class Rendered:
    """The files that change, the lines of the index that are ours, and what had to leave it."""

    files: dict[str, bytes | None]  # what changes, None for a page of ours on which nothing is left
    entries: tuple[IndexEntry, ...]
    moved: tuple[tuple[Memory, str], ...]  # memories as they stand in their new place, each with the reason
    warnings: tuple[str, ...]
    sections: tuple[Moved, ...] = ()  # the sections that went as a whole, and the headings that are gone
    # by memory, why its line is on no page: it led to the page that its section went to
    gone: Mapping[str, str] = field(default_factory=dict[str, str])


def rendered(
    files: Mapping[str, bytes],
    before: Book,
    after: Book,
    settings: ConsolidationSettings,
    written: Mapping[str, frozenset[str]] | None = None,
    *,
    is_busy: bool = True,
    may_go: Container[str] = (),
    under: Mapping[str, str] | None = None,
) -> Rendered:
    """Return the files of a memory folder as a book wants them: each memory on one line, in the index or on a page.

    Args:
        files: the files as they are.
        before: the book that they show.
        after: the book that they shall show.
        settings: the limits of the index.
        written: by file, the hashes of the lines that agents wrote; headings go with the last line below them.
        is_busy: whether there is anything else to do: only then headings go that had nothing below them before.
        may_go: the memories whose lines need not go where their sections go, if they only lead there.
        under: by memory, the heading of its page below which an agent's line is to stand.
    """
    standing = standing_of(after, settings.half_lives)
    folder = _Folder(files, before, written or {}, is_busy, may_go, under or {})
    folder, block, moved = _fitted(folder, after, standing, settings)
    there = {m.id: m for m in (*after.active, *folder.shifted.values(), *moved.values())}
    made: dict[str, bytes | None] = {}
    heads: list[IndexEntry] = []
    for name in dict.fromkeys((*files, *folder.files, *PAGES)):
        if name != INDEX:
            own = [there[one] for one in block.left_out if there[one].file == name]
            lines = {m.id: after.line_of(m) for m in own}
            old = folder.files.get(name)
            data = new_topic_file(name) if own and old is None else old
            rows = page_lines(name, _in_order(own, lines, data, before, standing), lines, after.unindexed)
            made[name] = _page(name, data, before.page_lines(name), [line for _, line in rows])
            heads += [IndexEntry(ref, line_hash(line)) for ref, line in rows if page_of_heading(ref)]
    index = folder.files.get(INDEX)
    if index is not None or block.lines:
        data = new_index_file() if index is None else index
        made[INDEX] = weave(data, _hashes(before), block.lines, block.under, _apart(before))
    changed = {name: data for name, data in made.items() if data != files.get(name)}
    outside = set(block.left_out)
    size = _size(files.get(INDEX, b""), settings)
    sections = tuple(replace(one, why=one.why or size) for one in folder.sections)
    told = [(memory, f"{FULL}: with its section it is in {memory.file} now") for memory in folder.shifted.values()]
    for memory in moved.values():
        is_away = _is_away(memory, standing) and memory.id not in after.left
        told.append((memory, _why_moved(memory, is_out=memory.id in outside, is_away=is_away)))
    warnings = (block.warning,) if block.warning else ()
    gone = {one: f"pointed to {page}, where its section went" for one, page in folder.gone.items()}
    return Rendered(changed, (*block.entries, *heads), tuple(told), warnings, sections, gone)


def _why_moved(memory: Memory, *, is_out: bool, is_away: bool) -> str:
    if not is_out:
        return ARRANGED
    why = FULL
    if is_away:
        why = "it tells of one task" if is_of_a_task(memory) else "nobody has used it for long"
    return f"{why}: it is in {memory.file} now"


@dataclass(frozen=True, slots=True)
class _Folder:
    """The files as they are, the book that they show, by file the lines that agents wrote, and what went as a whole."""

    files: Mapping[str, bytes]
    before: Book
    written: Mapping[str, frozenset[str]]
    is_busy: bool = True  # whether headings go that have nothing below them
    may_go: Container[str] = ()  # the memories whose lines may go
    under: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # by memory, the heading that its line belongs below
    sections: tuple[Moved, ...] = ()
    shifted: Mapping[str, Memory] = field(default_factory=dict[str, Memory])
    gone: Mapping[str, str] = field(default_factory=dict[str, str])  # by memory, the page that it only led to

    def active(self, after: Book, moved: Mapping[str, Memory]) -> dict[str, Memory]:
        """Return the memories as they shall stand, by id.

        Args:
            after: the book that they shall show.
            moved: those that leave their place.
        """
        active = {m.id: m for m in after.active if m.id not in self.gone}
        return active | dict(self.shifted) | dict(moved)

    def settled(self, name: str, there: Mapping[str, Memory], own: Iterable[str]) -> bytes:
        """Return a file in which agents' lines stand and say what they shall, and others are gone."""
        # first of all, since a heading goes with the last line below it
        data = placed(self.files[name], self._places(name, there), own)
        changes: dict[str, list[str | None]] = {}
        for memory in self.before.active:
            if memory.file == name and memory.stands:
                now = there.get(memory.id)
                stays = now is not None and now.stands and now.file == name
                changes.setdefault(memory.sha256, []).append(now.line if now and stays else None)
        same = [digest for digest, of in changes.items() if all(line and line_hash(line) == digest for line in of)]
        for digest in same:
            del changes[digest]
        return with_lines(data, changes, self.written.get(name, ())) if changes else data

    def _places(self, name: str, there: Mapping[str, Memory]) -> dict[str, str]:
        """Return the headings below which entries of a file are to stand, by the lines of each as they are."""
        found: dict[str, str] = {}
        for one, title in self.under.items():
            memory, now = self.before.memories.get(one), there.get(one)
            if memory and memory.stands and memory.file == name and now and now.stands and now.file == name:
                found[memory.line] = title
        return found

    def at_rest(self, there: Mapping[str, Memory], kept: Container[str]) -> "_Folder":
        """Return the folder as it is when all lines say what they shall say, without empty headings of agents.

        Args:
            there: the memories as they shall be.
            kept: keys of headings that stay, empty or not.
        """
        files: dict[str, bytes] = {}
        gone: list[Moved] = []
        for name in self.files:
            own = _hashes(self.before) if name == INDEX else self.before.page_lines(name)
            data = self.settled(name, there, own)
            standing = (m.line.split("\n") for m in there.values() if m.stands and m.file == name)
            said = {line_hash(row.strip()) for rows in standing for row in rows}
            agents = self.written.get(name, frozenset[str]()) | said if self.is_busy else frozenset[str]()
            for found, why in ((gathered, _GATHERED), (without_empty, _EMPTY)):
                data, heads = found(data, agents, own, kept)
                gone += [Moved(title_of(head), "", (IndexEntry("", part_key(head)),), 0, why) for head in heads]
            files[name] = data
        before = copy(self.before)
        before.memories = {
            name: there[name]
            if name in there and there[name].stands
            else replace(memory, stands=False, file="")
            if memory.stands
            else memory
            for name, memory in self.before.memories.items()
        }
        return replace(self, files=files, before=before, sections=(*self.sections, *gone))

    def moved(self, section: Section, inside: Sequence[Memory], *, is_first: bool) -> "_Folder":
        """Return the folder when a section of the index stands on its page.

        Args:
            section: what moves.
            inside: the entries of the index.
            is_first: there it stands above what went there in the same night.
        """
        index = self.files[INDEX]
        whole, page = section, page_for(section, self.files)
        by_number = _standing(index, inside)
        mine = {m.id: replace(m, file=page) for number, m in by_number.items() if number in section.numbers}
        others = self.files.keys() - {page}
        # what leads to the page on which it would stand
        leads = (m for m in mine.values() if target_of(m.line) == page or not without_stale(m.text, others)[0])
        gone = {m.id: page for m in leads if m.id in self.may_go and "\n" not in m.line}
        section = section.without({n for n, m in by_number.items() if m.id in gone})
        mine = {name: memory for name, memory in mine.items() if name not in gone}
        entries = {n + i for n, m in by_number.items() if m.id in mine for i in range(m.line.count("\n") + 1)}
        rest = [
            line for n, line in zip(section.numbers, section.lines, strict=True) if n not in entries and line.strip()
        ]
        rows = [section.heading, *(line for line in rest if line != section.heading)]
        moved = Moved(
            section.title,
            page,
            (*(IndexEntry("", part_key(line)) for line in rows), *(IndexEntry(m.id, m.sha256) for m in mine.values())),
            sum(not line.startswith(b"#") for line in section.body),
        )
        files = {
            **self.files,
            INDEX: without_section(index, whole),
            page: with_section(self.files.get(page), section, is_first=is_first)
            if section.body or not gone
            else self.files[page],
        }
        before = copy(self.before)
        away = {name: replace(before.memories[name], stands=False, file="") for name in gone}
        before.memories = before.memories | mine | away
        return replace(
            self,
            files=files,
            before=before,
            sections=(*self.sections, moved),
            shifted={**self.shifted, **mine},
            gone={**self.gone, **gone},
        )


def _hashes(before: Book) -> list[str]:
    return [entry.sha256 for entry in before.index]


def _apart(before: Book) -> set[str]:
    """Return the hashes of those of our lines in the index that stand below headings of others."""
    return {entry.sha256 for entry in before.index if entry.under}


def _standing(data: bytes, memories: Sequence[Memory]) -> dict[int, Memory]:
    """Return entries by the number of the line on which they begin."""
    by_hash: dict[str, list[Memory]] = {}
    for memory in memories:
        by_hash.setdefault(memory.sha256, []).append(memory)
    lines = standing_lines(data, (memory.sha256 for memory in memories))
    return {number: by_hash[digest].pop(0) for number, digest in lines.items() if digest}


def _in_order(
    own: Sequence[Memory], lines: Mapping[str, str], data: bytes | None, before: Book, standing: Standing
) -> list[Memory]:
    """Return what stands on a page, best first; what stood there in an order only moves for a reason."""
    worth = worths(own, standing)
    # of the same words the one that is worth most has the line
    ids = {line_hash(lines[one]): one for one in reversed(worth)}
    leads = set(ids.values())
    name = own[0].file if own else ""
    present = [ids[h] for h in own_lines(data or b"", before.page_lines(name)).values() if h in ids]
    by_id = {m.id: m for m in own}
    return [by_id[one] for one in in_order(present, {one: worth[one] for one in worth if one in leads})]


def _page(name: str, old: bytes | None, ours: Sequence[str], lines: Sequence[str]) -> bytes | None:
    """Return a topic file with the lines of its memories; none where only our front matter is left."""
    if old is None:
        return None
    made = weave(old, ours, lines)
    return None if made != old and not lines and is_empty(name, made) else made


def _fitted(
    folder: _Folder, after: Book, standing: Standing, settings: ConsolidationSettings
) -> tuple[_Folder, IndexBlock, dict[str, Memory]]:
    """Return the folder at rest, the own lines of the index, and what stands there or on our pages from now on."""
    before = folder.before
    # what a person took back stays in its order, and in the index unless there is too much of it in a new way
    stands = [
        m for m in after.active if m.stands and m.file == INDEX and not target_of(m.line) and m.id not in after.left
    ]
    back = {m.id for m in after.active if m.stands and deed("move", m.id, told=FULL) in after.refused}
    index = folder.files.get(INDEX, b"")
    moved: dict[str, Memory] = {}
    going: dict[str, Memory] = {}
    is_large = _is_large(index, settings)
    folder = folder.at_rest(folder.active(after, moved), after.kept_heads)
    torn: set[str] = set()

    def is_long(section: Section) -> bool:
        return section.key in torn or len(section.lines) > settings.index_lines or section.size > settings.index_bytes

    while True:
        data = folder.files.get(INDEX, b"")
        left = [m for m in stands if m.id not in {*moved, *folder.shifted, *folder.gone}]
        going |= _put_away(data, folder, left, standing) if is_large else {}
        if going:
            moved |= going
            folder = folder.at_rest(folder.active(after, moved), after.kept_heads)
            going = {}
            continue  # what is left may be a log now
        there = folder.active(after, moved)
        if not folder.files.get(INDEX) and not there:
            return folder, IndexBlock((), (), ()), {}
        data = folder.files.get(INDEX, new_index_file())
        inside = [m for m in there.values() if m.stands and m.file == INDEX and m.id not in back]
        room = Room(
            _of_others(data, before, inside),
            settings.index_lines,
            settings.index_bytes,
            *_around(data, before),
            left=len(back),
            style=next((m.line for m in inside if target_of(m.line) in folder.files), ""),
            under=_headings_of_others(data, before, folder.written.get(INDEX, ())),
        )
        given = {PAGE + one.file for one in folder.sections}
        block = index_block(
            [m for m in there.values() if not m.stands],
            room,
            unindexed=(after.unindexed - given) | {m.id for m in there.values() if _is_away(m, standing)},
            standing=standing,
            inside=inside,
            pages=_unlinked(folder, after, without_own(data, _hashes(before))),
            before=_order(data, before),
            lines={m.id: after.line_of(m) for m in there.values()},
        )
        if not block.crowded_out:
            made = weave(data, _hashes(before), block.lines, block.under, _apart(before))
            if is_large or not _is_large(made, settings):
                return folder, block, moved
            is_large = True
            continue
        crowded = [there[one] for one in block.crowded_out]
        section, loose = _least(data, folder, after, inside, crowded, standing, is_long)
        if section is None:
            going = {m.id: _moved(m) for m in loose}
            continue
        is_torn = section.key in torn
        if is_torn or section.is_part or is_long(section):
            torn.add(section.key)
            section = tail(data, section, *_extent(crowded))
        folder = folder.moved(section, inside, is_first=is_torn)


def _put_away(data: bytes, folder: _Folder, stands: Sequence[Memory], standing: Standing) -> dict[str, Memory]:
    """Return the lines that leave their place in an index: what nobody uses, and the parts that are logs.

    Where an agent has its lines in order, one that sounds like a task's is most likely none.
    """
    gone = [m for m in stands if _is_away(m, standing)]
    logs = _logs(data, folder.before.memories, stands, {m.id for m in gone if is_of_a_task(m)})
    return {m.id: _moved(m) for m in stands if m.id in logs} | {m.id: _moved(m) for m in gone if not is_of_a_task(m)}


def _extent(memories: Iterable[Memory]) -> tuple[int, int]:
    """Return how many lines and bytes entries take."""
    texts = [memory.line for memory in memories]
    return sum(text.count("\n") + 1 for text in texts), sum(len(text.encode("utf-8", "replace")) + 1 for text in texts)


def _least(
    data: bytes,
    folder: _Folder,
    after: Book,
    inside: Sequence[Memory],
    crowded: Sequence[Memory],
    standing: Standing,
    is_long: Callable[[Section], bool],
) -> tuple[Section | None, list[Memory]]:
    """Return the section that leaves a full index next, or else the lines that do.

    Whole sections of agents go, those first that are worth least, and of nearly the same worth one that makes room
    enough by itself. Then lines go that stand in no such section, and last what tells how to work here.

    Args:
        data: the index.
        folder: the files, and which of their lines agents wrote.
        after: the book that the index shall show.
        inside: the entries of agents in it.
        crowded: those of them that have no room.
        standing: what fades and what is used.
        is_long: says whether a section is too long for an index by itself: then its end may go without its beginning.
    """
    left = [m for m in folder.before.active if m.stands and m.id in after.left]
    stay = {line_hash(line.strip()) for m in left for line in m.line.split("\n")}
    theirs = folder.written.get(INDEX, frozenset()) - stay
    by_number = _standing(data, [m for m in inside if m.id not in after.left])
    owner = {n + i: m for n, m in by_number.items() for i in range(m.line.count("\n") + 1)}
    found: list[Section] = []
    for one in sections(data, _hashes(folder.before)):
        if is_list(one) or one.key in after.kept_heads:
            continue
        rows = zip(one.numbers, one.lines, strict=True)
        others = [n for n, line in rows if line.strip() and n not in owner and line_hash(line.strip()) not in theirs]
        some = one if not others else one.below(others[-1]) if is_long(one) else None
        if some and len(some.body) > 1:
            found.append(some)
    worth = worths(inside, standing)
    every = _mean(worth.values(), NOTED)
    mean = {one: _mean((worth[owner[n].id] for n in one.numbers if n in by_number), every) for one in found}
    usual = [one for one in found if not one.is_at_work]
    loose = [m for m in crowded if not any(owner.get(n) is m for one in found for n in one.numbers)]
    some = usual or ([] if loose else found)
    if not some:
        return None, loose
    near = [one for one in some if mean[one] <= min(mean[one] for one in some) + MARGIN]
    if parts := [one for one in near if one.is_part or is_long(one)]:
        return parts[0], []  # of these just as much goes as has no room
    lines, size = _extent(crowded)
    enough = [one for one in near if len(one.lines) > lines and one.size > size]
    return (min if enough else max)(enough or near, key=lambda one: len(one.lines)), []


def _mean(values: Iterable[float], usual: float) -> float:
    """Return the mean of what entries are worth; without any, what they usually are."""
    found = list(values)
    return sum(found) / len(found) if found else usual


def _logs(data: bytes, before: Mapping[str, Memory], stands: Sequence[Memory], done: Collection[str]) -> set[str]:
    """Return the memories of those parts of an index that are logs: much of them tells of one task.

    A part is what stands below one heading. What an agent has in order stays so.

    Args:
        data: the index.
        before: the memories as they stand there.
        stands: those that may leave their place.
        done: those of them that tell of one task.
    """
    heads = headings(data)
    parts: dict[int, list[Memory]] = {}
    for number, memory in _standing(data, [before[m.id] for m in stands if m.id in before]).items():
        parts.setdefault(max((head for head in heads if head < number), default=-1), []).append(memory)
    told = {part: sum(m.id in done for m in of) for part, of in parts.items()}
    logs = [
        part
        for part, of in parts.items()
        if told[part] >= max(_SOME, _MANY * len(of)) or told[part] >= max(1, _MOST * len(of))
    ]
    return {m.id for part in logs for m in parts[part]}


def _is_large(index: bytes, settings: ConsolidationSettings) -> bool:
    """Say whether so much stands in an index that it is worth while to put it in order."""
    return line_count(index) > _LARGE * settings.index_lines or len(index) > _LARGE * settings.index_bytes


def _is_away(memory: Memory, standing: Standing) -> bool:
    return standing.idle(memory) >= AWAY or standing.is_needless(memory)


def _order(data: bytes, before: Book) -> list[str]:
    """Return what the own lines of the index stand for, in the order in which they stand."""
    refs: dict[str, list[str]] = {}
    for entry in before.index:
        refs.setdefault(entry.sha256, []).append(entry.ref)
    return [ref for digest in own_lines(data, refs).values() for ref in refs.get(digest, ())]


def _around(data: bytes, before: Book) -> tuple[bool, bool]:
    """Return whether headings may stand among our lines, and whether something stands right above them.

    They may not where something of others follows that would seem to belong to them.
    """
    lines = split(weave(data, _hashes(before), ["\0"], apart=_apart(before)))
    at = next(number for number, line in enumerate(lines) if line.startswith(b"\0"))
    is_open = next((line for line in lines[at + 1 :] if line.strip()), b"#").startswith(b"#")
    return is_open, at > 0 and bool(lines[at - 1].strip())


def _headings_of_others(data: bytes, before: Book, agents: Container[str]) -> dict[str, str]:
    """Return by section of ours the hash of an agent's heading that means the same, or of anybody's of the same name.

    Args:
        data: the index.
        before: tells which of its lines are ours.
        agents: hashes of the lines that agents wrote.
    """
    lines, ours = split(data), own_lines(data, _hashes(before), _apart(before))
    heads = {n: line_hash(lines[n].strip()) for n, level in headings(data).items() if n not in ours and level > 1}
    found: dict[str, str] = {}
    for number, digest in reversed(heads.items()):
        name, is_same = section_of(title_of(lines[number]))
        if name and (is_same or digest in agents):
            found[name] = digest
    # of pages the heading below which most of the index's own pointers stand
    told: dict[int, list[bool]] = {}
    for one in statements(data):
        if one.number not in ours:
            told.setdefault(max((n for n in heads if n < one.number), default=-1), []).append(bool(one.target))
    lists = {
        n: sum(of)
        for n, of in told.items()
        if n >= 0 and 2 * sum(of) >= len(of) and sum(of) > (not is_called_list(title_of(lines[n])))
    }
    if lists:
        found[FURTHER] = heads[max(lists, key=lambda n: (lists[n], -n))]
    return found


def _of_others(data: bytes, before: Book, inside: Sequence[Memory]) -> bytes:
    """Return an index without our lines, and without those of agents that are entries."""
    gone = own_lines(data, _hashes(before), _apart(before)) | standing_lines(data, [m.sha256 for m in inside])
    return b"\n".join(line for number, line in enumerate(split(data)) if number not in gone)


def _moved(memory: Memory) -> Memory:
    line = own_line(memory)
    return replace(memory, file=page_of(memory), line=line, sha256=line_hash(line), stands=False)


def _unlinked(folder: _Folder, after: Book, index: bytes) -> dict[str, str]:
    """Return the pages of others that no line of the index leads to, each with the line that would."""
    led_to = linked(index) | {INDEX, EXTRACTED}
    given = {one.file: set[str]() for one in folder.sections if one.file}
    for one in folder.sections:
        if one.file:
            given[one.file].add(one.entries[0].sha256)
    found: dict[str, str] = {}
    for name, data in folder.files.items():
        moved = given.get(name, set()) | after.sections.get(name, {}).keys()
        if name in led_to or not data:
            continue
        if moved or statements(without_own(data, folder.before.page_lines(name))):
            front = front_of(data)
            said = {m.sha256: m.text for m in folder.before.active if m.file == name and m.stands}
            told = pointer_to(name, data, moved, said) if moved and not front else ""
            found[name] = told or page_line(name, front)
    return found


def _size(index: bytes, settings: ConsolidationSettings) -> str:
    """Return why something left an index: how much stood in it, and how much is loaded."""
    if line_count(index) > settings.index_lines:
        return f"the index had {counted(line_count(index), 'line')}, {settings.index_lines} are loaded"
    if len(index) > settings.index_bytes:
        return f"the index had {len(index):,} bytes, {settings.index_bytes:,} are loaded"
    return "the index is full"

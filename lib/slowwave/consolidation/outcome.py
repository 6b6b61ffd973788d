"""What operations amount to: events for the ledger, and every memory file as it shall be. A pure function."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from slowwave.consolidation.facts import Fact
from slowwave.consolidation.model import Operation, Outcome, State, dispute_of
from slowwave.memory.book import (
    AWAY,
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
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.folder import INDEX, PAGES, TOPICS, fact_line, new_index_file, new_topic_file, page_line
from slowwave.memory.index import IndexBlock, Room, in_order, index_block, page_lines, worths
from slowwave.memory.ledger import ARRANGED, FULL, VERSION, Event, EventKind, IndexEntry, line_hash
from slowwave.memory.model import Candidate
from slowwave.memory.pages import (
    front_of,
    headings,
    is_empty,
    line_count,
    linked,
    own_lines,
    split,
    standing_lines,
    statements,
    target_of,
    weave,
    with_lines,
    without_own,
)
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
    events += [_relined(m, stamp) for m in state.book.after(events).active if not m.stands and own_line(m) != m.line]
    if events:
        events += [
            _event("use", stamp, file=file, sessions=tuple(sessions)) for file, sessions in sorted((uses or {}).items())
        ]
    pages = rendered(state.files, state.book, state.book.after(events), settings, state.headings)
    for memory, why in pages.moved:
        fields = {"memory": memory.id, "confidence": memory.confidence, "reason": why}
        events.append(_event("move", stamp, **fields, **_placed(memory, memory.text, memory.file, memory.line)))
    if pages.entries != (*state.book.index, *state.book.heads):
        events.append(_event("index", stamp, entries=pages.entries))
    moved = {memory.id: why for memory, why in pages.moved}
    return Outcome(tuple(events), pages.files, state.book.after(events), pages.warnings, moved)


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
# a smaller share of what an index may hold is read at a glance, in whatever order
_LARGE = 1 / 4


@dataclass(frozen=True, slots=True)
class Rendered:
    """The files that change, the lines of the index that are ours, and what had to leave it."""

    files: dict[str, bytes | None]  # what changes, None for a page of ours on which nothing is left
    entries: tuple[IndexEntry, ...]
    moved: tuple[tuple[Memory, str], ...]  # memories as they stand among our lines now, each with the reason
    warnings: tuple[str, ...]


def rendered(
    files: Mapping[str, bytes],
    before: Book,
    after: Book,
    settings: ConsolidationSettings,
    agents: Mapping[str, frozenset[str]] | None = None,
) -> Rendered:
    """Return the files of a memory folder as a book wants them: each memory on one line, in the index or on a page.

    Args:
        files: the files as they are.
        before: the book that they show.
        after: the book that they shall show.
        settings: the limits of the index.
        agents: by file, the hashes of headings that agents wrote, which go with the last line below them.
    """
    standing = standing_of(after, settings.half_lives)
    folder = _Folder(files, before, agents or {})
    block, moved = _fitted(folder, after, standing, settings)
    there = {m.id: m for m in (*after.active, *moved.values())}
    made: dict[str, bytes | None] = {}
    heads: list[IndexEntry] = []
    for name in dict.fromkeys((*files, *PAGES)):
        if name != INDEX:
            own = [there[one] for one in block.left_out if there[one].file == name]
            lines = {m.id: after.line_of(m) for m in own}
            old = folder.settled(name, there)
            data = new_topic_file(name) if own and old is None else old
            rows = page_lines(name, _in_order(own, lines, data, before, standing), lines, after.unindexed)
            made[name] = _page(name, data, before.page_lines(name), [line for _, line in rows])
            heads += [IndexEntry(ref, line_hash(line)) for ref, line in rows if page_of_heading(ref)]
    index = folder.settled(INDEX, there)
    if index is not None or block.lines:
        data = new_index_file() if index is None else index
        made[INDEX] = weave(data, [entry.sha256 for entry in before.index], block.lines)
    changed = {name: data for name, data in made.items() if data != files.get(name)}
    outside = set(block.left_out)
    told: list[tuple[Memory, str]] = []
    for memory in moved.values():
        is_away = _is_away(memory, standing) and memory.id not in after.left
        told.append((memory, _why_moved(memory, is_out=memory.id in outside, is_away=is_away)))
    return Rendered(changed, (*block.entries, *heads), tuple(told), (block.warning,) if block.warning else ())


def _why_moved(memory: Memory, *, is_out: bool, is_away: bool) -> str:
    if not is_out:
        return ARRANGED
    why = FULL
    if is_away:
        why = "it tells of one task" if is_of_a_task(memory) else "nobody has used it for long"
    return f"{why}: it is in {memory.file} now"


@dataclass(frozen=True, slots=True)
class _Folder:
    """The files as they are, the book that they show, and by file the headings that agents wrote."""

    files: Mapping[str, bytes]
    before: Book
    agents: Mapping[str, frozenset[str]]

    def settled(self, name: str, there: Mapping[str, Memory]) -> bytes | None:
        """Return a file in which the lines of agents that were changed say what they shall say, and others are gone."""
        data = self.files.get(name)
        changes: dict[str, list[str | None]] = {}
        for memory in self.before.active:
            if memory.file == name and memory.stands:
                now = there.get(memory.id)
                stays = now is not None and now.stands and now.file == name
                changes.setdefault(memory.sha256, []).append(now.line if now and stays else None)
        same = [digest for digest, of in changes.items() if all(line and line_hash(line) == digest for line in of)]
        for digest in same:
            del changes[digest]
        return with_lines(data, changes, self.agents.get(name, ())) if data is not None and changes else data


def _in_order(
    own: Sequence[Memory], lines: Mapping[str, str], data: bytes | None, before: Book, standing: Standing
) -> list[Memory]:
    """Return what stands on a page, best first; what stood there in an order only moves for a reason."""
    ids = {line_hash(line): one for one, line in lines.items()}
    name = own[0].file if own else ""
    present = [ids[h] for h in own_lines(data or b"", before.page_lines(name)).values() if h in ids]
    by_id = {m.id: m for m in own}
    return [by_id[one] for one in in_order(present, worths(own, standing))]


def _page(name: str, old: bytes | None, ours: Sequence[str], lines: Sequence[str]) -> bytes | None:
    """Return a topic file with the lines of its memories; none where only our front matter is left."""
    if old is None:
        return None
    made = weave(old, ours, lines)
    return None if made != old and not lines and is_empty(name, made) else made


def _fitted(
    folder: _Folder, after: Book, standing: Standing, settings: ConsolidationSettings
) -> tuple[IndexBlock, dict[str, Memory]]:
    """Return the own lines of the index, and what leaves its place there to stand among them or on a page."""
    before = folder.before
    # what a person took back stays in its order, and in the index unless there is too much of it in a new way
    stands = [
        m for m in after.active if m.stands and m.file == INDEX and not target_of(m.line) and m.id not in after.left
    ]
    back = {m.id for m in after.active if m.stands and deed("move", m.id, told=FULL) in after.refused}
    index = folder.files.get(INDEX, b"")
    gone = [m for m in stands if _is_away(m, standing)] if _is_large(index, settings) else []
    logs = _logs(index, before.memories, stands, {m.id for m in gone if is_of_a_task(m)})
    # where an agent has its lines in order, one that sounds like a task's is most likely none; and what a model says in
    # other words stands among our lines
    moved = {m.id: _moved(m) for m in gone if not is_of_a_task(m)}
    moved |= {m.id: _moved(m) for m in stands if m.id in logs or m.id in after.phrases}
    while True:
        there = {m.id: m for m in after.active} | moved
        settled = folder.settled(INDEX, there)
        if not settled and not there:
            return IndexBlock((), (), ()), {}
        data = new_index_file() if settled is None else settled
        inside = [m for m in there.values() if m.stands and m.file == INDEX and m.id not in back]
        own = [entry.sha256 for entry in before.index]
        people = _of_others(data, own, inside)
        block = index_block(
            [m for m in there.values() if not m.stands],
            Room(people, settings.index_lines, settings.index_bytes, *_around(data, own), len(back)),
            unindexed=after.unindexed | {m.id for m in there.values() if _is_away(m, standing)},
            standing=standing,
            inside=inside,
            pages=_unlinked(folder, there, without_own(data, own)),
            before=_order(data, before),
            lines={m.id: after.line_of(m) for m in there.values()},
        )
        if not block.crowded_out:
            return block, moved
        moved |= {one: _moved(there[one]) for one in block.crowded_out}


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
    by_hash: dict[str, list[Memory]] = {}
    for memory in stands:
        if memory.id in before:
            by_hash.setdefault(before[memory.id].sha256, []).append(memory)
    parts: dict[int, list[Memory]] = {}
    for number, digest in standing_lines(data, [digest for digest, of in by_hash.items() for _ in of]).items():
        if digest:
            part = max((head for head in heads if head < number), default=-1)
            parts.setdefault(part, []).append(by_hash[digest].pop(0))
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


def _around(data: bytes, own: Sequence[str]) -> tuple[bool, bool]:
    """Return whether headings may stand among our lines, and whether something stands right above them.

    They may not where something of others follows that would seem to belong to them.
    """
    lines = split(weave(data, own, ["\0"]))
    at = next(number for number, line in enumerate(lines) if line.startswith(b"\0"))
    is_open = next((line for line in lines[at + 1 :] if line.strip()), b"#").startswith(b"#")
    return is_open, at > 0 and bool(lines[at - 1].strip())


def _of_others(data: bytes, own: Sequence[str], inside: Sequence[Memory]) -> bytes:
    """Return an index without our lines, and without those of agents that are entries."""
    gone = own_lines(data, own) | standing_lines(data, [m.sha256 for m in inside])
    return b"\n".join(line for number, line in enumerate(split(data)) if number not in gone)


def _moved(memory: Memory) -> Memory:
    line = own_line(memory)
    return replace(memory, file=page_of(memory), line=line, sha256=line_hash(line), stands=False)


def _unlinked(folder: _Folder, there: Mapping[str, Memory], index: bytes) -> dict[str, str]:
    """Return the pages of others that no line of the index leads to, each with the line that would."""
    led_to = linked(index) | {INDEX, EXTRACTED}
    found: dict[str, str] = {}
    for name in folder.files:
        data = folder.settled(name, there)
        if name not in led_to and data and statements(without_own(data, folder.before.page_lines(name))):
            found[name] = page_line(name, front_of(data))
    return found

"""What operations amount to: events for the ledger, and every memory file as it shall be. A pure function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowwave.consolidation.facts import Fact
from slowwave.consolidation.model import Operation, Outcome, State
from slowwave.memory.book import Book, Memory, replay
from slowwave.memory.index import index_block
from slowwave.memory.ledger import VERSION, Event, EventKind, line_hash
from slowwave.memory.model import Candidate
from slowwave.memory.standing import standing_of
from slowwave.memory.topics import INDEX, TOPICS, memory_line, new_index_file, new_topic_file
from slowwave.memory.weave import own_lines, weave, without_own
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
        operations: as :func:`slowwave.consolidation.decide.consolidate` returned them.
        state: what orient found.
        candidates: all candidates that the operations name, by id.
        settings: the limits of the index.
        stamp: id and time of the dream.
        uses: sessions that read a memory file, by file; noted when there is anything else to do.
    """
    facts = _facts(operations, state, candidates)
    events = _people_events(state, stamp)
    events += [e for o in operations if o.action == "ADD" or o.is_new for e in [_add(o, facts[o.memory], stamp)]]
    events += [e for o in operations for e in _other(o, facts, stamp)]
    if events:
        events += [
            _event("use", stamp, file=file, sessions=tuple(sessions)) for file, sessions in sorted((uses or {}).items())
        ]
    book = _after(state.book, events)
    files: dict[str, bytes] = {}
    for category, topic in TOPICS.items():
        old = state.files.get(topic.file)
        new = _topic(topic.file, old, new_topic_file(category), state.book, book)
        if new is not None and new != old:
            files[topic.file] = new
    index, index_event, warnings = _index(state, book, settings, stamp)
    if index is not None and index != state.files.get(INDEX):
        files[INDEX] = index
    return Outcome(tuple(events + index_event), files, book, warnings)


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
    return events + [_event("unindexed-by-person", stamp, memory=ref) for ref in state.unindexed]


def _event(kind: EventKind, stamp: Stamp, **fields: object) -> Event:
    return Event(v=VERSION, event=kind, dream=stamp.dream, at=stamp.at, **fields)  # pyright: ignore[reportArgumentType]


def _add(operation: Operation, fact: Fact, stamp: Stamp) -> Event:
    begin = operation.spans[-1][0] if operation.spans else fact.first_seen
    return _event(
        "add",
        stamp,
        memory=operation.memory,
        **_wording(fact.lead, operation.text),
        confidence=fact.confidence,
        valid_from=begin,
        spans=operation.spans if len(operation.spans) > 1 else (),
        candidates=operation.candidates,
        sightings=fact.sightings,
        evidence=fact.evidence,
        reason=operation.reason,
    )


def _wording(lead: Memory | Candidate, text: str = "") -> dict[str, object]:
    """Return the fields of an event that say in which words a memory stands where."""
    words = " ".join((text or lead.text).split())
    line = memory_line(words)
    return {
        "category": lead.category,
        "text": words,
        "key": lead.key,
        "value": lead.value,
        "file": TOPICS[lead.category].file,
        "line": line,
        "sha256": line_hash(line),
    }


def _other(operation: Operation, facts: Mapping[str, Fact], stamp: Stamp) -> list[Event]:
    """Return the event of an operation that is not just a new memory; keeping and waiting leave no trace."""
    if operation.by_person or operation.action in {"ADD", "WAIT"}:
        return []
    if operation.action == "KEEP":
        revised = _event("revise", stamp, memory=operation.memory, spans=operation.spans, reason=operation.reason)
        return [revised] if operation.spans else []
    if not operation.memory:
        return [_event("refuse", stamp, candidates=operation.candidates, reason=operation.reason)]
    if operation.action == "DROP":
        return [_event("drop", stamp, memory=operation.memory, valid_to=stamp.at, reason=operation.reason)]
    fact = facts[operation.memory]
    fields: dict[str, object] = {"memory": operation.memory, "reason": operation.reason, "spans": operation.spans}
    if operation.candidates and not operation.is_new:
        fields |= {
            "candidates": operation.candidates,
            "sightings": fact.sightings,
            "evidence": fact.evidence,
            "confidence": fact.confidence,
        }
    if operation.text:
        fields |= _wording(fact.lead, operation.text)
    elif operation.words:
        fields |= _wording(next(c for c in (*fact.known, *fact.candidates) if c.id == operation.words))
    if operation.action == "MERGE":
        return [_event("merge", stamp, **fields)]
    until = (operation.spans[-1][1] if operation.spans else "") or fact.last_seen or stamp.at
    return [_event("supersede", stamp, successor=operation.successor, valid_to=until, **fields)]


def _after(book: Book, events: Sequence[Event]) -> Book:
    """Return the book with more events applied, leaving the given one as it is."""
    after = replay(())
    after.memories = dict(book.memories)
    after.done, after.undone, after.rejected = dict(book.done), dict(book.undone), set(book.rejected)
    after.index, after.unindexed = book.index, set(book.unindexed)
    after.uses = {file: set(sessions) for file, sessions in book.uses.items()}
    for event in events:
        after.apply(event)
    return after


def _topic(file: str, old: bytes | None, fresh: bytes, before: Book, after: Book) -> bytes | None:
    """Return a topic file with the lines of its memories, oldest facts first, whenever they were found."""
    there = sorted((m for m in after.active if m.file == file), key=lambda m: (m.held[0][0], m.line))
    wanted = dict.fromkeys(m.sha256 for m in there)
    lines = {m.sha256: m.line for m in there}
    if old is None and not wanted:
        return None
    data = fresh if old is None else old
    ours = {m.sha256 for m in before.active if m.file == file}
    present = [h for h in own_lines(data, ours).values() if h in wanted]
    if len(present) == len(wanted) and before.active == after.active:
        return weave(data, ours, [lines[h] for h in present])  # nothing new: a person's order stays
    return weave(data, ours, [lines[h] for h in wanted])


def _index(
    state: State, book: Book, settings: ConsolidationSettings, stamp: Stamp
) -> tuple[bytes | None, list[Event], tuple[str, ...]]:
    """Return the index, the event that says which of its lines are ours, and warnings."""
    old = state.files.get(INDEX)
    ours: list[Memory] = book.active
    if old is None and not ours:
        return None, [], ()
    data = new_index_file() if old is None else old
    hashes = [entry.sha256 for entry in state.book.index]
    block = index_block(
        ours,
        without_own(data, hashes),
        max_lines=settings.index_lines,
        max_bytes=settings.index_bytes,
        unindexed=book.unindexed,
        standing=standing_of(book, settings.half_lives),
    )
    events = [_event("index", stamp, entries=block.entries)] if block.entries != state.book.index else []
    return weave(data, hashes, block.lines), events, (block.warning,) if block.warning else ()

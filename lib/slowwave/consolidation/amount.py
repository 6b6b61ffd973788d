"""What operations amount to: events for the ledger, and every memory file as it shall be. A pure function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from slowwave.consolidation.facts import Fact
from slowwave.consolidation.model import Operation, Outcome, State
from slowwave.consolidation.rendered import rendered
from slowwave.memory.book import Memory, own_line
from slowwave.memory.ledger import VERSION, Event, EventKind, line_hash
from slowwave.memory.model import Candidate
from slowwave.memory.topics import TOPICS, fact_line
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
    events = [msgspec.structs.replace(e, dream=stamp.dream, at=stamp.at) for e in state.adopted]
    events += _people_events(state, stamp)
    events += [e for o in operations if o.action == "ADD" or o.is_new for e in [_add(o, facts[o.memory], stamp)]]
    events += [e for o in operations for e in _other(o, facts, stamp)]
    events += [
        _event("phrase", stamp, text=o.text, memories=o.memories, reason=o.reason)
        for o in operations
        if o.action == "PHRASE"
    ]
    events += [_relined(m, stamp) for m in state.book.after(events).active if not m.stands and own_line(m) != m.line]
    if events:
        events += [
            _event("use", stamp, file=file, sessions=tuple(sessions)) for file, sessions in sorted((uses or {}).items())
        ]
    pages = rendered(state.files, state.book, state.book.after(events), settings)
    for memory in pages.moved:
        why = f"the index is full: it is in {memory.file} now"
        fields = {"memory": memory.id, "confidence": memory.confidence, "reason": why}
        events.append(_event("move", stamp, **fields, **_placed(memory, memory.text, memory.file, memory.line)))
    if pages.entries != state.book.index:
        events.append(_event("index", stamp, entries=pages.entries))
    moved = frozenset(memory.id for memory in pages.moved)
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
    fields = _placed(memory, memory.text, memory.file, own_line(memory))
    return _event("update", stamp, memory=memory.id, reason="its line says since when it holds", **fields)


def _wording(lead: Memory | Candidate, text: str = "", since: str = "") -> dict[str, object]:
    """Return the fields of an event that say in which words a memory stands where."""
    words = " ".join((text or lead.text).split())
    if isinstance(lead, Memory) and lead.stands:
        return _placed(lead, text, lead.file, lead.line.replace(lead.text, text, 1))
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
    if operation.by_person or operation.action in {"ADD", "WAIT", "MOVE", "PHRASE"}:
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
        fields |= _wording(fact.lead, operation.text)
    elif operation.words:
        fields |= _wording(next(c for c in (*fact.known, *fact.candidates) if c.id == operation.words))
    if operation.action != "SUPERSEDE":
        return _event("update" if operation.action == "UPDATE" else "merge", stamp, **fields)
    until = (operation.spans[-1][1] if operation.spans else "") or fact.last_seen or stamp.at
    return _event("supersede", stamp, successor=operation.successor, valid_to=until, **fields)

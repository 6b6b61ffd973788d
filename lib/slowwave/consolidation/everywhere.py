"""Preferences that a person stated in several projects, proposed for all of them; nothing is decided without a person.

A proposal is a waiting candidate of the global memory folder, with the evidence of every project, so it stands in the
inbox like any other, is accepted by a dream of that folder alone, and never comes back once it was rejected. The
memories of the projects stay as they are.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from slowwave.consolidation.confidence import combined
from slowwave.consolidation.doubts import doubts_of
from slowwave.consolidation.facts import Identity, identity
from slowwave.memory.book import Memory, read_book
from slowwave.memory.candidates import append_candidates, read_candidates
from slowwave.memory.model import Candidate, Evidence, SessionRef, candidate_id

EXTRACTOR = "global/1"


def proposals(projects: Mapping[str, Iterable[Memory]], least: int) -> list[Candidate]:
    """Return a candidate for each project in which a preference holds that at least ``least`` projects share.

    Args:
        projects: the active memories of each project, by its key.
        least: the number of projects; 0 proposes nothing.
    """
    found: dict[Identity, dict[str, Memory]] = {}
    for key, memories in projects.items():
        for memory in memories:
            if memory.category == "preference" and memory.is_from_person and memory.evidence:
                found.setdefault(identity(memory), {}).setdefault(key, memory)
    shared = [of for of in found.values() if least and len(of) >= least]
    made = [_candidate(key, memory) for of in shared for key, memory in of.items()]
    return sorted(made, key=lambda c: (c.text, c.extractor, c.id))


def propose(folder: Path, projects: Mapping[str, Path], least: int, *, dry_run: bool = False) -> list[Candidate]:
    """Put what several projects share into the inbox of the global folder; return what was new.

    A project speaks once for a preference, however often its own memory of it is seen again or reworded.

    Args:
        folder: the global memory folder; made when there is something to propose.
        projects: the memory folder of each project, by its key.
        least: the number of projects that makes a preference a global one.
        dry_run: change nothing.

    Raises:
        CorruptStateError: a ledger is damaged.
        LockHeldError: another process kept the folder locked for too long.
        OSError: the folder cannot be written.
    """
    shared = proposals({key: _undoubted(memory) for key, memory in projects.items()}, least)
    if not shared:
        return []
    known = {_speaker(c) for c in read_candidates(folder)[0]} if folder.exists() else set[tuple[Identity, str]]()
    new = [c for c in shared if _speaker(c) not in known]
    return new if dry_run or not new else append_candidates(folder, new, ())


def _undoubted(memory: Path) -> list[Memory]:
    """Return what holds in a project, without what a tool wrote into its memory files as well."""
    active = read_book(memory).own
    doubts = doubts_of(memory) if any(m.category == "preference" for m in active) else None
    return [m for m in active if doubts is None or not doubts.has(m.text)]


def _speaker(candidate: Candidate) -> tuple[Identity, str]:
    return identity(candidate), candidate.extractor


def _candidate(project: str, memory: Memory) -> Candidate:
    said = [s for s in memory.sightings if s.origin.startswith("user_")]
    latest = max(said, key=lambda s: (s.observed_at, s.session))
    session = SessionRef(latest.dialect, latest.session, latest.path)
    evidence = _of_session(memory, latest.path)
    return Candidate(
        candidate_id(session, "preference", memory.text, evidence),
        "preference",
        memory.text,
        combined("preference", said),
        "user_explicit",
        f"{EXTRACTOR}:{project}",
        session,
        evidence,
        latest.observed_at,
        memory.key,
        memory.value,
    )


def _of_session(memory: Memory, path: str) -> tuple[Evidence, ...]:
    return tuple(e for e in memory.evidence if e.path == path) or memory.evidence[:1]

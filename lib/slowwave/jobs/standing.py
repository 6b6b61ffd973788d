"""How each project stands: last dream, what is due, what waits, and why nothing happened: the data of ``status``."""

import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from slowwave.clock import Clock
from slowwave.compaction.job.book import all_books, content_stamp, folder_of
from slowwave.consolidation.backlog import backlog_of, waiting_since
from slowwave.consolidation.gates import ENOUGH, changed_since, or_after_waiting, session_gate, time_gate
from slowwave.consolidation.lock import refusal
from slowwave.consolidation.state import read_state
from slowwave.errors import SlowwaveError
from slowwave.extraction.failures import read_failures
from slowwave.jobs.choice import chosen_by
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.delivery.hooks import spoken
from slowwave.memory.delivery.register import Register, placed_of, read_register
from slowwave.memory.foreign import known_lines
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.model import iso
from slowwave.memory.names import name_from_json
from slowwave.places import home_folder
from slowwave.report import Gate
from slowwave.settings import Settings
from slowwave.stores.discovery import known_projects
from slowwave.stores.live import active_reason
from slowwave.stores.model import Project


class Standing(msgspec.Struct):
    """One project.

    Attributes:
        project: its key.
        memory: its memory folder.
        sessions: how many main sessions it has.
        last_dream: ISO time at which a dream last looked at it, or None.
        last_change: id of the last dream that changed a memory and was not undone, or ""; its time stands in it.
        due: whether the next run would dream.
        due_at: ISO time from which the time gate lets a dream pass, or "" when it does now.
        gates: each gate with its reason.
        memories: active memories.
        waiting: candidates that no dream has taken or refused; most of them wait for more evidence.
        oldest_waiting: ISO time of the oldest of them, or "".
        backlog: those of them that no dream has looked at.
        backlog_since: ISO time at which the first of these was noted, or "".
        failing: sessions that could not be read lately.
        parked: dreams that wait for a person.
        foreign: lines of memory files that slowwave did not write, by who wrote them: person, agent, tool.
        stopped: sessions that are compacted no more, and why.
        delivered: files with its memory in them, and for whom; how much is said before calls.
        problem: why this project could not be looked at, or "".
    """

    project: str
    memory: str
    sessions: int
    last_dream: str | None = None
    last_change: str = ""
    due: bool = False
    due_at: str = ""
    gates: list[Gate] = []
    memories: int = 0
    waiting: int = 0
    oldest_waiting: str = ""
    backlog: int = 0
    backlog_since: str = ""
    failing: int = 0
    parked: list[str] = []
    foreign: dict[str, int] = {}
    stopped: list[str] = []
    delivered: list[str] = []
    problem: str = ""


def standings(
    settings: Settings, environ: Mapping[str, str], clock: Clock, *, project: str = ""
) -> tuple[list[Standing], list[str]]:
    """Return how every project stands, and what discovery left out.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project matches ``project``.
    """
    found = known_projects(settings, environ)
    chosen = chosen_by(project, found.projects, lambda p: (p.key, p.root))
    rows = [_standing(p, settings, clock.now(), home_folder(environ)) for p in chosen]
    _look_at_compactions(rows, chosen, environ)
    register = read_register(environ)
    for row, one in zip(rows, chosen, strict=True) if register is not None else ():
        files = placed_of(one.memory, register or Register()).items()
        row.delivered = [f"{name_from_json(name)} for {', '.join(placed.clients)}" for name, placed in files]
        row.delivered += filter(None, [spoken(one, register or Register(), environ)])
    return rows, [str(p) for p in found.problems]


def _look_at_compactions(rows: list[Standing], projects: list[Project], environ: Mapping[str, str]) -> None:
    """Name the sessions that are compacted no more after failures in a row."""
    folder = folder_of(environ)
    if not folder.is_dir():
        return
    try:
        books = {book.path: book for book in all_books(folder) if book.is_stopped}
    except SlowwaveError as error:
        for row in rows:
            row.problem = row.problem or str(error)
        return
    for row, project in zip(rows, projects, strict=True) if books else ():
        for session in project.sessions:
            book = books.get(os.path.realpath(session.files.paths[0]))
            if book is not None and book.failed_at == content_stamp(session.files.paths):
                row.stopped.append(f"{session.id}: {book.error}")


def _standing(project: Project, settings: Settings, now: datetime, home: Path) -> Standing:
    main = sum(s.kind == "main" for s in project.sessions)
    standing = Standing(project.key, str(project.memory), main)
    try:
        _look_at_gates(standing, project, settings, now, home)
        _look_at_memory(standing, project.memory)
    except SlowwaveError as error:
        standing.problem = str(error)
        standing.due = False
    return standing


def _look_at_gates(standing: Standing, project: Project, settings: Settings, now: datetime, home: Path) -> None:
    limits = settings.consolidation
    last = read_state(project.memory)
    idle = settings.extraction.idle
    changed = changed_since(project.sessions, last, lambda s: active_reason(s, now, idle, home) or "")
    enough = session_gate(project.key, changed, limits.min_sessions)
    held = refusal(project.memory, limits.lock_stale)
    standing.last_dream = None if last is None else iso(datetime.fromtimestamp(last, UTC))
    standing.gates = [
        time_gate(project.key, last, now, limits.min_hours * ENOUGH),
        enough if enough.passed else or_after_waiting(enough, waiting_since(project.memory), now, limits.max_wait),
        Gate("lock", project.key, passed=not held, reason=held or "free"),
    ]
    standing.due = all(gate.passed for gate in standing.gates)
    if last is not None and not standing.gates[0].passed:
        standing.due_at = iso(datetime.fromtimestamp(last, UTC) + timedelta(hours=limits.min_hours * ENOUGH))


def _look_at_memory(standing: Standing, memory: Path) -> None:
    book = read_book(memory)
    waiting = [c for c in read_candidates(memory)[0] if c.id not in book.done]
    standing.last_change = book.dreams[-1] if book.dreams else ""
    standing.memories = len(book.active)
    standing.waiting = len(waiting)
    standing.oldest_waiting = min((c.observed_at for c in waiting if c.observed_at), default="")
    noted = [noted for _, noted in backlog_of(memory, book)]
    standing.backlog, standing.backlog_since = len(noted), min(filter(None, noted), default="")
    standing.foreign = dict(Counter(known.writer if known else "person" for _, known in known_lines(memory)))
    standing.failing = len(read_failures(memory)[0])
    parked = memory / OWN_FOLDER / "parked"
    standing.parked = sorted(p.stem for p in parked.glob("*.json")) if parked.is_dir() else []

"""What a person and their team share in a repository: own memories go there, others' lines come back.

Written are only new files, into a folder that is there already, and nothing is committed: that is the person's. What
comes back has to be committed, by whom it names as its author. It never becomes a memory by itself: it stands beside
one's own, with its author's name, and what one's own words contradict, say already or took out is held back.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.facts import Identity, combined, doubts_of, identity
from slowwave.consolidation.likeness import is_like
from slowwave.consolidation.replacement import Contrary
from slowwave.consolidation.snapshot import Snapshot, read_snapshot
from slowwave.errors import NotFoundError, RefusedError
from slowwave.files import atomic_write
from slowwave.memory import Candidate, Evidence, SessionRef, candidate_id, iso
from slowwave.memory.book import Memory, read_book
from slowwave.memory.candidates import append_candidates, read_candidates
from slowwave.memory.delivery.files import asked, author_of
from slowwave.memory.folder import OWN_FOLDER, guarded, read_or_none
from slowwave.memory.ledger import VERSION, Event, read_ledger
from slowwave.memory.provenance import ForeignLine
from slowwave.memory.team import (
    OTHERS,
    SUFFIX,
    OtherLine,
    Shared,
    additions,
    mine_of,
    parsed,
    rendered_others,
    shared_files,
    shared_folder,
    store_of,
    unfit,
)
from slowwave.memory.transaction import Change, commit, recover
from slowwave.report import Item

Redact = Callable[[str], str]
_OPEN_TO_ALL = 0o644
# so many files that count for nothing are named; the rest is counted
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Team:
    """A repository with a folder for shared memories."""

    folder: Path  # the folder
    author: str  # who works here, as git names them
    root: Path  # the repository
    environ: Mapping[str, str]  # the environment, for git


def team_of(root: str, shared: str, environ: Mapping[str, str]) -> Team | None:
    """Return the team of a project; None where nothing is shared: no such folder is there.

    Args:
        root: the project's folder.
        shared: where shared memories lie in it, as ``memory.shared`` says.
        environ: the environment, for git.

    Raises:
        RefusedError: the folder leads out of the repository, git does not keep it, or git does not say who works here.
    """
    folder, top = shared_folder(root, shared), Path(root)
    if folder is None:
        return None
    if _is_ignored(top, f"{shared}/x{SUFFIX}", environ):
        raise RefusedError(f"{folder}: git ignores it, so nobody else would see it; change .gitignore")
    author = author_of(top, environ)
    if not author:
        raise RefusedError(f"{folder}: git does not say who you are; set user.name and user.email")
    return Team(folder, author, top, environ)


def _is_ignored(root: Path, name: str, environ: Mapping[str, str]) -> bool:
    try:
        return bool(asked(root, environ, "check-ignore", "--", name))
    except RefusedError:
        return False  # so it says of what it does not ignore


def share(memory: Path, team: Team | None, redact: Redact, *, dry_run: bool = False) -> list[Item]:
    """Add what is missing of the person's own to the repository, and note what others shared.

    Raises:
        CorruptStateError: the ledger is damaged.
        LockHeldError: another process kept the memory folder locked.
        OSError: the repository or the memory folder cannot be written.
    """
    if team is None:
        if not dry_run and (memory / OWN_FOLDER / OTHERS).exists():
            (memory / OWN_FOLDER / OTHERS).unlink()
        return []
    items: list[Item] = []
    files = shared_files(team.folder)
    store = store_of(files)
    problems = sorted(store.problems.items())
    items += [Item(str(team.folder / file), "refused", reason) for file, reason in problems[:_MOST_NAMED]]
    if len(problems) > _MOST_NAMED:
        items.append(Item(str(team.folder), "refused", f"{len(problems) - _MOST_NAMED} more files count for nothing"))
    added = additions(read_ledger(memory), store, team.author, redact)
    items += [Item(one, "refused", f"is not shared: {reason}") for one, reason in added.refused]
    for file, data in added.files.items():
        items.append(Item(str(team.folder / file), "share", "commit it, so that others have it"))
        if not dry_run:
            atomic_write(team.folder / file, data, mode=_OPEN_TO_ALL)
    if not dry_run and memory.is_dir():
        items += note_others(memory, files, team, redact)
    return items


def note_others(memory: Path, files: Mapping[str, bytes], team: Team, redact: Redact) -> list[Item]:
    """Note beside a memory folder what others shared; return what counts for nothing."""
    by = _committed(team)
    proven: dict[str, bytes] = {}
    items: list[Item] = []
    for file, data in files.items():
        try:
            author = parsed(file, data).author
        except ValueError:
            continue  # it was named already
        if by.get(file) == author:
            proven[file] = data
        elif file in by:
            items.append(Item(str(team.folder / file), "refused", f"says that {author} wrote it, and {by[file]} did"))
    store, mine = store_of(proven), mine_of(read_ledger(memory), team.author)
    theirs = [one for one in store.live.values() if one.name not in mine.accepted and one.name not in mine.over]
    judge = _Judge(read_snapshot(memory), redact)
    data = rendered_others(judge.line(one) for one in theirs)
    if data != (read_or_none(memory / OWN_FOLDER / OTHERS) or rendered_others(())):
        with guarded(memory):
            atomic_write(memory / OWN_FOLDER / OTHERS, data)
    return items


def accept_for_team(memory: Path, name: str, now: datetime, *, withdraw: bool = False) -> Memory:
    """Note that a person accepts a memory for everybody who works in the repository, or takes that back.

    Raises:
        NotFoundError: no memory of that name holds, or several do.
        MovedError: the memory folder changed meanwhile.
    """
    recover(memory)
    snapshot = read_snapshot(memory)
    like = [one for one in snapshot.state.book.active if name and one.id.startswith(name)]
    if len(like) != 1:
        raise NotFoundError(f"{len(like) or 'no'} memories {name!r} hold in {memory}; slowwave memory list shows them")
    (one,) = like
    at = iso(now)
    # several in one second are several
    number = sum(event.event == "share" for event in read_ledger(memory))
    dream = f"s{at.replace('-', '').replace(':', '')}-{one.id[:8]}-{number}"
    text = "" if withdraw else one.text
    reason = "taken back for the team" if withdraw else "accepted for the team"
    event = Event(v=VERSION, event="share", dream=dream, at=at, memory=one.id, text=text, reason=reason)
    commit(memory, Change(dream, at, {}, [event], snapshot.seen, only_seen=False))
    return one


def _committed(team: Team) -> dict[str, str]:
    """Return who committed each file of the folder first; what is not committed is left out."""
    if not asked(team.root, team.environ, "rev-list", "-n", "1", "--all"):
        return {}
    where = team.folder.relative_to(team.root).as_posix()
    how = ("--no-renames", "--diff-filter=A", "--format=%x00%an <%ae>", "--name-only")
    told = asked(team.root, team.environ, "log", *how, "HEAD", "--", where)
    found: dict[str, str] = {}
    for part in told.split("\0"):
        author, *names = [line for line in part.split("\n") if line] or [""]
        # the log goes back in time
        found |= dict.fromkeys((name.strip('"').rpartition("/")[2] for name in names), author)
    return found


class _Judge:
    """Says what of others' lines is brought to the person's agents."""

    def __init__(self, snapshot: Snapshot, redact: Redact) -> None:
        state = snapshot.state
        self._redact = redact
        self._own = [m for m in state.book.active if m.is_from_person or not m.stands]
        self._gone = [m for m in state.book.memories.values() if m.status in ("removed-by-person", "edited-by-person")]
        self._rejected = [c for c in snapshot.candidates.values() if c.id in state.book.rejected]
        # also what a person wrote into a file by hand
        written = [line for line in state.foreign if state.writers.get(line.key) != "tool"]
        self._contrary = Contrary([*written, *(ForeignLine(m.place, m.text) for m in self._own)])
        self._written = written

    def line(self, one: Shared) -> OtherLine:
        assert one.category
        held = unfit(one.text, self._redact) or self._held(one)
        return OtherLine(one.name, one.author, one.category, self._redact(one.text), one.since, held)

    def _held(self, one: Shared) -> str:
        if next((m for m in self._own if is_like(m.text, one.text)), None):
            return "you hold it yourself"
        if any(is_like(line.text, one.text) for line in self._written):
            return "you wrote it yourself"
        if any(is_like(m.text, one.text) for m in (*self._gone, *self._rejected)):
            return "you dropped it"
        line = self._contrary.to(_as_candidate(one))
        return f"contradicts your own words: {line.text[:160]}" if line else ""


def _as_candidate(one: Shared) -> Candidate:
    assert one.category
    return Candidate(one.name, one.category, one.text, 0.0, "assistant", "shared", SessionRef("", "", ""), ())


# Preferences that a person stated in several projects, proposed for all of them; nothing is decided without a person.
#
# A proposal is a waiting candidate of the global memory folder, with the evidence of every project, so it stands in the
# inbox like any other, is accepted by a dream of that folder alone, and never comes back once it was rejected. The
# memories of the projects stay as they are.

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

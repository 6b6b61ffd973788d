"""Find every session under the store roots, by projects, and whether it rests; what is left out is counted."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.files import archive_folder, is_for_questions
from slowwave.formats import Problem, SessionFiles, SessionKind, parse_time
from slowwave.formats.claude import FOLDER_OF_PROJECT
from slowwave.formats.lines import relaxed_collector
from slowwave.formats.registry import CLIENTS, client_of, versions_in_use
from slowwave.formats.sessions import MEMORY, SUFFIXES, FoundSession, Known, Place, StoredSession, StoreProblem, Walk
from slowwave.formats.tail import lines_backward
from slowwave.secrets.blocklist import Blocked
from slowwave.settings import Settings
from slowwave.stores.catalogue import Catalogue, Page, catalogue_path, own_catalogue, shown_of
from slowwave.stores.projects import (
    Bundle,
    Discovery,
    Group,
    Project,
    Roots,
    bundled,
    grouped,
    memory_folder,
    spelling_of,
)
from slowwave.stores.roots import Head, Root, read_head, sessions_of, store_roots
from slowwave.stores.summary import SessionRow, StoredRow, resolve


class _Seen(NamedTuple):
    """A session as it was found, and what its beginning shows."""

    place: Place
    found: FoundSession
    head: Head


def find_projects(settings: Settings, environ: Mapping[str, str], catalogue: Catalogue | None = None) -> Discovery:
    """Return the projects under ``settings.store.roots``, or in the homes of all clients when none are set.

    Args:
        settings: roots, the templates of memory folders and the size that Cersei would refuse to load.
        environ: the process environment, for ``HOME`` and the clients' own variables.
        catalogue: what is known of unchanged sessions; without it the beginning of every session is read.

    Raises UnreadableError: a named root is missing, a file, unreadable, or holds nothing that could be a store;
    UnknownDialectError: a named root holds transcripts, and not one of them is of a known dialect; SettingsError: a
    template of memory folders is malformed.
    """
    discovery = Discovery()
    look = _in_catalogue(catalogue, discovery.problems) if catalogue else _on_disk(discovery.problems)
    bundles: list[Bundle[_Seen]] = []
    for root in store_roots(settings, environ, discovery.problems):
        bundles += _bundles(root, look, discovery.problems)
    for group in grouped(bundles, Roots(settings, environ)):
        if group.items or any(os.path.isdir(f"{folder}/{MEMORY}") for folder in group.folders):  # noqa: PTH112
            discovery.projects.append(_project(group, settings, environ, discovery.problems))
    # what was brought from elsewhere was not written by the clients of this machine
    of_machine: Mapping[str, str] = {} if settings.store.roots else environ
    versions = versions_in_use((s for project in discovery.projects for s in project.sessions), of_machine)
    discovery.projects = [msgspec.structs.replace(project, versions=versions) for project in discovery.projects]
    discovery.projects.sort(key=lambda project: project.key)
    return discovery


def _bundles(
    root: Root, look: Callable[[Place], Iterator[_Seen | StoreProblem]], problems: list[StoreProblem]
) -> list[Bundle[_Seen]]:
    bundles: list[Bundle[_Seen]] = []
    strangers: list[StoreProblem] = []
    known = 0
    for place in root.places:
        seen: list[_Seen] = []
        for one in look(place):
            if isinstance(one, StoreProblem):
                strangers.append(one)
            else:
                seen.append(one)
        known += len(seen)
        bundles += bundled(place, seen, lambda s: (s.head.cwd, s.found.mtime_ns))
    problems += strangers
    root.refuse_strangers(known, strangers)
    return bundles


def _on_disk(problems: list[StoreProblem]) -> Callable[[Place], Iterator[_Seen | StoreProblem]]:
    walk = Walk[Known](problems)

    def look(place: Place) -> Iterator[_Seen | StoreProblem]:
        for found in sessions_of(place, walk):
            head = read_head(found)
            yield head if isinstance(head, StoreProblem) else _Seen(place, found, head)

    return look


def _in_catalogue(
    catalogue: Catalogue, problems: list[StoreProblem]
) -> Callable[[Place], Iterator[_Seen | StoreProblem]]:
    walk = Walk[StoredRow](problems)

    def look(place: Place) -> Iterator[_Seen | StoreProblem]:
        page = catalogue.read_place(place, walk)
        if page.is_changed:
            resolve(page.rows)
            catalogue.save(page)
        for stored in page.rows:
            if stored.problem:
                yield stored.as_problem()
            else:
                row = stored.row
                messages = -1 if row.bad_lines else row.messages
                head = Head(row.dialect, row.kind == "subagent", row.cwd, row.parent, messages)
                yield _Seen(place, stored.as_found(), head)

    return look


def _project(
    group: Group[_Seen], settings: Settings, environ: Mapping[str, str], problems: list[StoreProblem]
) -> Project:
    stored = sorted((_stored(seen, settings, problems) for seen in group.items), key=lambda s: s.mtime_ns)
    memory = memory_folder(group, settings, environ)
    return Project(group.key, group.root, tuple(map(Path, group.places)), memory, tuple(stored))


def changed_since(settings: Settings, environ: Mapping[str, str], since_ns: int) -> list[str]:
    """Return the paths of all transcripts under the roots that changed after ``since_ns`` (nanoseconds).

    Parts and sub-agents' files beside their session are in it as they are; nothing is opened. Raises UnreadableError: a
    root or one of its folders cannot be read.
    """
    problems: list[StoreProblem] = []
    places = [place for root in store_roots(settings, environ, problems) for place in root.places]
    changed = _changed_files([place.path for place in places if CLIENTS[place.kind].is_flat], since_ns)
    walk = Walk[Known](problems)
    for place in places:
        if not CLIENTS[place.kind].is_flat:
            found = (s for s in sessions_of(place, walk) if s.mtime_ns > since_ns)
            changed += dict.fromkeys(f"{s.folder}/{file.name}" for s in found for file in s.files)
    return changed


def _changed_files(folders: Iterable[str], since_ns: int) -> list[str]:
    """Return the transcripts in ``folders`` that changed after ``since_ns``, without looking into any of them."""
    changed: list[str] = []
    for folder in folders:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in os.listdir(fd):  # noqa: PTH208 - on a descriptor
                if name.endswith(SUFFIXES):
                    try:
                        at = os.stat(name, dir_fd=fd)
                    except FileNotFoundError:
                        continue  # removed between listing and stat, or a broken link
                    if at.st_mtime_ns > since_ns:
                        changed.append(f"{folder}/{name}")
        finally:
            os.close(fd)
    return changed


def _stored(seen: _Seen, settings: Settings, problems: list[StoreProblem]) -> StoredSession:
    place, found, head = seen
    paths = tuple(Path(found.folder, file.name) for file in found.files)
    notes: list[Problem] = []
    for number in found.missing_parts():
        text = "the base file is missing" if number == 1 else f"part {number} is missing"
        notes.append(Problem("gap", paths[0], 0, 0, 0, f"{text}; the later parts are read all the same"))
    size = found.size
    if client_of(head.dialect).refuses_large and size > settings.store.warn_bytes:
        limit = settings.store.warn_bytes
        notes.append(Problem("too-large", paths[0], 0, 0, size, f"{size} bytes, Cersei itself refuses over {limit}"))
    problems += [StoreProblem("gap" if n.kind == "gap" else "too-large", found.path, n.detail) for n in notes]
    kind: SessionKind = "subagent" if head.side else "main"
    files = SessionFiles(found.id, paths, tuple(notes))
    return StoredSession(
        head.dialect, files, kind, Path(place.path), size, found.mtime_ns, found.source, found.in_database,
        "question" if is_for_questions(head.cwd) else found.origin, head.parent, head.messages,
    )  # fmt: skip


# List every session of the stores from the catalogue: the rows behind ``slowwave sessions list``.


@dataclass(slots=True)
class Listing:
    """Rows, newest activity first, and everything that was left out."""

    rows: list[SessionRow] = field(default_factory=list[SessionRow])
    problems: list[StoreProblem] = field(default_factory=list[StoreProblem])


def list_sessions(
    settings: Settings, environ: Mapping[str, str], catalogue: Catalogue, *, archived: bool = True
) -> Listing:
    """Return a row for every session under the roots; only what changed since the last listing is read.

    ``catalogue``: what is known of the sessions; ``archived``: list what was archived from under the roots, too, unless
    it lies in its place again. Raises UnreadableError: a named root is missing, a file, or unreadable;
    UnknownDialectError: a named root holds transcripts, and not one of them is of a known dialect.
    """
    listing = Listing()
    walk = Walk[StoredRow](listing.problems)
    bundles: list[Bundle[SessionRow]] = []
    with relaxed_collector():
        roots = store_roots(settings, environ, listing.problems)
        known = [0] * len(roots)
        strangers: list[list[StoreProblem]] = [[] for _ in roots]
        for members in _neighbours(roots).values():
            pages = [catalogue.read_place(place, walk) for _, place in members]
            _settle(pages, catalogue)
            for (number, _), page in zip(members, pages, strict=True):
                titles = CLIENTS[page.place.kind].titles(page.place)
                if titles:
                    _entitle(page.shown, titles, catalogue.blocked)
                bundles += _listed_bundles(page)
                listing.problems += page.odd
                strangers[number] += page.odd
                known[number] += len(page.shown)
        for number, root in enumerate(roots):
            root.refuse_strangers(known[number], strangers[number])
        for group in grouped(bundles, Roots(settings, environ)):
            key = group.key
            for row in group.items:
                row.project = key
            listing.rows += group.items
        if archived and archive_folder(environ).is_dir():
            from slowwave.stores.archive import archived_rows  # noqa: PLC0415 - most people archived nothing yet

            listing.rows += archived_rows(settings, environ, listing.rows, listing.problems, catalogue.blocked)
        listing.rows.sort(key=attrgetter("last_activity"), reverse=True)
    return listing


def _entitle(shown: list[SessionRow], titles: Mapping[str, str], blocked: Blocked | None) -> None:
    """Show the titles that a client keeps beside its sessions; they change without a trace in the session."""
    for row in shown:
        row.title = shown_of(titles.get(row.id, ""), blocked) or row.title


def _listed_bundles(page: Page) -> list[Bundle[SessionRow]]:
    if page.place.kind == FOLDER_OF_PROJECT:
        return [Bundle(page.place, *page.newest, page.shown)]
    # sessions of one bundle name the same folder, so which of them is the newest is nothing to it
    return bundled(page.place, page.shown, lambda row: (row.cwd, 0))


def _neighbours(roots: list[Root]) -> dict[tuple[str, str], list[tuple[int, Place]]]:
    """Return the places whose sessions tell of each other, each with the number of its root."""
    together: dict[tuple[str, str], list[tuple[int, Place]]] = {}
    for number, root in enumerate(roots):
        for place in root.places:
            together.setdefault(spelling_of(place), []).append((number, place))
    return together


def _settle(pages: list[Page], catalogue: Catalogue) -> None:
    """Give the rows of one project what follows from all of its sessions, and keep what is new."""
    # what the sessions of one place tell of each other was settled when the page was saved
    if len(pages) > 1 or pages[0].is_changed:
        resolve(stored for page in pages for stored in page.rows)
    for page in pages:
        if page.is_changed:
            catalogue.save(page)


# The projects under the store roots by what the catalogue knows: only new and changed sessions are looked into.


def known_projects(settings: Settings, environ: Mapping[str, str], *, with_erased: bool = False) -> Discovery:
    """Return the projects that :func:`find_projects` finds, with the help of this user's catalogue.

    What is wrong with the catalogue itself is one more problem of the discovery; it never stops a run. ``settings``: as
    :func:`find_projects` takes them, as is ``environ``; ``with_erased``: also return the sessions that were erased and
    lie there again, which are problems else. Raises UnreadableError: a named root is missing, a file, unreadable, or
    holds nothing that could be a store; UnknownDialectError: a named root holds transcripts, and not one of them is of
    a known dialect; SettingsError: a template of memory folders is malformed.
    """
    with own_catalogue(settings, environ) as catalogue:
        if with_erased and catalogue.blocked is not None:
            return find_projects(settings, environ)
        found = find_projects(settings, environ, catalogue)
        path = str(catalogue_path(environ))
        found.problems += [StoreProblem("catalogue", path, warning) for warning in catalogue.warnings]
    return found


# Filters over the rows of a listing, the same for ``sessions list`` and ``sessions search``.
@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked to see; an empty field asks for nothing."""

    dialect: str = ""  # name of the dialect
    kind: str = ""  # main, subagent or fork
    text: str = ""  # stands in the title or in the first prompt, in whatever case
    since: datetime | None = None  # the session was worked in at this time or later
    until: datetime | None = None  # the session had begun by this time

    def of(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """Return the rows that are wanted, in their order."""
        needle = self.text.casefold()
        return [
            row
            for row in rows
            if self.dialect in ("", row.dialect)
            and self.kind in ("", row.kind)
            and (not needle or needle in row.title.casefold() or needle in row.first_prompt.casefold())
            and self._is_in_time(row)
        ]

    def _is_in_time(self, row: SessionRow) -> bool:
        """Say whether the time from a session's begin to its last record touches the time asked for."""
        if self.since is None and self.until is None:
            return True
        last = parse_time(row.last_activity)
        first = parse_time(row.created) or last
        if last is None or first is None:
            return False  # nobody can say when it was
        return (self.since is None or last >= self.since) and (self.until is None or first <= self.until)


# Whether somebody still works in a session, which is then left alone.

# Among so many last records at least one has a time, in every version seen.
_LAST_RECORDS = 50


class _Timed(msgspec.Struct, gc=False):
    timestamp: str | None = None


_timed = msgspec.json.Decoder(_Timed)


def live_reason(session: StoredSession, now: datetime, idle: timedelta, home: Path) -> str | None:
    """Return why a session counts as live, or None when it rests.

    ``session``: the session; its files are looked at again, since a plan may be minutes old. ``now``: the current time.
    ``idle``: how long every file of it must have rested. ``home``: the user's home folder; Claude Code notes its
    running sessions under ``.claude/sessions``.
    """
    # the time of a database is that of the newest of all its sessions
    shared = session.in_database
    newest = session.mtime_ns / 1e9 if shared else max((_changed_at(path) for path in session.files.paths), default=0.0)
    age = now.timestamp() - newest
    if age < 0:
        return f"its file is dated {timedelta(seconds=round(-age))} in the future; check the clock of this machine"
    if age < idle.total_seconds():
        return f"changed {timedelta(seconds=int(age))} ago, and must rest for {idle}"
    return client_of(session.dialect).claimed_by(session, home, now)


def active_reason(session: StoredSession, now: datetime, idle: timedelta, home: Path) -> str | None:
    """Return why somebody still works in a session, for jobs that only read it; None when it rests.

    As :func:`live_reason`, but a file that was copied, restored or synchronised a moment ago does not count as
    changed when the last records in it are older than ``idle``. Whatever changes a session must not rely on that: a
    client that resumes an old session writes lines without a time first.
    """
    reason = live_reason(session, now, idle, home)
    if reason is None or session.in_database or client_of(session.dialect).claimed_by(session, home, now):
        return reason
    written = _last_written(session)
    return None if written is not None and now - written >= idle else reason


def _last_written(session: StoredSession) -> datetime | None:
    """Return the latest time among the last records of the file that changed last, None when they tell none."""
    path = max(session.files.paths, key=_changed_at)
    times: list[datetime] = []
    for _, raw in islice(lines_backward(path), _LAST_RECORDS):
        try:
            at = parse_time(_timed.decode(raw.strip(b" \t\r\n\0")).timestamp)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if at is not None:
            times.append(at)
    return max(times, default=None)


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0

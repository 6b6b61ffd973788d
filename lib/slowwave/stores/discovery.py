"""Find every session under the store roots, grouped into projects; what is left out is counted and shown."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from slowwave.formats.model import Problem, SessionFiles, SessionKind
from slowwave.places import is_for_questions
from slowwave.settings import Settings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.head import Head, read_head
from slowwave.stores.kinds.base import Place
from slowwave.stores.kinds.registry import BY_NAME
from slowwave.stores.model import Discovery, Project, StoredSession, StoreProblem
from slowwave.stores.projects import Bundle, Group, Roots, bundled, grouped, memory_folder
from slowwave.stores.roots import Root, sessions_of, store_roots
from slowwave.stores.rows import StoredRow, resolve
from slowwave.stores.walk import MEMORY, SUFFIXES, FoundSession, Known, Walk


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

    Raises:
        UnreadableError: a named root is missing, a file, unreadable, or holds nothing that could be a store.
        UnknownDialectError: a named root holds transcripts, and not one of them is of a known dialect.
        SettingsError: a template of memory folders is malformed.
    """
    discovery = Discovery()
    look = _in_catalogue(catalogue, discovery.problems) if catalogue else _on_disk(discovery.problems)
    bundles: list[Bundle[_Seen]] = []
    for root in store_roots(settings, environ, discovery.problems):
        bundles += _bundles(root, look, discovery.problems)
    for group in grouped(bundles, Roots(settings, environ)):
        if group.items or any(os.path.isdir(f"{folder}/{MEMORY}") for folder in group.folders):  # noqa: PTH112
            discovery.projects.append(_project(group, settings, environ, discovery.problems))
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

    Parts and sub-agents' files beside their session are in it as they are; nothing is opened.

    Raises:
        UnreadableError: a root or one of its folders cannot be read.
    """
    problems: list[StoreProblem] = []
    places = [place for root in store_roots(settings, environ, problems) for place in root.places]
    changed = _changed_files([place.path for place in places if BY_NAME[place.kind].is_flat], since_ns)
    walk = Walk[Known](problems)
    for place in places:
        if not BY_NAME[place.kind].is_flat:
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
    if head.dialect == "cersei" and size > settings.store.warn_bytes:
        limit = settings.store.warn_bytes
        notes.append(Problem("too-large", paths[0], 0, 0, size, f"{size} bytes, Cersei itself refuses over {limit}"))
    problems += [StoreProblem("gap" if n.kind == "gap" else "too-large", found.path, n.detail) for n in notes]
    kind: SessionKind = "subagent" if head.side else "main"
    files = SessionFiles(found.id, paths, tuple(notes))
    return StoredSession(
        head.dialect, files, kind, Path(place.path), size, found.mtime_ns, found.source, found.in_database,
        "question" if is_for_questions(head.cwd) else found.origin, head.parent, head.messages,
    )  # fmt: skip

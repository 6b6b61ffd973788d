"""What an erasure within some projects leaves out, place by place: the certificate says so."""

import os
from collections.abc import Iterator, Sequence

from slowwave.errors import SlowwaveError
from slowwave.places import archive_folder, config_folder, data_folder, scheduler_folder, state_folder
from slowwave.report import Item
from slowwave.retention.databases import bytes_hold, found_in_database
from slowwave.retention.eraser import Eraser
from slowwave.retention.everywhere import homes
from slowwave.stores.model import Project
from slowwave.stores.trash import trash_folder

ACTION = "not searched"
_TOGETHER = "it belongs to all projects together"
# said on every certificate
NEVER = (
    "working folders of projects, backups, and what was sent to a model, are searched by no erasure, nor is what is"
    " packed within base64; text in UTF-16 is searched for names and phrases as they were written, not for patterns"
)


def note_left_out(chosen: Sequence[Project], eraser: Eraser) -> None:
    """Note what is not searched when only some projects are.

    Databases with sessions of theirs are searched, and refused when they hold a subject.
    """
    theirs = sorted({(s.files.paths[0], p.key) for p in chosen for s in p.sessions if s.in_database})
    for path, project in theirs:
        try:
            found = found_in_database(path, eraser.what)
            is_held = bool(found.places or found.refused or bytes_hold(path, eraser.what))
        except (SlowwaveError, OSError) as error:
            eraser.refuse(project, str(path), str(error))
            continue
        if is_held:
            reason = "holds a subject beside sessions of the project, and is written as a whole or not at all"
            eraser.refuse(project, str(path), f"{reason}: run this without --project")
    for place, what in _places(eraser):
        eraser.report.count("not_searched")
        eraser.report.items.append(Item(place, ACTION, f"{what}: {_TOGETHER}; run this without --project"))


def _places(eraser: Eraser) -> Iterator[tuple[str, str]]:
    """Yield the places that are there, each with what it holds."""
    environ = eraser.environ
    yield "all other projects", "their sessions and memories"
    for home in homes(eraser.settings.store.roots, environ):
        yield os.fspath(home), "what its client keeps beside sessions: prompts, tasks, copies, databases, snapshots"
    for folder, what in (
        (trash_folder(environ), "sessions that were removed"),
        (archive_folder(environ), "sessions that were archived"),
        (data_folder(environ), "memories of other projects, holds, certificates"),
        (state_folder(environ), "reports, logs, notes of compactions, questions to models"),
        (scheduler_folder(environ), "the scheduler's database"),
        (config_folder(environ), "settings"),
    ):
        if folder.is_dir():
            yield os.fspath(folder), what
    if (log := eraser.settings.telemetry.log_file) not in ("", "-"):
        yield log, "the log"

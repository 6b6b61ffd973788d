"""What an erasure is asked before anything is done: is what is to go there at all, and which paths would break."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence

from slowwave.files import file_bytes
from slowwave.memory.names import name_to_json
from slowwave.places import data_folder, home_folder
from slowwave.report import Item, Report
from slowwave.retention.certificate import FOLDER
from slowwave.retention.forgetting import what_goes
from slowwave.retention.sessions_gone import unknown
from slowwave.retention.subjects.wanted import Asked, Subjects
from slowwave.secrets.blocked import Blocked
from slowwave.stores.model import Project


def missing(
    asked: Asked, what: Subjects, projects: Sequence[Project], blocked: Blocked, environ: Mapping[str, str]
) -> Iterator[str]:
    """Yield what nobody has ever met, told as on the command line; what an earlier run has taken out was there.

    Args:
        asked: what was asked for.
        what: the search, after it went through everything.
        projects: what was searched.
        blocked: what was erased before.
        environ: the environment.

    Raises:
        CorruptStateError: the trash or the ledger of a memory folder is damaged.
        OSError: a certificate cannot be read.
    """
    for name in unknown(asked.sessions, projects, environ):
        if not blocked.has_session(name) and not _is_remembered(name, projects):
            yield f"--session {name}"
    kinds = (("person", asked.persons), ("topic", asked.topics), ("pattern", asked.patterns))
    named = [(kind, text) for kind, texts in kinds for text in dict.fromkeys(texts)]
    for (kind, text), mark in zip(named, what.marks, strict=True):
        if mark not in what.found and not blocked.has_phrase(text) and not _is_certified(mark, environ):
            yield f"--{kind} {text!r}"


def in_folders(what: Subjects, projects: Collection[Project], environ: Mapping[str, str]) -> str:
    """Return which subjects are part of the folders that people work in, and of how many, or ""."""
    folders = {os.fspath(home_folder(environ)), *(project.root for project in projects if project.root)}
    hits = [what.hits(os.fsencode(folder)) for folder in folders]
    marks = sorted({hit.mark for found in hits for hit in found})
    if not marks:
        return ""
    number = sum(map(bool, hits))
    return f"{', '.join(marks)} is part of {number} of the {len(folders)} folders that somebody works in"


def path_warning(report: Report) -> str:
    """Return how many of the places that were found stand within paths, or ""."""
    number = report.counts.get("in_paths", 0)
    if not number:
        return ""
    every = report.counts.get("found", number)
    return f"{number:,} of {every:,} places stand within paths, which would lead nowhere any more"


def is_unseen(item: Item) -> bool:
    """Say whether nobody could look into what was refused: what is live or held was looked into all the same."""
    return item.action == "refused" and not item.reason.startswith(("live: ", "held: "))


def _is_remembered(session: str, projects: Sequence[Project]) -> bool:
    """Say whether a memory rests on a session that lies nowhere any more."""
    return any(
        what_goes(project.memory, [name_to_json(session)], lambda _: False)
        for project in projects
        if project.memory.is_dir()
    )


def _is_certified(mark: str, environ: Mapping[str, str]) -> bool:
    folder = data_folder(environ) / FOLDER
    return any(mark.encode() in file_bytes(path) for path in folder.glob("*.json"))

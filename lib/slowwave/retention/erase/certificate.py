"""What an erasure is asked before it begins, and its certificate: what was searched, found, removed and refused."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.memory.model import name_to_json
from slowwave.places import data_folder, home_folder
from slowwave.report import NOT_SEARCHED, Item, Report
from slowwave.retention.erase.eraser import Changed
from slowwave.retention.erase.memory import what_goes
from slowwave.retention.erase.places import NEVER
from slowwave.retention.erase.sessions import unknown
from slowwave.retention.erase.subjects import Asked, Subjects
from slowwave.secrets.blocklist import Blocked
from slowwave.stores.model import Project

FOLDER = "certificates"
_SEARCHED = ("projects", "sessions", "searched_files")
_DONE = ("replaced", "erased", "forget", "removed")


class Line(msgspec.Struct, frozen=True):
    """One place: the file or session, what was done or why not."""

    where: str
    what: str
    reason: str
    project: str = ""


class Certificate(msgspec.Struct, frozen=True):
    """The certificate of one run.

    Attributes:
        run: id of the run.
        at: when it ended.
        subjects: what was asked for, by kind and keyed fingerprint.
        searched: numbers of projects, sessions and other files that were looked through.
        done: what was taken out, by place.
        refused: what was left, and why; the same run, repeated, deals with it when the reason is gone.
        failures: what went wrong.
        left_out: what was not searched, and why.
        files: every file that was written, with the SHA-256 of its bytes before and after; "" when it went.
    """

    run: str
    at: str
    subjects: tuple[str, ...]
    searched: dict[str, int]
    done: tuple[Line, ...]
    refused: tuple[Line, ...]
    failures: tuple[str, ...]
    files: tuple[Changed, ...]
    left_out: tuple[Line, ...]
    v: int = 2


def certificate_of(report: Report, subjects: Sequence[str], files: Sequence[Changed], at: datetime) -> Certificate:
    """Return the certificate of a run that has been done."""
    lines = [
        Line(name_to_json(i.target), i.action, name_to_json(i.reason), name_to_json(i.project)) for i in report.items
    ]
    searched = {
        name: number for name, number in report.counts.items() if name in ("projects", "sessions", "searched_files")
    }
    return Certificate(
        report.run_id,
        at.isoformat(),
        tuple(subjects),
        searched,
        tuple(line for line in lines if line.what in _DONE),
        tuple(line for line in lines if line.what == "refused"),
        tuple(map(name_to_json, report.failures)),
        tuple(one._replace(path=name_to_json(one.path)) for one in files),
        (*(line for line in lines if line.what == NOT_SEARCHED), Line("elsewhere", NOT_SEARCHED, NEVER)),
    )


def write_certificate(certificate: Certificate, environ: Mapping[str, str]) -> tuple[Path, str]:
    """Write a certificate as JSON and as Markdown; return the path of the JSON and its SHA-256.

    Raises:
        OSError: the data folder cannot be written.
    """
    folder = data_folder(environ) / FOLDER
    private_folder(folder)
    path = folder / f"erase-{certificate.run}.json"
    data = msgspec.json.format(msgspec.json.encode(certificate), indent=1)
    digest = sha256(data).hexdigest()
    atomic_write(path, data, mode=0o600)
    atomic_write(
        path.with_suffix(".md"), "".join(f"{line}\n" for line in _page(certificate, digest)).encode(), mode=0o600
    )
    return path, digest


def _page(certificate: Certificate, digest: str) -> list[str]:
    searched = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in certificate.searched.items())
    page = [
        f"# Certificate of erasure {certificate.run}",
        "",
        f"At {certificate.at}. Searched: {searched}. SHA-256 of the JSON form: `{digest}`.",
        "",
        "Asked for, by fingerprint: " + ", ".join(f"`{one}`" for one in certificate.subjects) + ".",
    ]
    for title, lines in (
        ("Taken out", certificate.done),
        ("Refused", certificate.refused),
        ("Not searched", certificate.left_out),
    ):
        page += ["", f"## {title}: {len(lines)}", ""]
        page += [f"- `{line.where}`: {line.reason}" for line in lines]
    if certificate.failures:
        page += ["", f"## Failed: {len(certificate.failures)}", "", *(f"- {one}" for one in certificate.failures)]
    page += ["", f"## Files: {len(certificate.files)}", ""]
    page += [f"- `{one.path}`: {one.before or 'new'} to {one.after or 'gone'}" for one in certificate.files]
    return page


# What an erasure is asked before anything is done: is what is to go there at all, and which paths would break.


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

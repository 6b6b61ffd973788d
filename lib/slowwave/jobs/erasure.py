"""The job ``erase`` for subjects and whole sessions: what it is asked before it begins, and its certificate.

Told in this process only: a scheduler keeps the parameters of its runs, and these would be the very words that are to
go.
"""

import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from slowwave.context import Run
from slowwave.errors import RefusedError, UsageError, told
from slowwave.files import atomic_write, data_folder, file_bytes, home_folder, private_folder, state_folder
from slowwave.jobs.run import contained, discreet, for_all, require_places
from slowwave.jobs.story import chosen_projects
from slowwave.locks import erasing
from slowwave.memory import name_to_json
from slowwave.memory.transaction import recover
from slowwave.report import NOT_SEARCHED, Item, Report
from slowwave.retention.audit import AuditLog, Entry
from slowwave.retention.erase import Across, Changed, Eraser, Written, left
from slowwave.retention.erase.job import erase_project, finish, finish_within, refuse_held
from slowwave.retention.erase.memory import what_goes
from slowwave.retention.erase.places import NEVER, names_in
from slowwave.retention.erase.subjects import Asked, Subjects
from slowwave.retention.erase.transcripts import FOLDER as JOURNALS
from slowwave.retention.erase.transcripts import along, forks_of, unknown
from slowwave.secrets import Redactor, redactor_of
from slowwave.secrets.blocklist import Blocked, block, read_blocked
from slowwave.stores.discovery import known_projects
from slowwave.stores.projects import Project

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
    """The certificate of one run."""

    run: str  # id of the run
    at: str  # when it ended
    subjects: tuple[str, ...]  # what was asked for, by kind and keyed fingerprint
    searched: dict[str, int]  # numbers of projects, sessions and other files that were looked through
    done: tuple[Line, ...]  # what was taken out, by place
    refused: tuple[Line, ...]  # what was left, and why; the same run, repeated, deals with it when the reason is gone
    failures: tuple[str, ...]  # what went wrong
    # every file that was written, with the SHA-256 of its bytes before and after; "" when it went
    files: tuple[Changed, ...]
    left_out: tuple[Line, ...]  # what was not searched, and why
    v: int = 2


def certificate_of(report: Report, subjects: Sequence[str], files: Sequence[Changed], at: datetime) -> Certificate:
    """Return the certificate of a run that has been done."""
    lines = [
        Line(name_to_json(i.target), i.action, name_to_json(i.reason), name_to_json(i.project)) for i in report.items
    ]
    searched = {name: number for name, number in report.counts.items() if name in _SEARCHED}
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

    Raises OSError: the data folder cannot be written.
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

    Raises CorruptStateError: the trash or the ledger of a memory folder is damaged; OSError: a certificate cannot be
    read.
    """
    for name in unknown(asked.sessions, projects, environ):
        if not blocked.has_session(name) and not _is_remembered(name, projects):
            yield f"--session {name}"
    kinds = (("person", asked.persons), ("topic", asked.topics), ("pattern", asked.patterns))
    named = [(kind, text) for kind, texts in kinds for text in dict.fromkeys(texts)]
    for (kind, text), mark in zip(named, what.marks, strict=True):
        certified = (data_folder(environ) / FOLDER).glob("*.json")
        is_known = mark in what.found or blocked.has_phrase(text)
        if not is_known and not any(mark.encode() in file_bytes(path) for path in certified):
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


def erase_subjects(asked: Asked, run: Run, scheduler: Path, elsewhere: str = "", confirm: int = 0) -> Report:
    """Take subjects and sessions out of everything, block their return, and leave a certificate.

    Everything is looked through first: what is nowhere, or would break the paths of whole folders, is told before
    anything is done.

    Args:
        asked: what goes.
        run: the run.
        scheduler: folder of the scheduler's own files.
        elsewhere: what of a scheduler lies elsewhere and is not reached, or "".
        confirm: so many places may be overwritten although a name is part of folders that somebody works in.

    Raises UsageError: a phrase or a pattern cannot be looked for, or what was asked for is nowhere; RefusedError: a
    name is part of folders that somebody works in, and ``confirm`` is less than its places; or another job was at work
    for too long; UnreadableError: a store cannot be read at all; NotFoundError: no project matches ``run.project``;
    UnwritableError: there is no home, or no room for what a run keeps; CorruptStateError: the list of holds or of what
    is blocked is damaged; OSError: the data folder cannot be written.
    """
    require_places(run.settings, run.environ, dry_run=run.dry_run)
    with nullcontext() if run.dry_run else erasing(run.environ):
        redact = redactor_of(run.settings, run.environ, create=not run.dry_run)
        what = Subjects(asked, redact)
        plan = _erase(asked, what, redact, dataclasses.replace(run, dry_run=True), scheduler, elsewhere)
        warnings = _look_first(asked, what, redact.key, run, plan, elsewhere, confirm)
        report = plan if run.dry_run else _erase(asked, what, redact, run, scheduler, elsewhere)
        report.warnings += warnings
        return _speechless(report, what)


def _look_first(
    asked: Asked, what: Subjects, key: bytes, run: Run, plan: Report, elsewhere: str, confirm: int
) -> list[str]:
    """Return what is to be said before anything is done: what is nowhere, and how many paths would break."""
    projects, _ = chosen_projects("erase", dataclasses.replace(run, dry_run=True))
    blocked = Blocked(key, read_blocked(run.environ))
    warnings: list[str] = []
    if nowhere := list(missing(asked, what, projects, blocked, run.environ)):
        where = "in the chosen projects" if run.project else "anywhere"
        remedy = "write a name as it stands there, and a whole id (slowwave sessions list --all shows them)"
        if not plan.failures and not any(is_unseen(item) for item in plan.items if item.target != elsewhere):
            raise UsageError(f"{', '.join(nowhere)}: not found {where}, so nothing was done; {remedy}")
        warnings.append(f"{', '.join(nowhere)}: not found {where} that could be looked into")
    if said := path_warning(plan):
        warnings.append(said)
    if said and (whose := in_folders(what, projects, run.environ)):
        warnings.append(f"{whose}: add --confirm {plan.counts['found']} to overwrite them anyway")
        if not run.dry_run and plan.counts["found"] > confirm:
            raise RefusedError(". ".join(warnings))
    return warnings


def _erase(asked: Asked, what: Subjects, redact: Redactor, run: Run, scheduler: Path, elsewhere: str) -> Report:
    projects, report = chosen_projects("erase", run)
    across = _across(asked, what, redact.key, run, projects, report)

    def eraser() -> Eraser:
        return Eraser(run, what, across)

    def erase(project: Project, _run: Run) -> Report:
        return erase_project(project, eraser())

    first = eraser()
    for name in sorted(across.along.keys() - across.sessions):
        one = across.along[name]
        first.refuse(one.project, name, f"{one.reason}; it lies in another project, so run this without --project")
    refuse_held(projects, first)
    report.absorb(first.report)

    def depth(project: Project) -> int:
        return max((across.along[one.id].depth for one in project.sessions if one.id in across.along), default=0)

    # forks may lie in other projects, and go before what they came from
    for project in sorted(projects, key=depth, reverse=True):
        report.absorb(contained(erase, project, run))

    def finish_all(every: Sequence[Project], _run: Run) -> Report:
        return finish_within(every, eraser()) if run.project else finish(every, eraser(), [scheduler])

    report.absorb(for_all(finish_all, projects, run))
    if elsewhere:
        first = eraser()
        first.refuse("", elsewhere, "a scheduler keeps runs there, in a database that is not searched")
        report.absorb(first.report)
    report = _speechless(discreet(report), what)
    if not run.dry_run:
        _conclude(report, _subjects(asked, what), what, across, run, redact.key)
    return report


def _across(asked: Asked, what: Subjects, key: bytes, run: Run, projects: Sequence[Project], report: Report) -> Across:
    """Return what all steps share, with the forks and copies of the sessions that go as a whole, in all projects."""
    if not run.dry_run:
        # first: whatever is killed after it, what goes does not come back
        block(run.environ, key, (*asked.persons, *asked.topics), ())
    across = Across(set(asked.sessions), forbid=lambda name, records: block(run.environ, key, (), [name], records))
    if asked.sessions:
        every = known_projects(run.settings, run.environ, with_erased=True).projects if run.project else projects
        kin = along(asked.sessions, every, forks_of(run.settings, run.environ), run.environ)
        across.along = kin.stored
        report.warnings += kin.problems
        across.sessions |= across.along.keys() & {one.id for project in projects for one in project.sessions}
        if not run.project:
            across.put_by = kin.put_by
            across.sessions |= kin.put_by.keys()
    if not run.project:
        across.names = names_in(run.settings, run.environ)
    if not run.dry_run:
        # what a killed run left half-way in a memory folder may yet be taken back
        for project in projects:
            report.absorb(contained(_settled, project, run))
        notes = state_folder(run.environ) / JOURNALS
        _certify_killed(report, notes, what, run)
        across.written = Written(notes, run.id, run.clock.now().isoformat(), _subjects(asked, what))
    return across


def _settled(project: Project, run: Run) -> Report:
    recover(project.memory)
    return Report("erase", run.id)


def _subjects(asked: Asked, what: Subjects) -> list[str]:
    return [*what.marks, *(f"[erased:session:{one}]" for one in asked.sessions)]


def _conclude(report: Report, subjects: list[str], what: Subjects, across: Across, run: Run, key: bytes) -> None:
    """Block what was met, and certify what was done; what of it fails is told, since the rest is done."""
    try:
        block(run.environ, key, sorted(what.met), sorted(across.sessions))
    except OSError as error:
        report.failures.append(f"what was met is not blocked: {_clean(told(error, 'the data folder'), what)}")
    try:
        path, digest = _certify(report, subjects, across.written.changed, what, run)
        across.written.close()
    except OSError as error:
        report.failures.append(
            f"no certificate, or none in the audit log: {_clean(told(error, 'the data folder'), what)}"
        )
        return
    report.items.append(Item(str(path), "certificate", f"what was searched, taken out and refused; SHA-256 {digest}"))


def _certify_killed(report: Report, folder: Path, what: Subjects, run: Run) -> None:
    """Certify what runs did that were killed before they could: every file that they had changed by then."""
    for one in left(folder):
        theirs = Report("erase", one.run)
        theirs.failures.append(f"it began at {one.at} and was killed before its end; run {run.id} found its notes")
        path, digest = _certify(theirs, one.subjects, one.changed, what, run)
        one.note.unlink()
        reason = f"of a run that was killed: {len(one.changed)} files that it had changed; SHA-256 {digest}"
        report.items.append(Item(str(path), "certificate", reason))


def _certify(
    report: Report, subjects: Sequence[str], changed: Sequence[Changed], what: Subjects, run: Run
) -> tuple[Path, str]:
    """Write a certificate and its line of the audit log; return its path and hash."""
    now = run.clock.now()
    files = [one._replace(path=_clean(one.path, what)) for one in changed]
    path, digest = write_certificate(certificate_of(report, subjects, files, now), run.environ)
    entry = Entry(action="erase", run=report.run_id, files=len(files), sha256=digest, item=path.name)
    AuditLog(run.environ).append([entry], now)
    return path, digest


def _speechless(report: Report, what: Subjects) -> Report:
    """Return a report that does not itself name what was erased: names of files may."""
    report.items = [
        replace(
            one,
            target=_clean(one.target, what),
            reason=_clean(one.reason, what),
            project=_clean(one.project, what),
            text=_clean(one.text, what),
        )
        for one in report.items
    ]
    report.warnings = [_clean(one, what) for one in report.warnings]
    report.failures = [_clean(one, what) for one in report.failures]
    report.memories = {_clean(key, what): _clean(path, what) for key, path in report.memories.items()}
    return report


def _clean(text: str, what: Subjects) -> str:
    data = text.encode("utf-8", "surrogateescape")
    try:
        hits = what.hits(data)
    except UsageError as error:
        return f"not shown: {error}"  # nobody knows what a pattern would have met in it
    for hit in reversed(hits):
        data = data[: hit.start] + hit.mark.encode() + data[hit.stop :]
    return data.decode("utf-8", "surrogateescape")

"""The certificate of an erasure: what was searched, found, removed and refused, and hashes, but none of what went."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from slowwave.files import atomic_write, private_folder
from slowwave.memory.names import name_to_json
from slowwave.places import data_folder
from slowwave.report import Report
from slowwave.retention.left_out import ACTION, NEVER
from slowwave.retention.written import Changed

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
        (*(line for line in lines if line.what == ACTION), Line("elsewhere", ACTION, NEVER)),
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

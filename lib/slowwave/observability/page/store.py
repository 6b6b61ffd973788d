"""The report of the nights in the state folder, written anew after every run and whenever somebody asks for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from slowwave.errors import CorruptStateError
from slowwave.files import atomic_write, private_folder
from slowwave.observability.night import Night
from slowwave.observability.page.html import html_of
from slowwave.observability.page.memories import NOTHING_KNOWN, Known
from slowwave.observability.page.sections import View
from slowwave.observability.weeks import Week, weeks_of
from slowwave.places import REPORT, state_folder
from slowwave.retention.audit import AuditLog


def report_path(environ: Mapping[str, str]) -> Path:
    """Return where the page is."""
    return state_folder(environ) / REPORT


def view_with(
    nights: Sequence[Night], environ: Mapping[str, str], problems: Sequence[str] = (), known: Known = NOTHING_KNOWN
) -> View:
    """Return what the report of known nights is made of."""
    weeks: list[Week] = []
    try:
        weeks = weeks_of(AuditLog(environ).lines())
    except CorruptStateError as error:
        problems = [*problems, str(error)]
    return View(nights, weeks, problems, known)


def write_page(environ: Mapping[str, str], view: View) -> Path:
    """Write the page and return where it is.

    Raises:
        OSError: the state folder cannot be written.
    """
    path = report_path(environ)
    private_folder(path.parent)
    atomic_write(path, html_of(view).encode("utf-8", "backslashreplace"))
    return path

"""The report of the nights: sections of a sentence, a chart and a table; as Markdown, and as one HTML file."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from slowwave.errors import CorruptStateError
from slowwave.files import atomic_write, private_folder
from slowwave.observability.charts import Section, plain, svg
from slowwave.observability.lessons import Learned, by_reason, in_words
from slowwave.observability.memories import NOTHING_KNOWN, Known, memories_html
from slowwave.observability.night import Night, state
from slowwave.observability.sections import View, Week, sections, weeks_of
from slowwave.places import REPORT, state_folder
from slowwave.retention.audit import AuditLog
from slowwave.stores.projects import short_names


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


# The report as one HTML page: memories, inbox, health; no script, no request, light and dark.
#
# Every memory opens on a click and shows its source; every chart has a table beside it.

# even if a name of a project could smuggle something in, a browser loads and runs nothing
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action "
_LINKS = (("learned", "Learned"), ("inbox", "Waiting for you"), ("all", "Everything"), ("health", "Health"))
_LONG = 16
_NUMBER = re.compile(r"[\d.,]+( ?[%A-Za-z]+)?")


def html_of(view: View) -> str:
    """Return the report as an HTML page; with buttons where it is served."""
    style = files("slowwave.observability").joinpath("style.css").read_text(encoding="utf-8")
    body = "".join(_section(section, f"s{place}") for place, section in enumerate(sections(view)))
    last = view.nights[-1]
    says = f"Last run: {last.job}, {last.began:%Y-%m-%d %H:%M} UTC, {state(last)}"
    policy = _POLICY + ("'self'" if view.known.token else "'none'")
    health = f'<h2 class="part" id="health">Health</h2>{body}'
    memories = memories_html(view.known)
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title in _LINKS) if memories else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>slowwave: {escape(last.job)} of {last.began:%Y-%m-%d}</title><style>{style}</style></head>\n"
        f"<body><header><h1>slowwave</h1><p>{_text(says)}</p><nav>{links}</nav></header>\n"
        f"<main>{memories}{health}</main></body></html>\n"
    )


def _section(section: Section, name: str) -> str:
    chart = f"<figure>{svg(section.chart, name)}</figure>" if section.chart and section.chart.bars else ""
    kind = ' class="alarms"' if section.title == "Alarms" and section.rows else ""
    table = _table(section) if section.rows else ""
    both = f'<div class="beside">{chart}{table}</div>' if chart or table else ""
    return (
        f'<section{kind} aria-labelledby="{name}"><h2 id="{name}">{_text(section.title)}</h2>'
        f"<p>{_text(section.says)}</p>{both}</section>\n"
    )


def _table(section: Section) -> str:
    first = section.rows[0]
    head = "".join(
        f'<th scope="col"{_kind(cell)}>{_text(name)}</th>' for name, cell in zip(section.head, first, strict=True)
    )
    body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in section.rows)
    return (
        f"<table><caption>{_text(section.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(cell: str) -> str:
    return f"<td{_kind(cell)}>{_text(cell)}</td>"


def _kind(cell: str) -> str:
    """Return the class of a cell that holds a number, with its unit or without, or a word that has to be broken."""
    if _NUMBER.fullmatch(cell):
        return ' class="number"'
    return ' class="long"' if max(map(len, cell.split()), default=0) > _LONG else ""


def _text(text: str) -> str:
    return escape(plain(text))


# The report as Markdown, for the scheduler's pages: what the run learned, what waits, then the sections as tables.

# what is stored with the run stays small; the page and slowwave nights have all
MOST_CHANGES = 100
MOST_ASKS = 10


def markdown_of(view: View) -> str:
    """Return the report as Markdown; names of projects, memories and reasons are shown letter by letter."""
    run = view.nights[-1]
    learned = learned_lines(view.known.of_run(run.run_id), run.job, run.run_id)
    return "\n".join([*learned, *(line for section in sections(view) for line in _lines(section))])


def learned_lines(found: Learned, job: str, run: str) -> Iterator[str]:
    """Yield what a run learned, and what waits for a person."""
    names = short_names([*(c.project for c in found.changes), *(a.project for a in found.asks)])
    yield from ("## What your agents learned", "", f"{job} {_shown(run)}: {found}.", "")
    left = MOST_CHANGES
    for project, changes in found.by_project():
        if left > 0:
            yield from (f"### {_shown(names[project])}: {in_words(Counter(c.kind for c in changes))}", "")
        for change in changes[: max(left, 0)]:
            was = f"before: {change.before}" if change.before else change.why
            kind = "" if change.kind == "new" else f"**{change.kind}** "
            yield f"- {kind}{_shown(change.text)}" + (f" *({_shown(was)})*" if was else "")
        yield ""
        left -= len(changes)
    if left < 0:
        yield from (f"and {-left} more: `slowwave nights show {run}`", "")
    if found.asks:
        yield from (f"## Waiting for you: {len(found.asks)}", "", "`slowwave review` asks you one by one.", "")
        for why, alike in by_reason(found.asks[:MOST_ASKS]).items():
            yield from (f"{_shown(why)}:", "") if why else ()
            for ask in alike:
                yield f"- {_shown(names[ask.project])}: {_shown(ask.text)}" + ("" if why else f" *({_shown(ask.why)})*")
            yield ""


def _lines(section: Section) -> list[str]:
    lines = [f"## {section.title}", "", _shown(section.says), ""]
    if section.rows:
        lines += [_row(section.head), _row(["---"] * len(section.head))]
        lines += [_row([_shown(cell) for cell in row]) for row in section.rows]
        lines.append("")
    return lines


def _shown(text: str) -> str:
    return literal(plain(text))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def literal(text: str) -> str:
    """Return text as Markdown shows it letter by letter: nothing foreign must draw links or pictures for the reader."""
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#!|~" else c for c in flat)

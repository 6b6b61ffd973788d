"""The report as one HTML page: memories, inbox, health; no script, no request, light and dark.

Every memory opens on a click and shows its source; every chart has a table beside it.
"""

import re
from html import escape
from importlib.resources import files

from slowwave.observability.night import state
from slowwave.observability.page.charts import svg
from slowwave.observability.page.memories import memories_html
from slowwave.observability.page.section import Section, plain
from slowwave.observability.page.sections import View, sections

# even if a name of a project could smuggle something in, a browser loads and runs nothing
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action "
_LINKS = (("learned", "Learned"), ("inbox", "Waiting for you"), ("all", "Everything"), ("health", "Health"))
_LONG = 16
_NUMBER = re.compile(r"[\d.,]+( ?[%A-Za-z]+)?")


def html_of(view: View) -> str:
    """Return the report as an HTML page; with buttons where it is served."""
    style = files("slowwave.observability.page").joinpath("style.css").read_text(encoding="utf-8")
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

"""The report as Markdown, for the scheduler's pages: the same sections, with their tables in the place of charts."""

from collections.abc import Sequence

from slowwave.observability.page.section import Section, plain
from slowwave.observability.page.sections import View, sections


def markdown_of(view: View) -> str:
    """Return the report as Markdown; names of projects and reasons are shown letter by letter."""
    return "\n".join(line for section in sections(view) for line in _lines(section))


def _lines(section: Section) -> list[str]:
    lines = [f"## {section.title}", "", literal(plain(section.says)), ""]
    if section.rows:
        lines += [_row(section.head), _row(["---"] * len(section.head))]
        lines += [_row([literal(plain(cell)) for cell in row]) for row in section.rows]
        lines.append("")
    return lines


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def literal(text: str) -> str:
    """Return text as Markdown shows it letter by letter: nothing foreign must draw links or pictures for the reader."""
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#!|~" else c for c in flat)

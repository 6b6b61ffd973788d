"""The report as Markdown, for the scheduler's pages: what the run learned, what waits, then the sections as tables."""

from collections import Counter
from collections.abc import Iterator, Sequence

from slowwave.observability.learned import Learned, in_words, short_names
from slowwave.observability.page.section import Section, plain
from slowwave.observability.page.sections import View, sections

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
        for ask in found.asks[:MOST_ASKS]:
            yield f"- {_shown(names[ask.project])}: {_shown(ask.text)} *({_shown(ask.why)})*"
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

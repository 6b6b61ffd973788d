"""The report of the nights: sections of a sentence, a chart and a table; as Markdown, and as one HTML file.

The sections are pure: the history of nights and the weeks of the audit log go in.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from slowwave.errors import CorruptStateError
from slowwave.files import REPORT, atomic_write, private_folder, state_folder
from slowwave.observability.lessons import Learned, by_reason, in_words
from slowwave.observability.memories import NOTHING_KNOWN, Known, memories_html
from slowwave.observability.night import REMEMBERING, Night, state
from slowwave.report import counted, duration, number, plain, readable
from slowwave.retention.audit import AuditLog, Line
from slowwave.stores.projects import short_names

# Sections, and their charts as SVG that stands inside the page: no script, no request. A chart is readable in light and
# dark, and told in words.


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label, its value, the words behind it, and where a mark stands on the same scale."""

    label: str
    value: float
    shown: str
    kind: Literal["usual", "second", "alarm"] = "usual"


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars that share a scale."""

    # ``rows`` lie below each other; ``columns`` stand beside each other, from old to new
    form: Literal["rows", "columns"]
    title: str  # what is shown, for those who do not see it
    bars: Sequence[Bar]
    limit: float | None = None  # a value that has a line of its own, or None
    limit_name: str = ""  # what that line is


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report."""

    title: str
    says: str  # what there is to see, in a sentence or two
    head: Sequence[str] = ()  # names of the table's columns
    rows: Sequence[Sequence[str]] = ()  # the table; cells that are numbers are written by :func:`number`
    chart: Chart | None = None  # the same as a picture, or None


# Charts.

_WIDTH = 640
# room for the widest of the usual fonts: no text may reach beyond the picture
_LETTER = 7.6
_LABEL, _SHOWN = 190, 130
_ROW, _THICK = 26, 16
_HEIGHT, _TOP, _FOOT = 200, 26, 24


def svg(chart: Chart, name: str) -> str:
    """Return a chart as an SVG element; ``name`` makes its ids unique on the page."""
    inside, height = _bars(chart) if chart.form == "rows" else _columns(chart)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{_text(chart.title)}</title><desc id="{name}-d">{_text(_told(chart))}</desc>'
        f"{inside}</svg>"
    )


def _told(chart: Chart) -> str:
    """Return the chart in words; the table beside it has all of them."""
    bars = "; ".join(f"{bar.label}: {bar.shown}" for bar in chart.bars[-12:])
    limit = f"; {chart.limit_name}" if chart.limit is not None else ""
    return bars + limit


def _most(chart: Chart) -> float:
    return max([bar.value for bar in chart.bars] + ([chart.limit] if chart.limit else []), default=0) or 1


def _bars(chart: Chart) -> tuple[str, int]:
    room = _WIDTH - _LABEL - _SHOWN
    parts: list[str] = []
    for place, bar in enumerate(chart.bars):
        y = place * _ROW + 4
        long = bar.value / _most(chart) * room
        # beside the bar; behind the line of a limit where there is one, so that neither crosses the other
        behind = _LABEL + (long if chart.limit is None else room) + 6
        parts.append(
            f"<g><title>{_text(f'{bar.label}: {bar.shown}')}</title>"
            f'<text x="{_LABEL - 8}" y="{y + 13}" text-anchor="end">{_text(_short(bar.label, _LABEL - 8))}</text>'
            f'<rect class="{bar.kind}" x="{_LABEL}" y="{y}" width="{max(long, 1):.1f}" height="{_THICK}" rx="2"/>'
            f'<text x="{behind:.1f}" y="{y + 13}">{_text(_short(bar.shown, _SHOWN - 6))}</text></g>'
        )
    height = len(chart.bars) * _ROW + 6
    if chart.limit is not None:
        x = _LABEL + chart.limit / _most(chart) * room
        parts.append(f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>')
    return "".join(parts), height


def _columns(chart: Chart) -> tuple[str, int]:
    room, floor = _WIDTH - 8, _HEIGHT - _FOOT
    step = room / max(len(chart.bars), 8)
    most = max(chart.bars, key=lambda bar: bar.value)
    parts = [
        f'<text x="4" y="14">{_text(_short(f"highest: {most.shown} ({most.label})", room))}</text>',
        f'<line class="axis" x1="4" x2="{_WIDTH - 4}" y1="{floor}" y2="{floor}"/>',
    ]
    for place, bar in enumerate(chart.bars):
        high = bar.value / _most(chart) * (floor - _TOP)
        parts.append(
            f"<g><title>{_text(f'{bar.label}: {bar.shown}')}</title>"
            f'<rect class="{bar.kind}" x="{4 + place * step:.1f}" y="{floor - high:.1f}" '
            f'width="{step * 0.8:.1f}" height="{high:.1f}"/></g>'
        )
    return "".join([*parts, *_edges(chart.bars, step, floor)]), _HEIGHT


def _edges(bars: Sequence[Bar], step: float, floor: float) -> list[str]:
    """Return the labels of the first and the last column: more would stand over each other."""
    first = f'<text x="4" y="{floor + 17}">{_text(bars[0].label)}</text>'
    if len(bars) < 2:  # noqa: PLR2004 - one column has one label
        return [first]
    x = min(_WIDTH - 4, max(4 + len(bars) * step, 240))
    return [first, f'<text x="{x:.1f}" y="{floor + 17}" text-anchor="end">{_text(bars[-1].label)}</text>']


def _short(text: str, room: float) -> str:
    """Return text that fits into so many units, with its middle left out: the table has all of it."""
    most = int(room / _LETTER)
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


# a quarter of a year; older nights stay in the history
MOST_NIGHTS = 90
MOST_ROWS = 14
MOST_WEEKS = 52
_ALMOST_FULL = 0.9


class Week(NamedTuple):
    """One week: its Monday, and bytes."""

    begin: date
    trashed: int
    freed: int


@dataclass(frozen=True, slots=True)
class View:
    """What the report is made of."""

    nights: Sequence[Night]  # the history, oldest first; at least one night
    weeks: Sequence[Week] = ()  # bytes that went, oldest week first
    problems: Sequence[str] = ()  # what of the history could not be read
    known: Known = NOTHING_KNOWN  # what is remembered, what was learned lately, and what waits for a person

    @property
    def latest(self) -> Night:
        """The latest run that remembers, else the latest of all."""
        return next((night for night in reversed(self.nights) if night.job in REMEMBERING), self.nights[-1])


def sections(view: View) -> list[Section]:
    """Return the sections in the order in which they are read."""
    shown = View(view.nights[-MOST_NIGHTS:], view.weeks[-MOST_WEEKS:], view.problems)
    return [
        *_problems(shown.problems),
        _alarms(view.nights[-1], view.latest),
        _funnel(view.latest),
        _memories(view.latest),
        _helped(shown.nights),
        _refusals(view.latest),
        _spent(shown.nights),
        _reclaimed(shown.weeks),
        _rescued(shown.nights),
        _backlog(shown.nights),
        _slowest(view.latest),
        _nights(shown.nights),
    ]


def _problems(problems: Sequence[str]) -> list[Section]:
    if not problems:
        return []
    return [Section("Left out", "Of the history itself, this cannot be read.", ("what",), [(p,) for p in problems])]


def _alarms(last: Night, latest: Night) -> Section:
    raised = {alarm.name: alarm for night in (latest, last) for alarm in night.alarms}
    if not raised:
        return Section("Alarms", "None.")
    rows = [(alarm.name, alarm.summary) for alarm in raised.values()]
    return Section("Alarms", f"{len(rows)} to look at.", ("alarm", "what it says"), rows)


def _funnel(night: Night) -> Section:
    steps = (
        ("sessions", night.sessions, "found in the stores"),
        ("sessions read", night.counted("extracted"), "new text in them, and no gate against it"),
        ("facts", night.counted("candidates"), "found in what was read"),
        ("looked at", _decided(night), "facts and memories that dreams decided on"),
        ("new memories", night.counted("added"), "kept"),
    )
    fates = [
        (name, number(night.counted(name)), why)
        for name, why in (
            ("merged", "said again what a memory says"),
            ("superseded", "gave way to something newer"),
            ("dropped", "refused"),
            ("waiting", "for more sessions, or for you"),
            ("kept", "memories that stay as they are"),
            ("parked", "planned, and wait for a person"),
        )
        if night.counted(name)
    ]
    chart = Chart("rows", "From sessions to memories", [Bar(name, value, number(value)) for name, value, _ in steps])
    rows = [(name, number(value), why) for name, value, why in steps] + fates
    return Section("From sessions to memories", _about(night), ("step", "number", "which"), rows, chart)


def _decided(night: Night) -> int:
    return night.counted("added", "merged", "superseded", "dropped", "kept", "waiting")


def _memories(night: Night) -> Section:
    """How full each index is: the rest of a memory folder has no limit."""
    limits = night.limits
    if not night.folders or not limits.lines:
        return Section("Memory against its limits", "No memory folder was looked at.")
    rows = [
        (
            f.project,
            number(f.memories),
            number(f.lines),
            readable(f.bytes),
            f"{f.share(limits.lines, limits.bytes):.0%}",
        )
        for f in night.folders
    ]
    bars = [
        Bar(f.project, share, f"{share:.0%}", "alarm" if share > _ALMOST_FULL else "usual")
        for f in night.folders[:MOST_ROWS]
        for share in [f.share(limits.lines, limits.bytes)]
    ]
    limit = f"{limits.lines} lines or {readable(limits.bytes)}"
    says = f"{number(night.memories)} memories. An index may have {limit}, whichever comes first."
    head = ("project", "memories", "lines", "bytes", "of the limit")
    return Section(
        "Memory against its limits", says, head, rows, Chart("rows", "How full each index is", bars, 1.0, "limit 100%")
    )


def _helped(nights: Sequence[Night]) -> Section:
    """What sessions made of the memories that were delivered to them."""
    title = "Do memories help"
    names = ("memories_followed", "memories_broken", "memories_needless")
    told = [night for night in nights if night.counted(*names)]
    if not told:
        return Section(title, "No session showed yet whether a delivered memory was followed or broken.")
    followed, broken = (sum(night.counted(name) for night in told) for name in names[:2])
    rows = [(_when(night), *(number(night.counted(name)) for name in names)) for night in reversed(told[-MOST_ROWS:])]
    says = (
        f"{number(followed)} times a delivered memory was followed, {number(broken)} times it was not; what was broken "
        "stands higher since. slowwave memory effect names them."
    )
    return Section(title, says, ("night", "followed", "broken", "left the index without an occasion"), rows)


def _refusals(night: Night) -> Section:
    if not night.refusals:
        return Section("Gates that refused", "None.")
    closed = sorted(night.refusals.items(), key=lambda gate: (-gate[1], gate[0]))
    chart = Chart("rows", "Refusals by gate", [Bar(gate, times, number(times)) for gate, times in closed])
    says = "How often each gate said no: to a session, or to the dream of a project. slowwave status gives the reasons."
    return Section("Gates that refused", says, ("gate", "times"), [(g, number(n)) for g, n in closed], chart)


def _spent(nights: Sequence[Night]) -> Section:
    asked = [n for n in nights if n.spent.prompt_tokens or n.spent.completion_tokens]
    if not asked:
        return Section("Tokens and money", "No language model was asked.")
    total = sum(n.spent.usd for n in asked)
    rows = [
        (_when(n), number(n.spent.prompt_tokens), number(n.spent.completion_tokens), f"{n.spent.usd:.4f}")
        for n in reversed(asked[-MOST_ROWS:])
    ]
    bars = [_column(n) for n in nights]
    says = f"{total:.4f} USD in the {number(len(nights))} runs shown, by the prices in the settings."
    head = ("night", "tokens asked", "tokens answered", "USD")
    return Section("Tokens and money", says, head, rows, Chart("columns", "Tokens by night", bars))


def _reclaimed(weeks: Sequence[Week]) -> Section:
    if not weeks:
        return Section("Bytes reclaimed", "Nothing was removed yet.")
    bars = [Bar(str(week.begin), week.freed, readable(week.freed), "second") for week in weeks]
    rows = [(str(week.begin), readable(week.trashed), readable(week.freed)) for week in reversed(weeks[-MOST_ROWS:])]
    says = f"{readable(sum(w.freed for w in weeks))} freed in the weeks shown; what is in the trash can be restored."
    head = ("week of", "into the trash", "freed")
    return Section("Bytes reclaimed", says, head, rows, Chart("columns", "Bytes freed by week", bars))


def _rescued(nights: Sequence[Night]) -> Section:
    """What Claude Code was about to delete, and what of it found no room."""
    title = "Rescued from Claude Code's clean-up"
    told = [night for night in nights if night.counted("rescued", "rescue_left_out", "already_gone")]
    if not told:
        return Section(title, "Nothing was due.")
    rows = [
        (
            _when(night),
            number(night.counted("rescued")),
            readable(night.counted("rescued_bytes")),
            number(night.counted("rescue_left_out")),
            number(night.counted("already_gone")),
        )
        for night in reversed(told[-MOST_ROWS:])
    ]
    total = sum(night.counted("rescued_bytes") for night in told)
    says = f"{readable(total)} of archive in the nights shown; slowwave sessions restore ID brings a session back."
    return Section(title, says, ("night", "sessions", "bytes", "without room", "gone before"), rows)


def _backlog(nights: Sequence[Night]) -> Section:
    looked = [night for night in nights if night.job in REMEMBERING]
    if not any(night.backlog for night in looked):
        return Section("Backlog", "No fact waits for a dream.")
    ages = [_age(night) for night in looked]
    bars = [
        Bar(_when(night), age, f"{age:.1f} days, {number(night.backlog)} facts")
        for night, age in zip(looked, ages, strict=True)
    ]
    rows = [
        (_when(night), number(night.backlog), f"{age:.1f}")
        for night, age in list(zip(looked, ages, strict=True))[: -MOST_ROWS - 1 : -1]
    ]
    says = f"{number(looked[-1].backlog)} facts that no dream has looked at, the oldest for {ages[-1]:.1f} days."
    head = ("night", "facts", "age of the oldest in days")
    return Section("Backlog", says, head, rows, Chart("columns", "Age of the backlog by night", bars))


def _age(night: Night) -> float:
    """Return the age of the oldest candidate in the backlog, in days."""
    return (night.began - datetime.fromisoformat(night.oldest)).total_seconds() / 86_400 if night.oldest else 0.0


def _slowest(night: Night) -> Section:
    if not night.slowest:
        return Section("Slowest steps", "No step was timed.")
    steps = ", ".join(f"{step} {duration(s)}" for step, s in sorted(night.steps.items(), key=lambda s: -s[1]))
    rows = [(span.step, span.project or "all together", duration(span.seconds)) for span in night.slowest]
    bars = [
        Bar(f"{span.step} {span.project}".strip(), span.seconds, duration(span.seconds))
        for span in night.slowest[:MOST_ROWS]
    ]
    says = f"Summed over all projects: {steps}. The whole run took {duration(night.seconds)}."
    return Section(
        "Slowest steps", says, ("step", "project", "took"), rows, Chart("rows", "Slowest steps by project", bars)
    )


def _nights(nights: Sequence[Night]) -> Section:
    rows = [
        (
            _when(night),
            night.job,
            state(night),
            number(night.counted("extracted")),
            number(night.counted("candidates")),
            number(night.counted("added")),
            number(night.failed),
            duration(night.seconds),
        )
        for night in reversed(nights[-MOST_ROWS * 2 :])
    ]
    head = ("when (UTC)", "job", "ended", "read", "facts", "memories", "failures", "took")
    failed = sum(bool(night.failed) for night in nights)
    return Section("Nights", f"{failed} of the {number(len(nights))} runs shown met a failure.", head, rows)


def _about(night: Night) -> str:
    which = " over chosen projects" if night.partial else ""
    whose = f"{night.job} of {_when(night)} UTC{which}"
    return f"{whose}: {state(night)}, {counted('projects', night.projects)}, run {night.run_id}."


def _when(night: Night) -> str:
    return f"{night.began:%Y-%m-%d %H:%M}"


def _column(night: Night) -> Bar:
    tokens = night.spent.prompt_tokens + night.spent.completion_tokens
    return Bar(_when(night), tokens, f"{number(tokens)} tokens")


# Bytes that retention moved into the trash and freed, week by week, out of the audit log.


def weeks_of(lines: Iterable[Line]) -> list[Week]:
    """Return the weeks in which anything went, oldest first."""
    sums: dict[date, dict[str, int]] = defaultdict(lambda: {"trash": 0, "free": 0})
    for line in lines:
        if line.action in ("trash", "free"):
            day = datetime.fromisoformat(line.at).date()
            sums[day - timedelta(days=day.weekday())][line.action] += line.size
    return [Week(begin, went["trash"], went["free"]) for begin, went in sorted(sums.items())]


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
    """Write the page and return where it is."""
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


def markdown_of(view: View, options: str = "") -> str:
    """Return the report as Markdown; names of projects, memories and reasons are shown letter by letter.

    ``options`` are what commands that are named need besides.
    """
    run = view.nights[-1]
    learned = learned_lines(view.known.of_run(run.run_id), run.job, run.run_id, options)
    return "\n".join([*learned, *(line for section in sections(view) for line in _lines(section))])


def learned_lines(found: Learned, job: str, run: str, options: str = "") -> Iterator[str]:
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
        yield from (f"and {-left} more: `slowwave nights show {run}{options}`", "")
    if found.asks:
        how = f"`slowwave review{options}` asks you one by one."
        yield from (f"## Waiting for you: {len(found.asks)}", "", how, "")
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

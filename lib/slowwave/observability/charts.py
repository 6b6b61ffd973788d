"""Sections of the report and their charts, as SVG that stands inside the page: no script, no request.

A chart is readable in light and dark, and told in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal


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


def number(value: float) -> str:
    """Return a number for people: thousands apart, and no more digits than tell something."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return a time that something took."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"


def plain(text: str) -> str:
    """Return text without what no page may hold: control characters, turns of direction, halves of pairs as escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


# Charts.

WIDTH = 640
# room for the widest of the usual fonts: no text may reach beyond the picture
_LETTER = 7.6
_LABEL, _SHOWN = 190, 130
_ROW, _THICK = 26, 16
_HEIGHT, _TOP, _FOOT = 200, 26, 24


def svg(chart: Chart, name: str) -> str:
    """Return a chart as an SVG element; ``name`` makes its ids unique on the page."""
    inside, height = _rows(chart) if chart.form == "rows" else _columns(chart)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{name}-t {name}-d">'
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


def _rows(chart: Chart) -> tuple[str, int]:
    room = WIDTH - _LABEL - _SHOWN
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
    room, floor = WIDTH - 8, _HEIGHT - _FOOT
    step = room / max(len(chart.bars), 8)
    most = max(chart.bars, key=lambda bar: bar.value)
    parts = [
        f'<text x="4" y="14">{_text(_short(f"highest: {most.shown} ({most.label})", room))}</text>',
        f'<line class="axis" x1="4" x2="{WIDTH - 4}" y1="{floor}" y2="{floor}"/>',
    ]
    for place, bar in enumerate(chart.bars):
        high = bar.value / _most(chart) * (floor - _TOP)
        parts.append(
            f"<g><title>{_text(f'{bar.label}: {bar.shown}')}</title>"
            f'<rect class="{bar.kind}" x="{4 + place * step:.1f}" y="{floor - high:.1f}" '
            f'width="{step * 0.8:.1f}" height="{high:.1f}"/></g>'
        )
    return "".join([*parts, *_ends(chart.bars, step, floor)]), _HEIGHT


def _ends(bars: Sequence[Bar], step: float, floor: float) -> list[str]:
    """Return the labels of the first and the last column: more would stand over each other."""
    first = f'<text x="4" y="{floor + 17}">{_text(bars[0].label)}</text>'
    if len(bars) < 2:  # noqa: PLR2004 - one column has one label
        return [first]
    x = min(WIDTH - 4, max(4 + len(bars) * step, 240))
    return [first, f'<text x="{x:.1f}" y="{floor + 17}" text-anchor="end">{_text(bars[-1].label)}</text>']


def _text(text: str) -> str:
    return escape(plain(text))


def _short(text: str, room: float) -> str:
    """Return text that fits into so many units, with its middle left out: the table has all of it."""
    most = int(room / _LETTER)
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"

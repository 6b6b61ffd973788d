"""A chart of cost against size, both on logarithmic scales, as one SVG file that needs nothing beside it."""

import math
from collections.abc import Mapping, Sequence
from html import escape

Series = Mapping[str, Sequence[tuple[float, float]]]
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 640, 400, 70, 40, 110, 54
_COLOURS = ("#1b6ca8", "#c8553d", "#4f772d", "#7b2d8b", "#b08900")
_LINE_HEIGHT = 16
_FONT = 'font-family="sans-serif" font-size="12"'


def panel(title: str, x_name: str, series: Series, top: int) -> str:
    """Return one chart, ``top`` points below the upper edge of the picture; costs are seconds."""
    points = [point for line in series.values() for point in line]
    x_ends = _ends([x for x, _ in points])
    y_ends = _ends([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        right = (math.log10(x) - x_ends[0]) / (x_ends[1] - x_ends[0])
        up = (math.log10(y) - y_ends[0]) / (y_ends[1] - y_ends[0])
        return _LEFT + right * (_WIDTH - _LEFT - _RIGHT), top + _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM)

    parts = [f'<text x="{_LEFT}" y="{top + 22}" {_FONT} font-weight="bold">{escape(title)}</text>']
    parts += [_grid(place(10**n, 10 ** y_ends[0]), place(10**n, 10 ** y_ends[1]), _size(n), up=True)
              for n in range(x_ends[0], x_ends[1] + 1)]  # fmt: skip
    parts += [_grid(place(10 ** x_ends[0], 10**n), place(10 ** x_ends[1], 10**n), _seconds(n), up=False)
              for n in range(y_ends[0], y_ends[1] + 1)]  # fmt: skip
    parts.append(f'<text x="{_LEFT}" y="{top + _HEIGHT - 14}" {_FONT}>{escape(x_name)}; processor time</text>')
    lines = {name: [place(x, y) for x, y in line] for name, line in series.items()}
    heights = _apart({name: places[-1][1] for name, places in lines.items()})
    for number, (name, places) in enumerate(lines.items()):
        parts += _line(name, places, _COLOURS[number % len(_COLOURS)], heights[name])
    return "\n".join(parts)


def picture(panels: Sequence[str]) -> str:
    """Return the SVG of charts one below the other; each was made for its place."""
    height = _HEIGHT * len(panels)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">'
    )
    return "\n".join([head, f'<rect width="{_WIDTH}" height="{height}" fill="white"/>', *panels, "</svg>"]) + "\n"


def _ends(values: Sequence[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)))
    return low, max(math.ceil(math.log10(max(values))), low + 1)


def _grid(begin: tuple[float, float], end: tuple[float, float], name: str, *, up: bool) -> str:
    (x, y), (x2, y2) = begin, end
    label, anchor = ((x, y + 18), "middle") if up else ((x - 8, y + 4), "end")
    line = f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'
    at = f'x="{label[0]:.1f}" y="{label[1]:.1f}" text-anchor="{anchor}"'
    return f'{line}<text {at} {_FONT} fill="#555">{name}</text>'


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """Return the heights of names beside the ends of their lines, moved down where one would cover another."""
    placed: dict[str, float] = {}
    least = -math.inf
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        placed[name] = least = max(height, least)
        least += _LINE_HEIGHT
    return placed


def _line(name: str, places: Sequence[tuple[float, float]], colour: str, height: float) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    key = f'<text x="{places[-1][0] + 10:.1f}" y="{height + 4:.1f}" {_FONT} fill="{colour}">{escape(name)}</text>'
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots, key]


def _size(power: int) -> str:
    for least, unit in ((9, "G"), (6, "M"), (3, "k")):
        if power >= least:
            return f"{10 ** (power - least)}{unit}"
    return str(10**power)


def _seconds(power: int) -> str:
    return f"{10**power} s" if power >= 0 else f"{10 ** (power + 3)} ms" if power >= -3 else f"1e{power} s"

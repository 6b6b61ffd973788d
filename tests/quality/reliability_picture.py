"""The reliability diagram as a picture: said against right, with intervals, and how many claims each bin holds.

One SVG without scripts, fonts or links, so that it opens anywhere. A dot on the diagonal is a confidence that is worth
what it says; the bar through it is Wilson's interval at 95 %, the columns below count the claims.
"""

from collections.abc import Iterator, Sequence
from html import escape

from tests.quality.intervals import wilson
from tests.quality.reliability import Claim, ece

_WIDTH, _HEIGHT = 560, 640
_LEFT, _TOP, _SIDE = 64, 56, 440
_COUNTS, _COUNTS_HIGH = _TOP + _SIDE + 34, 60
_TICKS = 5
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.small{font-size:10px;fill:#555}.title{font-size:15px;font-weight:600}"
    ".grid{stroke:#ddd}.frame{fill:none;stroke:#888}.ideal{stroke:#888;stroke-dasharray:5 4}"
    ".range{stroke:#1b6ca8;stroke-width:2;opacity:.5}.dot{fill:#1b6ca8}.line{fill:none;stroke:#1b6ca8;opacity:.6}"
    ".count{fill:#9dbfd6}"
)


def picture(parts: Sequence[Sequence[Claim]], title: str) -> str:
    """Return the diagram of claims in bins, none of them empty, as an SVG document."""
    bins = sorted(parts, key=_said)
    total = sum(map(len, bins))
    about = f"{total} claims in {len(bins)} bins, expected calibration error {ece(bins):.3f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
            f"<title>{escape(title)}</title><desc>{about}</desc><style>{_STYLE}</style>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
            f'<text class="title" x="{_LEFT}" y="24">{escape(title)}</text>',
            f'<text class="small" x="{_LEFT}" y="42">{about}; bars: 95 %</text>',
            *_axes(),
            *_dots(bins),
            *_columns(bins),
            "</svg>\n",
        ]
    )


def _axes() -> Iterator[str]:
    low, right = _TOP + _SIDE, _LEFT + _SIDE
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        x, y = _x(share), _y(share)
        yield f'<path class="grid" d="M{x} {_TOP}V{low}M{_LEFT} {y}H{right}"/>'
        yield f'<text class="small" x="{x}" y="{low + 16}" text-anchor="middle">{share:.1f}</text>'
        yield f'<text class="small" x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{share:.1f}</text>'
    yield f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}"/>'
    yield f'<path class="ideal" d="M{_LEFT} {low}L{right} {_TOP}"/>'
    yield f'<text x="{_LEFT + _SIDE / 2}" y="{_HEIGHT - 14}" text-anchor="middle">said (confidence)</text>'
    middle = _TOP + _SIDE / 2
    yield f'<text transform="translate(18 {middle})rotate(-90)" text-anchor="middle">right (share of claims)</text>'


def _dots(bins: Sequence[Sequence[Claim]]) -> Iterator[str]:
    way = "L".join(f"{_x(_said(part))} {_y(_right(part))}" for part in bins)
    yield f'<path class="line" d="M{way}"/>'
    for part in bins:
        x, (low, high) = _x(_said(part)), wilson(sum(c.right for c in part), len(part))
        yield f'<path class="range" d="M{x} {_y(low)}V{_y(high)}"/>'
        said = f"said {_said(part):.2f}, right {_right(part):.2f} ({low:.2f}..{high:.2f}), {len(part)} claims"
        yield f'<circle class="dot" cx="{x}" cy="{_y(_right(part))}" r="4"><title>{said}</title></circle>'


def _columns(bins: Sequence[Sequence[Claim]]) -> Iterator[str]:
    most = max(map(len, bins), default=1)
    base = _COUNTS + _COUNTS_HIGH
    for part in bins:
        high = round(_COUNTS_HIGH * len(part) / most, 1)
        x = _x(_said(part))
        yield f'<rect class="count" x="{round(x - 7, 1)}" y="{round(base - high, 1)}" width="14" height="{high}"/>'
        yield f'<text class="small" x="{x}" y="{base + 12}" text-anchor="middle">{len(part)}</text>'
    yield f'<text class="small" x="{_LEFT - 8}" y="{base + 12}" text-anchor="end">claims</text>'


def _said(part: Sequence[Claim]) -> float:
    return sum(c.confidence for c in part) / len(part)


def _right(part: Sequence[Claim]) -> float:
    return sum(c.right for c in part) / len(part)


def _x(share: float) -> float:
    return round(_LEFT + share * _SIDE, 1)


def _y(share: float) -> float:
    return round(_TOP + (1 - share) * _SIDE, 1)

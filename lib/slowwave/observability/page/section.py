"""What a section of the report is made of, before it becomes Markdown or HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
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
    """Bars that share a scale.

    Attributes:
        form: ``rows`` lie below each other; ``columns`` stand beside each other, from old to new.
        title: what is shown, for those who do not see it.
        bars: the bars.
        limit: a value that has a line of its own, or None.
        limit_name: what that line is.
    """

    form: Literal["rows", "columns"]
    title: str
    bars: Sequence[Bar]
    limit: float | None = None
    limit_name: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report.

    Attributes:
        title: its heading.
        says: what there is to see, in a sentence or two.
        head: names of the table's columns.
        rows: the table; cells that are numbers are written by :func:`number`.
        chart: the same as a picture, or None.
    """

    title: str
    says: str
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    chart: Chart | None = None


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

"""What a section says: tables of fixed width, the demands on it, and remarks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_FIRST = 48
_OTHER = 13


@dataclass(frozen=True, slots=True)
class Must:
    """One demand on a figure.

    Attributes:
        name: what is demanded.
        value: what was measured.
        bound: what it must reach.
        at_least: whether the value must not be smaller than the bound; else it must not be greater.
        aim: what would be better still, or None.
    """

    name: str
    value: float
    bound: float
    at_least: bool = True
    aim: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the demand is met."""
        return self.reaches(self.bound)

    def reaches(self, bound: float) -> bool:
        """Say whether the value is as good as a bound."""
        return self.value >= bound if self.at_least else self.value <= bound

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        aim = ""
        if self.aim is not None:
            aim = f"   aim {sign} {self.aim:g} {'reached' if self.reaches(self.aim) else 'not reached'}"
        return f"{'holds ' if self.holds else 'MISSED'}  {self.name}: {self.value:.4g}, must {sign} {self.bound:g}{aim}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below a heading; the first cell of a row is its name."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        return "\n".join([self.title, _line(self.header), *map(_line, self.rows)])


@dataclass(slots=True)
class Section:
    """What one idea measured.

    Attributes:
        tables: the figures.
        musts: the demands.
        notes: what a reader must know to read the figures right.
        skipped: why nothing was measured, or "".
        picture: an SVG that shows the figures, or "".
    """

    tables: list[Table] = field(default_factory=list[Table])
    musts: list[Must] = field(default_factory=list[Must])
    notes: list[str] = field(default_factory=list[str])
    skipped: str = ""
    picture: str = ""

    @property
    def holds(self) -> bool:
        """Whether no demand is missed."""
        return all(must.holds for must in self.musts)

    def __str__(self) -> str:
        if self.skipped:
            return f"SKIPPED: {self.skipped}"
        parts: Iterable[object] = (*self.tables, "\n".join(map(str, (*self.notes, *self.musts))))
        return "\n\n".join(text for part in parts if (text := str(part)))


def _line(cells: Sequence[str]) -> str:
    first, *others = cells
    return "  " + f"{first[:_FIRST]:<{_FIRST}}" + "".join(f"{cell:>{_OTHER}}" for cell in others)

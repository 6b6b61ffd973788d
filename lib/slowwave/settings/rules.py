"""The rules of retention as settings: what goes and what stays, for all sessions or for classes of them."""

from fnmatch import fnmatchcase
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slowwave.quantities import ByteCount, Count, Period

# What a session is: a person's own, begun by a clock or a program, by another session, or put aside by its client.
Source = Literal["interactive", "cron", "subagent", "reset", "deleted", "archived", "empty"]


class Subject(msgspec.Struct, frozen=True, gc=False):
    """A session as retention sees it.

    Attributes:
        id: names it; unique among the subjects of one decision.
        dialect: of its files.
        project: key of the project that it worked in.
        source: what kind of session it is.
        at: its last activity, in seconds since 1970.
        size: bytes of its transcripts and those of its sub-agents; what lies beside them is not looked at.
    """

    id: str
    dialect: str
    project: str
    source: Source
    at: float
    size: int


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for one class of sessions.

    ``max_*`` say what goes. ``keep_*`` say what stays although it would go; without any ``max_*`` all that they do not
    keep goes (borg, restic). Sessions are counted per dialect, project and source, a quota over the whole class.
    """

    max_age: Annotated[Period | None, Meta(description="Sessions without activity for longer than this go")] = None
    max_count: Annotated[Count | None, Meta(description="This many stay, the oldest go first")] = None
    max_bytes: Annotated[
        ByteCount | None, Meta(description="Above this the least missed and oldest go until low_water is reached")
    ] = None
    low_water: Annotated[float, Meta(gt=0, le=1, description="Share of max_bytes at which removal ends")] = 0.8
    keep_last: Annotated[Count | None, Meta(description="This many of the newest stay")] = None
    keep_hourly: Annotated[Count | None, Meta(description="The newest of each of this many last hours stays")] = None
    keep_daily: Annotated[Count | None, Meta(description="The newest of each of this many last days stays")] = None
    keep_weekly: Annotated[Count | None, Meta(description="The same for weeks, which begin on Monday")] = None
    keep_monthly: Annotated[Count | None, Meta(description="The same for months")] = None
    keep_yearly: Annotated[Count | None, Meta(description="The same for years")] = None
    keep_within: Annotated[
        Period | None, Meta(description="All that are at most this much older than the newest one stay")
    ] = None

    @property
    def keeps(self) -> bool:
        """Whether any rule keeps something."""
        return any(getattr(self, name) is not None for name in KEEPS)

    @property
    def limits(self) -> bool:
        """Whether any rule says what goes."""
        return any(getattr(self, name) is not None for name in LIMITS)


LIMITS = ("max_age", "max_count", "max_bytes")
KEEPS = tuple(name for name in Rules.__struct_fields__ if name.startswith("keep_"))


class ClassRules(Rules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which sessions a class holds, and all that holds for them; "" stands for every dialect, project or source."""

    dialect: Annotated[str, Meta(description="Name of a dialect")] = ""
    project: Annotated[str, Meta(description="Pattern of project keys, with * and ?")] = ""
    source: Annotated[Source | Literal[""], Meta(description="Kind of session")] = ""

    def holds(self, subject: Subject) -> bool:
        """Say whether a session belongs to this class."""
        return (
            self.dialect in ("", subject.dialect)
            and self.source in ("", subject.source)
            and (not self.project or fnmatchcase(subject.project, self.project))
        )


class Policy(Rules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Classes in order, of which the first that fits holds alone, and the rules for all other sessions."""

    classes: Annotated[tuple[ClassRules, ...], Meta(description="Rules for some sessions, the first that fits")] = ()

    def rules_of(self, subject: Subject) -> tuple[str, Rules]:
        """Return the rules that hold for a session, and how the names of their settings begin."""
        for number, one in enumerate(self.classes):
            if one.holds(subject):
                return f"retention.classes[{number}].", one
        return "retention.", self

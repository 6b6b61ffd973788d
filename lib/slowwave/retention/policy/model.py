"""The words of a retention policy: what it is asked about, its rules, and what it answers."""

from typing import Literal

import msgspec

from slowwave.quantities import ByteCount, Count, Period

# What a session is: a person's own, begun by a clock or a program, by another session, or put aside by its client.
Source = Literal["interactive", "cron", "subagent", "reset", "deleted", "archived", "empty"]
# the order in which a quota takes them, the least missed first (OpenClaw's maintenance: artifacts, then synthetic)
LEAST_MISSED: tuple[Source, ...] = ("empty", "deleted", "reset", "archived", "cron", "subagent", "interactive")


class Subject(msgspec.Struct, frozen=True, gc=False):
    """A session as retention sees it.

    Attributes:
        id: names it; unique among the subjects of one decision.
        dialect: of its files.
        project: key of the project that it worked in.
        source: what kind of session it is.
        at: its last activity, in seconds since 1970.
        size: bytes of all that goes with it.
    """

    id: str
    dialect: str
    project: str
    source: Source
    at: float
    size: int


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for one class of sessions.

    ``max_*`` say what goes. ``keep_*`` say what stays although it would go; without any ``max_*`` all that they do not
    keep goes (borg, restic). Sessions are counted per dialect, project and source, a quota over the whole class.

    Attributes:
        max_age: sessions without activity for longer than this go.
        max_count: so many stay, the oldest go first.
        max_bytes: when a class is larger than this, its least missed and oldest sessions go until
        low_water: this share of it is reached.
        keep_last: the newest so many stay.
        keep_hourly, keep_daily, keep_weekly, keep_monthly, keep_yearly: of the last so many hours, ... that have
            sessions, the newest stays; weeks begin on Monday.
        keep_within: all that are no older than this, seen from the newest one, stay.
    """

    max_age: Period | None = None
    max_count: Count | None = None
    max_bytes: ByteCount | None = None
    low_water: float = 0.8
    keep_last: Count | None = None
    keep_hourly: Count | None = None
    keep_daily: Count | None = None
    keep_weekly: Count | None = None
    keep_monthly: Count | None = None
    keep_yearly: Count | None = None
    keep_within: Period | None = None

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


class Selector(msgspec.Struct, frozen=True):
    """Which sessions a class holds; "" stands for all.

    Attributes:
        dialect: name of a dialect.
        project: pattern of project keys, with ``*`` and ``?``.
        source: kind of session.
    """

    dialect: str = ""
    project: str = ""
    source: Source | Literal[""] = ""


class Policy(msgspec.Struct, frozen=True):
    """Classes in order, the first that fits holds, then the rules for all others."""

    default: Rules
    classes: tuple[tuple[Selector, Rules], ...] = ()


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What is to become of one session.

    Attributes:
        subject: the session.
        removes: it is to go.
        rule: what decided: the name of a setting; ``keep`` when it goes because no ``keep_*`` names it; ``future`` when
            its time has not come yet; "" when no rule speaks of it.
        guard: why it stays although ``rule`` says that it goes, or "".
    """

    subject: Subject
    removes: bool
    rule: str
    guard: str = ""

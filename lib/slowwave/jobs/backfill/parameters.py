"""What a person can give to a backfill: Prefect's run form, and the options of ``slowwave run backfill``."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, NonNegativeFloat, NonNegativeInt

from slowwave.jobs.parameters import AS_SET, JobParameters, Sets

Dialect = Literal["claude", "cersei", "pi", "openclaw", "codex", "opencode", "crabtalk", "ulid"]
# all but "run" are about a run that is there, but "preview" and "coverage", which are about a range
Action = Literal["run", "preview", "coverage", "resume", "pause", "rollback"]


class BackfillParameters(JobParameters):
    """Parameters of a backfill: which past sessions are read, how fast, or what becomes of an earlier backfill."""

    action: Action = Field(
        default="run",
        title="What to do",
        description="run: read the range. preview: sessions, bytes, tokens, money and time, nothing is changed."
        " coverage: which version has read what of the range. resume, pause, rollback: the backfill that is"
        " named below",
    )
    backfill: str = Field(
        default="",
        title="Earlier backfill",
        pattern=r"^[A-Za-z0-9._-]{0,80}$",
        description="Run id of an earlier backfill, for resume, pause and rollback",
    )
    since: AwareDatetime | None = Field(
        default=None, title="Since", description="Only sessions in which something happened at this time or later"
    )
    until: AwareDatetime | None = Field(
        default=None, title="Until", description="Only sessions in which nothing happened at this time or later"
    )
    projects: list[str] = Field(
        default=[], title="Projects", description="Only projects whose key or folder contains one of these; empty: all"
    )
    dialects: list[Dialect] = Field(default=[], title="Dialects", description="Only sessions of these; empty: all")
    sessions: list[str] = Field(default=[], title="Sessions", description="Only sessions with these ids; empty: all")
    limit: NonNegativeInt = Field(
        default=0, title="Limit", description="At most so many sessions, the oldest first; 0 sets no limit"
    )
    upgrade: bool = Field(
        default=False,
        title="Upgrade",
        description="Only sessions that an older version of the extractor has read, and of them what it changes",
    )
    retry_failed: bool = Field(
        default=False,
        title="Retry failures",
        description="Only sessions that could not be read before, also those that were given up",
    )
    runner: Annotated[Literal["as set", "threads", "dask", "ray"], Sets("backfill.task_runner")] = Field(
        default=AS_SET,
        title="Runner",
        description="threads: the processes of this machine read; dask, ray: the workers of a Dask cluster"
        " (DASK_SCHEDULER_ADDRESS) or of Ray (RAY_ADDRESS), which must see the transcripts and the state folder"
        " (backfill.task_runner)",
    )
    sessions_per_second: NonNegativeFloat = Field(
        default=0.0, title="Sessions a second", description="Read no faster than this; 0 sets no limit"
    )
    mb_per_second: NonNegativeFloat = Field(
        default=0.0, title="MB a second", description="Read no more megabytes a second than this; 0 sets no limit"
    )

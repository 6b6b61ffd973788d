"""What a person can give to a backfill: Prefect's run form, and the options of ``slowwave run backfill``."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, NonNegativeFloat, NonNegativeInt

from slowwave.errors import UsageError
from slowwave.jobs.parameters import AS_SET, JobParameters, Sets

Dialect = Literal["claude", "cersei", "pi", "openclaw", "codex", "opencode", "crabtalk", "ulid"]
# all but "run" are about a run that is there, but "preview" and "coverage", which are about a range
Action = Literal["run", "preview", "coverage", "resume", "pause", "rollback"]
_OF_A_RUN = ("resume", "pause", "rollback")
# what may be given with them: which run, who goes on with it, and where its files and settings are
_WITH_A_RUN = ("action", "backfill", "runner", "store", "config", "run_id", "now")


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
        default=None, title="Until", description="Only sessions in which nothing happened after this time"
    )
    projects: list[str] = Field(
        default=[],
        title="Several projects",
        description="Only projects whose key or folder contains one of these, an item each, and those of"
        " “One project”; both empty: all",
    )
    project: str = Field(
        default="",
        title="One project",
        description="Only projects whose key or folder contains this, and those of “Several projects”; both empty: all",
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


def require_together(given: BackfillParameters) -> None:
    """Refuse what a run would leave out without a word.

    Raises:
        UsageError: a range, a pace or settings for a run that has its own; or an earlier backfill with none, or with
            what is not about one.
    """
    if given.action not in _OF_A_RUN:
        if given.backfill:
            what = "resume, pause or rollback"
            raise UsageError(f"backfill: {given.action} is about no earlier backfill; choose {what}, or leave it out")
        return
    if not given.backfill:
        raise UsageError(f"backfill: {given.action} needs the run id of an earlier backfill (slowwave status)")
    titles = {name: field.title for name, field in BackfillParameters.model_fields.items() if name not in _WITH_A_RUN}
    usual = BackfillParameters()
    others = [title or name for name, title in titles.items() if getattr(given, name) != getattr(usual, name)]
    if others:
        raise UsageError(
            f"backfill: {given.action} takes the range of its run, and everything else; leave {others[0]!r} out"
        )

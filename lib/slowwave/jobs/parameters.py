"""What a person can give to a job: the run form of Prefect and the options of ``slowwave run`` in one model."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from slowwave.clock import Clock, FixedClock, SystemClock
from slowwave.jobs.story import Run, new_run_id
from slowwave.settings import Settings, load_settings


class JobParameters(BaseModel):
    """Parameters that every job takes; all of them are optional."""

    model_config = ConfigDict(extra="forbid")

    store: list[Path] = Field(
        default=[], description="Store folders to work on; empty means the settings' or the clients' own places"
    )
    config: Path | None = Field(default=None, description="Settings file (TOML); empty means the usual places")
    overrides: list[str] = Field(default=[], description="Settings for this run only, as section.key=value")
    project: str = Field(default="", description="Only projects whose key or folder contains this")
    force: bool = Field(default=False, description="Pass the time, session and size gates (never a lock)")
    dry_run: bool = Field(default=False, description="Plan and report, change nothing")
    run_id: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9._-]{0,80}$",
        description="Id of the run in reports and ledgers; empty means a new one",
    )
    now: AwareDatetime | None = Field(default=None, description="Take this for the current time (for past ranges)")


class NightlyParameters(JobParameters):
    """Parameters of the whole night: extract, consolidate and, where the settings say so, compact and retain."""


class ExtractParameters(JobParameters):
    """Parameters of extraction from new parts of sessions."""


class ConsolidateParameters(JobParameters):
    """Parameters of the dream over waiting candidates."""


class CompactParameters(JobParameters):
    """Parameters of the compaction of sessions that have grown too large."""


class RetainParameters(JobParameters):
    """Parameters of retention; without ``apply`` it only shows what it would do."""

    apply: bool = Field(default=False, description="Do it; otherwise only retention.enforce = true does")


class EraseParameters(JobParameters):
    """Parameters of the erasure; without ``apply`` it only shows what it would do."""

    secrets: bool = Field(default=True, description="Take out every secret that is found")
    apply: bool = Field(default=False, description="Do it; otherwise only retention.enforce = true does")


def run_of(given: JobParameters, environ: Mapping[str, str]) -> Run:
    """Return the run that parameters, environment and settings file add up to.

    Raises:
        SettingsError: any setting is wrong.
    """
    settings = load_settings(environ, config=given.config, overrides=given.overrides)
    if given.store:
        settings = settings.with_roots(given.store)
    clock = clock_of(given.now)
    return Run(
        id=given.run_id or new_run_id(clock),
        settings=settings,
        clock=clock,
        environ=environ,
        project=given.project,
        force=given.force,
        dry_run=given.dry_run
        or (isinstance(given, EraseParameters | RetainParameters) and not may_apply(given.apply, settings)),
    )


def may_apply(asked: bool, settings: Settings) -> bool:  # noqa: FBT001 - the flag is what it is about
    """Say whether a job that cannot be taken back may do more than show its plan."""
    return asked or settings.retention.enforce


def clock_of(now: datetime | None) -> Clock:
    """Return a clock that stands at ``now``, or the clock of this machine."""
    return FixedClock(now.astimezone(UTC)) if now else SystemClock()

"""What a person can give to a job: the run form of Prefect and the options of ``slowwave run`` in one model."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    WithJsonSchema,
)

from slowwave.context import Run, clock_of, given_again, new_run_id
from slowwave.errors import UsageError
from slowwave.formats.cersei import BARE
from slowwave.formats.registry import CLIENTS
from slowwave.settings import Settings, load_settings

# The jobs that work through projects.

AS_SET = "as set"


class Sets(NamedTuple):
    """Marks a field that stands for a setting; with :data:`AS_SET` the setting is left as it is."""

    key: str


def _in_order(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Number the fields of a form, those of the job before those of all jobs.

    Databases may keep the keys of an object in another order; Prefect's form goes by ``position``.
    """
    own = [name for name in model.model_fields if name not in JobParameters.model_fields]
    for position, name in enumerate([*own, *JobParameters.model_fields]):
        schema["properties"][name]["position"] = position


class JobParameters(BaseModel):
    """Parameters that every job takes; all of them are optional."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_in_order)

    project: str = Field(
        default="", title="Project", description="Only projects whose key or folder contains this; empty takes all"
    )
    dry_run: bool = Field(default=False, title="Only plan", description="Plan and report, change nothing")
    force: bool = Field(
        default=False,
        title="Pass the gates",
        description="Pass the time, session and size gates, and in a backfill read again what was read; never a lock, "
        "never a session that somebody works in",
    )
    store: list[Path] = Field(
        default=[],
        title="Stores",
        description="Store folders to work on; empty means the settings' or the clients' own places",
    )
    config: Path | None = Field(
        default=None, title="Settings file", description="A TOML file on the worker; empty means the usual places"
    )
    overrides: list[str] = Field(
        default=[],
        title="Settings for this run",
        description="section.key=value, one an item, for example consolidation.min_sessions=1; wins over the file",
    )
    run_id: str = Field(
        default="",
        title="Run id",
        pattern=r"^[A-Za-z0-9._-]{0,80}$",
        description="Id of the run in reports and ledgers; empty means a new one",
    )
    now: AwareDatetime | None = Field(
        default=None, title="Time of the run", description="Take this for the current time; empty means now"
    )

    def chosen(self) -> Iterator[str]:
        """Yield the settings that fields of the form stand for, as ``section.key=value``."""
        for name, field in type(self).model_fields.items():
            for mark in field.metadata:
                if isinstance(mark, Sets) and (value := getattr(self, name)) not in (AS_SET, ""):
                    yield f"{mark.key}={value}"


class _Dreaming(JobParameters):
    mode: Annotated[Literal["as set", "auto", "review"], Sets("consolidation.mode")] = Field(
        default=AS_SET,
        title="Who decides",
        description="auto: dreams change the memory; review: every dream waits for a person (consolidation.mode)",
    )


class NightlyParameters(_Dreaming):
    """Parameters of the whole night: extract, consolidate and, where the settings say so, compact and retain."""

    compaction: Annotated[Literal["as set", "true", "false"], Sets("compaction.nightly")] = Field(
        default=AS_SET,
        title="Compact",
        description="true: append summaries to sessions that have grown too large (compaction.nightly)",
    )


class ExtractParameters(JobParameters):
    """Parameters of extraction from new parts of sessions."""


class ConsolidateParameters(_Dreaming):
    """Parameters of the dream over waiting candidates."""


class CompactParameters(JobParameters):
    """Parameters of the compaction of sessions that have grown too large."""

    prune: Annotated[Literal["as set", "first", "only", "off"], Sets("compaction.prune")] = Field(
        default=AS_SET,
        title="Clear old outputs",
        description="first: clear old outputs of tools before a summary; only: never summarise; off (compaction.prune)",
    )
    focus: Annotated[str, Sets("compaction.focus")] = Field(
        default="", title="Focus", description="With a model: what its narrative looks at above all"
    )


class RetainParameters(JobParameters):
    """Parameters of retention; without ``apply`` it only shows what it would do."""

    apply: bool = Field(
        default=False,
        title="Do it",
        description="Archive and remove; otherwise the plan is shown, unless retention.enforce = true",
    )
    purge: Annotated[Literal["as set", "true", "false"], Sets("retention.purge")] = Field(
        default=AS_SET,
        title="Purge",
        description="true: also take out of files at rest what their client hides for good (retention.purge)",
    )


class EraseParameters(JobParameters):
    """Parameters of the erasure of every secret; without ``apply`` it only shows what it would do."""

    apply: bool = Field(
        default=False,
        title="Do it",
        description="Overwrite for good; otherwise the plan is shown, unless retention.enforce = true",
    )


def run_of(given: JobParameters, environ: Mapping[str, str]) -> Run:
    """Return the run that parameters, environment and settings file add up to.

    Raises SettingsError: any setting is wrong.
    """
    settings = load_settings(environ, config=given.config, overrides=[*given.chosen(), *given.overrides])
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
        options=given_again(given.store, given.config, given.overrides),
    )


def may_apply(asked: bool, settings: Settings) -> bool:  # noqa: FBT001 - the flag is what it is about
    """Say whether a job that cannot be taken back may do more than show its plan."""
    return asked or settings.retention.enforce


# What a person can give to a backfill: Prefect's run form, and the options of ``slowwave run backfill``.


def _is_client(name: str) -> str:
    if name not in _CLIENTS:
        raise ValueError(f"{name!r} is no client: write one of {', '.join(_CLIENTS)}")
    return name


# Cersei's other form is part of Cersei for those who choose
_CLIENTS = [name for name in CLIENTS if name != BARE.name]
Dialect = Annotated[str, AfterValidator(_is_client), WithJsonSchema({"enum": _CLIENTS, "type": "string"})]
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

    Raises UsageError: a range, a pace or settings for a run that has its own; or an earlier backfill with none, or with
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

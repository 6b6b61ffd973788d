"""What a person can give to a job: the run form of Prefect and the options of ``slowwave run`` in one model."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from slowwave.jobs.run import Run, clock_of, new_run_id
from slowwave.settings import Settings, load_settings

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
        description="Pass the time, session and size gates; never a lock, never a session that somebody works in",
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

    Raises:
        SettingsError: any setting is wrong.
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
    )


def may_apply(asked: bool, settings: Settings) -> bool:  # noqa: FBT001 - the flag is what it is about
    """Say whether a job that cannot be taken back may do more than show its plan."""
    return asked or settings.retention.enforce

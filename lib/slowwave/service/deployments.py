"""The deployments of prefect.yaml, and the operator's time zone in place of the one that stands there."""

import copy
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slowwave.errors import ServerError, SlowwaveError, UnreadableError, UsageError
from slowwave.service.server import load_job, require_server

if TYPE_CHECKING:
    from uuid import UUID

    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.responses import DeploymentResponse
    from prefect.events.schemas.automations import AutomationCore

Document = dict[str, Any]
# the usual work pool: deployments in it have the names of their flows
POOL = "slowwave"
# what the time of a night alone would not tell
PASSES_OVER = "which passes over projects that are not due"
# the schedules that a server has of each deployment, as prefect.yaml says them
Schedules = dict[str, list[dict[str, Any]]]
_HOUR = re.compile(r"(\d{1,2}):(\d\d)")
_HOURS, _MINUTES = 24, 60
# a cron line that is due once a day, or a week: minute, hour, day of the week
_DAILY = re.compile(r"(\d{1,2}) (\d{1,2}) \* \* (\*|[0-6])")
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def read_project(root: Path) -> Document:
    """Return prefect.yaml of a project as data."""
    import yaml  # noqa: PLC0415 - only these commands need it

    path = root / "prefect.yaml"
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UnreadableError(path, str(error).replace("\n", " "), "install slowwave again") from error


def in_time_zone(document: Document, zone: str) -> Document:
    """Return a copy whose schedules all run in ``zone``."""
    moved = copy.deepcopy(document)
    for deployment in moved["deployments"]:
        for schedule in deployment.get("schedules") or ():
            schedule["timezone"] = zone
    return moved


def in_pool(document: Document, pool: str) -> Document:
    """Return a copy whose deployments all go to one work pool, and are named after it where it is not the usual one.

    A server has one deployment of a name: that of a second pool would take the nights of the first away.
    """
    moved = copy.deepcopy(document)
    for deployment in moved["deployments"]:
        deployment["work_pool"] = {**deployment["work_pool"], "name": pool}
        if pool != POOL:
            deployment["name"] = f"{deployment['name']}-{pool}"
    return moved


# the tag of a deployment that says from which home it was deployed; hosts and containers may share one
_HOME = "home "
# how a deployment without a `pull` of its own goes to where its flows are
_ENTERS = "prefect.deployments.steps.set_working_directory"


def from_home(document: Document, home: Path) -> Document:
    """Return a copy whose deployments say from which home they were deployed."""
    marked = copy.deepcopy(document)
    for deployment in marked["deployments"]:
        deployment["tags"] = [*deployment.get("tags", ()), f"{_HOME}{home}"]
    return marked


def full_name(deployment: dict[str, Any]) -> str:
    """Return the name by which a server knows a deployment: that of its flow, and its own."""
    return f"{deployment['entrypoint'].rpartition(':')[2]}/{deployment['name']}"


def as_set(document: Document, there: Schedules, zone: str | None) -> Document:
    """Return a copy whose schedules are those that a server has already: their time, and whether they are on.

    Args:
        document: a project.
        there: what the server has; a deployment of which it has none keeps those of the document.
        zone: the time zone that somebody asked for, None for what each schedule says.
    """
    kept = copy.deepcopy(document)
    for deployment in kept["deployments"]:
        if own := deployment.get("schedules"):
            deployment["schedules"] = _named(there.get(deployment["name"]) or own, [one["slug"] for one in own])
        for schedule in deployment.get("schedules") or () if zone else ():
            schedule["timezone"] = zone
    return kept


def _named(schedules: Sequence[dict[str, Any]], slugs: Sequence[str]) -> list[dict[str, Any]]:
    """Return schedules with a name each: somebody may have put one without any in the place of ours."""
    names = {one["slug"] for one in schedules if one["slug"]}
    free = (name for n in count(1) for slug in slugs if (name := slug if n == 1 else f"{slug}-{n}") not in names)
    return [one if one["slug"] else {**one, "slug": next(free)} for one in schedules]


def at_hour(document: Document, at: str | None, zone: str) -> Document:
    """Return a copy whose nights begin at an hour.

    Raises UsageError: ``at`` is no time of a day.
    """
    if at is None:
        return document
    found = _HOUR.fullmatch(at)
    if found is None or int(found[1]) >= _HOURS or int(found[2]) >= _MINUTES:
        raise UsageError(f"--at {at}: no time of a day; use 24 hours, like 03:30")
    moved = copy.deepcopy(document)
    for deployment in moved["deployments"]:
        if deployment["entrypoint"].endswith(":nightly"):
            first = deployment["schedules"][0]
            cron = f"{int(found[2])} {int(found[1])} * * *"
            deployment["schedules"] = [{"cron": cron, "timezone": zone, "slug": first["slug"], "active": True}]
    return moved


def when(schedule: Mapping[str, Any]) -> str:
    """Return in words when a schedule is due, as prefect.yaml or a server says it."""
    cron = str(schedule.get("cron") or "")
    if found := _DAILY.fullmatch(cron):
        day = "day" if found[3] == "*" else _WEEKDAYS[int(found[3])]
        told = f"{int(found[2]):02}:{int(found[1]):02} every {day}"
    else:
        told = cron or str(schedule.get("rrule") or f"every {schedule.get('interval', 0):.0f} s")
    return f"{told} ({schedule.get('timezone')})"


def time_zone(asked: str | None) -> str:
    """Return the IANA name of a zone: the one asked for, else the one of this machine."""
    if asked is None:
        import tzlocal  # noqa: PLC0415 - only these commands need it

        try:
            asked = tzlocal.get_localzone_name()
        except (ZoneInfoNotFoundError, LookupError, ValueError) as error:
            raise UsageError(f"this machine's time zone cannot be told ({error}); name it with --timezone") from error
    try:
        ZoneInfo(asked)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise UsageError(f"--timezone {asked}: unknown; use an IANA name like Europe/Berlin") from error
    return asked


# What a Prefect server must have before deployments are registered with it, and what it keeps of those before.
#
# Everything is asked before anything is changed. Each refusal is one line with its remedy; what would only be worse
# than it could be is a warning.

POOL_TYPE = "process"
_PAGE = 200
# what a server makes of a worker that has ended, until then: three times the interval of its words (30 s)
HEARD_S = 90
COUNTS_FOR = f"a worker counts for {HEARD_S} seconds after its last word"
# the description of a pool that was made here, by which it is known again when all is taken out
MADE = "made by slowwave deploy"
_UNTOLD = object()
_REMEDY = "start the server with the settings of docs/deploy/server.env"
# what a server tells of its settings (/admin/settings), whether that is as good as it could be, and what it is when not
_TOLD: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    (
        "concurrency.lease_storage",
        lambda told: not str(told).endswith(".memory"),
        "keeps leases in memory: when it restarts, the running night is killed minutes later",
    ),
    (
        "services.task_run_recorder.batch_size",
        lambda told: int(told) > 1,
        "records one task run at a time: four times the work, and 503s on SQLite",
    ),
    ("services.db_vacuum.enabled", lambda told: "flow_runs" in (told or ()), "never deletes finished runs"),
    ("analytics_enabled", lambda told: not told, "reports to its makers every ten minutes"),
)


def require_pool(client: "SyncPrefectClient", pool: str, *, create: bool) -> None:
    """Make sure that a work pool is there and takes runs; make one of processes when that was asked for."""
    import httpx  # noqa: PLC0415 - comes with Prefect
    from prefect.client.schemas.actions import WorkPoolCreate  # noqa: PLC0415 - a second that --help does not pay
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415 - see above

    try:
        found = client.read_work_pool(pool)
    except ObjectNotFound as error:
        if not create:
            remedy = f"add --create-pool, or run: prefect work-pool create {pool} --type {POOL_TYPE}"
            raise UsageError(f"the server at {client.api_url} has no work pool {pool}; {remedy}") from error
        client.create_work_pool(WorkPoolCreate(name=pool, type=POOL_TYPE, description=MADE))
    except httpx.HTTPStatusError as error:
        raise ServerError(f"the Prefect server at {client.api_url} refused: {error}") from error
    else:
        if found.is_paused:
            remedy = f"run: prefect work-pool resume {pool}"
            raise UsageError(f"work pool {pool} is paused, so nothing would ever start; {remedy}")


def require_entrypoints(entrypoints: Iterable[str]) -> None:
    """Load every flow as a worker would."""
    for entrypoint in entrypoints:
        try:
            load_job(entrypoint)
        except Exception as error:
            remedy = "install slowwave again in this environment"
            raise SlowwaveError(f"{entrypoint} does not load, so it would fail at night: {error}; {remedy}") from error


def require_compatible(api: str) -> str:
    """Make sure that a server answers that this Prefect can talk to, and return its version."""
    from prefect import __version__ as here  # noqa: PLC0415 - a second that --help does not pay
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - see above

    require_server(api, "unset it and use slowwave serve")
    with get_client(sync_client=True) as client:
        there = client.api_version()
    if there.partition(".")[0] != here.partition(".")[0]:
        raise ServerError(f"the server at {api} is Prefect {there}, this is {here}; run the same major version on both")
    return there


def worker_command(pool: str) -> str:
    """Return how a worker of a pool is started, one that calls nobody."""
    return f"DO_NOT_TRACK=1 prefect worker start --pool {pool}, where the transcripts are"


def doubts(client: "SyncPrefectClient") -> Iterator[str]:
    """Yield what works, but worse than it could, each with its remedy."""
    yield from server_doubts(client.request("GET", "/admin/settings").json())


def workers_here(pool: str) -> list[float]:
    """Return for how many seconds each worker of a pool has run on this machine, whatever a server heard of it."""
    import psutil  # noqa: PLC0415 - only who looks for a worker pays for it

    ages: list[float] = []
    for process in psutil.process_iter(["cmdline", "create_time"]):
        words: list[str] = process.info["cmdline"] or []
        is_worker = any(words[at : at + 2] == ["worker", "start"] for at in range(1, len(words)))
        if is_worker and any(word.rpartition("=")[2] == pool for word in words):
            ages.append(max(0.0, time.time() - process.info["create_time"]))
    return ages


def has_worker(client: "SyncPrefectClient", pool: str) -> bool:
    """Say whether a worker of a pool was heard of lately."""
    return any(worker.status == "ONLINE" for worker in client.read_workers_for_work_pool(pool))


def server_doubts(server: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a server's settings, as it tells them, cost, each with its remedy."""
    for key, is_well, otherwise in _TOLD:
        told = _at(server, f"server.{key}")
        # a server of another version may tell less; what it does not tell is not doubted
        if told is not _UNTOLD and not is_well(told):
            yield f"the server {otherwise}; {_REMEDY}"


def _at(tree: Mapping[str, Any], key: str) -> Any:
    at: Any = tree
    for step in key.split("."):
        if not isinstance(at, Mapping) or step not in at:
            return _UNTOLD
        at = cast("Mapping[str, Any]", at)[step]
    return at


def schedules(client: "SyncPrefectClient", document: Document) -> Schedules:
    """Return the schedules that a server has of a document's deployments, by their names."""
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415 - a second that --help does not pay

    found: Schedules = {}
    for wanted in document["deployments"]:
        with suppress(ObjectNotFound):
            found[wanted["name"]] = _told(client.read_deployment_by_name(full_name(wanted)))
    return found


def _told(deployment: "DeploymentResponse") -> list[dict[str, Any]]:
    """Return the schedules of a deployment as prefect.yaml says them."""
    return [
        {**one.schedule.model_dump(mode="json", exclude_none=True), "slug": one.slug, "active": bool(one.active)}
        for one in deployment.schedules
    ]


def of_others(client: "SyncPrefectClient", document: Document, here: Path, home: Path) -> list[str]:
    """Return what a server has by the names of a document that was not deployed from this folder and home.

    Each is told in a line: its name, what it runs, from which home and when. What names no home, as deployments did
    before, is taken for this one's where it runs this folder.
    """
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415 - as above

    found: list[str] = []
    for wanted in document["deployments"]:
        name = full_name(wanted)
        with suppress(ObjectNotFound):
            there = client.read_deployment_by_name(name)
            folders = [str(step[_ENTERS].get("directory", "")) for step in there.pull_steps or () if _ENTERS in step]
            folder = "".join(folders[:1])
            by = next((tag.removeprefix(_HOME) for tag in there.tags if tag.startswith(_HOME)), "")
            if folder == str(here) and by in ("", str(home)):
                continue
            on = [when(one) for one in _told(there) if one["active"]]
            parts = (
                f"runs {folder}" if folder else "was not made by slowwave deploy",
                f"deployed from home {by}" if by else "",
                f"pool {there.work_pool_name}" if there.work_pool_name else "no pool",
                " and ".join(on) or "on no schedule",
            )
            found.append(f"{name}: {', '.join(filter(None, parts))}")
    return found


def automations() -> list["AutomationCore"]:
    """Return what the server shall do by itself."""
    import yaml  # noqa: PLC0415 - only these commands need it
    from prefect.events.schemas.automations import AutomationCore  # noqa: PLC0415 - a slow import

    path = Path(__file__).with_name("automations.yaml")
    try:
        wanted = yaml.safe_load(path.read_text(encoding="utf-8"))["automations"]
        return [AutomationCore.model_validate(one) for one in wanted]
    except (OSError, yaml.YAMLError, ValueError, KeyError, TypeError) as error:
        raise UnreadableError(path, str(error).replace("\n", " "), "install slowwave again") from error


def register_automations(client: "SyncPrefectClient") -> list[str]:
    """Create each automation, or bring the one of its name up to date; return their names.

    One that somebody has paused stays paused.
    """
    names: list[str] = []
    for wanted in automations():
        there = client.read_automations_by_name(wanted.name)
        if there:
            client.update_automation(there[0].id, wanted.model_copy(update={"enabled": there[0].enabled}))
        else:
            client.create_automation(wanted)
        names.append(wanted.name)
    return names


# What was deployed is taken out again: deployments, the pool where it was made here, and automations nobody else needs.


@dataclass(frozen=True, slots=True)
class Deployed:
    """What of slowwave a server has, as far as one pool is concerned."""

    deployments: Mapping[str, "UUID"]  # ids by full name
    pool: str  # the pool, where it was made here and nothing else is deployed to it; else ""
    automations: Mapping[str, "UUID"]  # ids by name, where no other pool of slowwave needs them
    kept: tuple[str, ...]  # what stays, and why
    alive: tuple[str, ...]  # workers of the pool that were heard of lately


def deployed(client: "SyncPrefectClient", document: Document, pool: str) -> Deployed:
    """Return what there is to take out of a server."""
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415 - a second that --help does not pay

    ours = {full_name(wanted) for wanted in document["deployments"]}
    entrypoints = {wanted["entrypoint"] for wanted in document["deployments"]}
    found: dict[str, UUID] = {}
    for name in sorted(ours):
        with suppress(ObjectNotFound):
            found[name] = client.read_deployment_by_name(name).id
    others = [one for one in _every_deployment(client) if one.id not in found.values()]
    kept: list[str] = []
    if any(one.entrypoint in entrypoints for one in others):
        kept.append("the automations: deployments of slowwave in other pools need them")
        there: dict[str, UUID] = {}
    else:
        there = {one.name: one.id for wanted in automations() for one in client.read_automations_by_name(wanted.name)}
    alive: tuple[str, ...] = ()
    is_ours = False
    with suppress(ObjectNotFound):
        in_it = sum(one.work_pool_name == pool for one in others)
        is_ours = client.read_work_pool(pool).description == MADE and not in_it
        alive = tuple(w.name for w in client.read_workers_for_work_pool(pool) if w.status == "ONLINE")
        if not is_ours:
            why = f"{in_it} other deployments use it" if in_it else "it was not made by slowwave deploy --create-pool"
            kept.append(f"work pool {pool}: {why} (prefect work-pool delete {pool})")
    return Deployed(found, pool if is_ours else "", there, tuple(kept), alive)


def _every_deployment(client: "SyncPrefectClient") -> "Iterator[DeploymentResponse]":
    for offset in count(0, _PAGE):
        page = client.read_deployments(limit=_PAGE, offset=offset)
        yield from page
        if len(page) < _PAGE:
            return


def take_out(client: "SyncPrefectClient", found: Deployed) -> None:
    """Take all of it out: schedules first, so that nothing is started meanwhile, and the pool last."""
    for deployment in found.deployments.values():
        client.delete_deployment(deployment)
    for automation in found.automations.values():
        client.delete_automation(automation)
    if found.pool:
        client.delete_work_pool(found.pool)

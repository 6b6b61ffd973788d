"""The deployments of prefect.yaml, and the operator's time zone in place of the one that stands there."""

import copy
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slowwave.errors import UnreadableError, UsageError

Document = dict[str, Any]
# the usual work pool: deployments in it have the names of their flows
POOL = "slowwave"
# whether a schedule is on, by the names of deployment and schedule
Switches = dict[tuple[str, str], bool]


def read_project(root: Path) -> Document:
    """Return prefect.yaml of a project as data.

    Raises:
        UnreadableError: it is missing or not YAML.
    """
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


def full_name(deployment: dict[str, Any]) -> str:
    """Return the name by which a server knows a deployment: that of its flow, and its own."""
    return f"{deployment['entrypoint'].rpartition(':')[2]}/{deployment['name']}"


def as_switched(document: Document, switches: Switches) -> Document:
    """Return a copy whose schedules are on or off as somebody has switched them before."""
    kept = copy.deepcopy(document)
    for deployment in kept["deployments"]:
        for schedule in deployment.get("schedules") or ():
            schedule["active"] = switches.get((deployment["name"], schedule["slug"]), schedule["active"])
    return kept


def time_zone(asked: str | None) -> str:
    """Return the IANA name of a zone: the one asked for, else the one of this machine.

    Raises:
        UsageError: the name is unknown, or the machine does not tell.
    """
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

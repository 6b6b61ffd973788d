"""Starting a job through Prefect from the command line: where the project is, how a flow is loaded, which server.

This module itself does not import Prefect; it does so inside the functions that need it, after the environment that
Prefect reads at import has been set.
"""

import os
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.errors import ServerError, SlowwaveError
from slowwave.jobs.run import LEAST_ROOM, require_input, require_places, require_room
from slowwave.observability.progress import REACH, START, watcher
from slowwave.places import scheduler_folder, state_folder
from slowwave.service.reach import named_server, profiles_path, require_server, unreachable
from slowwave.settings import load_settings

if TYPE_CHECKING:
    from prefect import Flow

_REMEDY = "run the job without Prefect: add --direct"
# a server of ours has written so many bytes before it answers the first time, and a run adds to them
_ROOM = 16 << 20
_LAST_WORDS_S = 30.0

# Measured on SQLite: with the defaults every fifth small run meets a 503 and a two-second pause; with larger batches
# nearly none does, at a quarter of the server's processor time.
SERVER: Mapping[str, str] = {
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TRIGGERS_READ_BATCH_SIZE": "200",
    # leases in memory do not survive a restart of the server: the running night would be killed minutes later
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    # finished runs are never deleted by default; a month of nights is kept
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": "2592000",
    # nobody is told about anything
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    # the newer pages ask a third party for their configuration, whatever else is set; the older ones do not
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}


def project_root() -> Path:
    """Return the folder that holds prefect.yaml: inside the wheel, else the checkout."""
    package = Path(__file__).parents[1]
    bundled = package / "_project"
    return bundled if bundled.is_dir() else package.parents[1]


def entrypoint_of(job: str) -> str:
    """Return a job's entrypoint, relative to the project's root."""
    return f"flows/{job}.py:{job}"


def prefect_environment(home: Path) -> dict[str, str]:
    """Return the environment of a Prefect server of ours whose files lie in ``home``."""
    return {**SERVER, "PREFECT_HOME": str(home)}


def prefect_home(environ: Mapping[str, str]) -> Path:
    """Return the folder of Prefect's own files."""
    return scheduler_folder(environ)


def enter_project() -> None:
    """Make the project the current folder, as a worker does.

    Prefect puts the current folder first on the module path: a ``tasks.py`` of the person's own project would win.
    """
    os.chdir(project_root())


def load_job(entrypoint: str) -> "Flow[..., Any]":
    """Load a flow as a Prefect worker would, but fail when it does not import.

    Paths that a person gave must be absolute before this: the current folder becomes the project's.
    """
    from prefect.flows import load_flow_from_entrypoint  # noqa: PLC0415 - a second that --help does not pay

    enter_project()
    # by default Prefect answers with a placeholder when the imports fail, and the run dies at night
    return load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False)


def run_through_prefect(job: str, parameters: Mapping[str, Any], *, verbose: bool = False) -> dict[str, Any]:
    """Run a job as a flow in this process and return its report as plain data.

    The run is recorded by the server that ``PREFECT_API_URL`` or Prefect's active profile names, else by a server that
    lives as long as the run, with its files under the state folder. Whoever watches is told of either.

    Raises:
        ServerError: no server can be had.
        UnwritableError: there is no room for what a run through it writes.
        SlowwaveError: the flow broke outside its own containment.
        SettingsError: the parameters do not make settings.
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project is the one that is asked for.
    """
    given = _from_anywhere(parameters)
    _check(given)
    api = named_server(os.environ)
    _prepare(os.environ, verbose=verbose)
    with chdir("."), _reached(api, job) if api else _started(job) as flow:
        state = _run(flow, given)
        return {**_report_of(state, job), **_recorded(state, api)}


@contextmanager
def _reached(api: str, job: str) -> "Generator[Flow[..., Any]]":
    """Load a job, and use the server that somebody named."""
    watcher().plan(REACH, 1)
    require_server(api, _REMEDY)
    flow = load_job(entrypoint_of(job))
    watcher().done(REACH, api)
    yield flow


@contextmanager
def _started(job: str) -> "Generator[Flow[..., Any]]":
    """Load a job while a server of ours starts, with all that Prefect has for it written before it ends."""
    from slowwave.service.server import own_server  # noqa: PLC0415 - it takes its environment from here

    watcher().plan(START, 1)
    home = Path(os.environ["PREFECT_HOME"])
    require_room(home, _ROOM)
    loaded: list[Flow[..., Any]] = []

    def load(api: str) -> None:
        os.environ["PREFECT_API_URL"] = api  # Prefect reads it when it is imported
        loaded.append(load_job(entrypoint_of(job)))

    try:
        with own_server(home, dict(os.environ), meanwhile=load) as api:
            watcher().done(START, api)
            try:
                yield loaded[0]
            finally:
                _say_the_rest()
    finally:
        os.environ.pop("PREFECT_API_URL", None)


def _recorded(state: Any, api: str) -> dict[str, Any]:
    """Return what the run is called by Prefect and where its page is; a server of ours ends with the run."""
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a second that --help does not pay

    with get_client(sync_client=True) as client:
        run = client.read_flow_run(state.state_details.flow_run_id)
    page = f"{api.rstrip('/').removesuffix('/api')}/runs/flow-run/{run.id}" if api else ""
    return {
        "flow_run": {
            "id": str(run.id),
            "name": run.name,
            "page": page,
            "folder": "" if api else os.environ["PREFECT_HOME"],
        }
    }


def _say_the_rest() -> None:
    """Let the threads of Prefect's client hand over the events and log lines that they hold."""
    from prefect.events.worker import EventsWorker  # noqa: PLC0415 - a second that --help does not pay
    from prefect.logging.handlers import APILogWorker  # noqa: PLC0415 - see above

    for service in (EventsWorker, APILogWorker):
        service.drain_all(timeout=_LAST_WORDS_S)


def _from_anywhere(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters that mean the same in every folder: settings file and store roots as absolute paths."""
    config = parameters.get("config") or _config_here()
    found = load_settings(
        os.environ, config=Path(config) if config else None, overrides=parameters.get("overrides", ())
    )
    roots = parameters.get("store") or [str(path.expanduser().absolute()) for path in found.store.roots]
    return {**parameters, "config": config, "store": roots}


def _check(given: Mapping[str, Any]) -> None:
    """Refuse what the job would refuse, before a server is started, which takes half a minute."""
    config = given["config"]
    settings = load_settings(
        os.environ, config=Path(config) if config else None, overrides=given.get("overrides", ())
    ).with_roots([Path(root) for root in given["store"]])
    require_places(settings, os.environ, dry_run=True)
    require_input(settings, os.environ, given.get("project", ""))


def _config_here() -> str | None:
    """Return the settings file that the current folder or the environment names, before that folder is left."""
    named = os.environ.get("SLOWWAVE_CONFIG") or ("slowwave.toml" if Path("slowwave.toml").is_file() else None)
    return str(Path(named).absolute()) if named else None


def _prepare(environ: MutableMapping[str, str], *, verbose: bool) -> None:
    """Set what Prefect reads at import; what the operator has set wins, in the environment or in a profile."""
    environ.setdefault("PREFECT_PROFILES_PATH", str(profiles_path(environ)))
    for name, value in prefect_environment(prefect_home(environ)).items():
        environ.setdefault(name, value)
    # Prefect makes the last folder only, and without its home no server starts
    for folder in (state_folder(environ), Path(environ["PREFECT_HOME"])):
        require_room(folder, LEAST_ROOM)
    if not verbose:
        environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
        environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")


def _run(flow: "Flow[..., Any]", parameters: Mapping[str, Any]) -> Any:
    import httpx  # noqa: PLC0415 - comes with Prefect
    from prefect.exceptions import PrefectHTTPStatusError  # noqa: PLC0415 - see above

    try:
        return flow(parameters, return_state=True)
    except (httpx.TransportError, PrefectHTTPStatusError) as error:
        raise ServerError(_without_server(error)) from error
    except (RuntimeError, ValueError) as error:
        # Prefect has no class of its own for a server that is missing, does not answer or does not start
        if " API" not in str(error):
            raise
        raise ServerError(_without_server(error)) from error


def _without_server(error: Exception) -> str:
    return unreachable(named_server(os.environ), error, _REMEDY)


def _report_of(state: Any, job: str) -> dict[str, Any]:
    result = state.result(raise_on_failure=False)
    if isinstance(result, dict):
        return dict(result)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(result, SlowwaveError):
        raise result
    raise SlowwaveError(f"the flow {job} ended as {state.name}: {state.message or result}")

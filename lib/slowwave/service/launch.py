"""Starting a job through Prefect from the command line: where the project is, how a flow is loaded, which server.

This module itself does not import Prefect; it does so inside the functions that need it, after the environment that
Prefect reads at import has been set.
"""

import os
from collections.abc import Mapping, MutableMapping
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.errors import ServerError, SlowwaveError
from slowwave.files import private_folder
from slowwave.jobs.choice import require_input
from slowwave.places import scheduler_folder
from slowwave.service.reach import require_server, unreachable
from slowwave.settings import load_settings

if TYPE_CHECKING:
    from prefect import Flow

_REMEDY = "run the job without Prefect: add --direct"

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
    # a slow machine must not fail for being slow
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
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

    The run is recorded by the server that ``PREFECT_API_URL`` names, else by a server that lives as long as this
    process, with its files under the state folder.

    Raises:
        ServerError: no server can be had.
        SlowwaveError: the flow broke outside its own containment.
        SettingsError: the parameters do not make settings.
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project is the one that is asked for.
    """
    given = _from_anywhere(parameters)
    _check(given)
    _prepare(os.environ, verbose=verbose)
    if api := os.environ.get("PREFECT_API_URL"):
        require_server(api, _REMEDY)
    with chdir("."):
        flow = load_job(entrypoint_of(job))
        return _report_of(_run(flow, given), job)


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
    require_input(settings, os.environ, given.get("project", ""))


def _config_here() -> str | None:
    """Return the settings file that the current folder or the environment names, before that folder is left."""
    named = os.environ.get("SLOWWAVE_CONFIG") or ("slowwave.toml" if Path("slowwave.toml").is_file() else None)
    return str(Path(named).absolute()) if named else None


def _prepare(environ: MutableMapping[str, str], *, verbose: bool) -> None:
    """Set what Prefect reads at import; what the operator has set wins."""
    for name, value in prefect_environment(prefect_home(environ)).items():
        environ.setdefault(name, value)
    # Prefect makes the last folder only, and without its home no server starts
    private_folder(Path(environ["PREFECT_HOME"]))
    if not environ.get("PREFECT_API_URL"):
        environ.setdefault("PREFECT_SERVER_ALLOW_EPHEMERAL_MODE", "true")
    environ.setdefault("PREFECT_LOGGING_EXTRA_LOGGERS", "slowwave")
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
    given = os.environ.get("PREFECT_API_URL")
    if given:
        return unreachable(given, error, _REMEDY)
    reason = " ".join(str(error).split()).rstrip(".")
    return f"no Prefect server can be started ({reason}); {_REMEDY}"


def _report_of(state: Any, job: str) -> dict[str, Any]:
    result = state.result(raise_on_failure=False)
    if isinstance(result, dict):
        return dict(result)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(result, SlowwaveError):
        raise result
    raise SlowwaveError(f"the flow {job} ended as {state.name}: {state.message or result}")

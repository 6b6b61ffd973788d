"""Prefect for the command line: where the project is, how a flow is loaded, which server, and one of our own.

This module itself does not import Prefect; it does so inside the functions that need it, after the environment that
Prefect reads at import has been set.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Generator, Mapping, MutableMapping
from contextlib import chdir, closing, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from slowwave.errors import ServerError, SlowwaveError, UnreadableError, UsageError
from slowwave.files import atomic_write, file_bytes, home_folder, private_folder, scheduler_folder, state_folder
from slowwave.jobs.run import LEAST_ROOM, require_input, require_places, require_room
from slowwave.observability.progress import REACH, START, watcher
from slowwave.settings import Settings, load_settings

if TYPE_CHECKING:
    from prefect import Flow

_REMEDY = "run the job without Prefect: add --direct"
# a server of ours has written so many bytes before it answers the first time, and a run adds to them
_ROOM = 16 << 20
_LAST_WORDS_S = 30.0
_ANSWER_S = 10

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
    # who watches a run (--watch) sees its log as well, which says why nothing was done
    "PREFECT_SERVER_LOGS_STREAM_OUT_ENABLED": "true",
    "PREFECT_SERVER_LOGS_STREAM_PUBLISHING_ENABLED": "true",
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
    given, settings = _from_anywhere(parameters)
    # what the job would refuse is refused before a server is started, which takes half a minute
    require_places(settings, os.environ, dry_run=True)
    require_input(settings, os.environ, given.get("project", ""))
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


def _from_anywhere(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], Settings]:
    """Return parameters that mean the same in every folder, files and folders as absolute paths, and their settings."""
    config = parameters.get("config") or _config_here()
    overrides = parameters.get("overrides", ())
    settings = load_settings(os.environ, config=Path(config) if config else None, overrides=overrides)
    roots = parameters.get("store") or [str(path.expanduser().absolute()) for path in settings.store.roots]
    given = {**parameters, "config": config, "store": roots}
    return given, settings.with_roots([Path(root) for root in roots])


def _config_here() -> str | None:
    """Return the settings file that the current folder or the environment names, before that folder is left."""
    named = os.environ.get("SLOWWAVE_CONFIG") or ("slowwave.toml" if Path("slowwave.toml").is_file() else None)
    return str(Path(named).absolute()) if named else None


def _prepare(environ: MutableMapping[str, str], *, verbose: bool) -> None:
    """Set what Prefect reads at import; what the operator has set wins, in the environment or in a profile."""
    environ.setdefault("PREFECT_PROFILES_PATH", str(profiles_path(environ)))
    for name, value in prefect_environment(scheduler_folder(environ)).items():
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


# Which Prefect server somebody named, and whether it is there, asked before anything is started that would need it.
#
# A server is named by ``PREFECT_API_URL``, else by the profile of Prefect that is active (``prefect profile use``). The
# profile is read here as Prefect reads it, since to import Prefect takes longer than most runs.

_PORTS = {"http": 80, "https": 443}
_KNOCK_S = 1.0
_EXAMPLE = "http://127.0.0.1:4200/api"


class _Profiles(msgspec.Struct):
    """The file of Prefect's profiles."""

    active: str = ""
    profiles: dict[str, dict[str, Any]] = {}


def named_server(environ: Mapping[str, str]) -> str:
    """Return the address of the Prefect server that the environment or Prefect's active profile names, else ""."""
    return environ.get("PREFECT_API_URL") or _of_profile(environ)


def profiles_path(environ: Mapping[str, str]) -> Path:
    """Return where Prefect's profiles are: this person's, else those that come with Prefect."""
    home = environ.get("PREFECT_HOME")
    usual = (Path(home).expanduser() if home else home_folder(environ) / ".prefect") / "profiles.toml"
    path = Path(environ.get("PREFECT_PROFILES_PATH") or usual)
    if os.path.lexists(path):
        return path
    spec = find_spec("prefect")  # to find it does not import it
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders or ()), "")) / "settings" / "profiles.toml"


def _of_profile(environ: Mapping[str, str]) -> str:
    path = profiles_path(environ)
    try:
        found = msgspec.convert(tomllib.loads(file_bytes(path).decode()), _Profiles)
    except (OSError, SlowwaveError, ValueError) as error:
        remedy = "fix it, or run the job without Prefect: add --direct"
        raise ServerError(f"{path}: Prefect's profiles cannot be read ({error}); {remedy}") from error
    settings = found.profiles.get(environ.get("PREFECT_PROFILE") or found.active, {})
    return str(settings.get("PREFECT_API_URL", ""))


def require_address(api: str) -> None:
    """Refuse an address that no server can have; Prefect must not even be imported with some of them."""
    try:
        parts = urlsplit(api)
        # reading the port checks it
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ServerError(f"PREFECT_API_URL = {api!r} is not an address; write one like {_EXAMPLE}, or unset it")


def require_server(api: str, remedy: str) -> None:
    """Refuse to go on unless the Prefect server at ``api``, which is the one that Prefect's settings name, answers.

    Args:
        api: its address.
        remedy: what to do when there is none, besides starting it and correcting PREFECT_API_URL.

    Raises:
        ServerError: the address is malformed, or nobody answers there.
    """
    require_address(api)
    if refusal := _refusal(api):
        raise ServerError(unreachable(api, refusal, remedy)) from refusal
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a second that --help does not pay

    with get_client(sync_client=True) as client:
        error = client.api_healthcheck()
    if error is not None:
        raise ServerError(unreachable(api, error, remedy)) from error


def _refusal(api: str) -> OSError | None:
    """Return why nobody is there, told at once where a machine refuses; else Prefect finds out, by proxies and all."""
    parts = urlsplit(api)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or _PORTS[parts.scheme]), timeout=_KNOCK_S):
            return None
    except ConnectionRefusedError as error:
        return error
    except OSError:
        return None


def unreachable(api: str, error: Exception, remedy: str) -> str:
    """Return in one line that a server does not answer, why, and what to do."""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return f"the Prefect server at {api} does not answer ({reason}); start it, correct PREFECT_API_URL, or {remedy}"


# A Prefect server of our own, as a child process that ends with the one that started it, also when that is killed.

START_S = 180.0
STOP_S = 20.0
POLL_S = 0.2
HOST = "127.0.0.1"
_PORT = "server.port"
_LAST_PORT = 65535


@contextmanager
def own_server(
    home: Path, environ: Mapping[str, str], *, port: int = 0, meanwhile: Callable[[str], object] | None = None
) -> Generator[str]:
    """Run ``prefect server`` with its files in ``home`` and yield the address of its API.

    Args:
        home: folder of the server's database.
        environ: the environment that the server starts from.
        port: where it listens; 0 takes a free one.
        meanwhile: is called with the address while the server starts, which takes many seconds.

    Raises:
        UsageError: the port is taken.
        ServerError: the server ends or does not answer within three minutes.
    """
    private_folder(home)
    port = _free_port(port)
    api = f"http://{HOST}:{port}/api"
    # the pages in the browser would otherwise ask for their data at the usual port
    env = {**environ, **prefect_environment(home), "PREFECT_SERVER_UI_API_URL": api}
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE"):
        env.pop(name, None)
    arguments = ["server", "start", "--host", HOST, "--port", str(port)]
    command = [sys.executable, "-m", "slowwave.service.child", *arguments]
    with open(home / "server.log", "ab", opener=partial(os.open, mode=0o600)) as log:
        # its own session: a Ctrl-C for us must reach it only after the running job has ended
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=home,
            start_new_session=True,
            umask=0o077,
        )
    with process:
        try:
            if meanwhile:
                meanwhile(api)
            _wait_until_healthy(process, api, home / "server.log")
            yield api
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a child process: ask twice, since Prefect turns the first request into an interrupt, then insist."""
    for sign in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(sign)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            continue


def kept_port(home: Path) -> int:
    """Return the port at which the server with its files in ``home`` was last kept, 0 where there is none."""
    try:
        port = int(file_bytes(home / _PORT))
    except (OSError, ValueError, UnreadableError):
        return 0
    return port if 0 < port <= _LAST_PORT else 0


def keep_port(home: Path, api: str) -> None:
    """Note the port of an address, so that links, profiles and bookmarks hold when the server is started again."""
    atomic_write(home / _PORT, f"{urlsplit(api).port}\n".encode())


def is_free(port: int) -> bool:
    """Say whether a server may listen at a port."""
    try:
        _free_port(port)
    except UsageError:
        return False
    return True


def is_healthy(api: str) -> bool:
    """Say whether a Prefect server answers at this address."""
    from urllib.error import URLError  # noqa: PLC0415 - most runs need no server
    from urllib.request import urlopen  # noqa: PLC0415 - as above

    try:
        with urlopen(f"{api}/health", timeout=5) as answer:  # noqa: S310 - the operator's own address
            return answer.status == 200  # noqa: PLR2004 - HTTP's OK
    except (URLError, OSError, ValueError):
        return False


def asked(api: str, path: str, auth: str, body: Mapping[str, Any] | None = None) -> Any:
    """Return what the server answers, None where it has no such thing."""
    from base64 import b64encode  # noqa: PLC0415 - most runs need no server
    from urllib.error import HTTPError  # noqa: PLC0415 - as above
    from urllib.request import Request, urlopen  # noqa: PLC0415 - as above

    data = None if body is None else msgspec.json.encode(body)
    request = Request(f"{api}{path}", data=data, headers={"Content-Type": "application/json"})  # noqa: S310 - the operator's own address
    if auth:
        request.add_header("Authorization", f"Basic {b64encode(auth.encode()).decode()}")
    try:
        with urlopen(request, timeout=_ANSWER_S) as answer:  # noqa: S310 - as above
            return msgspec.json.decode(answer.read())
    except HTTPError as error:
        if error.code == 404:  # noqa: PLR2004 - HTTP's "not found"
            return None
        raise


def _free_port(port: int) -> int:
    with closing(socket.socket()) as probe:
        # a port in TIME_WAIT after a restart is free all the same
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UsageError(f"port {port}: {os.strerror(error.errno or 0)}; choose another one with --port") from error
        except OverflowError as error:
            raise UsageError(f"port {port}: no such port; choose one below 65536 with --port") from error
        return int(probe.getsockname()[1])


def _wait_until_healthy(process: subprocess.Popen[bytes], api: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServerError(f"the Prefect server ended with code {process.returncode}; see {log}")
        # only a process that still runs is asked: whoever else answers at this port is not ours
        if is_healthy(api):
            return
        time.sleep(POLL_S)
    raise ServerError(f"the Prefect server did not answer within {START_S:.0f} s; see {log}")

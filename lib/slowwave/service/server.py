"""A Prefect server of our own, as a child process that ends with the one that started it, also when that is killed."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from slowwave.errors import ServerError, UnreadableError, UsageError
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.service.launch import prefect_environment

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
    command = [sys.executable, "-m", "slowwave.service.watched", *arguments]
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
    """Note the port of an address, so that links, profiles and bookmarks hold when the server is started again.

    Raises:
        OSError: the folder cannot be written.
    """
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
    try:
        with urllib.request.urlopen(f"{api}/health", timeout=5) as answer:  # noqa: S310 - the operator's own address
            return answer.status == 200  # noqa: PLR2004 - HTTP's OK
    except (urllib.error.URLError, OSError, ValueError):
        return False


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

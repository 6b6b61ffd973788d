"""What every test gets: a home of its own, no network beyond loopback, and one Prefect test server for those that ask.

Prefect is only imported by the fixture that starts its server, so that tests of the library stay fast.
"""

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Nobody is told about anything, and a test that forgot its server fails at once instead of starting one.
os.environ.update(DO_NOT_TRACK="1", PREFECT_SERVER_ALLOW_EPHEMERAL_MODE="false")
for _name in [n for n in os.environ if n.startswith("SLOWWAVE_")]:
    del os.environ[_name]
# who runs the tests from inside of an agent is a person all the same
_AGENTS = ("CLAUDECODE", "CODEX_THREAD_ID", "CODEX_SESSION_ID", "PI_CODING_AGENT", "OPENCODE")
for _name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_HOME", *_AGENTS):
    os.environ.pop(_name, None)

# Shared machines are slow at times; a deadline would only measure that.
settings.register_profile("slowwave", deadline=None, print_blob=True)
settings.load_profile("slowwave")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest tests come first, and those with Prefect in this process last.

    A test that waits for servers of its own for minutes, begun at the end, would leave the other workers idle. Threads
    of Prefect's client outlive their test and draw global random numbers, which Hypothesis blames on the strategy.
    """
    items.sort(key=lambda item: 2 if item.get_closest_marker("flow") else 0 if item.get_closest_marker("e2e") else 1)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty home folder, outside of its ``tmp_path``."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    for name, place in (("STATE", "state"), ("DATA", "data"), ("CONFIG", "config"), ("CACHE", "cache")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / place))
    return folder


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no run of a test take so long that it tells its stages, however busy the machine is."""
    monkeypatch.setattr("slowwave.cli.progress.LONG", 3600.0)


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    """Refuse every connection and name lookup that would leave this machine."""
    connect, lookup = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse_outside(address[0])
        connect(self, address)

    def guarded_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse_outside(host)
        return lookup(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket, "getaddrinfo", guarded_lookup)
        yield


def _refuse_outside(host: Any) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    if name == "localhost":
        return
    try:
        inside = ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise PermissionError(f"tests stay on this machine, but something asked for {name}")


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start one test server for the session; only tests marked ``flow`` ask for it."""
    import prefect.settings as s  # noqa: PLC0415 - a second that only flow tests pay
    from prefect.testing.utilities import prefect_test_harness  # noqa: PLC0415 - see above

    fast: dict[Any, Any] = {
        s.PREFECT_HOME: tmp_path_factory.mktemp("prefect"),
        # every flow run would end by a second of waiting for the heartbeat's thread
        s.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
        s.PREFECT_LOGGING_TO_API_ENABLED: False,
        s.PREFECT_SERVER_ANALYTICS_ENABLED: False,
        # one transaction per event makes SQLite answer 503 to every second small flow
        s.PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE: 200,
        s.PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE: 200,
        s.PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL: 1.0,
        s.PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED: False,
        s.PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED: False,
    }
    with s.temporary_settings(fast), prefect_test_harness(server_startup_timeout=180):
        yield

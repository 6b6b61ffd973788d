"""``slowwave serve`` without a server that somebody named: its own one keeps its address."""

import os
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from slowwave.cli import service
from slowwave.files import scheduler_folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> list[int]:
    """Start no server, and note at which port one would be; a free one is any that the system gives."""
    ports: list[int] = []

    @contextmanager
    def started(_home: Path, _environ: Mapping[str, str], *, port: int) -> Generator[str]:
        ports.append(port)
        yield f"http://127.0.0.1:{port or free_port()}/api"

    monkeypatch.setattr(service, "own_server", started)
    # what a server is given is set in the environment, and taken back behind this test
    monkeypatch.setattr(os, "environ", {**os.environ, "HOME": str(own_home)})
    os.environ.pop("PREFECT_API_URL", None)
    return ports


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def served(port: int = 0) -> str:
    os.environ.pop("PREFECT_API_URL", None)
    with service._server(port) as api:
        return api


def test_a_server_keeps_its_address_when_it_is_started_again(asked: list[int]) -> None:
    first = served()
    assert served() == first
    assert asked == [0, int(first.removesuffix("/api").rpartition(":")[2])]


def test_a_port_that_another_program_took_meanwhile_is_named_and_left(
    asked: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    port = int(served().removesuffix("/api").rpartition(":")[2])
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert served() != f"http://127.0.0.1:{port}/api"
    assert asked == [0, 0]
    assert f"Port {port}, where it was the last time, is taken by another program" in capsys.readouterr().out


def test_a_port_that_is_asked_for_is_kept_from_then_on(asked: list[int]) -> None:
    wanted = free_port()
    served(wanted)
    served()
    assert asked == [wanted, wanted]


@pytest.mark.parametrize("text", ["", "none", "0", "65536"])
def test_a_note_of_no_port_is_as_good_as_none(asked: list[int], text: str) -> None:
    home = scheduler_folder(os.environ)
    home.mkdir(parents=True)
    (home / "server.port").write_text(text)
    served()
    assert asked == [0]

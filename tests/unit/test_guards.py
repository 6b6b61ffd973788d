"""The guards that every test stands behind."""

import os
import socket
import urllib.request
from pathlib import Path

import pytest


def test_nothing_leaves_this_machine() -> None:
    with socket.socket() as outside, pytest.raises(PermissionError, match=r"192\.0\.2\.1"):
        outside.connect(("192.0.2.1", 80))
    with pytest.raises(OSError, match=r"example\.org"):
        urllib.request.urlopen("http://example.org/", timeout=1)


def test_loopback_is_open() -> None:
    with socket.socket() as listening, socket.socket() as asking:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        asking.connect(listening.getsockname())


def test_every_test_has_a_home_of_its_own(own_home: Path, tmp_path: Path) -> None:
    assert Path.home() == own_home
    assert list(own_home.iterdir()) == []
    assert not own_home.is_relative_to(tmp_path)
    assert Path(os.environ["XDG_STATE_HOME"]).is_relative_to(own_home)

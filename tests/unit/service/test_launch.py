"""Where the project is, and what a run through Prefect is given before Prefect is imported."""

import errno
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.errors import UNREADABLE, NotFoundError, ServerError, UnreadableError, UnwritableError, UsageError
from slowwave.files import scheduler_folder
from slowwave.jobs import run
from slowwave.samples import build
from slowwave.service import server
from slowwave.service.server import (
    named_server,
    own_server,
    prefect_environment,
    project_root,
    require_address,
    run_through_prefect,
)

ROOT = Path(__file__).parents[3]


def test_the_checkout_is_the_project() -> None:
    assert project_root() == ROOT
    assert (project_root() / "prefect.yaml").is_file()


def test_prefects_files_lie_in_the_state_folder_unless_told_otherwise() -> None:
    assert scheduler_folder({"HOME": "/h"}) == Path("/h/.local/state/slowwave/prefect")
    assert scheduler_folder({"HOME": "/h", "XDG_STATE_HOME": "/s"}) == Path("/s/slowwave/prefect")
    assert scheduler_folder({"HOME": "/h", "PREFECT_HOME": "/p"}) == Path("/p")


def test_a_server_of_ours_tells_nobody_and_survives_a_restart(tmp_path: Path) -> None:
    env = prefect_environment(tmp_path)
    assert env["PREFECT_HOME"] == str(tmp_path)
    assert (env["DO_NOT_TRACK"], env["PREFECT_SERVER_ANALYTICS_ENABLED"]) == ("1", "false")
    assert env["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"].endswith("filesystem")


def test_every_variable_is_one_that_prefect_reads(tmp_path: Path) -> None:
    import prefect.settings  # noqa: PLC0415 - a second that only this test pays

    known = {
        name.upper()
        for setting in prefect.settings.get_current_settings().to_environment_variables(exclude_unset=False)
        for name in (setting,)
    }
    ours = set(prefect_environment(tmp_path)) - {"DO_NOT_TRACK"}
    assert ours - known == set()


def test_the_settings_file_of_the_current_folder_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert server._config_here() is None
    (tmp_path / "slowwave.toml").write_text("", encoding="utf-8")
    assert server._config_here() == str(tmp_path / "slowwave.toml")
    monkeypatch.setenv("SLOWWAVE_CONFIG", "other.toml")
    assert server._config_here() == str(tmp_path / "other.toml")


def test_relative_roots_mean_the_folder_that_the_command_was_called_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLOWWAVE_STORE__ROOTS", "here")
    assert server._from_anywhere({})[0]["store"] == [str(tmp_path / "here")]
    assert server._from_anywhere({"store": ["/there"]})[0]["store"] == ["/there"]


PROFILES = """
active = "here"

[profiles.here]
PREFECT_API_URL = "http://127.0.0.1:1/api"

[profiles.alone]
PREFECT_SERVER_EPHEMERAL_ENABLED = "true"
"""


def profiles_in(folder: Path, text: str = PROFILES) -> str:
    folder.mkdir(parents=True)
    (folder / "profiles.toml").write_text(text, encoding="utf-8")
    return "http://127.0.0.1:1/api"


def test_the_server_is_the_one_that_prefect_would_take(tmp_path: Path) -> None:
    api = profiles_in(tmp_path / ".prefect")
    home = {"HOME": str(tmp_path)}
    assert named_server({"HOME": str(tmp_path / "nowhere")}) == ""
    assert named_server({**home, "PREFECT_API_URL": "http://h/api"}) == "http://h/api"
    assert named_server(home) == named_server({"PREFECT_HOME": str(tmp_path / ".prefect")}) == api
    assert named_server({"PREFECT_PROFILES_PATH": str(tmp_path / ".prefect" / "profiles.toml")}) == api
    assert named_server({**home, "PREFECT_PROFILE": "alone"}) == named_server({**home, "PREFECT_PROFILE": "no"}) == ""
    # a profile that comes with Prefect, where nobody made any
    usual = {"HOME": str(tmp_path / "nowhere"), "PREFECT_PROFILE": "local"}
    assert named_server(usual) == "http://127.0.0.1:4200/api"


@pytest.mark.parametrize("text", ["active = ", "profiles = 3", "[profiles]\nhere = 1"])
def test_profiles_that_cannot_be_read_are_named_with_the_remedy(tmp_path: Path, text: str) -> None:
    profiles_in(tmp_path / ".prefect", text)
    with pytest.raises(ServerError, match=r"profiles.toml: .*--direct"):
        named_server({"HOME": str(tmp_path)})


def test_a_folder_that_cannot_be_written_is_named_before_prefect_is_asked_for_anything(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(tmp_path / "home", datetime.now(UTC)).home
    given = {"store": [str(store)]}
    monkeypatch.setattr(server, "load_job", None)
    for name in ("PREFECT_HOME", "PREFECT_PROFILES_PATH"):
        monkeypatch.setenv(name, "")  # what is set below is taken back
        monkeypatch.delenv(name)

    def full(_fd: int, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run, "write_all", full)
        with pytest.raises(UnwritableError, match=r"state/slowwave: No space left on device; make room"):
            run_through_prefect("nightly", given)
    (own_home / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(own_home / "file"))
    with pytest.raises(UnwritableError, match=r"file: File exists; it has to be a folder"):
        run_through_prefect("nightly", given)


@pytest.mark.parametrize("is_profile", [False, True])
def test_a_server_that_does_not_answer_is_named_with_the_remedy(
    is_profile: bool, own_home: Path, tmp_path: Path
) -> None:
    api = profiles_in(own_home / ".prefect")
    environ = {} if is_profile else {"PREFECT_API_URL": api}
    store = tmp_path / "store" / "projects"
    store.mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-m", "slowwave", "run", "extract", "--store", store.parent],
        env={**os.environ, "PREFECT_CLIENT_MAX_RETRIES": "0", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == UNREADABLE, done.stdout
    *stages, told = done.stderr.splitlines()
    assert told.startswith("slowwave: ")
    assert "--direct" in told
    assert set(stages) <= {"Reaching the Prefect server"}  # where that takes long


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    import socket  # noqa: PLC0415 - only this test takes a port

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}: .*--port"), own_server(tmp_path, {}, port=port):
            pass


@pytest.mark.parametrize("port", [65536, -1])
def test_a_port_that_cannot_be_is_named(tmp_path: Path, port: int) -> None:
    with pytest.raises(UsageError, match=f"port {port}: .*--port"), own_server(tmp_path, {}, port=port):
        pass


def test_deploying_without_a_server_names_what_to_set(own_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "slowwave", "deploy", "--timezone", "UTC"],
        env={**os.environ, "PREFECT_HOME": str(own_home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("slowwave: PREFECT_API_URL is not set")


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/api", "nonsense", "http://[::1/api"])
@pytest.mark.parametrize("command", ["serve", "deploy"])
def test_a_named_server_that_is_not_there_is_one_line_with_the_remedy(command: str, address: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "slowwave", command, "--timezone", "UTC"],
        env={**os.environ, "PREFECT_CLIENT_MAX_RETRIES": "0", "PREFECT_API_URL": address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (UNREADABLE, ""), done.stderr
    assert done.stderr.startswith("slowwave: ")
    assert address in done.stderr
    assert "unset it" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("address", ["", "127.0.0.1:4200", "ftp://h/api", "http://", "http://h:99999/api", "http://[h"])
def test_an_address_that_no_server_can_have_is_refused(address: str) -> None:
    with pytest.raises(ServerError, match="PREFECT_API_URL"):
        require_address(address)


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:4200/api", "https://prefect.example/api", "http://[::1]:4200/api"]
)
def test_a_well_formed_address_passes(address: str) -> None:
    require_address(address)


def test_what_the_job_would_refuse_is_refused_before_a_server_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_args: object, **_options: object) -> None:
        raise AssertionError("Prefect was started")

    monkeypatch.setattr(server, "_prepare", started)
    with pytest.raises(UnreadableError, match="does not exist"):
        run_through_prefect("nightly", {"store": [str(tmp_path / "none")]})
    store = build(tmp_path / "home", datetime.now(UTC)).home
    with pytest.raises(NotFoundError, match="no project matches 'nobody'"):
        run_through_prefect("nightly", {"store": [str(store)], "project": "nobody"})
    with pytest.raises(AssertionError, match="Prefect was started"):
        run_through_prefect("nightly", {"store": [str(store)], "project": "quill"})

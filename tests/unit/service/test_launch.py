"""Where the project is, and what a run through Prefect is given before Prefect is imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.errors import SlowwaveError
from slowwave.service import launch
from slowwave.service.launch import prefect_environment, prefect_home, project_root
from slowwave.service.server import own_server

ROOT = Path(__file__).parents[3]


def test_the_checkout_is_the_project() -> None:
    assert project_root() == ROOT
    assert (project_root() / "prefect.yaml").is_file()


def test_prefects_files_lie_in_the_state_folder_unless_told_otherwise() -> None:
    assert prefect_home({"HOME": "/h"}) == Path("/h/.local/state/slowwave/prefect")
    assert prefect_home({"HOME": "/h", "XDG_STATE_HOME": "/s"}) == Path("/s/slowwave/prefect")
    assert prefect_home({"HOME": "/h", "PREFECT_HOME": "/p"}) == Path("/p")


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
    assert launch._config_here() is None
    (tmp_path / "slowwave.toml").write_text("", encoding="utf-8")
    assert launch._config_here() == str(tmp_path / "slowwave.toml")
    monkeypatch.setenv("SLOWWAVE_CONFIG", "other.toml")
    assert launch._config_here() == str(tmp_path / "other.toml")


def test_relative_roots_mean_the_folder_that_the_command_was_called_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLOWWAVE_STORE__ROOTS", "here")
    assert launch._from_anywhere({})["store"] == [str(tmp_path / "here")]
    assert launch._from_anywhere({"store": ["/there"]})["store"] == ["/there"]


@pytest.mark.parametrize(
    "environ", [{"PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false"}, {"PREFECT_API_URL": "http://127.0.0.1:1/api"}]
)
def test_without_a_server_the_error_names_the_remedy(environ: dict[str, str], own_home: Path, tmp_path: Path) -> None:
    store = tmp_path / "store" / "projects"
    store.mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-m", "slowwave", "run", "extract", "--store", store.parent],
        env={**os.environ, "PREFECT_CLIENT_MAX_RETRIES": "0", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith("slowwave: ")
    assert "--direct" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert own_home.is_dir()


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    import socket  # noqa: PLC0415 - only this test takes a port

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SlowwaveError, match=f"port {port}: .*--port"), own_server(tmp_path, {}, port=port):
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

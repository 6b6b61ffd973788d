"""Each check of the doctor sees the fault that is planted for it, says what to do, and is quiet without it."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from slowwave.cli import main
from slowwave.cli.status import of_nights
from slowwave.formats.registry import CLIENTS
from slowwave.jobs.conclusion import Began, begin_note, followed
from slowwave.jobs.status import lately
from slowwave.memory.folder import OWN_FOLDER
from slowwave.observability.night import STOPPED, alarms_of, read_nights, state
from slowwave.observability.progress import begun, end_note, write_note
from slowwave.samples import build
from slowwave.service import checks
from slowwave.service.checks import Check, archive, clients, disk, private, runs, scheduler, storage, telling
from slowwave.settings import AlarmSettings, load_settings
from slowwave.stores.discovery import find_projects
from slowwave.stores.projects import Discovery
from tests.model_server.scripted import error as refused
from tests.model_server.scripted import said, serving
from tests.unit.observability.nights import a_night
from tests.unit.service.test_health import examined
from tests.week import claude, codex, opencode

NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)


@pytest.fixture
def store(own_home: Path) -> Path:
    return build(own_home, NOW).home


def found_in(store: Path) -> Discovery:
    environ = {"HOME": str(store), "XDG_STATE_HOME": str(store / "state")}
    return find_projects(load_settings({}).with_roots([store]), environ)


def environ_of(home: Path) -> dict[str, str]:
    return {"HOME": str(home), **{f"XDG_{n}_HOME": str(home / n.lower()) for n in ("STATE", "DATA", "CONFIG")}}


# --- the scheduler -----------------------------------------------------------------------------------------------


NIGHTLY: dict[str, Any] = {"id": "n", "name": "nightly", "paused": False, "work_pool_name": "slowwave"}


@contextmanager
def server(**changed: Any) -> Generator[str]:
    """Serve the answers of a Prefect server with a nightly deployment, some of them changed; None is a 404."""
    schedule = {"active": True, "schedule": {"cron": "30 3 * * *", "timezone": "UTC"}}
    answers: dict[str, Any] = {
        "health": True,
        "settings": {"server": {"analytics_enabled": False}},
        "nightly": [{**NIGHTLY, "schedules": [schedule]}],
        "runs": [{"expected_start_time": "2026-03-10T03:30:00Z"}],
        "pool": {"is_paused": False},
        "workers": [{"name": "w", "status": "ONLINE"}],
        **changed,
    }
    paths = {
        "/api/health": "health",
        "/api/admin/settings": "settings",
        "/api/deployments/filter": "nightly",
        "/api/flow_runs/filter": "runs",
        "/api/work_pools/slowwave": "pool",
        "/api/work_pools/slowwave/workers/filter": "workers",
    }

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = answers[paths[self.path]]
            data = b"<html>" if body == "html" else json.dumps(body).encode()
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815 - the names that the library calls

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/api"
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def test_without_a_server_it_is_said_what_starts_nights_and_else_how_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_SYSTEM_UNITS", (tmp_path / "system",))
    monkeypatch.setattr(checks, "_CRON", (tmp_path / "crontab", tmp_path / "cron.d"))
    programs = tmp_path / "bin"
    environ = {**environ_of(tmp_path), "PATH": str(programs)}

    def schedule() -> Check:
        (_, check) = scheduler(environ, NOW)
        assert (check.name, check.ok) == ("schedule", True)
        return check

    assert schedule().seen == "nothing is scheduled: a night runs when you start it"
    assert schedule().fix == (
        "slowwave serve, which runs every night until it is stopped; "
        'or by cron: (crontab -l; echo "30 3 * * * slowwave run nightly") | crontab -'
    )
    agents = tmp_path / "Library" / "LaunchAgents" / "own.nights.plist"
    wants = tmp_path / "config" / "systemd" / "user" / "timers.target.wants" / "slowwave-nightly.timer"
    other = wants.with_name("backup.timer")
    for path, text in ((agents, "<string>slowwave</string>"), (wants, ""), (other, "")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    programs.mkdir()
    (programs / "crontab").write_text("#!/bin/sh\necho '# slowwave'\necho '30 3 * * *   slowwave run nightly'\n")
    (programs / "crontab").chmod(0o755)
    assert schedule().seen == (
        "on this machine, cron: 30 3 * * * slowwave run nightly; systemd: slowwave-nightly.timer; "
        "launchd: own.nights.plist"
    )
    assert not schedule().fix


def scheduled(**changed: Any) -> dict[str, Check]:
    with server(**changed) as api:
        return {check.name: check for check in scheduler({"PREFECT_API_URL": api}, NOW)}


def test_a_server_that_will_run_the_night_is_well() -> None:
    seen = scheduled()
    assert {name: (check.ok, check.fix) for name, check in seen.items()} == {
        "prefect": (True, ""), "schedule": (True, ""), "worker": (True, "")
    }  # fmt: skip
    assert (
        seen["schedule"].seen
        == "nightly, 03:30 every day (UTC), next 2026-03-10 03:30 UTC, which passes over projects that are not due"
    )


OFF = {"active": False, "schedule": {"cron": "30 3 * * *", "timezone": "UTC"}}


@pytest.mark.parametrize(
    ("changed", "name", "says", "fix"),
    [
        ({"nightly": None}, "schedule", "no deployment nightly", "slowwave deploy"),
        (
            {"nightly": [{**NIGHTLY, "paused": True, "schedules": [OFF]}]},
            "schedule", "is paused: no night will run", "resume",
        ),
        (
            {"nightly": [{**NIGHTLY, "schedules": [OFF]}]},
            "schedule", "no schedule that is on", "resume",
        ),
        ({"runs": []}, "schedule", "the server has made no run for it", "requirements.lock"),
        ({"pool": {"is_paused": True}}, "worker", "pool slowwave is paused", "prefect work-pool resume slowwave"),
        ({"workers": []}, "worker", "no worker of pool slowwave", "prefect worker start"),
        ({"workers": [{"name": "w", "status": "OFFLINE"}]}, "worker", "no worker", "prefect worker start"),
        ({"settings": "html"}, "prefect", "answers strangely", "update the server"),
        ({"nightly": ["x"]}, "prefect", "answers strangely", "update the server"),
    ],
)  # fmt: skip
def test_a_server_that_is_up_and_will_do_nothing_is_named(
    changed: dict[str, Any], name: str, says: str, fix: str
) -> None:
    (wrong,) = [check for check in scheduled(**changed).values() if not check.ok]
    assert (wrong.name, says in wrong.seen, fix in wrong.fix) == (name, True, True), wrong


def test_a_schedule_without_runs_is_to_be_waited_for_in_the_first_minutes_after_a_deploy() -> None:
    on = {"active": True, "schedule": {"cron": "30 3 * * *", "timezone": "UTC"}}
    for at, is_well in (("2026-03-09T06:29:20Z", True), ("2026-03-09T06:20:00Z", False)):
        for nightly in (
            {**NIGHTLY, "created": at, "schedules": [on]},
            {**NIGHTLY, "created": "2026-01-01T00:00:00Z", "schedules": [{**on, "updated": at}]},
        ):
            check = scheduled(nightly=[nightly], runs=[])["schedule"]
            assert (check.ok, check.fix.startswith("wait: ")) == (is_well, is_well)
            assert is_well or "the server has made no run for it" in check.seen


@pytest.mark.parametrize("workers", [[], [{"name": "w", "status": "OFFLINE"}]])
def test_a_worker_that_began_here_a_moment_ago_is_starting_and_one_that_nobody_hears_is_wrong(
    monkeypatch: pytest.MonkeyPatch, workers: list[dict[str, str]]
) -> None:
    command = [sys.executable, "-c", "input()", "prefect", "worker", "start", "--pool", "slowwave"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        try:
            starting = scheduled(workers=workers)["worker"]
            assert (starting.ok, starting.fix.startswith("wait: ")) == (True, True)
            assert starting.seen.startswith("starting: a worker of pool slowwave began here ")
            monkeypatch.setattr(checks, "HEARD_S", 0)
            unheard = scheduled(workers=workers)["worker"]
            assert (unheard.ok, "does not hear from it" in unheard.seen) == (False, True)
        finally:
            process.terminate()


def test_right_after_a_deploy_a_worker_is_yet_to_be_started() -> None:
    on = {"active": True, "schedule": {"cron": "30 3 * * *", "timezone": "UTC"}, "updated": "2026-03-09T06:29:20Z"}
    check = scheduled(nightly=[{**NIGHTLY, "schedules": [on]}], workers=[])["worker"]
    assert (check.ok, "prefect worker start" in check.fix) == (True, True)


def test_a_worker_that_counts_says_for_how_long_it_does() -> None:
    told = "1 at work for pool slowwave (a worker counts for 90 seconds after its last word)"
    assert scheduled()["worker"].seen == told


def test_a_server_with_costly_settings_is_noted_and_serve_needs_no_worker() -> None:
    settings = {"server": {"concurrency": {"lease_storage": "prefect.server.concurrency.lease_storage.memory"}}}
    noted = scheduled(settings=settings)["prefect"]
    assert (noted.ok, "docs/deploy/server.env" in noted.fix) == (True, True)
    on = {"active": True, "schedule": {"cron": "30 3 * * *", "timezone": "UTC"}}
    served = scheduled(nightly=[{**NIGHTLY, "schedules": [on], "work_pool_name": None}], workers=[])
    assert served["worker"].ok


def test_the_nights_of_every_pool_are_looked_at() -> None:
    on = {"active": True, "schedule": {"cron": "30 3 * * *", "timezone": "UTC"}}
    nights = [{**NIGHTLY, "schedules": [on]}, {**NIGHTLY, "name": "nightly-ada", "paused": True, "schedules": [on]}]
    with server(nightly=nights) as api:
        found = [check for check in scheduler({"PREFECT_API_URL": api}, NOW) if check.name == "schedule"]
    assert [check.ok for check in found] == [True, False]
    assert "the deployment nightly-ada is paused" in found[1].seen


# --- the model ---------------------------------------------------------------------------------------------------


def test_the_model_is_asked_only_on_request_and_once(store: Path) -> None:
    with serving(said({"ok": True}, usage=(20, 5))) as model:
        overrides = [f"model.base_url={model.base_url}", "model.name=m"]
        quiet = examined(store, overrides=overrides)["model"]
        assert (quiet.ok, "not asked" in quiet.seen, model.requests) == (True, True, [])
        asked = examined(store, overrides=overrides, ask_model=True)["model"]
        assert (asked.ok, "25 tokens" in asked.seen, len(model.requests)) == (True, True, 1)


def test_a_model_that_refuses_the_key_and_half_a_model_are_named(store: Path) -> None:
    with serving(refused(401, "Incorrect API key")) as model:
        overrides = [f"model.base_url={model.base_url}", "model.name=m"]
        wrong = examined(store, overrides=overrides, ask_model=True)["model"]
    assert (wrong.ok, "the key" in wrong.fix) == (False, True)
    half = examined(store, overrides=["model.name=m"])["model"]
    assert (half.ok, half.fix) == (False, "set model.base_url, too, or neither")


def test_a_command_is_looked_for_and_asked_only_on_request(store: Path) -> None:
    program = store / "answerer"
    program.write_text("#!/bin/sh\necho x >> $0.asked\necho '{\"ok\": true}'\n")
    program.chmod(0o755)
    overrides = [f"model.command={program}"]
    quiet = examined(store, overrides=overrides)["model"]
    assert (quiet.ok, "not asked" in quiet.seen, Path(f"{program}.asked").exists()) == (True, True, False)
    asked = examined(store, overrides=overrides, ask_model=True)["model"]
    assert (asked.ok, "answerer answers by json" in asked.seen, "estimated tokens" in asked.seen) == (True, True, True)
    program.write_text("#!/bin/sh\necho 'log in first' >&2\nexit 1\n")
    failing = examined(store, overrides=overrides, ask_model=True)["model"]
    assert (failing.ok, "exit code 1: log in first" in failing.seen, "log in" in failing.fix) == (False, True, True)
    absent = examined(store, overrides=["model.command=/no/such/program -p"])["model"]
    assert (absent.ok, "no such program" in absent.seen) == (False, True)


# --- clients -----------------------------------------------------------------------------------------------------


def test_what_was_tested_is_what_the_samples_are_of() -> None:
    assert CLIENTS["claude"].tested == claude.VERSIONS["2.1"]
    assert (CLIENTS["codex"].tested, CLIENTS["opencode"].tested) == (codex.VERSION, opencode.VERSION)


@pytest.mark.parametrize(
    ("dialect", "old", "new"),
    [
        ("claude", '"version":"2.1.330"', '"version":"2.9.0"'),
        ("codex", '"cli_version":"0.169.0"', '"cli_version":"1.0.0"'),
    ],
)
def test_a_client_newer_than_tested_is_noted_and_no_fault(store: Path, dialect: str, old: str, new: str) -> None:
    (before,) = clients(found_in(store))
    assert (before.ok, before.fix) == (True, "")
    changed = 0
    for path in store.rglob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        if old in text:
            path.write_text(text.replace(old, new), encoding="utf-8")
            changed += 1
    assert changed
    (check,) = clients(found_in(store))
    assert (check.ok, dialect in check.seen, "update slowwave" in check.fix) == (True, True, True), check


def test_a_version_that_a_person_or_a_tool_wrote_is_none_of_the_client(store: Path) -> None:
    path = max(store.glob(".claude/projects/*tern/*.jsonl"), key=lambda p: p.stat().st_mtime)
    with path.open("a", encoding="utf-8") as file:
        file.write(
            '{"type":"user","message":{"role":"user","content":"\\"version\\":\\"9.9.9\\""},"toolUseResult":{"version":"9.9.9"}}\n'
        )
        file.write('{"type":"user","version":"next"}\n{"type":"user","version":"9.9.9')
    (check,) = clients(found_in(store))
    assert "9.9.9" not in check.seen


def test_the_version_that_counts_is_the_installed_one_else_the_newest_of_any_project(store: Path) -> None:
    named = {(name, v.version) for p in found_in(store).projects for name, v in p.versions.items()}
    assert {("claude", "2.1.330"), ("codex", "0.169.0")} <= named
    assert all(project.versions == found_in(store).projects[0].versions for project in found_in(store).projects)
    (check,) = clients(found_in(store))
    assert check.seen.startswith("the newest seen: claude 2.1.330 on 2026-03-")
    # as the installer of 2.1 leaves it, then as npm does
    program, link = store / "share" / "versions" / "2.1.334", store / ".local" / "bin" / "claude"
    for path in (program, link):
        path.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("")
    link.symlink_to(program)
    assert CLIENTS["claude"].installed({"HOME": str(store)}) == "2.1.334"
    link.unlink()
    module = store / "node_modules" / "@anthropic-ai" / "claude-code"
    module.mkdir(parents=True)
    (module / "cli.js").write_text("")
    (module / "package.json").write_text('{"name": "@anthropic-ai/claude-code", "version": "2.1.350"}')
    link.symlink_to(module / "cli.js")
    assert CLIENTS["claude"].installed({"HOME": str(store)}) == "2.1.350"
    own = find_projects(load_settings({}), environ_of(store)).projects
    assert {project.versions["claude"].told for project in own} == {"2.1.350 (installed)"}
    # transcripts that a setting names may come from another machine
    assert {project.versions["claude"].told for project in found_in(store).projects} == {"2.1.330 on 2026-03-08"}


# --- places ------------------------------------------------------------------------------------------------------


class _Usage:
    free = 1 << 20


def _nearly_full(_path: Path) -> _Usage:
    return _Usage()


def test_a_full_disk_and_one_without_names_are_named(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = environ_of(own_home)
    assert disk(environ, None).ok
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", _nearly_full)
        wrong = disk(environ, None)
    assert (wrong.ok, wrong.fix) == (False, "make at least 1 GiB free")
    fields = list(os.statvfs(own_home))
    fields[5:8] = [100, 0, 0]  # names in all, free, free for people

    def without_names(_path: Path) -> os.statvfs_result:
        return os.statvfs_result(fields)

    with monkeypatch.context() as full:
        full.setattr(os, "statvfs", without_names)
        assert "no new file can be made" in disk(environ, None).seen


def _reached(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o004)


def test_memories_that_others_may_read_are_noted(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = store / ".claude" / "projects" / "-home-ana-tern" / "memory" / OWN_FOLDER
    own.mkdir(parents=True)
    own.chmod(0o755)
    found = found_in(store)
    # a closed folder above keeps others out, whatever the mode below is
    store.chmod(0o700)
    assert private(environ_of(tmp_path), found).fix == ""
    monkeypatch.setattr(checks, "_others_reach", _reached)
    noted = private(environ_of(tmp_path), found)
    assert (noted.ok, str(own) in noted.fix) == (True, True)
    own.chmod(0o700)
    assert private(environ_of(tmp_path), found).fix == ""


@pytest.mark.parametrize(
    ("mount", "ok"),
    [
        ("ext4 rw,relatime", True),
        ("nfs4 rw,vers=4.2", True),
        ("nfs rw,vers=3,nolock", False),
        ("nfs rw,vers=3,local_lock=all", False),
        ("fuse.s3fs rw", False),
    ],
)
def test_storage_on_which_hosts_are_not_kept_apart_is_named(
    store: Path, tmp_path: Path, mount: str, *, ok: bool
) -> None:
    kind, options = mount.split()
    table = tmp_path / "mounts"
    table.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/home {store.resolve()} {kind} {options} 0 0\n", encoding="utf-8")
    check = storage(found_in(store), table)
    assert (check.ok, kind in check.seen) == (ok, True)


def test_a_pack_that_was_cut_short_is_found_and_one_that_rots_inside_by_reading_it_back(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(own_home, datetime.now(UTC))
    common = ["--store", str(own_home), "--set", "retention.require_extracted=false"]
    rules = ["--set", "retention.max_count=1", "--confirm", "99", "--apply", "--direct"]
    assert main(["run", "retain", *common, *rules]) == 0
    environ = environ_of(own_home)
    (pack, *_) = (own_home / "data" / "slowwave" / "archive").glob("*.swpack")
    whole = pack.read_bytes()
    (sound,) = archive(environ, read_back=True)
    assert (sound.ok, "every byte read back" in sound.seen) == (True, True)

    pack.write_bytes(whole[:-100])
    (cut,) = archive(environ, read_back=False)
    assert (cut.ok, pack.name in cut.seen) == (False, True)

    rotten = bytearray(whole)
    rotten[100] ^= 0xFF
    pack.write_bytes(bytes(rotten))
    assert [check.ok for check in archive(environ, read_back=False)] == [True]
    (inside,) = archive(environ, read_back=True)
    assert (inside.ok, "restore the pack from a backup" in inside.fix) == (False, True)
    capsys.readouterr()


def test_wrong_settings_are_an_answer_of_the_doctor(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    config = store / "slowwave.toml"
    config.write_text("[extraction]\nidel = '5m'\n", encoding="utf-8")
    assert main(["doctor", "--store", str(store), "--config", str(config), "--json"]) == 6
    (line,) = capsys.readouterr().out.splitlines()
    check = orjson.loads(line)
    assert (check["name"], check["ok"], str(config) in check["fix"]) == ("settings", False, True)


def test_what_could_be_better_is_a_note_with_its_fix_and_no_fault(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(settings={"server": {"analytics_enabled": True}}) as api:
        monkeypatch.setenv("PREFECT_API_URL", api)
        assert main(["doctor", "--store", str(store)]) == 0
    said_lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(said_lines) if line.startswith("note   prefect"))
    assert "fix: the server reports to its makers" in said_lines[at + 1]


# --- the runs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "fix"),
    [("nightly", "slowwave run nightly, or wait for its next time"), ("backfill", "slowwave run backfill --resume r1")],
)
def test_what_goes_on_with_a_run_that_was_stopped_is_named(tmp_path: Path, job: str, fix: str) -> None:
    environ = environ_of(tmp_path)
    path = write_note(environ, begun(job, "r1", NOW.isoformat()))
    end_note(path, "KeyboardInterrupt")
    check = runs(load_settings({}), environ, NOW)
    assert (check.ok, check.fix) == (False, fix)


@pytest.mark.parametrize(
    ("job", "goes_on"),
    [("nightly", "the next run does what it left"), ("backfill", "continue with slowwave run backfill --resume r1")],
)
def test_a_run_that_somebody_ended_is_no_fault_and_told_in_a_plain_line(tmp_path: Path, job: str, goes_on: str) -> None:
    environ = environ_of(tmp_path)
    write_note(environ, begun(job, "r1", NOW.isoformat()))
    with pytest.raises(KeyboardInterrupt), followed("r1", environ):
        raise KeyboardInterrupt
    check = runs(load_settings({}), environ, NOW)
    told = f"{job} was ended with Ctrl-C before its first step; {goes_on}"
    assert (check.ok, check.fix, check.seen) == (True, "", f"0 at work; {told}")
    past = lately(load_settings({}).model, environ, NOW)
    assert [line for line in of_nights(past) if "Ctrl-C" in line][-1] == f"  ended      {NOW:%Y-%m-%d %H:%M}: {told}"
    assert past.last_good == ""
    began = Began("r2", NOW, 0.0)
    assert begin_note("nightly", began, environ) == []
    (night,) = read_nights(environ)[0]
    assert (night.outcome, night.failed, night.failures, state(night)) == (STOPPED, 0, [], "ended with Ctrl-C")
    assert alarms_of([night], a_night(1, run_id="r2"), AlarmSettings()) == []


# --- who is told -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["alarms.webhook", "telemetry.otlp"])
def test_an_address_that_reaches_nobody_is_named_without_its_secret(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    def installed(_name: str) -> object:
        return object()

    monkeypatch.setattr(checks, "find_spec", installed)
    (good,) = telling(load_settings({}, overrides=[f"{key}=https://hooks.example/t0ken"]))
    assert (good.ok, "go to hooks.example" in good.seen) == (True, True)
    (wrong,) = telling(load_settings({}, overrides=[f"{key}=hooks.example/t0ken"]))
    assert (wrong.ok, key in wrong.seen, "t0ken" in wrong.seen + wrong.fix) == (False, True, False)
    assert list(telling(load_settings({}))) == []


def test_telemetry_without_its_packages_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(checks, "find_spec", missing)
    (check,) = telling(load_settings({}, overrides=["telemetry.otlp=http://localhost:4318"]))
    assert (check.ok, check.fix.startswith("install slowwave[otel]")) == (False, True)

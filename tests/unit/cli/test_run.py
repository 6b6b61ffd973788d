"""``slowwave run`` as a person calls it: exit codes, one line on standard error, JSON for programs."""

import errno
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.cli.run import ABOUT
from slowwave.errors import DONE, PARKED, PARTLY_FAILED, REFUSED, UNREADABLE, USAGE
from slowwave.jobs import JOBS, run, story
from slowwave.report import Report
from slowwave.samples import build


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "home", datetime.now(UTC)).home


def direct(*options: str) -> int:
    return main(["run", "nightly", "--direct", *options])


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)


def test_a_night_and_a_second_one(store: Path, capsys: pytest.CaptureFixture[str]):
    assert direct("--store", str(store), "--json") == DONE
    first = printed(capsys)
    assert first["job"] == "nightly"
    assert len(first["dream_ids"]) == 2
    assert {"gate", "project", "passed", "reason"} <= set(first["gates"][0])
    assert {"target", "action", "reason"} <= set(first["items"][0])
    assert direct("--store", str(store), "--json") == DONE
    assert printed(capsys)["dream_ids"] == []


def test_two_nights_over_the_sample_leave_the_home_that_they_are_given_empty(own_home: Path, tmp_path: Path):
    command = [sys.executable, "-m", "slowwave", "run", "nightly", "--direct", "--sample", str(tmp_path / "sample")]
    # as a person calls it: without places of their own for state and data
    environ = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}

    first, second = (subprocess.run(command, env=environ, capture_output=True, text=True, check=True) for _ in "ab")

    assert list(own_home.iterdir()) == []
    assert "Learned: " in first.stdout
    assert "16 sessions read" in first.stdout
    # all that was noted has been looked at: a forced night would find nothing
    verdict, quiet = second.stdout.splitlines()[-2:]
    assert verdict == "Nothing to do: nothing new to remember in 2 projects."
    assert quiet.startswith("  each: not before ")
    assert quiet.endswith(f" (slowwave status --store {tmp_path / 'sample'})")
    assert {p.name for p in (tmp_path / "sample").iterdir()} == {
        *(".claude", ".codex", ".local", ".pi", ".slowwave-sample.json", "config", "state")
    }


FOLLOWING = re.compile(r"slowwave (?:nights|memory|review|run) [^\n;,)]*")


def test_what_a_run_over_another_store_names_leads_there_again(store: Path, capsys: pytest.CaptureFixture[str]):
    elsewhere = store.rename(store.with_name("another home"))
    assert direct("--store", str(elsewhere)) == DONE
    named = FOLLOWING.findall(capsys.readouterr().out)
    assert len({line.split()[2] for line in named}) >= 4  # show, list, drop, undo
    assert [line for line in named if f"--store '{elsewhere}'" not in line] == []
    show = next(line for line in named if " show " in line)
    assert main(shlex.split(show)[1:]) == DONE
    shown = FOLLOWING.findall(capsys.readouterr().out)
    assert shown
    assert [line for line in shown if f"--store '{elsewhere}'" not in line] == []


@pytest.mark.parametrize("line", ["nights", "status", "memory list", "review list", "nights show"])
def test_what_a_look_at_another_store_names_leads_there_again(
    line: str, store: Path, capsys: pytest.CaptureFixture[str]
):
    direct("--store", str(store))
    capsys.readouterr()
    main([*line.split(), "--store", str(store), "--set", "memory.elsewhere=off"])
    named = FOLLOWING.findall(capsys.readouterr().out)
    assert named
    assert [one for one in named if f"--store {store} --set memory.elsewhere=off" not in one] == []


def test_require_turns_a_closed_gate_into_its_own_code(store: Path):
    assert direct("--store", str(store), "--project", "quill") == DONE
    assert direct("--store", str(store), "--project", "quill", "--require") == REFUSED


def test_a_parked_dream_has_its_own_code_and_kept_nothing(store: Path, capsys: pytest.CaptureFixture[str]):
    assert direct("--store", str(store), "--set", "consolidation.mode=review") == PARKED
    shown = capsys.readouterr().out
    assert "A dream would add" in shown
    assert "Learned: " not in shown


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--set", "extraction.idle=soon"], USAGE, "30m"),
        (["--set", "no.such=1"], USAGE, "there is no such setting"),
        (["--config", "/does/not/exist.toml"], USAGE, "cannot be read"),
        (["--store", "/does/not/exist"], UNREADABLE, "--store"),
        (["--project", "nobody"], UNREADABLE, "no project matches"),
    ],
)
def test_bad_input_is_one_line_with_the_remedy(
    store: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, words: str
):
    given = [] if "--store" in options else ["--store", str(store)]
    assert direct(*given, *options) == code
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not list(store.rglob("memory"))


def test_a_corrupt_state_fails_its_project_on_standard_error(store: Path, capsys: pytest.CaptureFixture[str]):
    direct("--store", str(store))
    state = next(store.rglob(".consolidation_state.json"))
    state.write_text("{broken")
    capsys.readouterr()
    assert direct("--store", str(store), "--force") == PARTLY_FAILED
    captured = capsys.readouterr()
    assert ".consolidation_state.json" in captured.err
    assert "repair or remove it" in captured.err
    assert captured.err.count("\n") == 1
    assert state.read_text() == "{broken"


EVERY_JOB = (
    *(("nightly",), ("extract",), ("consolidate",), ("compact",), ("retain", "--apply")),
    *(("erase", "--secrets", "--apply"), ("erase", "--topic", "x", "--apply"), ("backfill", "--since", "2020-01-01")),
)


def no_home(home: Path, _monkeypatch: pytest.MonkeyPatch) -> str:
    home.rmdir()
    return f"{home}: there is no such home folder, so nothing was done; point HOME to "


def no_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "file"))
    (home / "file").write_text("", encoding="utf-8")
    return f"{home}/file: File exists; it has to be a folder: move it away (nothing was done)"


def refused_by(number: int, remedy: str) -> Callable[[Path, pytest.MonkeyPatch], str]:
    def refuse(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        def probe(**_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(run, "TemporaryFile", probe)
        return f"{home}/state/slowwave: {os.strerror(number)}; {remedy}"

    return refuse


@pytest.mark.parametrize(
    "wrong",
    [
        no_home,
        no_folder,
        refused_by(errno.ENOSPC, "make room and run it again (nothing was done)"),
        refused_by(errno.EACCES, "let this user write there"),
        refused_by(errno.EROFS, "let this user write there"),
    ],
    ids=["missing home", "no folder", "full disk", "unwritable", "read-only"],
)
@pytest.mark.parametrize("job", EVERY_JOB, ids=" ".join)
def test_what_every_job_needs_is_named_in_one_line_before_anything_is_read(
    job: tuple[str, ...],
    wrong: Callable[[Path, pytest.MonkeyPatch], str],
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    cause = wrong(own_home, monkeypatch)
    for module in (story, run):
        monkeypatch.setattr(module, "known_projects", None)
    assert main(["run", *job, "--direct"]) == UNREADABLE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"slowwave: {cause}")


def test_a_key_that_cannot_be_made_is_told_once(
    store: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_home / "file"))
    (own_home / "file").write_text("", encoding="utf-8")
    assert direct("--store", str(store)) == UNREADABLE
    (line,) = capsys.readouterr().err.splitlines()
    assert "fingerprint.key: Not a directory" in line


def test_a_server_is_for_those_who_ask_for_one_or_have_one(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    asked: list[str] = []

    def through(job: str, *_: object, **__: object) -> dict[str, Any]:
        asked.append(job)
        return Report(job, "r").to_builtins()

    monkeypatch.setattr("slowwave.cli.run.run_through_prefect", through)
    extract = ["run", "extract", "--dry-run", "--store", str(store)]
    assert main(extract) == DONE
    assert asked == []
    assert main([*extract, "--prefect"]) == DONE
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    assert main(extract) == DONE
    assert asked == ["extract"] * 2
    assert main([*extract, "--direct"]) == DONE
    assert asked == ["extract"] * 2
    with pytest.raises(SystemExit):
        main([*extract, "--direct", "--prefect"])
    assert "do not go together" in capsys.readouterr().err


def test_status_answers_for_people_and_programs(store: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["status", "--store", str(store)]) == DONE
    assert "2 due for a dream" in capsys.readouterr().out
    assert main(["status", "--store", str(store), "--json"]) == DONE
    rows = printed(capsys)["projects"]
    assert [row["due"] for row in rows] == [True, True]


def test_an_unknown_job_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(["run", "frobnicate"])
    assert caught.value.code == USAGE
    assert "frobnicate" in capsys.readouterr().err


def help_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["run", *words])
    assert ended.value.code == 0
    return capsys.readouterr().out


def headings(text: str) -> set[str]:
    return {line.removesuffix(":") for line in text.splitlines() if line[:1].islower() and line.endswith(":")}


def test_help_names_every_job_and_under_every_heading_whose_options_these_are(capsys: pytest.CaptureFixture[str]):
    text = help_of(capsys, "--help")
    listed, _, options = text.partition("\noptions:")
    assert [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "] == list(JOBS)
    assert all(set(title.split(", ")) <= {*JOBS, "every job"} for title in headings(options))


@pytest.mark.parametrize("job", JOBS)
def test_help_on_a_job_shows_its_own_options_and_settings_alone(job: str, capsys: pytest.CaptureFixture[str]):
    text = help_of(capsys, job, "--help")
    assert text.startswith(f"usage: slowwave run {job} [options]\n\n{ABOUT[job][:30]}")
    options, _, settings = text.partition("\nsettings (--set KEY=VALUE, or in the settings file):\n")
    assert {"options", "every job"} <= headings(options) <= {"options", "every job", job}
    theirs = {"--focus": ("compact", "nightly"), "--since": ("backfill",), "--secrets": ("erase",)}
    theirs |= {"--session": ("erase", "backfill"), "--apply": ("retain", "erase")}
    assert {name for name in theirs if f"  {name} " in text} == {name for name, jobs in theirs.items() if job in jobs}
    sections = {"nightly": "extraction", "consolidate": "consolidation", "compact": "compaction", "retain": "retention"}
    sections |= {"extract": "extraction", "erase": "secrets", "backfill": "backfill"}
    assert settings.split()[0].startswith(f"{sections[job]}.")
    assert max(map(len, text.splitlines())) <= 80


def test_help_on_a_backfill_says_that_force_reads_again_and_loses_nothing(capsys: pytest.CaptureFixture[str]):
    again = "read again what was read already; what is known stays"
    told = {
        job: " ".join(help_of(capsys, *filter(None, [job]), "--help").split()) for job in ("", "backfill", "nightly")
    }
    assert f"--force {again}; also ignore the gates" in told["backfill"]
    # `slowwave run --help` tells of every job, that of a night of no other one
    assert [again in told[job] for job in ("", "nightly")] == [True, False]


def test_help_in_front_of_a_job_is_about_that_job(capsys: pytest.CaptureFixture[str]):
    assert help_of(capsys, "-h", "extract") == help_of(capsys, "extract", "--help")

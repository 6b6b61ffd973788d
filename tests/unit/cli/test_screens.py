"""Every screen of a home with a week of sessions: words for people, no line too wide, and colours only for eyes."""

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.report import COUNTERS

JOBS = (
    "run nightly --dry-run --force",
    "run extract",
    "run consolidate --force",
    "run compact --dry-run",
    "run retain --set retention.max_age=3d",
    "run erase --secrets",
    "run backfill --dry-run",
    "run backfill",
    "run backfill --coverage",
)
LISTS = (
    "status",
    "nights",
    "nights show",
    "review list --all",
    "memory list --all --foreign",
    "memory search pnpm",
    "sessions list",
    "sessions search pnpm",
    "retain plan --set retention.max_age=3d",
    "doctor",
)
OTHERS = (
    "status --all",
    "memory verify",
    "memory effect",
    "memory quarantine",
    "memory context --project tern",
    "retain holds",
    "retain trash",
    "retain audit",
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("sample")
    before = dict(os.environ)
    try:
        assert main(["run", "nightly", "--direct", "--json", "--sample", str(folder)]) == 0
        yield folder
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(autouse=True)
def home(sample: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the sample, wherever the home of other tests is."""
    monkeypatch.setenv("HOME", str(sample))
    for name in ("STATE", "DATA", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(sample / name.lower()))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    assert own_home != sample


def shown(line: str, sample: Path) -> int:
    return main([*line.split(), "--store", str(sample)])


@pytest.mark.parametrize("line", [*JOBS, *LISTS, *OTHERS])
def test_no_internal_name_reaches_a_screen(line: str, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a job counts it calls by words for people; settings have their section before them."""
    names = set(COUNTERS)
    if line.startswith("run"):
        shown(f"{line} --json", sample)
        names |= set(json.loads(capsys.readouterr().out.splitlines()[-1])["counts"])
    shown(line, sample)
    told = "".join(capsys.readouterr())
    assert told
    assert [name for name in names if "_" in name and re.search(rf"(?<![.\w]){name}\b", told)] == []


@pytest.mark.parametrize("line", LISTS)
def test_a_list_has_colours_for_eyes_and_none_in_a_pipe(
    line: str, sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(line, sample)
    piped = capsys.readouterr().out
    assert "\x1b" not in piped
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {}):
        with monkeypatch.context() as patch:
            for name, value in plain.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdout", terminal := Terminal())
            shown(line, sample)
        assert ("\x1b[" in terminal.getvalue()) == (not plain), plain


@pytest.mark.parametrize("line", ["nights", "nights show", "review list --all", "memory list", "memory search pnpm"])
def test_what_is_read_fits_a_terminal_of_eighty_columns(
    line: str, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    shown(line, sample)
    lines = terminal.getvalue().splitlines()
    assert lines
    # a command stays whole, to be copied, however long the folder is
    assert [one for one in lines if len(one) > 80 and " " in one.strip()[:80] and str(sample) not in one] == []


@pytest.mark.parametrize(
    "line", ["status", "nights show", "review list --all", "memory list", "doctor", "memory verify"]
)
def test_a_pipe_has_no_width(
    line: str, sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    for columns in ("40", "250"):
        monkeypatch.setenv("COLUMNS", columns)
        shown(line, sample)
        # others write to this disk meanwhile
        told.append(re.sub(r"[\d.]+ \w+ free", "some free", capsys.readouterr().out))
    assert told[0] == told[1]


def test_memories_stand_by_project_and_are_whole_in_a_pipe(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown("memory list --json", sample)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    active = [row for row in rows if row["status"] == "active"]
    shown("memory list", sample)
    *lines, nothing, how = capsys.readouterr().out.splitlines()
    assert (nothing, "slowwave memory drop ID" in how) == ("", True)
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert [head.partition(":")[0] for head in heads] == ["quill", "tern"]
    headings = [line for line in lines if line.startswith("  ") and line[2] != " "]
    assert len(lines) == len(active) + len(heads) + len(headings) + 1  # and an empty line between them
    for row in active:
        (line,) = [line for line in lines if line.startswith(f"    {row['id']}  ")]
        assert line == f"    {row['id']}  {' '.join(row['text'].split())}"


def test_memories_stand_as_on_the_page_of_their_project(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown("memory list --project -", sample)
    listed = capsys.readouterr().out
    places = re.findall(r"^It stands in (.*)$", listed, re.MULTILINE)
    assert len(places) == 2, "each of several projects has its page"
    for part, place in zip(listed.split("\n\n"), places, strict=False):
        page = [line for line in Path(place).read_text().splitlines() if line.startswith(("## ", "- "))]
        rows = [re.sub(r"^  (?:  m\w+  )?", "", line) for line in part.splitlines()[1:]]
        assert len([line for line in page if line.startswith("## ")]) > 1
        told = [re.sub(r"^(?:## |- )(?:\[[^]]*\] )?", "", line) for line in page]
        assert [row[:12] for row in rows] == [line[:12] for line in told]


def test_a_whole_night_is_taken_back_by_the_id_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every project that the night dreamt about; one with a file that a person changed stays, and is named."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, os.environ[name])  # the sample's own ones go with the test
    assert main(["run", "nightly", "--direct", "--json", "--sample", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    indexes = sorted(tmp_path.rglob("memory/MEMORY.md"))
    assert len(indexes) == len(report["dream_ids"]) == 2
    indexes[0].write_text(indexes[0].read_text() + "- a line of mine\n")
    undo = ["memory", "undo", report["run_id"], "--store", str(tmp_path)]
    assert main(undo) == 6
    out, err = capsys.readouterr()
    assert out.count("Taken back:") == 1
    assert "changed since the dream" in err
    assert [path.exists() for path in indexes] == [True, False]
    assert main([*undo, "--force"]) == 0
    assert not any(path.exists() for path in indexes)
    assert main(undo) == 3
    assert "was taken back already" in capsys.readouterr().err
    assert main(["nights", "show", report["run_id"], "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("\n  to have it again: slowwave memory undo d") == 2
    assert main([*undo, "--again"]) == 0
    assert "a line of mine" in indexes[0].read_text()
    assert indexes[1].exists()

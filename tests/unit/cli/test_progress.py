"""Progress of a run: bars where a person looks, JSON lines where a program asks, and silence otherwise."""

import io
import json
import sys
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.cli.progress import Bars, shown_progress
from slowwave.observability.progress import Nobody, watcher


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work() -> None:
    watcher().plan("extract", 2)
    watcher().done("extract", "-p")
    watcher().done("extract", "-q\x1b[31m")


def test_nobody_watches_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress("auto", quiet=False):
        assert isinstance(watcher(), Nobody)
        work()
    assert capsys.readouterr() == ("", "")


def test_a_program_gets_a_line_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress("json", quiet=True):
        work()
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert [(line["progress"], line["done"], line["total"]) for line in lines] == [("extract", n, 2) for n in range(3)]
    assert lines[1]["what"] == "-p"


def test_a_person_at_a_terminal_sees_a_bar_without_what_a_terminal_would_obey(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress("auto", quiet=False):
        assert isinstance(watcher(), Bars)
        work()
    assert "2/2" in terminal.getvalue()
    assert "-q" in terminal.getvalue()
    assert "-q\x1b[31" not in terminal.getvalue()


@pytest.mark.parametrize(("wish", "quiet"), [("none", False), ("auto", True)])
def test_a_terminal_stays_quiet_where_it_should(monkeypatch: pytest.MonkeyPatch, wish: str, quiet: bool) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown_progress(wish, quiet=quiet):  # pyright: ignore[reportArgumentType] - parametrised
        work()
    assert terminal.getvalue() == ""


def test_a_run_tells_every_project_and_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFECT_HOME", "")  # --sample sets it for the process; this takes it back
    sample = str(tmp_path / "sample")
    assert main(["run", "nightly", "--direct", "--json", "--progress", "json", "--sample", sample]) == 0
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in err.splitlines()]
    assert json.loads(out)["job"] == "nightly"
    assert lines[-1]["done"] == lines[-1]["total"] == 6
    assert {line["what"] for line in lines[1:]} == {"-home-ana-tern", "-home-ana-quill"}

"""``slowwave install`` end to end: after nights, undo, review and erasures the files of agents say what memory says."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, PARTLY_FAILED, REFUSED
from tests.unit.extraction import talk
from tests.unit.extraction.talk import Talk
from tests.unit.retention.planted import aged
from tests.unit.retention.test_subjects_erased import GATES

NAME = "Ottilie Kreuzbaum"
FIRST, SECOND = "aaaaaaaa-1111-4222-8333-444444444444", "bbbbbbbb-1111-4222-8333-444444444444"


class Place:
    """A person's home with a repository in it that Claude Code 1.0 worked in."""

    def __init__(self, home: Path) -> None:
        self.home, self.root = home, home / "repo"
        self.file = self.root / "CLAUDE.local.md"
        self.root.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def session(self, name: str, *said: str) -> None:
        one = Talk(name)
        for text in said:
            one.person(text).assistant("ok")
        for number in range(8):
            one.bash("make test", "ok").person(f"go on with part {number}").assistant("Done.")
        one.write(self.home / ".claude" / "projects" / str(self.root).replace("/", "-"))
        aged(self.home / ".claude")

    def night(self) -> None:
        assert main(["run", "nightly", "--direct", *GATES]) == DONE

    def text(self) -> str:
        return self.file.read_text() if self.file.exists() else ""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    home = tmp_path / "home"
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    found = Place(home)
    monkeypatch.setattr(talk, "CWD", str(found.root))
    theirs = f"our frontend and its releases belong to {NAME} only"
    found.session(FIRST, "we use tabs for indentation in all source files", theirs)
    found.night()
    capsys.readouterr()
    return found


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = DONE) -> list[dict[str, Any]]:
    assert main([*words, "--json"]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_nothing_is_written_before_somebody_asks(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(place.root.rglob("*"))
    place.night()
    assert main(["install", "--dry-run"]) == DONE
    assert "Nothing was changed" in capsys.readouterr().out
    assert sorted(place.root.rglob("*")) == before


def test_a_night_an_undo_and_a_persons_word_reach_the_file(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install"]) == DONE
    assert "tabs" in place.text()
    place.session(SECOND, "we never deploy on Fridays, the on-call is alone then")
    place.night()
    assert "Fridays" in place.text()
    capsys.readouterr()
    (status,) = answer(capsys, "status")
    assert status["projects"][0]["delivered"] == [f"{place.file} for claude"]
    dream = status["projects"][0]["last_change"]
    assert main(["memory", "undo", dream]) == DONE
    assert "Fridays" not in place.text()
    assert "tabs" in place.text()
    capsys.readouterr()
    assert main(["uninstall"]) == DONE
    assert not place.file.exists()
    place.night()
    assert not place.file.exists()


def test_what_was_changed_by_hand_is_told_by_everything(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install"])
    place.file.write_text(place.text().replace("tabs", "spaces"))
    place.session(SECOND, "we never deploy on Fridays, the on-call is alone then")
    capsys.readouterr()
    (report,) = answer(capsys, "run", "nightly", "--direct", *GATES)
    assert any("somebody changed" in warning for warning in report["warnings"])
    assert "spaces" in place.text()
    checks = {check["name"]: check for check in answer(capsys, "doctor")}
    assert "somebody changed" in checks["delivery"]["seen"]
    assert main(["memory", "undo", report["dream_ids"][0]]) == DONE
    assert "not delivered" in capsys.readouterr().err
    assert main(["uninstall"]) == PARTLY_FAILED
    assert main(["uninstall", "--overwrite"]) == DONE
    assert not place.file.exists()


def test_an_erasure_reaches_the_file(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install"])
    assert NAME in place.text()
    capsys.readouterr()
    (plan,) = answer(capsys, "run", "erase", "--person", NAME)
    assert str(place.file) in {item["target"] for item in plan["items"]}
    assert NAME in place.text()
    (done,) = answer(capsys, "run", "erase", "--person", NAME, "--apply")
    assert NAME not in place.text()
    assert "tabs" in place.text()
    assert done["counts"]["replaced"] == plan["counts"]["found"]
    assert not [path for path in place.home.rglob("*") if path.is_file() and NAME.encode() in path.read_bytes()]


def test_an_erased_session_takes_its_lines_out_of_the_file(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.session(SECOND, "we never deploy on Fridays, the on-call is alone then")
    place.night()
    main(["install"])
    assert "Fridays" in place.text()
    capsys.readouterr()
    (plan,) = answer(capsys, "run", "erase", "--session", SECOND)
    assert str(place.file) in {item["target"] for item in plan["items"]}
    answer(capsys, "run", "erase", "--session", SECOND, "--apply")
    assert "Fridays" not in place.text()
    assert "tabs" in place.text()


def test_an_erasure_names_what_a_person_keeps_between_the_markers(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["install"])
    place.file.write_text(place.text().replace("our frontend", "the frontend"))
    capsys.readouterr()
    (done,) = answer(capsys, "run", "erase", "--person", NAME, "--apply", code=REFUSED)
    assert NAME in place.text()
    assert [item["reason"] for item in done["items"] if item["target"] == str(place.file)][-1].startswith("somebody")


def test_an_erasure_says_that_git_keeps_what_was_committed(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install"])
    subprocess.run(["git", "add", "-f", place.file], cwd=place.root, check=True)
    main(["install", "--tracked"])
    capsys.readouterr()
    (done,) = answer(capsys, "run", "erase", "--person", NAME, "--apply", code=REFUSED)
    assert NAME not in place.text()
    assert any("git tracks it" in item["reason"] for item in done["items"])


def test_projects_whose_folders_are_elsewhere_are_one_line_and_no_failure(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        monkeypatch.setattr(talk, "CWD", f"/home/far/away{number}")
        one = Talk(f"c{number}").person("use tabs").assistant("ok")
        one.write(place.home / ".claude" / "projects" / f"-home-far-away{number}")
    assert main(["install"]) == DONE
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "away" in line)
    assert line == "left out  5 projects whose folders are not on this machine: away0, away1, away2 and 2 more"

"""Preferences of several projects: proposed for all of them, decided by a person, never twice."""

import json
import os
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.context import FixedClock, Run
from slowwave.jobs.steps import propose_everywhere
from slowwave.memory.book import read_book
from slowwave.memory.folder import visible_files
from slowwave.report import Report
from slowwave.settings import MemorySettings, Settings
from slowwave.stores.projects import Project
from tests.unit.consolidation.dreams import T0, House

WAYS = ("Use pnpm, not npm", "We use pnpm instead of npm here", "Don't use npm, use pnpm")


def _project(tmp_path: Path, name: str, *said: str) -> tuple[Project, House]:
    (tmp_path / name).mkdir()
    house = House(tmp_path / name)
    house.extract(*(house.candidate(text, session=f"{name}{n}") for n, text in enumerate(said)))
    house.dream()
    return Project(name, "", (house.folder,), house.memory, ()), house


def _propose(tmp_path: Path, projects: list[Project], project: str = "", **memory: object) -> Report:
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    settings = Settings(memory=MemorySettings(**memory))  # pyright: ignore[reportArgumentType]
    return propose_everywhere(projects, Run("r", settings, FixedClock(T0), environ, project=project))


def _review(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str, code: int = 0) -> str:
    assert main(["memory", "review", "--memory", str(folder), *arguments]) == code
    return capsys.readouterr().out


def test_what_three_projects_share_is_proposed_once_and_remembered_when_a_person_agrees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [_project(tmp_path, name, way, f"Only {name} wants this") for name, way in zip("abc", WAYS, strict=True)]
    projects, folder = [project for project, _ in made], tmp_path / "data" / "slowwave" / "memory" / "global"
    before = [visible_files(house.memory) for _, house in made]
    assert _propose(tmp_path, projects[:2]).items == []
    assert not folder.exists()
    assert _propose(tmp_path, projects, project="a").items == []
    assert _propose(tmp_path, projects).counts == {"proposed_global": 3}
    assert _propose(tmp_path, projects).counts == {}
    row = json.loads(_review(capsys, folder, "--json"))
    assert row["reason"] == "said in 3 projects (a, b, c): should it hold in all of them?"
    assert len(row["evidence"]) == 3
    _review(capsys, folder, "accept", row["id"])
    assert [m.text for m in read_book(folder).active] == ["Use pnpm, not npm"]
    assert "- Use pnpm, not npm\n" in (folder / "MEMORY.md").read_text()
    assert [visible_files(house.memory) for _, house in made] == before
    assert _propose(tmp_path, projects).counts == {}
    assert main(["memory", "verify", "--memory", str(folder)]) == 0


def test_a_rejected_proposal_does_not_come_back_with_a_fourth_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projects = [_project(tmp_path, name, WAYS[0])[0] for name in "abc"]
    folder = tmp_path / "data" / "slowwave" / "memory" / "global"
    _propose(tmp_path, projects)
    name = json.loads(_review(capsys, folder, "--json"))["id"]
    _review(capsys, folder, "reject", name)
    projects.append(_project(tmp_path, "d", WAYS[1])[0])
    assert _propose(tmp_path, projects).counts == {"proposed_global": 1}
    assert "Nothing waits for you" in _review(capsys, folder)


def test_the_import_line_is_only_written_where_the_settings_ask_and_only_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projects = [_project(tmp_path, name, WAYS[0])[0] for name in "abc"]
    folder, mine = tmp_path / "data" / "slowwave" / "memory" / "global", tmp_path / "CLAUDE.md"
    mine.write_bytes(b"# Mine\n\xff")
    _propose(tmp_path, projects, global_import=(mine,))
    assert mine.read_bytes() == b"# Mine\n\xff"
    _review(capsys, folder, "accept", json.loads(_review(capsys, folder, "--json"))["id"])
    for _ in range(2):
        _propose(tmp_path, projects, global_import=(mine,))
    assert mine.read_bytes() == b"# Mine\n\xff\n@" + os.fsencode(folder / "MEMORY.md") + b"\n"

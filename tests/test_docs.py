"""What the documents say is there: commands parse, make targets exist, deployments have rows, links lead somewhere."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave import cli
from slowwave.service.deployments import read_project
from slowwave.service.server import project_root

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = ROOT / "README.md"

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
# what a page leaves for the reader to fill in is not an argument
PLACEHOLDER = re.compile(r"[\[\]|<>]|\.\.\.|…")


def commands_of(page: str) -> Iterator[list[str]]:
    """Yield the arguments of every ``slowwave`` command that a page shows, in shell blocks and in running text."""
    lines = [
        line
        for kind, body in BLOCK.findall(page)
        if kind in ("", "sh", "console", "bash")
        for line in body.splitlines()
    ]
    lines += INLINE.findall(BLOCK.sub("", page))
    for line in lines:
        plain = line.removeprefix("$ ").strip().removeprefix(".venv/bin/")
        if plain.startswith("slowwave ") and not PLACEHOLDER.search(plain):
            yield shlex.split(plain, comments=True)[1:]


def parses(arguments: list[str]) -> bool:
    """Say whether the command line takes these arguments; nothing is run."""
    try:
        cli.command_line(arguments).parse_args(arguments)
    except SystemExit as end:
        return end.code == 0
    return True


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_every_command_on_a_page_parses(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [
        " ".join(c) for c in commands_of(path.read_text(encoding="utf-8")) if not parses(c) and not stands_for_all(c)
    ]
    assert wrong == [], capsys.readouterr().err


def stands_for_all(arguments: list[str]) -> bool:
    """Say whether running text only names a command (`slowwave memory`, `slowwave run JOB`) instead of calling it."""
    return arguments[0] in cli.COMMANDS and (len(arguments) == 1 or "JOB" in arguments)


def test_a_command_that_is_not_there_is_found() -> None:
    page = (
        "```sh\nslowwave run nightly --frobnicate  # no\nmake run\n```\nUse `slowwave dance` or `slowwave run nightly`."
    )
    assert [c for c in commands_of(page) if not parses(c)] == [["run", "nightly", "--frobnicate"], ["dance"]]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_every_make_target_on_a_page_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = "\n".join([body for _, body in BLOCK.findall(text)] + INLINE.findall(BLOCK.sub("", text)))
    assert set(re.findall(r"^make ([a-z][a-z0-9-]*)", code, re.MULTILINE)) <= targets()


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_every_link_to_a_file_leads_there(path: Path) -> None:
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))  # what a program printed links to its own folder
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_page_is_in_the_list_of_pages() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / link).resolve() for link in re.findall(r"\]\(([^)#]+)[^)]*\)", index)}
    assert {page for page in PAGES if page.parent.name != "decisions"} - linked == {ROOT / "docs" / "README.md"}


def test_every_deployment_has_a_flow_and_a_row_in_the_readme() -> None:
    readme = README.read_text(encoding="utf-8")
    rows = [line for line in readme.splitlines() if line.startswith("|")]
    for deployment in read_project(project_root())["deployments"]:
        assert (ROOT / deployment["entrypoint"].partition(":")[0]).is_file()
        assert any(f"`{deployment['name']}`" in row for row in rows), f"no row for {deployment['name']}"


def test_every_make_target_says_what_it_does() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"help", "run", "test", "check", "bench", "drills", "conformance", "lock", "serve", "clean"} <= targets()
    assert set(re.findall(r"^([a-z][a-z0-9-]*):.*## ", makefile, re.MULTILINE)) == targets()


def test_every_command_has_a_help_page(capsys: pytest.CaptureFixture[str]) -> None:
    for command in cli.COMMANDS:
        assert parses([command, "--help"]), command
        assert f"usage: slowwave {command}" in capsys.readouterr().out


def test_every_decision_has_context_choice_and_price() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [page.name[:4] for page in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[\d{4}\]\(decisions/([^)]+)\) \| \S", index, re.MULTILINE) == [page.name for page in pages]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"^## (\w+)", text, re.MULTILINE) == ["Context", "Choice", "Price"], page.name


def test_the_lock_and_the_pages_hold_no_place_of_one_machine() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert re.findall(r"https?://|--(?:index|find)|file:", lock) == []
    assert re.findall(r"^[a-z0-9._-]+==\S+ .*\\$", lock, re.MULTILINE)
    entries = [part for part in re.split(r"\n(?=[a-z0-9])", lock) if "==" in part]
    assert [part.split()[0] for part in entries if "--hash=sha256:" not in part] == []

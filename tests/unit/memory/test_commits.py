"""Who committed the lines of memory files: told by git, which is asked so that nothing of a repository is run."""

import os
import subprocess
from pathlib import Path

import pytest

from slowwave.memory.authors import committed
from slowwave.memory.book import read_book
from tests.unit.consolidation.folders import Folder

BOT = "my-tool[bot] <1+my-tool[bot]@users.noreply.github.com>"
DANA, CLAUDE = "Dana <dana@example.org>", "Claude <noreply@anthropic.com>"


def _git(folder: Path, *words: str, author: str = DANA) -> None:
    name, _, address = author.rstrip(">").partition(" <")
    who = {
        f"GIT_{kind}_{what}": value
        for kind in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", address))
    }
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | who | {"GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


def _commit(folder: Path, message: str, author: str = DANA) -> None:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "--no-verify", "-m", message, author=author)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.page("MEMORY.md", "- The importer runs at night\n")
    _git(found.memory, "init", "-q")
    _commit(found.memory, "By hand")
    found.page("MEMORY.md", "- The importer runs at night\n- The cache is cold\n")
    _commit(found.memory, f"Take notes\n\nCo-Authored-By: {CLAUDE}")
    found.page("notes.md", "- Tests need Docker\r\n- typed since\n")
    _git(found.memory, "add", "-A")
    _git(
        found.memory,
        "commit",
        "-q",
        "-m",
        "Take notes",
        author="my-tool[bot] <1+my-tool[bot]@users.noreply.github.com>",
    )
    found.page("notes.md", "- Tests need Docker\r\n- typed later\n")
    return found


def test_lines_are_those_of_the_person_or_the_agent_who_committed_them(folder: Folder) -> None:
    found = committed(folder.memory, folder.everything())
    told = {line: (one.is_agent, one.who) for lines in found.values() for line, one in lines.items()}
    assert told["- The importer runs at night"] == (False, DANA)
    assert told["- The cache is cold"] == (True, CLAUDE)
    assert told["- Tests need Docker"][0]
    folder.agent_reads("MEMORY.md", at="2026-11-16T09:00:00.000Z")
    folder.dream()
    texts = {m.text: m.writer for m in read_book(folder.memory).active}
    assert texts == {"The cache is cold": "agent", "Tests need Docker": "agent"}
    ledger = folder.read(".slowwave/ledger.jsonl")
    assert f"of {CLAUDE}" in ledger


def test_a_person_who_committed_a_line_wins_over_the_form_of_the_page(folder: Folder) -> None:
    folder.client_page("user_role.md", "user", "- I work on the importer")
    _commit(folder.memory, "By hand")
    folder.page("MEMORY.md", folder.read("MEMORY.md") + "- [Role](user_role.md)\n")
    folder.dream()
    assert "I work on the importer" not in {m.text for m in read_book(folder.memory).active}


def test_nothing_of_the_repository_is_run_and_nothing_is_written(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = folder.root / "ran"
    script = folder.root / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    settings = (
        "core.fsmonitor",
        "diff.external",
        "core.pager",
        "diff.x.textconv",
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.command",
    )
    for name in settings:
        _git(folder.memory, "config", name, str(script))
    (folder.memory / ".git" / "info" / "attributes").write_text("*.md diff=x filter=x\n")
    (folder.memory / ".gitattributes").write_text("*.md diff=x filter=x\n")
    hooks = folder.memory / ".git" / "hooks"
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
    monkeypatch.setenv("GIT_DIR", str(folder.root / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    before = {path: path.stat().st_mtime_ns for path in (folder.memory / ".git").rglob("*")}
    assert len(committed(folder.memory, folder.everything())["MEMORY.md"]) == 2
    assert not mark.exists()
    assert {path: path.stat().st_mtime_ns for path in (folder.memory / ".git").rglob("*")} == before


@pytest.mark.parametrize("script", ["exec tail -f /dev/null", "exit 3", "echo nonsense; echo '\tx'"])
def test_a_git_that_hangs_or_fails_tells_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    fake = folder.root / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    found = committed(folder.memory, folder.everything(), seconds=0.3)
    assert not any(found.values())


def test_a_machine_without_git_and_a_folder_without_a_repository_tell_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert not any(committed(folder.memory, folder.everything()).values())
    assert committed(tmp_path / "elsewhere", folder.everything()) == {}

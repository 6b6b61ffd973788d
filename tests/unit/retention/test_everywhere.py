"""What of a client's home was written of what was said, and what a person wrote as settings."""

from pathlib import Path

import pytest

from slowwave.retention.erase.places import Sort, other_files


@pytest.mark.parametrize(
    ("name", "sort"),
    [
        (".claude/agents/reviewer.md", Sort.UNKNOWN),
        (".claude/todos/one.json", Sort.KNOWN),
        (".clawdbot/agents/main/sessions/s.jsonl.reset.2026-01-24T10-00-00.000Z", Sort.KNOWN),
        (".clawdbot/agents/main/agent/auth-profiles.json", Sort.UNKNOWN),
    ],
)
def test_what_a_person_wrote_for_sub_agents_is_not_the_clients(tmp_path: Path, name: str, sort: Sort) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    home = tmp_path / name.split("/", maxsplit=1)[0]
    assert list(other_files([home], (), ())) == [(path, sort)]


def test_a_clients_folder_behind_a_link_is_searched_once_and_any_other_link_is_named(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / ".claude", tmp_path / "disk"
    for folder in (home, elsewhere / "-w", tmp_path / "dotfiles"):
        folder.mkdir(parents=True)
        (folder / "note.txt").write_text("hello", encoding="utf-8")
    (home / "projects").symlink_to(elsewhere)
    (home / "skills").symlink_to(tmp_path / "dotfiles")
    (elsewhere / "again").symlink_to(elsewhere)
    (elsewhere / "-w" / "up").symlink_to(tmp_path)
    assert sorted(other_files([home], (), ())) == [
        (home / "note.txt", Sort.UNKNOWN),
        (home / "projects" / "-w" / "note.txt", Sort.KNOWN),
        (home / "projects" / "-w" / "up", Sort.LINK),
        (home / "projects" / "again", Sort.LINK),
        (home / "skills", Sort.LINK),
    ]

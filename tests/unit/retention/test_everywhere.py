"""What of a client's home was written of what was said, and what a person wrote as settings."""

from pathlib import Path

import pytest

from slowwave.retention.everywhere import Sort, other_files


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

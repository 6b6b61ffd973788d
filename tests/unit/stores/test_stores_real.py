"""Listings of real transcripts agree with a full reading of each session."""

from pathlib import Path

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.registry import by_name
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import Listing, find_projects, list_sessions

SHARED = Path(__file__).parents[3].parent / "shared"
HOMES = sorted(SHARED.glob("clients/corpus/claude*/*/home/.claude"))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the real transcripts are not beside this checkout"),
]


def listed(root: Path, state: Path) -> Listing:
    with Catalogue(state) as catalogue:
        return list_sessions(Settings(store=StoreSettings(roots=(root,))), {}, catalogue)


@pytest.mark.parametrize("home", HOMES, ids=[f"{home.parents[2].name}-{home.parents[1].name}" for home in HOMES])
def test_records_and_kinds_are_those_of_a_full_reading(home: Path, tmp_path: Path):
    listing = listed(home, tmp_path / "c.sqlite")
    assert listing.rows
    for row in listing.rows:
        transcript = by_name(row.dialect).read(SessionFiles(row.id, (Path(row.path),)))
        assert (row.records, row.kind == "subagent") == (transcript.records, transcript.kind == "subagent")
        assert row.tool_calls == sum(len(message.calls) for message in transcript.messages)
        assert row.title == transcript.title
    assert {problem.kind for problem in listing.problems} <= {"empty"}


def test_every_public_session_is_found_and_what_is_not_is_named(tmp_path: Path):
    root = SHARED / "corpus" / "claude-code"
    listing = listed(root, tmp_path / "c.sqlite")
    files = list(root.glob("*/*.jsonl"))
    assert len(listing.rows) + sum(p.kind != "ignored" for p in listing.problems) == len(files)
    found = find_projects(Settings(store=StoreSettings(roots=(root,))), {})
    assert sum(len(project.sessions) for project in found.projects) == len(listing.rows)
    for row in listing.rows:
        transcript = by_name(row.dialect).read(SessionFiles(row.id, (Path(row.path),)))
        assert row.records == transcript.records
        assert row.bad_lines == len(
            {p.line for p in transcript.problems if p.kind in ("torn", "garbage", "not-object")}
        )

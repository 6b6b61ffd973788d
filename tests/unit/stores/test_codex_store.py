"""Where Codex keeps its sessions: the tree of days, the archive, the index of names."""

import json
import os
from pathlib import Path

import pytest

from slowwave.formats.codex import Codex
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import Listing, find_projects, list_sessions
from slowwave.stores.projects import Discovery
from tests.unit.formats.codex_files import THREAD, compressed, meta, rollout, said, turn

CHILD = "01a1ffe2-70a4-7cb3-ab90-000000000001"
OLD = "01a1ffe2-70a4-7cb3-ab90-000000000002"


def home(tmp_path: Path) -> Path:
    """Return a home with a session, its sub-agent, and a session in the archive."""
    root = tmp_path / ".codex"
    day = root / "sessions" / "2026" / "11" / "21"
    rollout(day, meta(), *turn("Fix it", "Done."))
    child = meta(CHILD, session_id=THREAD, parent_thread_id=THREAD, thread_source="subagent", source={"subagent": {}})
    rollout(day, child, said("user", "Search it"), thread=CHILD)
    rollout(root / "archived_sessions", meta(OLD, cwd="/other"), *turn("Old", "1"), thread=OLD)
    return root


def found(root: Path) -> Discovery:
    settings = Settings(store=StoreSettings(roots=(root,)))
    return find_projects(settings, {"HOME": os.fspath(root.parent / "nobody")})


def listed(root: Path, catalogue: Path) -> tuple[Listing, int]:
    with Catalogue(catalogue) as known:
        listing = list_sessions(Settings(store=StoreSettings(roots=(root,))), {"HOME": "/nobody"}, known)
        return listing, known.reads


def test_sessions_and_the_archive_are_found_with_their_projects(tmp_path: Path) -> None:
    discovery = found(home(tmp_path))
    sessions = {s.id: s for p in discovery.projects for s in p.sessions}
    assert {p.root for p in discovery.projects} == {"/w", "/other"}
    assert {i: (s.dialect, s.kind, s.source) for i, s in sessions.items()} == {
        THREAD: ("codex", "main", ""),
        CHILD: ("codex", "subagent", ""),
        OLD: ("codex", "main", "archived"),
    }
    assert discovery.problems == []


@pytest.mark.parametrize("inside", ["", "sessions", "archived_sessions"])
def test_a_home_and_each_of_its_folders_is_a_root(tmp_path: Path, inside: str) -> None:
    root = home(tmp_path) / inside
    expected = {"": 3, "sessions": 2, "archived_sessions": 1}[inside]
    assert sum(len(p.sessions) for p in found(root).projects) == expected


def test_the_home_is_where_its_variable_says(tmp_path: Path) -> None:
    assert Codex().homes({"HOME": "/h"}) == [Path("/h/.codex")]
    assert Codex().homes({"HOME": "/h", "CODEX_HOME": os.fspath(tmp_path)}) == [tmp_path]


def test_of_a_packed_and_a_plain_rollout_the_plain_one_counts(tmp_path: Path) -> None:
    root = home(tmp_path)
    plain = next((root / "sessions").rglob(f"*{THREAD}.jsonl"))
    packed = compressed(plain)
    paths = [s.files.paths[0] for p in found(root).projects for s in p.sessions if s.id == THREAD]
    assert paths == [plain]
    plain.unlink()
    listing, _ = listed(root, tmp_path / "catalogue")
    (row,) = [row for row in listing.rows if row.id == THREAD]
    assert (row.path, row.records, row.first_prompt, row.bytes) == (
        os.fspath(packed),
        4,
        "Fix it",
        packed.stat().st_size,
    )


def test_unchanged_rollouts_are_not_read_again(tmp_path: Path) -> None:
    root = home(tmp_path)
    assert listed(root, tmp_path / "catalogue")[1] == 3
    assert listed(root, tmp_path / "catalogue")[1] == 0
    with next((root / "sessions").rglob(f"*{THREAD}.jsonl")).open("a", encoding="utf-8") as file:
        file.write(json.dumps(said("user", "more")) + "\n")
    listing, reads = listed(root, tmp_path / "catalogue")
    assert reads == 1
    assert {row.id: row.kind for row in listing.rows} == {THREAD: "main", CHILD: "subagent", OLD: "main"}


def test_a_name_in_the_index_is_the_title_also_when_it_changes_later(tmp_path: Path) -> None:
    root = home(tmp_path)
    for name in ("first name", "second name"):
        with (root / "session_index.jsonl").open("a", encoding="utf-8") as index:
            index.write(json.dumps({"id": THREAD, "thread_name": name, "updated_at": "t"}) + "\n")
        listing, _ = listed(root, tmp_path / "catalogue")
        assert [row.title for row in listing.rows if row.id == THREAD] == [name]


def test_what_lies_beside_the_days_is_reported(tmp_path: Path) -> None:
    root = home(tmp_path)
    rollout(root / "sessions" / "2026", meta(), name="rollout-stray.jsonl")
    problems = found(root).problems
    assert [(p.kind, Path(p.path).name) for p in problems] == [("ignored", "rollout-stray.jsonl")]


def test_a_home_without_a_session_is_no_error(tmp_path: Path) -> None:
    root = tmp_path / ".codex"
    root.mkdir()
    assert found(root).projects == []

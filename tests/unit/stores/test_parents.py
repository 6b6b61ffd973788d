"""A listing says of every sub-agent and every fork which session it belongs to, as far as its client tells."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.formats.sessions import session_id
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.summary import SessionRow
from tests.unit.stores.families import FAMILIES, Family, claude, codex, named


def rows(root: Path, state: Path) -> dict[str, SessionRow]:
    with Catalogue(state / "catalogue.sqlite") as catalogue:
        listing = list_sessions(Settings(store=StoreSettings(roots=(root,))), {"HOME": str(state)}, catalogue)
    return {row.id: row for row in listing.rows}


@pytest.mark.parametrize("build", FAMILIES)
def test_kind_and_parent_of_every_session_are_known(tmp_path: Path, build: Callable[[Path], Family]) -> None:
    family = build(tmp_path)
    state = tmp_path / "state"
    assert {row.id: (row.kind, row.parent) for row in rows(family.root, state).values()} == family.known
    # again, from what the catalogue kept
    assert {row.id: (row.kind, row.parent) for row in rows(family.root, state).values()} == family.known


def test_the_printed_listing_names_the_parent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    family = claude(tmp_path)
    assert main(["sessions", "list", "--json", "--all", "--store", str(family.root)]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["id"]: one["parent"] for one in printed} == {name: parent for name, (_, parent) in family.known.items()}


def test_the_parent_stays_known_when_only_new_bytes_are_read(tmp_path: Path) -> None:
    family = codex(tmp_path)
    before = rows(family.root, tmp_path / "state")
    agent = before[named(2)]
    path = Path(agent.path)
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])
    after = rows(family.root, tmp_path / "state")
    assert after[named(2)].messages == agent.messages + 1
    assert (after[named(2)].kind, after[named(2)].parent) == ("subagent", named(1))


def test_a_copy_belongs_to_no_session_once_that_is_gone(tmp_path: Path) -> None:
    family = claude(tmp_path)
    assert rows(family.root, tmp_path / "state")[named(3)].parent == family.main
    family.path.unlink()
    left = rows(family.root, tmp_path / "state")
    # what says itself where it comes from still does; what only shared a beginning is the oldest that has it now
    assert left[named(2)].parent == family.main
    assert (left[named(3)].kind, left[named(3)].parent) == ("main", "")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2026-03-15T10-00-00-000Z_0193-ab.jsonl", "0193-ab"),
        ("rollout-2026-11-21T20-53-12-0193-ab.jsonl.zst", "0193-ab"),
        ("0193-ab.jsonl", "0193-ab"),
    ],
)
def test_the_id_is_read_from_any_name_of_a_file(name: str, expected: str) -> None:
    assert session_id(name) == expected

"""Where opencode keeps its sessions: databases, storage trees, and both side by side."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from slowwave.formats.opencode import Opencode
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import Listing, find_projects, list_sessions
from slowwave.stores.projects import Discovery
from tests.unit.formats.opencode_files import Session, database, done, words

MAIN, CHILD, FORK = "ses_main0001", "ses_child001", "ses_fork0001"


def sessions() -> list[Session]:
    """Return a session, the sub-agent that it started, and a fork that somebody put away."""
    main = Session(MAIN, directory="/home/ann/shop", title="Fix it")
    main.user("Fix the tests")
    main.answer(words("Done."), done("ok"))
    child = Session(CHILD, directory="/home/ann/shop", parentID=MAIN)
    child.user("Search it")
    fork = Session(FORK, directory="/home/ann/till", title="Fix it (fork #2)", time={"created": 5, "archived": 6})
    fork.user("Fix the tests")
    return [main, child, fork]


def in_database(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database(root, *sessions()))) as db:
        db.execute("ALTER TABLE session ADD time_updated int")
        db.execute("ALTER TABLE session ADD time_archived int")
        db.execute("UPDATE session SET time_updated = 1795294733095, directory = '/home/ann/shop'")
        db.execute("UPDATE session SET time_archived = 6, directory = '/home/ann/till' WHERE id = ?", (FORK,))
        db.commit()


def in_tree(root: Path) -> None:
    for session in sessions():
        session.tree(root)


def in_old_tree(root: Path) -> None:
    for session in sessions():
        session.old_tree(root)


FORMS = {"database": in_database, "tree": in_tree, "old tree": in_old_tree}


def found(root: Path) -> Discovery:
    return find_projects(Settings(store=StoreSettings(roots=(root,))), {"HOME": os.fspath(root.parent / "nobody")})


def listed(root: Path, catalogue: Path) -> tuple[Listing, int]:
    with Catalogue(catalogue) as known:
        listing = list_sessions(Settings(store=StoreSettings(roots=(root,))), {"HOME": "/nobody"}, known)
        return listing, known.reads


@pytest.mark.parametrize("form", FORMS)
def test_sessions_are_found_for_what_they_are(tmp_path: Path, form: str) -> None:
    FORMS[form](tmp_path / "opencode")
    discovery = found(tmp_path / "opencode")
    assert discovery.problems == []
    assert {p.root: {(s.id, s.kind, s.source) for s in p.sessions} for p in discovery.projects} == {
        "/home/ann/shop": {(MAIN, "main", ""), (CHILD, "subagent", "")},
        "/home/ann/till": {(FORK, "main", "archived")},
    }


def test_the_first_versions_name_the_folder_in_their_answers_only(tmp_path: Path) -> None:
    session = Session(MAIN, directory="")
    session.user("Fix the tests")
    session.answer(words("Done."), path={"cwd": "/home/ann/shop", "root": "/home/ann"})
    session.old_tree(tmp_path / "opencode")
    assert [p.root for p in found(tmp_path / "opencode").projects] == ["/home/ann/shop"]


@pytest.mark.parametrize("form", FORMS)
def test_listings_tell_the_truth_and_read_nothing_twice(tmp_path: Path, form: str) -> None:
    root = tmp_path / "opencode"
    FORMS[form](root)
    listing, reads = listed(root, tmp_path / "catalogue")
    rows = {row.id: row for row in listing.rows}
    assert reads == 3
    assert {i: (r.kind, r.title, r.first_prompt, r.records) for i, r in rows.items()} == {
        MAIN: ("main", "Fix it", "Fix the tests", 8),
        CHILD: ("subagent", "Fix it", "", 3),
        FORK: ("fork", "Fix it (fork #2)", "Fix the tests", 3),
    }
    assert rows[MAIN].bytes > 300
    again, reads = listed(root, tmp_path / "catalogue")
    assert (reads, again.rows) == (0, listing.rows)


def test_a_session_of_a_database_is_read_again_when_its_rows_or_its_time_change(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    in_database(root)
    listed(root, tmp_path / "catalogue")
    changes = [
        "UPDATE session SET time_updated = time_updated + 1 WHERE id = 'ses_main0001'",
        "DELETE FROM part WHERE session_id = 'ses_main0001' AND data LIKE '%step-finish%'",
        "DELETE FROM session WHERE id = 'ses_child001'",
    ]
    counts: list[tuple[int, int]] = []
    for change in changes:
        with closing(sqlite3.connect(root / "opencode.db")) as db:
            db.execute(change)
            db.commit()
        listing, reads = listed(root, tmp_path / "catalogue")
        counts.append((len(listing.rows), reads))
    assert counts == [(3, 1), (3, 1), (2, 0)]


def test_a_message_that_came_to_a_tree_shows_without_the_session_s_own_file(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    in_tree(root)
    before = (root / "storage" / "session" / "global" / f"{MAIN}.json").stat().st_mtime_ns
    listed(root, tmp_path / "catalogue")
    folder = root / "storage" / "message" / MAIN
    (folder / "msg_zzz.json").write_text('{"id": "msg_zzz", "role": "user", "time": {"created": 9}}', encoding="utf-8")
    os.utime(folder, ns=(before + 10**9, before + 10**9))
    assert listed(root, tmp_path / "catalogue")[1] == 1


def test_a_session_that_the_client_copied_into_its_database_counts_once(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    in_tree(root)
    left = Session("ses_left0001", directory="/home/ann/shop")
    left.user("never copied")
    left.tree(root)
    in_database(root)
    discovery = found(root)
    every = [s for p in discovery.projects for s in p.sessions]
    assert sorted((s.id, s.in_database) for s in every) == [
        (CHILD, True),
        (FORK, True),
        ("ses_left0001", False),
        (MAIN, True),
    ]
    assert [(p.kind, p.detail) for p in discovery.problems] == [
        ("duplicate", "in the database beside it, too, and read from there: 3 sessions")
    ]


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\0" + b"x" * 200])
def test_a_database_that_cannot_be_read_is_reported(tmp_path: Path, damage: bytes) -> None:
    root = tmp_path / "opencode"
    in_tree(root)
    (root / "opencode.db").write_bytes(damage)
    discovery = found(root)
    assert sum(len(p.sessions) for p in discovery.projects) == 3
    assert {p.kind for p in discovery.problems} == {"unreadable"}


def test_a_session_file_that_is_damaged_or_a_link_to_nothing_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    in_tree(root)
    folder = root / "storage" / "session" / "global"
    (folder / f"{CHILD}.json").write_bytes(b'{"id": "ses_chi')
    (folder / "ses_none.json").symlink_to(folder / "nowhere")
    (folder / "ses_folder.json").mkdir()
    listing, _ = listed(root, tmp_path / "catalogue")
    assert {row.id: row.bad_lines for row in listing.rows} == {MAIN: 0, FORK: 0, CHILD: 1}
    assert sorted((p.kind, Path(p.path).name) for p in listing.problems) == [
        ("unreadable", "ses_folder.json"),
        ("unreadable", "ses_none.json"),
    ]


def test_the_data_folder_is_where_the_client_has_it(tmp_path: Path) -> None:
    kind = Opencode()
    assert kind.homes({"HOME": "/h"}) == [Path("/h/.local/share/opencode")]
    assert kind.homes({"HOME": "/h", "XDG_DATA_HOME": "/d"}) == [Path("/d/opencode")]
    (tmp_path / "opencode" / "storage").mkdir(parents=True)
    assert found(tmp_path / "opencode").projects == []


@pytest.mark.parametrize("form", [in_database, in_tree])
def test_listing_changes_no_file(tmp_path: Path, form: Callable[[Path], None]) -> None:
    root = tmp_path / "opencode"
    form(root)
    before = {p: (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in root.rglob("*")}
    listed(root, tmp_path / "catalogue")
    found(root)
    assert {p: (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in root.rglob("*")} == before


def test_a_place_in_two_roots_or_under_two_names_is_listed_once(tmp_path: Path) -> None:
    root = tmp_path / "home" / ".local" / "share" / "opencode"
    in_database(root)
    in_tree(root.with_name("old"))
    (tmp_path / "alias").symlink_to(root)
    (tmp_path / "older").symlink_to(root.with_name("old"))
    roots = (root, tmp_path / "home", tmp_path / "alias", root.with_name("old"), tmp_path / "older")
    settings = Settings(store=StoreSettings(roots=roots))
    with Catalogue(tmp_path / "catalogue") as catalogue:
        listing = list_sessions(settings, {"HOME": str(tmp_path)}, catalogue)
    assert sorted(row.id for row in listing.rows) == sorted((MAIN, CHILD, FORK) * 2)
    assert [problem.kind for problem in listing.problems] == ["duplicate"] * 3
    found = find_projects(settings, {"HOME": str(tmp_path)})
    assert sum(len(project.sessions) for project in found.projects) == 6

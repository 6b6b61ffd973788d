"""Which sessions of which clients make up one project, and where its memory then lies."""

from pathlib import Path

from msgspec.structs import replace

from slowwave.settings import Settings, StoreSettings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import find_projects, list_sessions
from slowwave.stores.projects import Project, repository_of
from tests.unit.stores.store_builder import claude, write


def pi_session(path: Path, cwd: str) -> Path:
    return write(
        path, {"type": "session", "version": 3, "id": path.stem, "timestamp": "2026-11-20T10:00:00Z", "cwd": cwd}
    )


def _as_on_disk(project: Project) -> Project:
    """Leave out what only whoever has read a session knows."""
    sessions = tuple(replace(one, parent="", messages=-1) for one in project.sessions)
    return replace(project, sessions=sessions)


def projects(home: Path, **store: object) -> dict[str, Project]:
    settings = Settings(store=StoreSettings(**store))  # type: ignore[arg-type]
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    found = find_projects(settings, environ).projects
    with Catalogue(home / "catalogue.sqlite") as catalogue:
        for _ in ("new", "known"):
            assert [_as_on_disk(p) for p in find_projects(settings, environ, catalogue).projects] == found
        listed = {(row.project, row.id) for row in list_sessions(settings, environ, catalogue).rows}
    assert listed == {(p.key, s.id) for p in found for s in p.sessions}
    return {p.key: p for p in found}


def test_sessions_of_two_clients_in_one_repository_are_one_project(tmp_path: Path):
    repository = tmp_path / "shop"
    (repository / ".git").mkdir(parents=True)
    own = tmp_path / ".claude" / "projects" / "-home-ann-shop"
    write(own / "c.jsonl", claude("user", "hi", cwd=str(repository)))
    pi_session(tmp_path / ".pi" / "agent" / "sessions" / "--x--" / "p.jsonl", str(repository / "src"))
    pi_session(tmp_path / ".pi" / "agent" / "sessions" / "--y--" / "q.jsonl", "/elsewhere")
    found = projects(tmp_path)
    assert {key: sorted(s.id for s in p.sessions) for key, p in found.items()} == {
        "-home-ann-shop": ["c", "p"],
        "-elsewhere": ["q"],
    }
    assert found["-home-ann-shop"].memory == own / "memory"
    assert found["-elsewhere"].memory == tmp_path / ".local" / "share" / "slowwave" / "memory" / "-elsewhere"


def test_a_moved_folder_is_one_project_before_and_after(tmp_path: Path):
    pi_session(tmp_path / ".pi" / "agent" / "sessions" / "--a--" / "old.jsonl", "/old/shop/src")
    pi_session(tmp_path / ".pi" / "agent" / "sessions" / "--b--" / "new.jsonl", "/new/shop/src")
    assert set(projects(tmp_path)) == {"-old-shop-src", "-new-shop-src"}
    assert set(projects(tmp_path, moved={"/old/shop": "/new/shop/"})) == {"-new-shop-src"}
    assert set(projects(tmp_path, moved={"/old/sho": "/new/shop"})) == {"-old-shop-src", "-new-shop-src"}


def test_a_repository_of_the_home_folder_does_not_swallow_the_projects_below_it(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "a").mkdir()
    assert repository_of(str(tmp_path / "a"), str(tmp_path)) == str(tmp_path / "a")
    assert repository_of(str(tmp_path), str(tmp_path)) == str(tmp_path)
    assert repository_of(str(tmp_path / "a")) == str(tmp_path)


def test_the_folder_named_after_the_repository_is_the_home_of_its_worktrees(tmp_path: Path):
    repository, tree = tmp_path / "repo", tmp_path / "a-tree"
    (repository / ".git" / "worktrees" / "a-tree").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {repository}/.git/worktrees/a-tree\n")
    store = tmp_path / ".claude" / "projects"
    spelled = "".join(c if c.isalnum() else "-" for c in str(repository))
    write(store / "-a-tree" / "t.jsonl", claude("user", "hi", cwd=str(tree)))
    write(store / spelled / "r.jsonl", claude("user", "hi", cwd=str(repository)))
    (project,) = projects(tmp_path).values()
    assert project.memory == store / spelled / "memory"


def test_worktrees_of_a_repository_that_is_gone_are_one_project_where_their_names_show_it(tmp_path: Path):
    pi, store = tmp_path / ".pi" / "agent" / "sessions", tmp_path / ".claude" / "projects"
    write(
        store / "-gone-shop--claude-worktrees-a" / "a.jsonl",
        claude("user", "hi", cwd="/gone/shop/.claude/worktrees/a/src"),
    )
    write(store / "-gone-shop" / "s.jsonl", claude("user", "hi", cwd="/gone/shop"))
    pi_session(pi / "--b--" / "b.jsonl", "/gone/shop/.worktrees/b")
    pi_session(pi / "--c--" / "c.jsonl", "/gone/shop/worktrees/c")
    # nobody worked in /gone/dev, and a home folder is no repository: there are worktrees of many
    others = (
        "/gone/dev/worktrees/x",
        "/gone/dev/worktrees/y",
        "/home/bo/.worktrees/x",
        "/Users/bo/.claude/worktrees/y",
    )
    pi_session(pi / "--h--" / "h.jsonl", "/home/bo")
    # a folder above another one may hold many repositories
    others += ("/home/bo/worktrees/z", "/gone/shop/packages/api", f"{tmp_path}/.claude/worktrees/x", "/home/bo")
    for number, cwd in enumerate(others):
        pi_session(pi / f"--{number}--" / f"o{number}.jsonl", cwd)
    found = projects(tmp_path)
    shop = found.pop("-gone-shop")
    assert (shop.root, sorted(s.id for s in shop.sessions)) == ("/gone/shop", ["a", "b", "c", "s"])
    assert shop.memory == store / "-gone-shop" / "memory"
    assert {project.root for project in found.values()} == set(others)


def test_worktrees_of_a_repository_on_windows_are_one_project_with_it(tmp_path: Path):
    pi, store = tmp_path / ".pi" / "agent" / "sessions", tmp_path / ".claude" / "projects"
    tree = "D:\\shop\\.claude\\worktrees\\a"
    write(store / "D--shop--claude-worktrees-a" / "a.jsonl", claude("user", "hi", cwd=f"{tree}\\src"))
    write(store / "D--shop" / "s.jsonl", claude("user", "hi", cwd="D:\\shop"))
    pi_session(pi / "--b--" / "b.jsonl", "D:\\shop\\.worktrees\\b")
    # a home folder is no repository, a folder below another one no worktree, and elsewhere a name may have such signs
    others = {
        "C:\\Users\\bo\\.claude\\worktrees\\y",
        "D:\\.worktrees\\z",
        "D:\\shop\\packages\\api",
        "/gone/a\\.worktrees\\b",
    }
    for number, cwd in enumerate(sorted(others)):
        pi_session(pi / f"--{number}--" / f"o{number}.jsonl", cwd)
    found = projects(tmp_path)
    shop = found.pop("D--shop")
    assert (shop.root, sorted(s.id for s in shop.sessions)) == ("D:\\shop", ["a", "b", "s"])
    assert shop.memory == store / "D--shop" / "memory"
    assert {project.root for project in found.values()} == others


def test_a_worktree_whose_memory_was_there_first_keeps_it(tmp_path: Path):
    store = tmp_path / ".claude" / "projects"
    own = store / "D--shop--claude-worktrees-a"
    write(own / "a.jsonl", claude("user", "hi", cwd="D:\\shop\\.claude\\worktrees\\a"))
    write(store / "D--shop" / "s.jsonl", claude("user", "hi", cwd="D:\\shop"))
    for folder in (own, store / "D--shop"):
        (folder / "memory").mkdir()
        (folder / "memory" / "MEMORY.md").write_text("- a\n")
        (project,) = projects(tmp_path).values()
        assert project.memory == folder / "memory"


def test_a_home_folder_as_root_gives_the_stores_of_all_clients_in_it(tmp_path: Path):
    person = tmp_path / "ann"
    write(person / ".claude" / "projects" / "-p" / "c.jsonl", claude("user", "hi", cwd="/p"))
    pi_session(person / ".pi" / "agent" / "sessions" / "--q--" / "p.jsonl", "/q")
    assert {s.id for p in projects(tmp_path, roots=(person,)).values() for s in p.sessions} == {"c", "p"}

"""Which sessions and projects are found in which kinds of roots, and what is reported instead of lost."""

import os
import socket
from pathlib import Path

import pytest

from slowwave.errors import SettingsError, UnknownDialectError, UnreadableError
from slowwave.formats.registry import NAMES, sniff
from slowwave.formats.sessions import StoredSession
from slowwave.settings import MemorySettings, Settings
from slowwave.stores import roots
from slowwave.stores.discovery import changed_since, find_projects
from slowwave.stores.projects import Discovery, spelling_key
from tests.unit.stores.store_builder import cersei, claude, settings_for, write


def find(*roots: Path, **store: object) -> Discovery:
    return find_projects(settings_for(*roots, **store), {"HOME": "/nonexistent"})


def sessions(found: Discovery) -> dict[str, StoredSession]:
    return {s.id: s for project in found.projects for s in project.sessions}


def kinds(found: Discovery) -> list[str]:
    return sorted(problem.kind for problem in found.problems)


def test_a_claude_home_a_projects_folder_and_a_single_folder_show_the_same_session(tmp_path: Path):
    home = tmp_path / ".claude"
    path = write(home / "projects" / "-home-ann-shop" / "a.jsonl", claude("user", "hi"))
    for root in (home, home / "projects", home / "projects" / "-home-ann-shop"):
        found = find(root)
        assert [p.key for p in found.projects] == ["-home-ann-shop"]
        assert sessions(found)["a"].files.paths == (path,)
        assert not found.problems


def test_without_roots_the_home_of_claude_is_searched(tmp_path: Path):
    write(tmp_path / ".claude" / "projects" / "-p" / "a.jsonl", claude("user", "hi"))
    assert list(sessions(find_projects(settings_for(), {"HOME": str(tmp_path)}))) == ["a"]


def test_without_roots_and_without_a_claude_home_nothing_is_found_and_that_is_said(tmp_path: Path):
    found = find_projects(settings_for(), {"HOME": str(tmp_path)})
    assert found.projects == []
    assert "no store" in str(found.problems[0])


def test_two_dialects_share_one_folder(tmp_path: Path):
    write(tmp_path / "a.jsonl", claude("user", "hi"))
    write(tmp_path / "b.jsonl", cersei("user", "hi"))
    write(tmp_path / "c.jsonl", {"role": "user", "content": "hi"})
    assert {i: s.dialect for i, s in sessions(find(tmp_path)).items()} == {
        "a": "claude", "b": "cersei", "c": "cersei-bare",
    }  # fmt: skip


def test_parts_are_one_session_in_numeric_order(tmp_path: Path):
    names = ["s.jsonl", *(f"s_part{n}.jsonl" for n in range(2, 12))]
    for name in reversed(names):
        write(tmp_path / name, cersei("user", name))
    session = sessions(find(tmp_path))["s"]
    assert [p.name for p in session.files.paths] == names
    assert session.size == sum((tmp_path / name).stat().st_size for name in names)


def test_a_gap_is_reported_and_hides_no_later_part(tmp_path: Path):
    for name in ("s.jsonl", "s_part2.jsonl", "s_part5.jsonl"):
        write(tmp_path / name, cersei("user", name))
    found = find(tmp_path)
    assert len(sessions(found)["s"].files.paths) == 3
    assert [p.detail.split(";")[0] for p in found.problems] == ["part 3 is missing", "part 4 is missing"]
    assert [p.kind for p in sessions(found)["s"].files.problems] == ["gap", "gap"]


def test_parts_without_a_base_file_are_a_session(tmp_path: Path):
    write(tmp_path / "s_part2.jsonl", cersei("user", "hi"))
    found = find(tmp_path)
    assert list(sessions(found)) == ["s"]
    assert kinds(found) == ["gap"]


def test_names_that_only_look_like_parts_are_sessions_of_their_own(tmp_path: Path):
    for name in ("s_part1", "s_part02", "s_partly", "_part3"):
        write(tmp_path / f"{name}.jsonl", cersei("user", "hi"))
    assert sorted(sessions(find(tmp_path))) == ["_part3", "s_part02", "s_part1", "s_partly"]


def test_a_session_too_large_for_cersei_is_found_with_a_warning(tmp_path: Path):
    write(tmp_path / "s.jsonl", cersei("user", "x" * 100))
    write(tmp_path / "c.jsonl", claude("user", "x" * 100))
    found = find(tmp_path, warn_bytes=50)
    assert sorted(sessions(found)) == ["c", "s"]
    assert [(p.kind, Path(p.path).name) for p in found.problems] == [("too-large", "s.jsonl")]


def test_sub_agents_are_known_beside_below_and_by_content(tmp_path: Path):
    write(tmp_path / "s.jsonl", claude("user", "hi"))
    write(tmp_path / "agent-1.jsonl", claude("user", "go", isSidechain=True))
    write(tmp_path / "s" / "subagents" / "agent-2.jsonl", claude("user", "go", isSidechain=True))
    write(tmp_path / "s" / "subagents" / "workflows" / "wf_1" / "agent-3.jsonl", claude("user", "go", isSidechain=True))
    write(tmp_path / "renamed.jsonl", claude("user", "go", isSidechain=True))
    write(tmp_path / "old.jsonl", claude("user", "go", isSidechain=True), claude("user", "typed", 1))
    found = sessions(find(tmp_path))
    assert {i for i, s in found.items() if s.kind == "subagent"} == {"agent-1", "agent-2", "agent-3", "renamed"}
    assert {s.folder for s in found.values()} == {tmp_path}


def test_what_is_no_session_by_its_name_is_passed_over(tmp_path: Path):
    write(tmp_path / "s.jsonl", claude("user", "hi"))
    for name in (".slowwave-tmp-1-s.jsonl", "s.jsonl.bak", "s.jsonl.lock", "notes.md", ".hidden.jsonl"):
        write(tmp_path / name, claude("user", "hi"))
    write(tmp_path / "memory" / "x.jsonl", claude("user", "hi"))
    found = find(tmp_path)
    assert list(sessions(found)) == ["s"]
    assert not found.problems


def test_transcripts_where_no_client_keeps_them_are_reported(tmp_path: Path):
    write(tmp_path / "s.jsonl", claude("user", "hi"))
    write(tmp_path / "archive" / "old.jsonl", claude("user", "hi"))
    found = find(tmp_path)
    assert list(sessions(found)) == ["s"]
    assert [(p.kind, p.path) for p in found.problems] == [("ignored", str(tmp_path / "archive"))]


def test_one_bad_file_never_stops_a_run(tmp_path: Path):
    write(tmp_path / "good.jsonl", claude("user", "hi"))
    write(tmp_path / "strange.jsonl", {"foo": 1})
    write(tmp_path / "empty.jsonl")
    write(tmp_path / "noise.jsonl", b"\x00\x00\xff\xfe", b"{{{{")
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket.jsonl"))
    (tmp_path / "broken.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "circle.jsonl").symlink_to(tmp_path / "circle.jsonl")
    found = find(tmp_path)
    assert list(sessions(found)) == ["good"]
    assert kinds(found) == ["empty", *["unknown-dialect"] * 2, *["unreadable"] * 5]
    assert all("\n" not in str(problem) for problem in found.problems)


def test_an_unreadable_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path / "good.jsonl", claude("user", "hi"))
    closed = write(tmp_path / "closed.jsonl", claude("user", "hi"))

    def refusing(path: Path) -> str | None:
        if path == closed:
            raise UnreadableError(path, "Permission denied")
        return sniff(path)

    monkeypatch.setattr(roots, "sniff", refusing)
    found = find(tmp_path)
    assert list(sessions(found)) == ["good"]
    assert [(p.kind, p.detail) for p in found.problems] == [("unreadable", "Permission denied")]


def test_symbolic_links_are_followed_once_and_loops_are_reported(tmp_path: Path):
    store = tmp_path / "projects"
    write(store / "-p" / "s.jsonl", claude("user", "hi"))
    (store / "-q").symlink_to(store / "-p")
    (store / "-p" / "s" / "subagents").mkdir(parents=True)
    (store / "-p" / "s" / "subagents" / "back").symlink_to(store / "-p" / "s" / "subagents")
    (store / "-p" / "again.jsonl").symlink_to(store / "-p" / "s.jsonl")
    found = find(store)
    assert len(sessions(found)) == 1
    assert kinds(found) == ["duplicate", "loop", "loop"]


def test_a_linked_project_folder_is_found(tmp_path: Path):
    write(tmp_path / "elsewhere" / "s.jsonl", claude("user", "hi"))
    (tmp_path / "projects").mkdir()
    (tmp_path / "projects" / "-p").symlink_to(tmp_path / "elsewhere")
    assert list(sessions(find(tmp_path / "projects"))) == ["s"]


@pytest.mark.parametrize("name", [b"line\nbreak.jsonl", b"bad\xff\xfebytes.jsonl", " space é.jsonl".encode()])
def test_odd_names_survive(tmp_path: Path, name: bytes):
    path = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))  # noqa: PTH118
    write(path, claude("user", "hi"))
    found = find(tmp_path)
    (session,) = sessions(found).values()
    assert os.fsencode(session.files.paths[0].name) == name
    assert session.files.paths[0].read_bytes()


def test_three_spellings_of_a_folder_are_one_project(tmp_path: Path):
    for number, name in enumerate(("-Users-foo-p", "Users-foo-p", "_Users_foo_p")):
        write(tmp_path / "projects" / name / f"s{number}.jsonl", cersei("user", "hi"))
    write(tmp_path / "projects" / "-Users-foo-p2" / "other.jsonl", claude("user", "hi", cwd="/Users/foo/p2"))
    first, second = find(tmp_path).projects
    assert (first.key, second.key) == ("-Users-foo-p", "-Users-foo-p2")
    assert len(first.sessions) == len(first.folders) == 3
    assert first.memory == tmp_path / "projects" / "-Users-foo-p" / "memory"


def test_the_folder_that_has_an_index_keeps_the_memory(tmp_path: Path):
    write(tmp_path / "projects" / "-Users-foo-p" / "s.jsonl", claude("user", "hi"))
    write(tmp_path / "projects" / "_Users_foo_p" / "memory" / "MEMORY.md", b"- a")
    (project,) = find(tmp_path).projects
    assert project.memory == tmp_path / "projects" / "_Users_foo_p" / "memory"


def test_a_project_with_memory_and_no_session_is_a_project(tmp_path: Path):
    write(tmp_path / "projects" / "-p" / "memory" / "MEMORY.md", b"- a")
    (project,) = find(tmp_path).projects
    assert (project.key, project.sessions) == ("-p", ())


def test_the_template_places_memory_elsewhere(tmp_path: Path):
    write(tmp_path / "s.jsonl", claude("user", "hi"))
    store = settings_for(tmp_path).store
    settings = Settings(store=store, memory=MemorySettings(folder="/m/{key}"))
    (project,) = find_projects(settings, {}).projects
    assert project.memory == Path("/m") / tmp_path.name
    bad = Settings(store=store, memory=MemorySettings(folder="/m/{nonsense}"))
    with pytest.raises(SettingsError, match=r"memory\.folder"):
        find_projects(bad, {})


@pytest.mark.parametrize("leads", ["{0}/.git/worktrees/tree", "../repo/.git/worktrees/tree"])
def test_the_root_is_the_repository_and_a_worktree_counts_as_its_repository(tmp_path: Path, leads: str):
    repository, tree = tmp_path / "repo", tmp_path / "tree"
    (repository / ".git" / "worktrees" / "tree").mkdir(parents=True)
    (repository / "src").mkdir()
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {leads.format(repository)}\n")
    store = tmp_path / "projects"
    write(
        store / "-a" / "a.jsonl",
        {"type": "queue-operation", "sessionId": "a"},
        claude("user", "hi", cwd=str(repository / "src")),
    )
    write(store / "-b" / "b.jsonl", claude("user", "hi", cwd=str(tree)))
    write(store / "-c" / "c.jsonl", claude("user", "hi", cwd="/gone/far"))
    found = find(store).projects
    assert {p.root: [s.id for s in p.sessions] for p in found} == {str(repository): ["a", "b"], "/gone/far": ["c"]}


def test_sessions_stand_in_order_of_their_last_change(tmp_path: Path):
    for number, name in enumerate("cab"):
        path = write(tmp_path / f"{name}.jsonl", claude("user", "hi"))
        os.utime(path, (number, number))
    (project,) = find(tmp_path).projects
    assert [s.id for s in project.sessions] == ["c", "a", "b"]


@pytest.mark.parametrize("case", ["missing", "file", "empty", "nothing"])
def test_a_root_that_is_no_store_is_an_error_with_a_remedy(tmp_path: Path, case: str):
    root = tmp_path / "root"
    if case == "file":
        root.write_text("x")
    elif case == "empty":
        root.mkdir()
    elif case == "nothing":
        (root / "docs").mkdir(parents=True)
        (root / "docs" / "a.md").write_text("x")
    with pytest.raises(UnreadableError, match="--store") as caught:
        find(root)
    assert "\n" not in str(caught.value)


def test_a_root_of_unknown_transcripts_is_an_error_that_says_what_was_expected(tmp_path: Path):
    write(tmp_path / "measured.jsonl", {"metric": "latency", "value": 3})
    with pytest.raises(UnknownDialectError) as caught:
        find(tmp_path)
    assert [name for name in NAMES if name not in str(caught.value)] == []


def test_a_claude_home_without_sessions_is_an_empty_store(tmp_path: Path):
    (tmp_path / "projects").mkdir()
    assert find(tmp_path).projects == []


def test_a_named_root_that_fails_stops_the_others_from_hiding_it(tmp_path: Path):
    write(tmp_path / "good" / "s.jsonl", claude("user", "hi"))
    with pytest.raises(UnreadableError):
        find(tmp_path / "good", tmp_path / "missing")


def test_changed_since_names_files_that_changed_after_a_time(tmp_path: Path):
    old = write(tmp_path / "old.jsonl", claude("user", "hi"))
    new = write(tmp_path / "new.jsonl", claude("user", "hi"))
    os.utime(old, ns=(5, 1_000))
    os.utime(new, ns=(5, 1_001))
    assert changed_since(settings_for(tmp_path), {}, 1_000) == [str(new)]
    assert changed_since(settings_for(tmp_path), {}, 1_001) == []


def test_spellings_have_one_key():
    keys = {spelling_key(name) for name in ("_Users_foo_p", "Users-foo-p", "-Users-foo-p")}
    assert keys == {"Users-foo-p"}

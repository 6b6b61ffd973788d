"""Session ids that may become file names, and the session that a person means."""

from pathlib import Path

import pytest

from slowwave.errors import NotFoundError, UsageError
from slowwave.formats.sessions import base_path, checked_id
from slowwave.stores.roots import found_sessions, meant_session, newest_session, session_of_path
from tests.unit.stores.store_builder import cersei, claude, settings_for, write

HOSTILE = [
    "", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", "a\0b", "a\nb", ".hidden", "-rf", " a", "a ", "C:x",
    "x" * 201, "s_part2", "\x1b[31m", "../../.ssh/authorized_keys", "\u202egnp", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("session_id", HOSTILE)
def test_hostile_ids_never_become_a_path(tmp_path: Path, session_id: str):
    with pytest.raises(UsageError):
        base_path(tmp_path, session_id)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "session_id", ["abc12345", "session-1", "36d7d419-898b-43df-9d61-193f41e5f6a2", "día", "a.b_c"]
)
def test_ordinary_ids_pass(tmp_path: Path, session_id: str):
    assert base_path(tmp_path, checked_id(session_id)) == tmp_path / f"{session_id}.jsonl"


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path):
    outside = write(tmp_path / "outside.jsonl", claude("user", "hi"))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "s.jsonl").symlink_to(outside)
    with pytest.raises(UsageError, match="leads out"):
        base_path(tmp_path / "store", "s")


def test_a_session_is_meant_by_its_id_or_a_unique_beginning(tmp_path: Path):
    for name in ("abc1", "abc2", "abcd", "abc"):
        write(tmp_path / f"{name}.jsonl", claude("user", "hi"))
    found = found_sessions(settings_for(tmp_path), {}, [])
    assert meant_session("abc", found).id == "abc"
    assert meant_session("abcd", found).id == "abcd"
    with pytest.raises(NotFoundError, match="matches 4"):
        meant_session("ab", found)
    for name in ("", "zzz"):
        with pytest.raises(NotFoundError, match=f"no session {name!r} among 4 sessions; "):
            meant_session(name, found)
    with pytest.raises(NotFoundError, match="no session 'zzz' among 1 session; "):
        meant_session("zzz", found[:1])


def test_a_beginning_prefers_main_sessions_over_sub_agents(tmp_path: Path):
    write(tmp_path / "agentic.jsonl", claude("user", "hi"))
    write(tmp_path / "agent-1.jsonl", claude("user", "hi", isSidechain=True))
    assert meant_session("agent", found_sessions(settings_for(tmp_path), {}, [])).id == "agentic"


def test_the_newest_session_is_a_main_one_with_content(tmp_path: Path):
    import os  # noqa: PLC0415

    for number, name in enumerate(("old", "new", "agent-1")):
        os.utime(write(tmp_path / f"{name}.jsonl", claude("user", "hi")), (number, number))
    write(tmp_path / "empty.jsonl")
    assert newest_session(found_sessions(settings_for(tmp_path), {}, [])).id == "new"
    with pytest.raises(NotFoundError):
        newest_session([])


def test_any_part_names_the_whole_session(tmp_path: Path):
    write(tmp_path / "s.jsonl", cersei("user", "hi"))
    part = write(tmp_path / "s_part2.jsonl", cersei("user", "hi"))
    assert [f.name for f in session_of_path(part).files] == ["s.jsonl", "s_part2.jsonl"]

"""opencode's behaviours as formats.md §11.6 lists them, as far as reading shows them.

When to prune is a question of compaction; what a pruned output is sent as is tried in the unit tests.
"""

from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats.opencode.dialect import OPENCODE
from tests.unit.formats.opencode_files import SESSION, Session, database, done, read, spoken, words


def test_files_of_a_tree_without_an_owner_are_skipped_and_reading_changes_nothing(tmp_path: Path) -> None:
    session = Session()
    session.user("hi")
    path = session.tree(tmp_path)
    orphan = tmp_path / "storage" / "part" / "msg_gone" / "prt_gone.json"
    orphan.parent.mkdir()
    orphan.write_text('{"id": "prt_gone", "type": "text", "text": "lost"}', encoding="utf-8")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.json")}
    first, second = read(path), read(path)
    assert first.messages == second.messages
    assert [m.text for m in first.messages] == ["hi"]
    assert {p: p.read_bytes() for p in tmp_path.rglob("*.json")} == before


def test_filter_compacted_stops_at_a_finished_summary_only(tmp_path: Path) -> None:
    session = Session()
    session.user("one")
    session.answer(words("1"))
    session.compact("never finished", finish=None)
    session.user("two")
    assert spoken(session.export(tmp_path))[0] == "u:one"
    session.compact("finished")
    assert spoken(session.export(tmp_path)) == ["u:What did we do so far?", "a:finished"]


def test_a_migrated_session_says_in_the_database_what_it_said_in_its_tree(tmp_path: Path) -> None:
    session = Session()
    session.user("hi")
    session.answer(words("ho"), done("a.txt"))
    session.compact("said hello")
    before, after = read(session.tree(tmp_path)), read(database(tmp_path, session), SESSION)
    assert [(m.id, m.role, m.origin, m.blocks) for m in after.messages] == [
        (m.id, m.role, m.origin, m.blocks) for m in before.messages
    ]
    assert (after.records, after.title, after.problems) == (before.records, before.title, [])
    assert list(OPENCODE.context(after)) != []


def test_a_pruned_output_is_sent_as_a_note_and_kept_for_readers(tmp_path: Path) -> None:
    session = Session()
    session.user("hi")
    session.answer(done("a very long output", time={"start": 1, "end": 2, "compacted": 3}))
    path = session.export(tmp_path)
    assert spoken(path)[-1] == "t:[Old tool result content cleared]"
    assert [r.text for m in read(path).messages for r in m.results] == ["a very long output"]


def test_sub_agents_have_a_parent_and_forks_a_title(tmp_path: Path) -> None:
    child, fork = Session("ses_child", parentID=SESSION), Session("ses_fork", title="Fix it (fork #1)")
    own = Session("ses_own", title="What (fork #1) means")
    for session in (child, fork, own):
        session.user("hi")
    kinds = [read(s.export(tmp_path)).kind for s in (child, fork, own)]
    assert kinds == ["subagent", "fork", "main"]


def test_a_session_that_was_removed_is_not_taken_for_another(tmp_path: Path) -> None:
    session = Session()
    session.user("hi")
    with pytest.raises(UnreadableError, match="without a session ses_gone"):
        read(database(tmp_path, session), "ses_gone")

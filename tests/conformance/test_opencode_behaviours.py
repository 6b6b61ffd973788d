"""opencode's behaviours as formats.md §11.6 lists them, as far as reading shows them.

When to prune is a question of compaction; what a pruned output is sent as is tried in the unit tests.
"""

from pathlib import Path

from tests.unit.dialects.opencode_files import Session, read, spoken, words


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

"""pi's own thirty tests of ``tree-traversal.test.ts``, by their names, against slowwave's writer and reader.

Deviations: pi moves the leaf in memory only, slowwave writes an entry that moves it, so ``branch`` survives the end of
the program; and where pi keeps an extracted path without an answer in memory until there is one, slowwave refuses.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import NotFoundError, UsageError
from slowwave.formats.pi.dialect import PI
from slowwave.formats.writing import Compaction
from tests.conformance.pi_manager import Manager
from tests.unit.formats.pi_files import Session

UNKNOWN = "nonexistent"


def entry(manager: Manager, kind: str) -> dict[str, object]:
    """Return the only entry of a type as it stands in the file."""
    (found,) = [e for e in manager.entries if e.type == kind]
    return found.fields()


def after_client(folder: Path, kind: str, **fields: Any) -> Manager:
    """Return a session in which pi wrote a message, an answer and one more entry."""
    session = Session()
    session.user("hello")
    session.model("first")
    session.add(kind, **fields)
    return Manager(folder, session)


class TestAppendOperations:
    def test_append_message_creates_entry_with_correct_parent_id_chain(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        ids = [manager.user("first"), manager.model("second"), manager.user("third")]
        assert manager.ids == ids
        assert manager.parents == [None, *ids[:2]]
        assert {e.type for e in manager.entries} == {"message"}

    def test_append_thinking_level_change_integrates_into_tree(self, tmp_path: Path) -> None:
        manager = after_client(tmp_path, "thinking_level_change", thinkingLevel="high")
        manager.model("response")
        assert manager.parents == [None, "e1", "e2", "e3"]

    def test_append_model_change_integrates_into_tree(self, tmp_path: Path) -> None:
        manager = after_client(tmp_path, "model_change", provider="openai", modelId="gpt-4")
        manager.user("more")
        assert entry(manager, "model_change")["modelId"] == "gpt-4"
        assert manager.parents[-1] == "e3"

    def test_append_compaction_integrates_into_tree(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        first, second = manager.user("1"), manager.model("2")
        made = manager.sessions.compact("s1", Compaction("summary", first, 1000))
        manager.user("3")
        found = entry(manager, "compaction")
        assert (found["id"], found["parentId"]) == (made, second)
        assert [found[k] for k in ("summary", "firstKeptEntryId", "tokensBefore")] == ["summary", first, 1000]
        assert manager.parents[-1] == made

    def test_append_custom_entry_integrates_into_tree(self, tmp_path: Path) -> None:
        manager = after_client(tmp_path, "custom", customType="my_data", data={"key": "value"})
        manager.model("response")
        assert entry(manager, "custom")["data"] == {"key": "value"}
        assert manager.parents[-2:] == ["e2", "e3"]

    def test_leaf_pointer_advances_after_each_append(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path, Session())
        assert manager.leaf is None
        for append in (manager.user, manager.model, manager.user):
            made = append("text")
            assert manager.leaf == made
        labelled = manager.sessions.label("s1", made, "here")
        assert manager.leaf == labelled


class TestGetPath:
    def test_returns_empty_array_for_empty_session(self, tmp_path: Path) -> None:
        assert Manager(tmp_path, Session()).path == []

    def test_returns_single_entry_path(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        made = manager.model("hello")
        assert manager.path == [made]

    def test_returns_full_path_from_root_to_leaf(self, tmp_path: Path) -> None:
        manager = after_client(tmp_path, "thinking_level_change", thinkingLevel="high")
        made = manager.user("3")
        assert manager.path == ["e1", "e2", "e3", made]

    def test_returns_path_from_specified_entry_to_root(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        ids = [manager.user("1"), manager.model("2"), manager.user("3"), manager.model("4")]
        assert manager.branched(ids[1]).path == ids[:2]

    def test_terminates_on_parent_cycles(self, tmp_path: Path) -> None:
        session = Session()
        session.user("a", parent="e2")
        session.model("b", parent="e1")
        assert Manager(tmp_path, session).path == ["e1", "e2"]


class TestGetTree:
    def test_returns_empty_array_for_empty_session(self, tmp_path: Path) -> None:
        assert Manager(tmp_path, Session()).tree() == {None: []}

    def test_returns_single_root_for_linear_session(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        one, two, three = manager.user("1"), manager.model("2"), manager.user("3")
        assert manager.tree() == {None: [one], one: [two], two: [three], three: []}

    def test_returns_tree_with_branches_after_branch(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        one, two, three = manager.user("1"), manager.model("2"), manager.user("3")
        four = manager.user("4-branch", parent=two)
        assert manager.tree() == {None: [one], one: [two], two: [three, four], three: [], four: []}

    def test_handles_multiple_branches_at_same_point(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.user("root")
        two = manager.model("response")
        made = [manager.user(f"branch-{name}", parent=two) for name in "ABC"]
        assert manager.tree()[two] == made

    def test_handles_deep_branching(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.user("1")
        two, three, four = manager.model("2"), manager.user("3"), manager.model("4")
        five = manager.user("5", parent=two)
        six = manager.model("6")
        seven = manager.user("7", parent=five)
        tree = manager.tree()
        assert (tree[two], tree[five], tree[three]) == ([three, five], [six, seven], [four])


class TestBranch:
    def test_moves_leaf_pointer_to_specified_entry(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        one = manager.user("1")
        manager.model("2")
        three = manager.user("3")
        assert manager.leaf == three
        moved = manager.sessions.branch("s1", one)
        assert manager.leaf == moved
        assert manager.path == [one, moved]
        assert manager.context() == ["user: 1"]

    def test_throws_for_non_existent_entry(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.model("hello")
        before = manager.ids
        with pytest.raises(NotFoundError, match=UNKNOWN):
            manager.sessions.branch("s1", UNKNOWN)
        assert manager.ids == before

    def test_new_appends_become_children_of_branch_point(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        one = manager.user("1")
        two = manager.model("2")
        manager.sessions.branch("s1", one)
        three = manager.user("branched")
        assert manager.tree()[one] == [two, three]


class TestBranchWithSummary:
    def test_inserts_branch_summary_and_advances_leaf(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        one = manager.user("1")
        manager.model("2")
        manager.user("3")
        made = manager.sessions.branch("s1", one, "Summary of abandoned work")
        found = entry(manager, "branch_summary")
        assert manager.leaf == made
        assert (found["parentId"], found["summary"]) == (one, "Summary of abandoned work")

    def test_throws_for_non_existent_entry(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.model("hello")
        with pytest.raises(NotFoundError, match=UNKNOWN):
            manager.sessions.branch("s1", UNKNOWN, "summary")


class TestGetLeafEntry:
    def test_returns_none_for_empty_session(self, tmp_path: Path) -> None:
        assert Manager(tmp_path, Session()).leaf is None

    def test_returns_current_leaf_entry(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.user("1")
        assert manager.model("2") == manager.leaf


class TestGetEntry:
    def test_knows_no_non_existent_id(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.model("first")
        assert UNKNOWN not in manager.ids

    def test_returns_entry_by_id(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        one, two = manager.user("first"), manager.model("second")
        by_id = {m.id: m for m in manager.transcript.messages}
        assert (by_id[one].text, by_id[two].text) == ("first", "second")


def test_build_session_context_returns_messages_from_current_branch_only(tmp_path: Path) -> None:
    manager = Manager(tmp_path)
    manager.user("msg1")
    two = manager.model("msg2")
    manager.user("msg3")
    manager.sessions.branch("s1", two)
    manager.model("msg4-branch")
    assert manager.context() == ["user: msg1", "assistant: msg2", "assistant: msg4-branch"]


class TestCreateBranchedSession:
    def test_throws_for_non_existent_entry(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.model("hello")
        with pytest.raises(NotFoundError, match=UNKNOWN):
            manager.branched(UNKNOWN)
        assert len(list(tmp_path.iterdir())) == 1

    def test_creates_new_session_with_path_to_specified_leaf(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        one, two, three = manager.user("1"), manager.model("2"), manager.user("3")
        manager.model("4")
        manager.user("5", parent=three)
        before = manager.ids
        copy = manager.branched(two)
        assert copy.ids == [one, two]
        assert manager.ids == before
        assert copy.transcript.header["parentSession"] == str(manager.transcript.files.paths[0])
        assert copy.transcript.kind == "fork"

    def test_extracts_correct_path_from_branched_tree(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        one, two = manager.user("1"), manager.model("2")
        manager.user("3")
        four = manager.user("4", parent=two)
        five = manager.model("5")
        assert manager.branched(five).ids == [one, two, four, five]

    def test_does_not_duplicate_entries_when_forking_from_first_user_message(self, tmp_path: Path) -> None:
        # pi defers such a file until there is an answer; nothing is left here that a second write could double
        manager = Manager(tmp_path)
        first = manager.user("first question")
        manager.model("first answer")
        with pytest.raises(UsageError, match="without an answer"):
            manager.branched(first)
        assert len(list(tmp_path.iterdir())) == 1

    def test_a_new_session_appears_with_its_first_answer_whole_and_once(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.user("question")
        assert list(tmp_path.iterdir()) == []
        manager.model("answer")
        manager.user("again")
        (path,) = tmp_path.iterdir()
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert [r["type"] for r in records] == ["session", "message", "message", "message"]
        assert len({r["id"] for r in records}) == 4

    def test_writes_file_immediately_when_forking_from_a_point_with_assistant_messages(self, tmp_path: Path) -> None:
        manager = Manager(tmp_path)
        manager.user("first question")
        two = manager.model("first answer")
        manager.user("second question")
        copy = manager.branched(two)
        headers = [e for e in copy.transcript.loaded.entries if e.type == "session"]
        assert len(headers) == 1
        assert [m.text for m in PI.context(copy.transcript)] == ["first question", "first answer"]

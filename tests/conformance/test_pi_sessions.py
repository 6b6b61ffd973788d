"""pi's own tests of ``custom-session-id``, ``save-entry`` and ``session-info-modified-timestamp``, by their names."""

import os
import re
from datetime import datetime
from pathlib import Path

from tests.conformance.pi_manager import Manager
from tests.unit.formats.pi_files import Session

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def test_uses_the_provided_id_instead_of_generating_one(tmp_path: Path) -> None:
    manager = Manager(tmp_path, id="my-custom-id")
    manager.model("hello")
    assert [row.id for row in manager.sessions.list()] == ["my-custom-id"]
    assert [p.name for p in tmp_path.iterdir()] == ["2026-03-15T11-00-01-000Z_my-custom-id.jsonl"]


def test_generates_an_id_when_no_id_is_provided(tmp_path: Path) -> None:
    manager = Manager(tmp_path)
    manager.model("hello")
    made = manager.sessions.fork("s1")
    assert UUID.fullmatch(made)
    assert made != manager.sessions.fork("s1")


def test_generates_an_id_for_a_session_that_has_a_parent(tmp_path: Path) -> None:
    manager = Manager(tmp_path)
    copy = manager.branched(manager.model("hello"))
    assert UUID.fullmatch(copy.id)
    assert copy.transcript.header["parentSession"] == str(manager.transcript.files.paths[0])


def test_includes_the_custom_id_in_the_session_header(tmp_path: Path) -> None:
    manager = Manager(tmp_path, id="header-test-id")
    manager.model("hello")
    assert manager.transcript.header["id"] == "header-test-id"
    copy = manager.branched(str(manager.leaf))
    assert copy.transcript.header["id"] == copy.id


def test_saves_custom_entries_and_includes_them_in_tree_traversal(tmp_path: Path) -> None:
    session = Session()
    session.user("hello")
    session.add("custom", customType="my_data", data={"foo": "bar"})
    manager = Manager(tmp_path, session)
    made = manager.model("hi")
    assert manager.path == ["e1", "e2", made]
    assert manager.entries[1].fields()["data"] == {"foo": "bar"}
    assert manager.context() == ["user: hello", "assistant: hi"]


def test_modified_uses_last_user_or_assistant_message_timestamp_instead_of_file_mtime(tmp_path: Path) -> None:
    session = Session()
    session.user("hello")
    manager = Manager(tmp_path, session)
    manager.model("later")
    (path,) = tmp_path.iterdir()
    os.utime(path, (1, 1))
    (row,) = manager.sessions.list()
    said = manager.transcript.messages[-1].timestamp
    assert said is not None
    assert datetime.fromisoformat(row.last_activity) == said
    assert said.year == 2026


def test_a_label_is_no_activity(tmp_path: Path) -> None:
    manager = Manager(tmp_path)
    manager.model("said")
    (before,) = manager.sessions.list()
    manager.sessions.label("s1", str(manager.leaf), "x")
    (after,) = manager.sessions.list()
    assert after.last_activity == before.last_activity


def test_splits_on_lf_only_and_preserves_u2028_in_what_it_writes(tmp_path: Path) -> None:
    manager = Manager(tmp_path)
    text = "a\u2028b\u2029c\u0085d\r\ne"
    manager.model(text)
    manager.user(text)
    (path,) = tmp_path.iterdir()
    assert path.read_bytes().count(b"\n") == 3
    assert [m.text for m in manager.transcript.messages] == [text, text]


def test_uses_last_entry_when_leaf_id_not_found_since_a_file_names_no_other_leaf(tmp_path: Path) -> None:
    session = Session()
    session.user("hello")
    session.model("hi")
    session.add("label", targetId="nonexistent", label="x")
    assert Manager(tmp_path, session).context() == ["user: hello", "assistant: hi"]

"""pi's own tests of reading, by their names: build-context, file-operations, labels, migration, rpc-jsonl, info.

Where its behaviour is a defect that slowwave does not repeat, the test's name says so.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats import SessionFiles
from slowwave.formats.pi.dialect import PI
from tests.unit.formats.pi_files import HEADER, Session, read


def talk(*texts: str) -> Session:
    """Return a session of a user and a model in turn."""
    session = Session()
    for number, text in enumerate(texts):
        if number % 2:
            session.model(text)
        else:
            session.user(text)
    return session


def test_empty_entries_give_nothing(tmp_path: Path) -> None:
    transcript = Session().read(tmp_path)
    assert (PI.context(transcript), transcript.model, transcript.thinking_level) == ([], None, "off")


def test_single_user_message(tmp_path: Path) -> None:
    assert talk("hello").shape(tmp_path) == ["user: hello"]


def test_simple_conversation(tmp_path: Path) -> None:
    assert len(talk("hello", "hi", "how are you", "fine").context(tmp_path)) == 4


def test_tracks_thinking_level_changes(tmp_path: Path) -> None:
    session = talk("hello")
    session.add("thinking_level_change", thinkingLevel="high")
    session.model("hard")
    transcript = session.read(tmp_path)
    assert (transcript.thinking_level, len(PI.context(transcript))) == ("high", 2)


def test_tracks_model_from_assistant_message(tmp_path: Path) -> None:
    session = talk("hello")
    session.add("model_change", provider="openai", modelId="gpt-4")
    session.model("hi", provider="anthropic", model="claude-test")
    model = session.read(tmp_path).model
    assert model is not None
    assert model[:2] == ("anthropic", "claude-test")


def test_compaction_includes_summary_before_kept_messages(tmp_path: Path) -> None:
    session = talk("first", "r1", "second", "r2")
    session.compact("e3", "Summary")
    session.user("third")
    session.model("r3")
    assert [line.partition(": ")[2] for line in session.shape(tmp_path)] == [
        "[Summary]",
        "second",
        "r2",
        "third",
        "r3",
    ]


def test_compaction_keeping_from_first_message(tmp_path: Path) -> None:
    session = talk("first", "r1")
    session.compact("e1", "Empty")
    session.user("second")
    assert session.shape(tmp_path) == ["user: [Empty]", "user: first", "assistant: r1", "user: second"]


def test_multiple_compactions_use_the_latest(tmp_path: Path) -> None:
    session = talk("a", "b")
    session.compact("e1", "First")
    session.user("c")
    session.model("d")
    session.compact("e4", "Second")
    session.user("e")
    assert session.shape(tmp_path) == ["user: [Second]", "user: c", "assistant: d", "user: e"]


def test_follows_path_to_the_leaf_of_either_branch(tmp_path: Path) -> None:
    session = talk("start", "r")
    session.user("branch A")
    assert session.shape(tmp_path)[-1] == "user: branch A"
    session.user("branch B", parent="e2")
    assert session.shape(tmp_path) == ["user: start", "assistant: r", "user: branch B"]


def test_includes_branch_summary_in_path(tmp_path: Path) -> None:
    session = talk("start", "r", "abandoned")
    session.add("branch_summary", parent="e2", fromId="e3", summary="Tried")
    session.user("new")
    assert session.shape(tmp_path) == ["user: start", "assistant: r", "user: [Tried]", "user: new"]


def test_complex_tree_with_branches_and_compaction(tmp_path: Path) -> None:
    session = talk("start", "r1", "q2", "r2")
    session.compact("e3", "Compacted")
    session.user("q3")
    session.model("r3")
    main = session.shape(tmp_path)
    session.user("other", parent="e3")
    session.model("wrong")
    session.add("branch_summary", parent="e3", fromId="e9", summary="Tried wrong")
    session.user("better")
    assert len(main) == 5
    assert session.shape(tmp_path) == [
        "user: start",
        "assistant: r1",
        "user: q2",
        "user: [Tried wrong]",
        "user: better",
    ]


def test_orphan_gives_one_message_and_that_truncation_is_only_the_clients(tmp_path: Path) -> None:
    session = talk("hello")
    session.model("orphan", parent="missing")
    transcript = session.read(tmp_path)
    assert [m.text for m in PI.context(transcript)] == ["orphan"]
    assert [m.text for m in transcript.messages if m.active] == ["hello", "orphan"]


def test_missing_file_is_an_error_and_not_an_empty_session(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        PI.read(SessionFiles("x", (tmp_path / "missing.jsonl",)))


@pytest.mark.parametrize("data", [b"", b'{"type":"message","id":"1"}\n', b"not json\n"])
def test_empty_headerless_and_malformed_files_load_nothing_and_are_not_overwritten(tmp_path: Path, data: bytes) -> None:
    assert PI.context(read(tmp_path, data)) == []
    assert (tmp_path / "session.jsonl").read_bytes() == data


def test_malformed_lines_are_skipped_but_valid_ones_kept(tmp_path: Path) -> None:
    session = talk("hi")
    session.lines.insert(0, b"not valid json")
    transcript = session.read(tmp_path)
    assert (transcript.records, [p.kind for p in transcript.problems]) == (2, ["garbage"])
    assert [m.text for m in PI.context(transcript)] == ["hi"]


def test_labels_set_clear_last_wins_and_stay_out_of_the_context(tmp_path: Path) -> None:
    session = talk("hello")
    for label in ("first", "second", "third"):
        session.add("label", targetId="e1", label=label)
    transcript = session.read(tmp_path)
    assert transcript.labels == {"e1": "third"}
    assert len(PI.context(transcript)) == 1
    session.add("label", targetId="e1")
    assert session.read(tmp_path).labels == {}


def v1(*entries: dict[str, Any]) -> bytes:
    header = {k: v for k, v in HEADER.items() if k != "version"}
    return b"".join(json.dumps(e).encode() + b"\n" for e in (header, *entries))


def said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}


def test_v1_gets_ids_and_a_chain_of_parents(tmp_path: Path) -> None:
    entries = read(tmp_path, v1(said("user", "hi"), said("assistant", "hello"))).loaded.entries
    assert all(e.id for e in entries)
    assert len({e.id for e in entries}) == 3
    assert [entries[1].parent, entries[2].parent] == [None, entries[1].id]


def test_migration_is_idempotent_since_v3_keeps_its_ids(tmp_path: Path) -> None:
    entries = talk("hi", "hello").read(tmp_path).loaded.entries
    assert [(e.id, e.parent) for e in entries] == [("s1", None), ("e1", None), ("e2", "e1")]


def test_v1_compaction_keeps_from_its_index_over_all_entries(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "summary": "S", "firstKeptEntryIndex": 2, "tokensBefore": 1}
    lines = [said("user", "old"), said("user", "kept"), compaction, said("user", "new")]
    assert [m.text.splitlines()[-2:][0] for m in PI.context(read(tmp_path, v1(*lines)))] == ["S", "kept", "new"]


@pytest.mark.parametrize("index", [0, 99, -1, "2", None, True])
def test_v1_compaction_with_an_index_of_no_entry_keeps_none(tmp_path: Path, index: object) -> None:
    compaction = {"type": "compaction", "summary": "S", "firstKeptEntryIndex": index}
    assert len(PI.context(read(tmp_path, v1(said("user", "old"), compaction, said("user", "new"))))) == 2


def test_splits_on_line_feeds_only(tmp_path: Path) -> None:
    session = talk("a\u2028b\u2029c\u0085d\x0be")
    assert session.shape(tmp_path) == ["user: a\u2028b\u2029c\u0085d\x0be"]


def test_accepts_crlf_and_a_last_line_without_line_feed(tmp_path: Path) -> None:
    data = talk("a", "b").data()
    for changed in (data.replace(b"\n", b"\r\n"), data.removesuffix(b"\n")):
        transcript = read(tmp_path, changed)
        assert (len(PI.context(transcript)), transcript.problems) == (2, [])

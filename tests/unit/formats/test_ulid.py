"""What the specification leaves open, when a log of its records is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles, ToolResult
from slowwave.formats.ulid.dialect import ULID, UlidTranscript

BASE: dict[str, Any] = {"recordType": "message", "schemaVersion": 1, "seq": 1, "role": "user", "content": []}


def read(folder: Path, *records: dict[str, Any]) -> UlidTranscript:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return ULID.read(SessionFiles("x", (path,)))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"recordType": "note"}, "note"),
        ({"recordType": None}, "no recordType"),
        ({"schemaVersion": 2}, "message of schema 2"),
        ({"recordType": "compaction", "schemaVersion": 2}, "compaction of schema 2"),
        ({"role": "system"}, "role system"),
        ({"role": {}}, "role {}"),
    ],
)
def test_unknown_records_are_counted_and_say_nothing(tmp_path: Path, change: dict[str, Any], name: str) -> None:
    transcript = read(tmp_path, BASE, BASE | change)
    assert transcript.unknown_types == {name: 1}
    assert (transcript.records, len(ULID.context(transcript))) == (2, 1)


@pytest.mark.parametrize("first", [None, "1", True, 99])
def test_a_compaction_that_names_no_message_keeps_only_what_follows(tmp_path: Path, first: object) -> None:
    summary = {"recordType": "compaction", "seq": 2, "firstKeptSeq": first, "summary": "s"}
    transcript = read(tmp_path, BASE, summary, BASE | {"seq": 3}, BASE | {"seq": None})
    assert [m.id for m in ULID.context(transcript)] == ["2", "3", None]


def test_a_failed_tool_is_known(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    transcript = read(tmp_path, BASE | {"role": "toolResult", "toolCallId": "t", "isError": True, "content": content})
    assert transcript.messages[0].blocks == (ToolResult("t", "a\nb", is_error=True),)
    (span,) = transcript.messages[0].sources
    assert transcript.files.paths[0].read_bytes()[span.offset :] == span.raw + b"\n"


def test_the_name_of_a_session_stands_in_its_metadata(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text('{"name": "Pods", "later": 1}', encoding="utf-8")
    transcript = read(tmp_path, BASE)
    assert (transcript.title, transcript.problems) == ("Pods", [])


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b"[" * 100_000])
def test_damaged_metadata_are_reported_and_the_log_is_read_all_the_same(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "metadata.json").write_bytes(damaged)
    transcript = read(tmp_path, BASE)
    assert (transcript.title, len(transcript.messages)) == ("", 1)
    assert [(p.kind, p.path.name) for p in transcript.problems] == [("garbage", "metadata.json")]

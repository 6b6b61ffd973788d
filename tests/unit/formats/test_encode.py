"""Lines for appending have the fields, the order and the time format of the clients' own lines."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from slowwave.formats import SessionFiles
from slowwave.formats.cersei import write as cersei_encode
from slowwave.formats.claude import write as claude_encode
from slowwave.formats.claude.dialect import CLAUDE
from slowwave.formats.messages import normal_form
from slowwave.formats.registry import detect

AT = datetime(2026, 4, 3, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
SAMPLE = Path(__file__).parents[2] / "samples" / "claude" / "client-2.0.76.jsonl"


def head(uuid: str, parent: str | None) -> claude_encode.Head:
    return claude_encode.Head(uuid, parent, "s", "/p", AT)


def test_claude_lines_have_the_fields_of_the_client_in_its_order() -> None:
    records = [json.loads(line) for line in SAMPLE.read_bytes().splitlines()]
    user = next(r for r in records if r["type"] == "user")
    assistant = next(r for r in records if r["type"] == "assistant")
    ours = claude_encode.user_line("x", head("u", None))
    assert list(json.loads(ours)) == list(user)
    ours = claude_encode.assistant_line("x", head("a", "u"), "m")
    record = json.loads(ours)
    assert list(record) == [name for name in assistant if name != "requestId"]
    assert list(record["message"]) == list(assistant["message"])
    assert record["timestamp"] == "2026-04-03T10:00:00.123Z"
    assert ours.endswith(b"}\n")
    assert ours.count(b"\n") == 1


def test_what_is_written_is_read_and_sent(tmp_path: Path) -> None:
    call: dict[str, object] = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    result: dict[str, object] = {"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": False}
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        claude_encode.user_line("line\nbreak \u2028 \U0001f600", head("1", None))
        + claude_encode.assistant_line([call], head("2", "1"), "m")
        + claude_encode.user_line([result], head("3", "2"))
        + claude_encode.assistant_line("done", head("4", "3"), "n")
        + claude_encode.title_line("My title", session="s")
    )
    transcript = CLAUDE.read(SessionFiles("s", (path,)))
    assert detect(path) is CLAUDE
    assert (transcript.title, transcript.problems, transcript.unknown_types) == ("My title", [], {})
    assert normal_form(CLAUDE.context(transcript)) == [
        {"role": "user", "text": "line\nbreak \u2028 \U0001f600"},
        {"role": "assistant", "calls": [{"id": "t", "name": "Bash", "args": {}}]},
        {"role": "user", "results": [{"id": "t", "text": "out"}]},
        {"role": "assistant", "text": "done"},
    ]
    assert transcript.messages[0].timestamp == datetime(2026, 4, 3, 10, 0, 0, 123000, tzinfo=UTC)


def test_cersei_lines_have_exactly_its_fields() -> None:
    user = json.loads(cersei_encode.entry_line("user", "x", uuid="u", session="s", cwd="/p", at=AT))
    assert list(user) == ["type", "uuid", "timestamp", "session_id", "cwd", "message", "is_sidechain"]
    assert user["timestamp"] == "2026-04-03T10:00:00.123456+00:00"
    linked = json.loads(cersei_encode.entry_line("assistant", "x", uuid="a", parent="u", session="s", cwd="", at=AT))
    assert list(linked)[:4] == ["type", "uuid", "parent_uuid", "timestamp"]
    assert linked["message"] == {"role": "assistant", "content": "x"}
    assert json.loads(cersei_encode.tombstone_line("u", at=AT)).keys() == {"type", "deleted_uuid", "timestamp"}
    summary = json.loads(cersei_encode.summary_line("x", uuid="s1", session="s", compacted=8, at=AT))
    assert list(summary) == ["type", "uuid", "timestamp", "session_id", "summary", "messages_compacted"]

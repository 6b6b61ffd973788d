"""Lines that slowwave would append: read back as what they say, byte for byte as pi, crabtalk and the seed write."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from slowwave.formats import SessionFiles, Text, ToolCall
from slowwave.formats.crabtalk import write as crabtalk_encode
from slowwave.formats.crabtalk.dialect import CRABTALK
from slowwave.formats.pi import write as pi_encode
from slowwave.formats.pi.dialect import PI
from slowwave.formats.pi.write import Place, fresh_id
from slowwave.formats.ulid import write as ulid_encode
from slowwave.formats.ulid.dialect import ULID
from slowwave.formats.writing import Compaction
from tests.unit.formats.pi_files import read

AT = datetime(2026, 3, 15, 10, 0, 0, 123000, tzinfo=UTC)


def place(own: str, parent: str | None) -> Place:
    return Place(own, parent, AT)


def test_pi_lines_make_a_session(tmp_path: Path) -> None:
    user = {"role": "user", "content": [{"type": "text", "text": "é"}], "timestamp": 1}
    lines = [
        pi_encode.header_line("s", cwd="/w", at=AT, parent_session="/old.jsonl"),
        pi_encode.message_line(user, place=place("a", None)),
        pi_encode.message_line(user, place=place("b", "a")),
        pi_encode.label_line("a", "L", place=place("c", "b")),
        pi_encode.label_line("b", None, place=place("d", "c")),
        pi_encode.name_line(" name ", place=place("e", "d")),
        pi_encode.compaction_line(Compaction("sum", tokens_before=7), place=place("f", "e"), first_kept="b"),
        pi_encode.branch_summary_line("left", place=place("g", "f"), branch_from="f"),
    ]
    transcript = read(tmp_path, b"".join(lines))
    assert transcript.problems == []
    assert [line.split("\n")[-2:][0] for line in (m.text for m in PI.context(transcript))] == ["sum", "é", "<summary>"]
    assert (transcript.title, transcript.kind, transcript.labels) == ("name", "fork", {"a": "L"})
    assert (
        lines[4] == b'{"type":"label","id":"d","parentId":"c","timestamp":"2026-03-15T10:00:00.123Z","targetId":"b"}\n'
    )


def test_pi_compaction_has_the_files_that_pi_would_name() -> None:
    compaction = Compaction("s", tokens_before=7, read_files=("b", "a", "c"), modified_files=("c", "a0"))
    line = pi_encode.compaction_line(compaction, place=place("f", "e"), first_kept="b")
    assert json.loads(line) == {
        "type": "compaction",
        "id": "f",
        "parentId": "e",
        "timestamp": "2026-03-15T10:00:00.123Z",
        "summary": "s",
        "firstKeptEntryId": "b",
        "tokensBefore": 7,
        "details": {"readFiles": ["a", "b"], "modifiedFiles": ["a0", "c"]},
        "fromHook": False,
    }


def test_an_id_is_short_unless_all_short_ones_collide() -> None:
    first, second = UUID(int=1 << 127), UUID(int=1 << 126)
    made = iter([first, second])
    assert fresh_id({str(first)[:8]}, lambda: next(made)) == str(second)[:8]
    assert fresh_id({str(first)[:8]}, lambda: first) == str(first)


def test_crabtalk_lines_make_a_session(tmp_path: Path) -> None:
    call = ToolCall("c1", "ls", {"path": "."})
    lines = [
        crabtalk_encode.meta_line("crab", "user", at=AT),
        crabtalk_encode.message_line("user", "old"),
        crabtalk_encode.compact_line("so far"),
        crabtalk_encode.message_line("assistant", calls=[call]),
        crabtalk_encode.message_line("tool", "a.py", call_id="c1"),
    ]
    path = tmp_path / "crab_user_1.jsonl"
    path.write_bytes(b"".join(lines))
    summary, answer, result = CRABTALK.context(CRABTALK.read(SessionFiles("x", (path,))))
    assert (summary.text, answer.calls, result.results[0].text) == ("so far", (call,), "a.py")
    assert lines[2] == b'{"compact":"so far"}\n'
    assert lines[1] == b'{"role":"user","content":"old"}\n'
    later = crabtalk_encode.compact_line("s", title="t", archived_at=AT)
    assert json.loads(later) == {"compact": "s", "title": "t", "archived_at": "2026-03-15T10:00:00.123000+00:00"}


def test_ulid_lines_make_a_session(tmp_path: Path) -> None:
    call = ToolCall("t1", "bash", {"command": "ls"})
    lines = [
        ulid_encode.message_line("user", [Text("go")], seq=1, at=AT),
        ulid_encode.message_line("assistant", [Text("ok"), call], seq=2, at=AT),
        ulid_encode.message_line("toolResult", [Text("no")], seq=3, at=AT, call_id="t1", is_error=True),
        ulid_encode.compaction_line(
            Compaction("s", tokens_summarised=5, read_files=("b", "a"), modified_files=("b",)),
            seq=4,
            at=AT,
            first_kept=2,
        ),
    ]
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines))
    transcript = ULID.read(SessionFiles("x", (path,)))
    assert (transcript.problems, transcript.unknown_types) == ([], {})
    summary, answer, result = ULID.context(transcript)
    assert (summary.origin, answer.calls, result.results[0].is_error) == ("summary", (call,), True)
    record = json.loads(lines[3])
    assert (record["readFiles"], record["modifiedFiles"], record["firstKeptSeq"]) == (["a"], ["b"], 2)
    assert all(isinstance(json.loads(line).get("content", []), list) for line in lines)

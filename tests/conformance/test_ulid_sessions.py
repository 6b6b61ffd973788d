"""The specification's own scenarios that are about reading: S7.3, S7.8, S7.9, S7.11, S7.12."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.dialects.model import SessionFiles
from slowwave.dialects.normal import normal_form
from slowwave.dialects.ulid.dialect import ULID, UlidTranscript
from slowwave.dialects.ulid.ids import is_ulid

ID = "01JKQ5W8ZP3V9YB2C4D6E8F0GH"
PREFIX = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"


def message(seq: int, role: str, text: str, **fields: Any) -> dict[str, Any]:
    """Return a message record in the fields' order of the specification."""
    content = [{"type": "text", "text": text}, *fields.pop("calls", [])]
    head = {"recordType": "message", "schemaVersion": 1, "seq": seq, "role": role, "content": content}
    return head | fields | {"timestamp": f"2025-02-11T10:00:{seq:02d}Z"}


def compaction(seq: int, first: int, summary: str = "so far") -> dict[str, Any]:
    head = {"recordType": "compaction", "schemaVersion": 1, "seq": seq, "firstKeptSeq": first, "summary": summary}
    return head | {"tokensBefore": 10, "readFiles": [], "modifiedFiles": [], "timestamp": "2025-02-11T11:00:00Z"}


CALL = {"type": "toolCall", "id": "tc_1", "name": "bash", "arguments": {"command": "kubectl get pods"}}
PODS = [
    message(1, "user", "What pods are running?"),
    message(2, "assistant", "Let me check.", calls=[CALL]),
    message(3, "toolResult", "nginx 1/1 Running", toolCallId="tc_1", isError=False),
    message(4, "assistant", "One: nginx."),
]


def log(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(r).encode() + b"\n" for r in records)


def read(folder: Path, data: bytes) -> UlidTranscript:
    path = folder / ID / "session.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return ULID.read(SessionFiles(ID, (path,)))


def numbers(transcript: UlidTranscript) -> list[str | None]:
    return [m.id for m in ULID.context(transcript)]


def test_s7_3_loading_reconstructs_the_whole_history(tmp_path: Path) -> None:
    transcript = read(tmp_path, log(*PODS))
    assert normal_form(ULID.context(transcript)) == [
        {"role": "user", "text": "What pods are running?"},
        {
            "role": "assistant",
            "text": "Let me check.",
            "calls": [{"id": "tc_1", "name": "bash", "args": {"command": "kubectl get pods"}}],
        },
        {"role": "tool", "results": [{"id": "tc_1", "text": "nginx 1/1 Running"}]},
        {"role": "assistant", "text": "One: nginx."},
    ]
    assert [m.origin for m in transcript.messages] == ["typed", "model", "tool", "model"]


def test_s7_3_compaction_overlays_apply_and_the_history_stays(tmp_path: Path) -> None:
    transcript = read(tmp_path, log(*PODS, compaction(5, 4), message(6, "user", "And now?")))
    assert numbers(transcript) == ["5", "4", "6"]
    assert len(transcript.messages) == 6
    assert all(m.active for m in transcript.messages)


@pytest.mark.parametrize("bad", ["", "../../etc/passwd", ID[:-1], ID + "0", ID.lower(), ID[:-1] + "I", ID + "\n"])
def test_s7_8_only_a_ulid_names_a_session(bad: str) -> None:
    assert is_ulid(ID)
    assert not is_ulid(bad)


@pytest.mark.parametrize("cut", [1, 10, 60, 100])
def test_s7_9_a_torn_tail_is_ignored_on_reload(tmp_path: Path, cut: int) -> None:
    transcript = read(tmp_path, log(*PODS)[:-cut])
    expected = ["1", "2", "3", "4"] if cut == 1 else ["1", "2", "3"]
    assert numbers(transcript) == expected
    assert [p.kind for p in transcript.problems] == ([] if cut == 1 else ["torn"])


def test_s7_11_context_is_the_summary_and_the_messages_from_first_kept_on(tmp_path: Path) -> None:
    later = [message(6, "user", "more"), compaction(7, 3, "newer"), message(8, "assistant", "yes")]
    transcript = read(tmp_path, log(*PODS, compaction(5, 4, "older"), *later))
    context = ULID.context(transcript)
    assert context[0].text == PREFIX + "newer\n</summary>"
    assert context[0].origin == "summary"
    assert numbers(transcript) == ["7", "3", "4", "6", "8"]


def test_s7_11_each_message_once_though_two_steps_name_it(tmp_path: Path) -> None:
    transcript = read(tmp_path, log(*PODS, compaction(5, 2), message(6, "user", "more")))
    assert numbers(transcript) == ["5", "2", "3", "4", "6"]


def test_s7_12_a_bare_string_is_read_though_none_should_be_written(tmp_path: Path) -> None:
    record = PODS[0] | {"content": "bare"}
    assert read(tmp_path, log(record)).messages[0].text == "bare"

"""A file's dialect is told by its content."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from slowwave.errors import UnknownDialectError, UnreadableError, UsageError
from slowwave.formats.client import RecordDialect
from slowwave.formats.registry import CLIENTS, NAMES, by_name, detect, sniff
from tests.unit.formats.opencode_files import database

SAMPLES = Path(__file__).parents[2] / "samples"
CLAUDE = {
    "type": "user",
    "uuid": "u",
    "parentUuid": None,
    "sessionId": "s",
    "message": {"role": "user", "content": "x"},
}
CERSEI = {"type": "user", "uuid": "u", "session_id": "s", "cwd": "", "message": {"role": "user", "content": "x"}}


def file(folder: Path, *lines: object) -> Path:
    path = folder / "f.jsonl"
    rows = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(rows) + b"\n")
    return path


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (CLAUDE, "claude"),
        (CLAUDE | {"session_id": "s"}, "claude"),
        ({"type": "summary", "summary": "t", "leafUuid": "x"}, "claude"),
        ({"type": "queue-operation", "operation": "dequeue", "sessionId": "s"}, "claude"),
        ({"type": "file-history-snapshot", "messageId": "m", "isSnapshotUpdate": False}, "claude"),
        ({"type": "api-request-shape", "sessionId": "s"}, "claude"),
        (CERSEI, "cersei"),
        ({"type": "tombstone", "deleted_uuid": "u", "timestamp": "t"}, "cersei"),
        ({"type": "summary", "uuid": "u", "session_id": "s", "summary": "x", "messages_compacted": 1}, "cersei"),
        ({"role": "user", "content": "x"}, "cersei-bare"),
        ({"type": "session", "id": "x", "timestamp": "t", "cwd": "/w"}, "pi"),
        ({"type": "session", "version": 3, "id": "x"}, "pi"),
        ({"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "x"}}, "pi"),
        ({"agent": "crab", "created_by": "user", "created_at": "t", "title": "", "uptime_secs": 0}, "crabtalk"),
        ({"recordType": "message", "schemaVersion": 1, "seq": 1, "role": "user", "content": []}, "ulid"),
        ({"timestamp": "t", "type": "session_meta", "payload": {"id": "x"}}, "codex"),
        ({"timestamp": "t", "type": "session_meta", "payload": {"id": "x", "session_id": "y"}, "ordinal": 0}, "codex"),
        ({"id": "x", "timestamp": "t", "instructions": None}, "codex"),
        ({"record_type": "state"}, "codex"),
        ({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}, "codex"),
        ({"info": {"id": "ses_x"}, "messages": []}, "opencode"),
        ({"id": "ses_x", "projectID": "p", "time": {"created": 1}}, "opencode"),
        ({"id": "ses_x", "title": "t", "version": "0.1", "time": {"created": 1}}, "opencode"),
    ],
)
def test_dialects_are_told_apart(tmp_path: Path, record: dict[str, object], name: str) -> None:
    assert detect(file(tmp_path, record)).name == name
    assert detect(file(tmp_path, b"", b"garbage", b"\0\0", [1], {"other": 1}, record)).name == name
    assert detect(file(tmp_path, b"\xef\xbb\xbf" + json.dumps(record).encode())).name == name
    assert detect(file(tmp_path, json.dumps(record).encode() * 2)).name == name


def test_an_empty_file_has_no_dialect_and_no_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()
    assert sniff(path) is None
    with pytest.raises(UnknownDialectError, match="empty"):
        detect(path)


def test_other_programs_files_are_unknown(tmp_path: Path) -> None:
    others: list[dict[str, object]] = [
        {"type": "session", "id": 5},
        {"type": "session.started", "id": "x", "traceSchema": "openclaw-trajectory"},
        {"agent": "crab", "created_by": "user"},
        {"type": "session_meta", "payload": 1},
        {"type": "other", "payload": {}},
        {"id": "x", "timestamp": "t"},
        {"a": 1},
    ]
    for record in others:
        with pytest.raises(UnknownDialectError, match=r"f\.jsonl.*expected JSON lines"):
            detect(file(tmp_path, record))


def test_one_object_over_many_lines_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "full.jsonl"
    messages = [{"info": {"role": "user"}, "parts": ["y" * 100_000]}]
    export: dict[str, object] = {"info": {"id": "ses_x", "title": "a\\"}, "messages": messages}
    for text in (json.dumps(export, indent=2), "\ufeff" + json.dumps(export, indent=4).replace("\n", "\r\n")):
        path.write_text(text, encoding="utf-8", newline="")
        assert detect(path).name == "opencode"


def test_a_database_is_opencode_s_when_it_has_its_tables(tmp_path: Path) -> None:
    path = database(tmp_path)
    assert detect(path).name == "opencode"
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("DROP TABLE part")
    assert sniff(path) is None
    path.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    assert sniff(path) is None


def test_a_database_that_cannot_be_read_now_is_not_taken_for_another_program_s(tmp_path: Path) -> None:
    path = database(tmp_path)
    (tmp_path / f"{path.name}-wal").mkdir()
    with pytest.raises(UnreadableError, match="try again when its client is idle"):
        sniff(path)


def test_a_giant_codex_header_is_not_read_whole(tmp_path: Path) -> None:
    record = {"timestamp": "t", "ordinal": 0, "type": "session_meta", "payload": {"base_instructions": "y" * 3_000_000}}
    assert detect(file(tmp_path, record)).name == "codex"


@pytest.mark.parametrize("name", ["message", "attachment"])
def test_a_giant_first_line_is_not_read_whole(tmp_path: Path, name: str) -> None:
    record = {"type": "user", "sessionId": 'a"b\\', "n": 1, "list": [{"x": "}"}], name: {"content": "y" * 3_000_000}}
    assert detect(file(tmp_path, record)).name == "claude"


def test_a_missing_file_and_a_folder_are_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(UnreadableError):
            detect(path)


def test_names_lead_to_dialects() -> None:
    assert tuple(by_name(name).name for name in NAMES) == NAMES
    with pytest.raises(UsageError, match="claude"):
        by_name("clod")


def test_every_dialect_tells_its_records_has_samples_and_is_written_or_says_why_not() -> None:
    assert [name for name in NAMES if not (SAMPLES / name.removesuffix("-bare")).is_dir()] == []
    assert [name for name, client in CLIENTS.items() if (client.writer is None) != bool(client.read_only)] == []
    # sessions of Cersei lie where Claude Code's do
    assert {name for name, client in CLIENTS.items() if not client.homes({})} == {"cersei", "cersei-bare"}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_client_names_by_a_string_is_there(name: str) -> None:
    client = CLIENTS[name]
    assert client.dialect().name == name
    assert client.writer is None or vars(client.writing())["dialect"] == name


@pytest.mark.parametrize("name", NAMES)
def test_what_a_row_names_is_there(name: str) -> None:
    rules = by_name(name)
    assert rules.name == name
    assert isinstance(rules, RecordDialect) == (name in ("pi", "openclaw", "codex", "crabtalk", "ulid"))

"""What fuzzing once found, by its smallest input; inputs that are too large to stand here lie in tests/samples/fuzz."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.stores.summary import scan
from tests.fuzz.invariants import check_listing, check_session, found
from tests.fuzz.layout import SEPARATOR, written
from tests.unit.formats import codex_files as files


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


KEPT = files.compacted("s", files.message("user", "kept"))
SMALL = {
    "a title's leaf that is no string": (
        "claude",
        b'{"type":"summary","summary":"x","leafUuid":[1],"sessionId":"s"}\n',
    ),
    "a rollback inside of the turn that ends with a compaction": (
        "codex",
        lines(
            *(files.meta(), KEPT, files.event("task_started", turn_id="2"), files.said("assistant", "2")),
            *(files.event("thread_rolled_back", num_turns=1), files.said("user", "two"), KEPT),
        ),
    ),
    "a text that is a number too large for any": (
        "pi",
        b'{"type":"session","id":"s"}\n{"type":"message","message":{"role":"user","content":[{"type":"text","text":1e999}]}}\n',
    ),
    "a stored message behind an empty line": (
        "opencode",
        b'{"id":"s","time":{"created":1}}'
        + SEPARATOR
        + b'{"id":"m","role":"user"}'
        + SEPARATOR
        + b'\n{"id":"p","messageID":"m","type":"text","text":"x"}',
    ),
}


@pytest.mark.parametrize(("dialect", "data"), SMALL.values(), ids=SMALL)
def test_an_input_that_broke_reading_once_is_read(dialect: str, data: bytes, tmp_path: Path) -> None:
    transcript = check_session(dialect, written(dialect, data, tmp_path))
    assert transcript is not None


LISTED = {
    "an id that is a list behind a tombstone": (
        "cersei",
        b'{"type":"tombstone","deleted_uuid":"1","session_id":"s"}\n{"type":"user","uuid":[1],"session_id":"s"}\n',
    ),
    "a line too deep that names the leaf of a title": (
        "claude",
        b'{"type":"summary","summary":"x","leafUuid":"u","sessionId":"s"}\n{"x":"u","y":' + b"[" * 3000 + b"}\n",
    ),
    "padding behind the last record": (
        "cersei-bare",
        b'{"role":"user","content":"x"}\nbad\n' + b'{"role":"user","content":"y"}\n' * 9 + b'{"role":"user"}\0\0',
    ),
    "a run of bad lines across the end of what was read": (
        "cersei",
        b'{"type":"user","uuid":"1","session_id":"s","message":{"role":"user","content":"x"}}\n' + b"bad\n" * 60,
    ),
}


@pytest.mark.parametrize(("dialect", "data"), LISTED.values(), ids=LISTED)
def test_an_input_that_broke_a_listing_once_is_listed(dialect: str, data: bytes, tmp_path: Path) -> None:
    check_listing(dialect, written(dialect, data, tmp_path)[0])


def test_every_line_of_a_run_of_bad_lines_counts(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"role":"user","content":"x"}\n' + b"bad\n" * 7)
    assert scan(found(path), "cersei-bare").summary.bad_lines == 7

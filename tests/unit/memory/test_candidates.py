"""``candidates.jsonl``: its form, and that a kill anywhere neither loses nor doubles a candidate."""

import json
from pathlib import Path

import msgspec
import pytest

from slowwave import files
from slowwave.memory import Candidate, Evidence, ExtractedRange, SessionRef, candidate_id
from slowwave.memory.candidates import append_candidates, candidates_path, read_candidates

SESSION = SessionRef("claude", "s1", "/store/s1.jsonl")
RANGE = ExtractedRange(SESSION, 0, 90, "ab" * 32, "offline/1", "2026-11-03T03:30:00Z")


def candidate(text: str) -> Candidate:
    evidence = (Evidence("/store/s1.jsonl", "r1", 10, 20, "cd" * 32, "use pnpm"),)
    name = candidate_id(SESSION, "preference", text, evidence)
    return Candidate(name, "preference", text, 0.9, "user_explicit", "offline/1:explicit", SESSION, evidence)


def test_lines_have_the_form_that_other_programs_rely_on(tmp_path: Path):
    append_candidates(tmp_path, [candidate("use pnpm")], [RANGE])
    first, second = [json.loads(line) for line in candidates_path(tmp_path).read_text().splitlines()]
    assert {"id", "category", "text", "confidence", "origin", "extractor", "session", "evidence"} <= set(first)
    assert first["session"] == {"dialect": "claude", "id": "s1", "path": "/store/s1.jsonl"}
    assert {"path", "record", "offset", "length", "sha256"} <= set(first["evidence"][0])
    assert second["extracted"]["from"] == 0
    assert second["extracted"]["to"] == 90
    assert {"session", "sha256", "extractor"} <= set(second["extracted"])


def test_what_was_written_is_read_back(tmp_path: Path):
    append_candidates(tmp_path, [candidate("a b c"), candidate("d e f")], [RANGE])
    assert read_candidates(tmp_path) == ([candidate("a b c"), candidate("d e f")], [RANGE], [])


def test_a_candidate_that_is_there_is_not_written_again(tmp_path: Path):
    append_candidates(tmp_path, [candidate("a b c")], [RANGE])
    before = candidates_path(tmp_path).read_bytes()
    assert append_candidates(tmp_path, [candidate("a b c"), candidate("a b c")], []) == []
    assert candidates_path(tmp_path).read_bytes() == before


def test_a_batch_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    append_candidates(tmp_path, [candidate("first")], [RANGE])
    events: list[str] = []

    def note(event: str, _path: str) -> None:
        events.append(event)

    monkeypatch.setattr(files, "fault_hook", note)
    append_candidates(tmp_path, [candidate("second"), candidate("third")], [RANGE])
    assert events == ["write", "fsync"]


def test_a_write_cut_at_any_byte_loses_and_doubles_nothing(tmp_path: Path):
    append_candidates(tmp_path / "whole", [candidate("old one")], [])
    old = candidates_path(tmp_path / "whole").read_bytes()
    batch = [candidate("new one"), candidate("new two")]
    append_candidates(tmp_path / "whole", batch, [RANGE])
    whole = candidates_path(tmp_path / "whole").read_bytes()
    for cut in range(len(old), len(whole) + 1, 7):
        memory = tmp_path / str(cut)
        candidates_path(memory).parent.mkdir(parents=True)
        candidates_path(memory).write_bytes(whole[:cut])
        if RANGE not in read_candidates(memory)[1]:
            append_candidates(memory, batch, [RANGE])
        candidates, ranges, _ = read_candidates(memory)
        assert [c.text for c in candidates] == ["old one", "new one", "new two"]
        assert ranges == [RANGE]


def test_a_torn_line_is_reported_and_the_next_batch_starts_on_a_line_of_its_own(tmp_path: Path):
    append_candidates(tmp_path, [candidate("a b c")], [])
    path = candidates_path(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"id": "half')
    append_candidates(tmp_path, [candidate("d e f")], [])
    candidates, _, problems = read_candidates(tmp_path)
    assert [c.text for c in candidates] == ["a b c", "d e f"]
    assert [p.kind for p in problems] == ["garbage"]
    assert b"\n{" in path.read_bytes()


def test_a_line_that_is_no_candidate_is_reported_with_its_place(tmp_path: Path):
    append_candidates(tmp_path, [candidate("a b c")], [])
    path = candidates_path(tmp_path)
    path.write_bytes(path.read_bytes() + msgspec.json.encode({"id": "x", "text": 3}) + b"\n")
    _, _, problems = read_candidates(tmp_path)
    assert [(p.line, p.kind) for p in problems] == [(2, "garbage")]


def test_a_folder_without_the_file_has_no_candidates(tmp_path: Path):
    assert read_candidates(tmp_path / "none") == ([], [], [])
    assert not (tmp_path / "none").exists()

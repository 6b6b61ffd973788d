"""Compressed rollouts are read as plain ones, damaged ones as far as they go."""

from pathlib import Path

import pytest
import zstandard

from slowwave.errors import UnreadableError
from slowwave.formats import SessionFiles
from slowwave.formats import lines as sources
from slowwave.formats.codex import find_rollout, present
from slowwave.formats.codex.dialect import CODEX
from slowwave.formats.lines import open_plain
from slowwave.formats.registry import detect
from tests.unit.formats.codex_files import THREAD, compressed, meta, read, rollout, said, spoken, turn

OTHER = "01a1ffe2-70a4-7cb3-ab90-000000000000"


def packed_rollout(folder: Path, turns: int = 3) -> Path:
    """Return a compressed rollout whose plain form is gone."""
    rows = [row for n in range(turns) for row in turn(f"question {n} 🙂", f"answer {n}")]
    path = rollout(folder, meta(), *rows)
    packed = compressed(path)
    path.unlink()
    return packed


def test_a_compressed_rollout_says_what_the_plain_one_said(tmp_path: Path) -> None:
    plain = rollout(tmp_path / "plain", meta(), *turn("one", "1"), said("user", "two"))
    packed = compressed(plain)
    assert detect(packed) is CODEX
    first, second = read(plain), read(packed)
    assert first.messages == second.messages
    assert (second.problems, second.records, spoken(packed)) == ([], 5, ["u:one", "a:1", "u:two"])
    assert second.files.paths == (packed,)


def test_spans_are_places_in_the_plain_bytes(tmp_path: Path) -> None:
    packed = packed_rollout(tmp_path)
    with open_plain(packed) as file:
        data = file.read()
    spans = [span for message in read(packed).messages for span in message.sources]
    assert len(spans) == 6
    assert all(data[span.offset : span.offset + len(span.raw)] == span.raw for span in spans)


def test_several_frames_and_frames_without_a_size_are_read(tmp_path: Path) -> None:
    packed = packed_rollout(tmp_path)
    more = zstandard.ZstdCompressor(19).compressobj()
    line = b'{"timestamp": "t", "type": "world_state", "payload": {}}\n'
    empty = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    packed.write_bytes(empty + packed.read_bytes() + empty + more.compress(line) + more.flush())
    assert (read(packed).records, read(packed).problems) == (11, [])


def test_a_file_that_is_cut_short_is_read_up_to_there_and_reported(tmp_path: Path) -> None:
    whole = packed_rollout(tmp_path, turns=9_000)
    data = whole.read_bytes()
    counts: list[int] = []
    for size in (len(data) // 4, len(data) // 2, len(data) - 1):
        whole.write_bytes(data[:size])
        transcript = read(whole)
        counts.append(len(transcript.messages))
        assert [p.kind for p in transcript.problems][:1] == ["torn"]
        assert "compressed data ends" in transcript.problems[0].detail
    assert 0 < counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 20])
def test_the_first_bytes_of_a_file_raise_nothing(tmp_path: Path, size: int) -> None:
    packed = packed_rollout(tmp_path)
    packed.write_bytes(packed.read_bytes()[:size])
    transcript = read(packed)
    assert (transcript.messages, len(transcript.problems)) == ([], int(size > 0))


def test_what_stands_before_the_damage_of_a_later_frame_is_read(tmp_path: Path) -> None:
    packed = packed_rollout(tmp_path)
    packed.write_bytes(packed.read_bytes() + b"junk that is no frame")
    transcript = read(packed)
    assert (len(transcript.messages), [p.kind for p in transcript.problems]) == (6, ["torn"])
    assert "damaged" in transcript.problems[0].detail


def test_of_a_block_that_is_damaged_late_the_beginning_is_read(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), *[said("user", "the same again") for _ in range(9_000)])
    whole = bytearray(compressed(path).read_bytes())
    assert len(whole) < sources.STEP_BYTES
    whole[-3:] = b"\xff\xff\xff"
    packed = compressed(path)
    packed.write_bytes(whole)
    with open_plain(packed) as file:
        found = file.read()
    assert 0 < len(found) < path.stat().st_size
    assert path.read_bytes().startswith(found)


def test_a_plain_file_with_the_name_of_a_compressed_one_is_read(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), said("user", "hi"))
    assert spoken(path.rename(path.with_name(path.name + ".zst"))) == ["u:hi"]


def test_a_file_that_would_fill_the_disk_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"\n" * (64 << 20)))
    monkeypatch.setattr(sources, "MOST_BYTES", 1 << 20)
    problems: list[sources.Problem] = []
    with open_plain(path, problems, most=1 << 20) as file:
        assert len(file.read()) < 40 << 20
    assert [p.kind for p in problems] == ["too-large"]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="No such file"):
        CODEX.read(SessionFiles(THREAD, (tmp_path / f"rollout-x-{THREAD}.jsonl.zst",)))


def test_a_rollout_that_was_packed_or_unpacked_meanwhile_is_found(tmp_path: Path) -> None:
    packed = packed_rollout(tmp_path)
    plain = packed.with_suffix("")
    assert (present(plain), present(packed)) == (packed, packed)
    assert len(read(plain).messages) == 6
    plain.write_bytes(b"")
    packed.unlink()
    assert present(packed) == plain


def test_a_rollout_is_found_far_from_the_day_that_its_id_tells(tmp_path: Path) -> None:
    beside = rollout(tmp_path / "sessions/2026/11/21", meta())
    far = rollout(tmp_path / "sessions/2020/01/01", meta(OTHER), thread=OTHER)
    assert find_rollout(beside, OTHER) == far
    old = "6b7e2a10-0000-4000-8000-000000000000"
    assert find_rollout(beside, old) is None

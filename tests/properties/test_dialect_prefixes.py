"""Any prefix of any valid session is read without an exception and loses only the record that it tears.

What holds exactly: of a file of lines, the records of a prefix are those whose bytes are all there, and its messages
are the first messages of the whole file, with the same words from the same places. Only a record that comes later can
change that, in three ways: it marks earlier messages as left behind (``active``: branches, rollbacks, reverts), a
tombstone of Cersei takes an earlier message away, and it says who had spoken (``origin``: Claude Code notes later that
a prompt was queued). Of an export of opencode, one object over many lines, the last message may lack its last parts.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.errors import SlowwaveError
from slowwave.formats import Message, SessionFiles, Transcript
from slowwave.formats.registry import NAMES, by_name, sniff
from tests.fuzz.seeds import seeds
from tests.unit.stores.store_builder import as_bytes, cersei, tombstone

HERE = Path(__file__).parents[1]
SHARED = HERE.parents[1] / "shared"
SAMPLES = sorted(p for p in (HERE / "samples").rglob("*.json*") if not p.name.endswith(".context.json"))
REAL = sorted(p for root in ("clients/corpus", "corpus") for p in (SHARED / root).rglob("*.jsonl"))
LARGEST = 3_000_000
CUTS = {"all": 60, "full": 15}.get(os.environ.get("DRILLS", ""), 6)

QUEUED = (b'"queue-operation"', b'"queued_command"')
Words = tuple[str, str, tuple[str, ...], tuple[int, ...]]


def read(dialect: str, path: Path) -> Transcript:
    rules = by_name(dialect)
    transcript = rules.read(SessionFiles(path.stem, (path,)))
    try:
        for message in rules.context(transcript):
            assert len(message.blocks) == len(message.sources)
    except SlowwaveError:
        pass  # a prefix may be nothing that its client would resume, which it then says
    return transcript


def words(messages: Sequence[Message]) -> list[Words]:
    """Return what each message says and from which bytes."""
    return [
        (m.role, m.id or "", tuple(map(repr, m.blocks)), tuple(s.offset for s in m.sources if len(s.raw)))
        for m in messages
    ]


def spans(messages: Sequence[Message]) -> Iterator[bytes]:
    return (span.raw for m in messages for span in m.sources)


def whole_records(data: bytes) -> int:
    """Return how many lines are one JSON object each, counted by another decoder than the library's."""
    return sum(1 for line in data.split(b"\n") if isinstance(_value(line), dict))


def _value(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def check_cut(dialect: str, path: Path, data: bytes, cut: int, whole: Transcript) -> None:
    path.write_bytes(data[:cut])
    part = read(dialect, path)
    is_export = dialect == "opencode"
    known = {p.kind for p in whole.problems}
    assert {p.kind for p in part.problems} <= known | {"torn", *(["garbage"] if is_export else [])}
    assert all(raw in data[:cut] for raw in spans(part.messages))
    gone = deleted(data)
    found, expected = [w for w in words(part.messages) if w[1] not in gone], words(whole.messages)
    if is_export:
        assert found[:-1] == expected[: max(0, len(found) - 1)]
        return
    if dialect == "claude":
        check_pieces(part.messages, whole.messages, cut, repeated(data))
    else:
        assert found == expected[: len(found)]
    if not known:
        assert part.records == whole_records(data[:cut])
    if dialect == "claude":
        return
    ends = [max(s.offset + len(s.raw) for s in m.sources) for m in whole.messages if m.sources]
    assert sum(bool(m.sources) for m in part.messages) >= sum(end <= cut for end in ends)


def deleted(data: bytes) -> set[object]:
    """Return the ids that tombstones of the whole file name; a prefix may show what they take away."""
    values = [_value(line) for line in data.split(b"\n") if b'"tombstone"' in line]
    found = [cast("dict[str, object]", value) for value in values if isinstance(value, dict)]
    return {value.get("deleted_uuid") for value in found if value.get("type") == "tombstone"}


def check_pieces(part: Sequence[Message], whole: Sequence[Message], cut: int, twice: set[object]) -> None:
    """Every block of the whole session that the prefix has the bytes of is in it, and nothing else but queued words.

    Of records with one id the last counts, so ids that stand ``twice`` are left out.
    """

    def placed(messages: Sequence[Message]) -> list[tuple[str, int, int]]:
        found = [(repr(b), s) for m in messages for b, s in m.placed() if not any(q in s.raw for q in QUEUED)]
        return sorted((b, s.offset, s.offset + len(s.raw)) for b, s in found if uuid_of(s.raw) not in twice)

    assert placed(part) == [item for item in placed(whole) if item[2] <= cut]


def uuid_of(line: bytes) -> object:
    value = _value(line)
    return cast("dict[str, object]", value).get("uuid") if isinstance(value, dict) else None


def repeated(data: bytes) -> set[object]:
    """Return the ids that several lines have."""
    counts = Counter(str(uuid) for line in data.split(b"\n") if (uuid := uuid_of(line)) is not None)
    return {uuid for uuid, count in counts.items() if count > 1}


def cuts(data: bytes, chance: random.Random, count: int) -> set[int]:
    """Return places in a file, around the ends of lines and anywhere."""
    ends = [at for at in range(len(data)) if data[at : at + 1] == b"\n"] if len(data) < LARGEST else []
    near = [max(0, chance.choice(ends) + chance.randint(-3, 3)) for _ in range(count)] if ends else []
    return {*near, *(chance.randint(0, len(data)) for _ in range(count))}


def check_file(path: Path, copy: Path, count: int = CUTS) -> None:
    dialect = sniff(path)
    if dialect is None:
        return
    data = path.read_bytes()
    copy.write_bytes(data)
    whole = read(dialect, copy)
    if not whole.messages or any(p.kind in ("glued", "gap") for p in whole.problems):
        return
    chance = random.Random(path.name)
    for cut in cuts(data, chance, count):
        check_cut(dialect, copy, data, cut, whole)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: "-".join(p.relative_to(HERE / "samples").parts))
def test_a_prefix_of_a_sample_holds_the_first_messages(path: Path, tmp_path: Path) -> None:
    check_file(path, tmp_path / path.name)


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="no real transcripts beside the checkout (../shared/corpus, ../shared/clients)")
def test_a_prefix_of_a_real_file_holds_the_first_messages(tmp_path: Path) -> None:
    largest = {60: LARGEST, 15: 300_000}.get(CUTS, 120_000)
    small = [p for p in REAL if p.stat().st_size < largest]
    assert len(small) > 30
    for path in small:
        check_file(path, tmp_path / path.name, CUTS if CUTS > 6 else 1)


@pytest.mark.parametrize("dialect", NAMES)
@given(data=st.data())
@settings(max_examples=15)
def test_a_prefix_of_a_built_session_holds_the_first_messages(
    dialect: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    built = [seed for seed in seeds(dialect) if b"\n\x1c\n" not in seed and not seed.startswith(b"SQLite")]
    whole_bytes = data.draw(st.sampled_from(built or [b""]))
    name = "export.json" if dialect == "opencode" else "s.jsonl"
    path = tmp_path_factory.mktemp("cut") / name
    path.write_bytes(whole_bytes)
    whole = read(dialect, path)
    if whole.messages and not any(p.kind == "glued" for p in whole.problems):
        check_cut(dialect, path, whole_bytes, data.draw(st.integers(0, len(whole_bytes))), whole)


def test_a_tombstone_takes_a_message_away_that_a_prefix_still_has(tmp_path: Path) -> None:
    data = as_bytes([cersei("user", "a", 1), cersei("user", "b", 2), tombstone("u1")])
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    assert [m.text for m in read("cersei", path).messages] == ["b"]
    path.write_bytes(data[: data.rindex(b'{"type"') + 20])
    assert [m.text for m in read("cersei", path).messages] == ["a", "b"]

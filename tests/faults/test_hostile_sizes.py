"""One line of 100 MB, a million records, values nested without end: bounded memory, everything else still read."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from slowwave.formats.registry import NAMES
from tests.faults.hostile_sessions import LINES, Link, read, session, write
from tests.faults.measured import MB, slowwave
from tests.unit.formats import openclaw_files, opencode_files

# "all" takes what "full" does for one dialect for every dialect: half an hour
ALL = os.environ.get("DRILLS") == "all"
FULL = ALL or os.environ.get("DRILLS") == "full"
LINE_BYTES = 100 * MB if FULL else 24 * MB
DEPTH = 100_000 if FULL else 5_000
DIGITS = 1_000_000 if FULL else 50_000
SOME = tuple(NAMES) if FULL else ("claude", "pi", "codex")
RECORDS = {name: 1_000_000 if ALL or (FULL and name == "claude") else 100_000 if FULL else 10_000 for name in SOME}
# what a scan may need beside its largest line, and how many times the line a command that prints it
BESIDE = 40 * MB
COPIES = 6
A_MESSAGE = 3_000
# an export is no file of a store: its client keeps a database
LISTED = tuple(name for name in NAMES if name != "opencode")
pytestmark = [pytest.mark.timeout(1800 if FULL else 120)]


def store(tmp_path: Path, dialect: str, data: bytes) -> Path:
    folder = tmp_path / "store" / "-p"
    folder.mkdir(parents=True)
    return write(dialect, folder, data)


def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.drill
@pytest.mark.parametrize("dialect", SOME)
def test_a_line_of_many_megabytes_costs_its_own_size(dialect: str, tmp_path: Path) -> None:
    links = [Link("1", None, "hello"), Link("2", "1", "x" * LINE_BYTES), Link("3", "2", "bye")]
    path = store(tmp_path, dialect, session(dialect, links))
    if dialect in LISTED:
        listed = slowwave(home(tmp_path), "sessions", "list", "--store", path.parents[1], "--json", seconds=300)
        row = json.loads(listed.out)
        assert (listed.code, row["dialect"], row["messages"], row["bad_lines"]) == (0, dialect, 3, 0)
        assert listed.peak < LINE_BYTES + BESIDE
    sent = slowwave(home(tmp_path), "sessions", "context", path, "--json", seconds=300)
    assert sent.code == 0, sent.err
    assert sent.out.count(b"x") >= LINE_BYTES
    assert b"bye" in sent.out
    assert sent.peak < COPIES * LINE_BYTES + BESIDE


@pytest.mark.drill
@pytest.mark.parametrize("dialect", SOME)
def test_many_records_are_listed_in_bounded_memory(dialect: str, tmp_path: Path) -> None:
    count = RECORDS[dialect]
    links = (Link(f"{n}", f"{n - 1}" if n else None, f"text {n}") for n in range(count))
    path = store(tmp_path, dialect, session(dialect, links))
    if dialect in LISTED:
        listed = slowwave(home(tmp_path), "sessions", "list", "--store", path.parents[1], "--json", seconds=600)
        row = json.loads(listed.out)
        assert (listed.code, row["messages"], row["bad_lines"]) == (0, count, 0)
        assert listed.peak < BESIDE
    sent = slowwave(home(tmp_path), "sessions", "context", path, "--json", seconds=600)
    assert sent.code == 0, sent.err
    assert f"text {count - 1}".encode() in sent.out
    assert sent.peak < A_MESSAGE * count + BESIDE


def opencode_rows(root: Path, texts: Iterable[str]) -> str:
    """Write a database of opencode with one session and return its id."""
    with closing(sqlite3.connect(root / "opencode.db")) as db:
        opencode_files.tables(db)
        db.execute("INSERT INTO session VALUES ('ses_a', NULL, '/w', 'T', 1, NULL)")
        for n, text in enumerate(texts):
            info = json.dumps({"role": "user", "time": {"created": n}})
            db.execute("INSERT INTO message VALUES (?, 'ses_a', ?, ?)", (f"msg_{n:08}", n, info))
            part = json.dumps({"type": "text", "text": text})
            db.execute("INSERT INTO part VALUES (?, ?, 'ses_a', ?)", (f"prt_{n:08}", f"msg_{n:08}", part))
        db.execute("CREATE INDEX part_of ON part (message_id)")
        db.commit()
    return "ses_a"


def openclaw_rows(root: Path, texts: Iterable[str]) -> str:
    """Write the database of an agent of OpenClaw with one session and return its id."""
    folder = root / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    agent = openclaw_files.Agent(folder)
    agent.add(openclaw_files.session("s1"))
    with closing(sqlite3.connect(agent.path)) as db:
        for n, text in enumerate(texts, 1):
            line = json.dumps(LINES["openclaw"](Link(f"{n}", f"{n - 1}" if n > 1 else None, text)))
            row = ("s1", n, line, n, None, len(line))
            db.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?, NULL)", row)
        db.commit()
    return "s1"


@pytest.mark.drill
@pytest.mark.parametrize("build", [opencode_rows, openclaw_rows])
def test_many_rows_of_a_database_are_listed_in_bounded_memory(
    build: Callable[[Path, Iterable[str]], str], tmp_path: Path
) -> None:
    count = 1_000_000 if ALL else 100_000 if FULL else 10_000
    root = tmp_path / "store"
    root.mkdir()
    name = build(root, (f"text {n}" for n in range(count)))
    listed = slowwave(home(tmp_path), "sessions", "list", "--store", root, "--json", seconds=600)
    assert (listed.code, [row["messages"] for row in map(json.loads, listed.out.splitlines())]) == (0, [count])
    assert listed.peak < BESIDE
    sent = slowwave(home(tmp_path), "sessions", "context", name, "--store", root, "--json", seconds=600)
    assert sent.code == 0, sent.err
    assert f"text {count - 1}".encode() in sent.out
    assert sent.peak < A_MESSAGE * count + 2 * BESIDE


@pytest.mark.drill
def test_one_answer_with_very_many_parts_is_listed_in_bounded_memory(tmp_path: Path) -> None:
    count, each = (100_000 if FULL else 10_000), 4_000
    root = tmp_path / "store"
    root.mkdir()
    opencode_rows(root, ["hello"])
    part = json.dumps(opencode_files.done("x" * each))
    with closing(sqlite3.connect(root / "opencode.db")) as db:
        db.execute("INSERT INTO message VALUES ('msg_b', 'ses_a', 9, '{\"role\":\"assistant\"}')")
        rows = ((f"prt_b{n:08}", "msg_b", "ses_a", part) for n in range(count))
        db.executemany("INSERT INTO part VALUES (?, ?, ?, ?)", rows)
        db.commit()
    listed = slowwave(home(tmp_path), "sessions", "list", "--store", root, "--json", seconds=600)
    assert (listed.code, json.loads(listed.out)["messages"]) == (0, 2 + count)
    assert listed.peak < BESIDE


@pytest.mark.drill
def test_many_records_of_a_packed_rollout_are_listed_in_bounded_memory(tmp_path: Path) -> None:
    count = RECORDS["codex"]
    links = (Link(f"{n}", f"{n - 1}" if n else None, f"text {n}") for n in range(count))
    path = store(tmp_path, "codex", session("codex", links))
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor(level=1).compress(path.read_bytes()))
    path.unlink()
    listed = slowwave(home(tmp_path), "sessions", "list", "--store", path.parents[1], "--json", seconds=600)
    row = json.loads(listed.out)
    assert (listed.code, row["messages"], row["bad_lines"]) == (0, count, 0)
    assert listed.peak < BESIDE


@pytest.mark.drill
@pytest.mark.parametrize("build", [opencode_rows, openclaw_rows])
def test_a_row_of_many_megabytes_costs_its_own_size(
    build: Callable[[Path, Iterable[str]], str], tmp_path: Path
) -> None:
    root = tmp_path / "store"
    root.mkdir()
    name = build(root, ["hello", "x" * LINE_BYTES, "bye"])
    listed = slowwave(home(tmp_path), "sessions", "list", "--store", root, "--json", seconds=300)
    assert (listed.code, json.loads(listed.out)["messages"]) == (0, 3)
    assert listed.peak < COPIES * LINE_BYTES + 2 * BESIDE
    sent = slowwave(home(tmp_path), "sessions", "context", name, "--store", root, "--json", seconds=300)
    assert sent.code == 0, sent.err
    assert sent.out.count(b"x") >= LINE_BYTES
    assert sent.peak < COPIES * LINE_BYTES + 2 * BESIDE


def with_value(dialect: str, value: bytes, *, at_top: bool) -> bytes:
    """Return a session of three records, of which the second has a hostile value in a field of its own."""
    links = [Link("1", None, "first"), Link("2", "1", "second"), Link("3", "2", "third")]
    data = session(dialect, links)
    if at_top:
        start = data.rfind(b'{"info"' if dialect == "opencode" else b"\n{", 0, data.index(b"second"))
        start = data.index(b"{", start)
        return data[: start + 1] + b'"odd":' + value + b"," + data[start + 1 :]
    start = data.index(b'"second"')
    return data[:start] + value + data[start + len(b'"second"') :]


DEEP = {
    "arrays": b"[" * DEPTH + b"]" * DEPTH,
    "objects": b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
    "open arrays": b"[" * DEPTH,
    "a number": b"1" * DIGITS,
    "a fraction": b"1." + b"1" * DIGITS,
    "an exponent": b"1e" + b"9" * DIGITS,
}


@pytest.mark.parametrize("at_top", [True, False], ids=["in a field nobody knows", "as the text"])
@pytest.mark.parametrize("value", DEEP)
@pytest.mark.parametrize("dialect", NAMES)
def test_a_value_without_end_costs_its_own_record_at_most(
    dialect: str, value: str, at_top: bool, tmp_path: Path
) -> None:
    path = write(dialect, tmp_path, with_value(dialect, DEEP[value], at_top=at_top))
    transcript, context = read(dialect, path)
    found = [m.text for m in transcript.messages]
    if dialect == "opencode" and value == "open arrays":
        assert found[:1] == ["first"]
    else:
        assert {"first", "third"} <= set(found)
        assert "third" in "\n".join(m.text for m in context)
    if len(found) < 3:
        assert transcript.problems
        assert all(len(str(p)) < 1000 for p in transcript.problems)
    elif at_top:
        assert found == ["first", "second", "third"]


def test_a_hundred_thousand_levels_are_reported_as_such(tmp_path: Path) -> None:
    data = with_value("claude", b'{"a":[' * 50_000 + b"]}" * 50_000, at_top=True)
    transcript, _ = read("claude", write("claude", tmp_path, data))
    assert [m.text for m in transcript.messages] == ["first", "third"]
    assert ["nested too deeply" in str(p) for p in transcript.problems] == [True]


@pytest.mark.parametrize("dialect", NAMES)
def test_a_key_that_stands_twice_makes_one_message(dialect: str, tmp_path: Path) -> None:
    data = session(dialect, [Link("1", None, "first"), Link("2", "1", "second")])
    for key in (b'"role": "user"', b'"type": "user"', b'"id": "2"', b'"content": "second"', b'"text": "second"'):
        data = data.replace(key, key + b", " + key)
    assert data.count(b'"second"') + data.count(b'"role": "user", "role": "user"') > 1
    transcript, context = read(dialect, write(dialect, tmp_path, data))
    assert [m.text for m in transcript.messages] == ["first", "second"]
    assert "second" in context[-1].text or "second" in "\n".join(m.text for m in context)
    assert transcript.problems == []


@pytest.mark.parametrize("dialect", NAMES)
def test_of_two_values_under_one_key_the_last_counts(dialect: str, tmp_path: Path) -> None:
    data = session(dialect, [Link("1", None, "first"), Link("2", "1", "second")])
    for key in (b'"content"', b'"text"'):
        data = data.replace(key + b': "second"', key + b': "other", ' + key + b': "second"')
    data = data.replace(b'"role": "user"', b'"role": "assistant", "role": "user"')
    assert data.count(b'"other"') == 1
    transcript, context = read(dialect, write(dialect, tmp_path, data))
    assert [(m.role, m.text) for m in transcript.messages] == [("user", "first"), ("user", "second")]
    assert "other" not in "\n".join(m.text for m in context)
    assert transcript.problems == []

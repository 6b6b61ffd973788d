"""Files that change under the reader: shorter, longer, replaced or gone, at moments that the tests choose."""

import json
import os
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from slowwave.cli import main, sessions_context
from slowwave.errors import UnreadableError
from slowwave.formats import Problem, Span, lines
from slowwave.formats import lines as record_lines
from slowwave.formats.lines import LONG_LINE_BYTES, raw_lines, read_records
from slowwave.formats.registry import NAMES
from slowwave.formats.tail import lines_backward
from slowwave.jobs import story
from slowwave.stores import catalogue
from tests.faults.hostile_sessions import Link, read, session, write
from tests.unit.stores import store_builder

pytestmark = pytest.mark.timeout(60)
Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Change = Callable[[Path], None]
ROW = 100_000  # what is read ahead holds ten of them


class Anything(msgspec.Struct, gc=False):
    type: object = None


DECODER = msgspec.json.Decoder(Anything)


def rows(count: int) -> list[bytes]:
    return [b'{"n":%d,"x":"%b"}' % (n, b"x" * ROW) for n in range(count)]


def spans(path: Path, problems: list[Problem]) -> Iterator[Span]:
    return (span for span, _ in read_records(path, DECODER, problems))


@pytest.mark.parametrize("size", [0, 1, ROW // 2, ROW * 15, ROW * 20 + 7])
def test_a_file_that_shrinks_gives_whole_records_and_one_torn(size: int, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    data = b"".join(row + b"\n" for row in rows(40))
    path.write_bytes(data)
    problems: list[Problem] = []
    found = spans(path, problems)
    seen = [next(found)]
    os.truncate(path, size)
    seen += found
    assert [s.raw for s in seen] == rows(40)[: len(seen)]
    assert all(data[s.offset :].startswith(s.raw) for s in seen)
    assert [p.kind for p in problems] in ([], ["torn"])
    assert len(seen) >= size // (ROW + 20)


def test_a_file_that_grows_gives_what_was_there_and_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(row + b"\n" for row in rows(20)) + b'{"n":20,"to')
    problems: list[Problem] = []
    found = spans(path, problems)
    seen = [next(found)]
    with path.open("ab") as file:
        file.write(b'rn":1}\n{"n":21}\n')
    seen += found
    numbers = [json.loads(s.raw)["n"] for s in seen]
    assert numbers in (list(range(22)), list(range(20)))
    assert [p.kind for p in problems] == ([] if len(numbers) == 22 else ["torn"])


@pytest.mark.parametrize("at_read", range(1, 8))
def test_a_long_line_that_shrinks_while_it_is_measured_and_read(
    at_read: int, tmp_path: Path, monkeypatch: Patch
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"n":1}\n{"x":"' + b"y" * (LONG_LINE_BYTES + 100_000) + b'"}\n{"n":2}\n')
    reads: list[int] = []

    def shrinking(fd: int, count: int, offset: int) -> bytes:
        reads.append(count)
        if len(reads) == at_read:
            os.truncate(path, LONG_LINE_BYTES // 2)
        return os.pread(fd, count, offset)

    system = SimpleNamespace(**{**vars(os), "pread": shrinking})
    monkeypatch.setattr(lines, "os", system)
    problems: list[Problem] = []
    found = [s.raw[:8] for s in spans(path, problems)]
    assert found[0] == b'{"n":1}'
    assert [p.kind for p in problems] in ([], ["torn"], ["garbage"])
    assert reads


def test_a_file_that_shrinks_while_it_is_read_backward_is_refused_not_pieced_together(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(row + b"\n" for row in rows(40)))
    found = lines_backward(path)
    seen = [next(found)]
    os.truncate(path, ROW * 20)
    with pytest.raises(UnreadableError, match="shorter"):
        seen += found
    assert {raw for _, raw in seen} <= set(rows(40))


def test_raw_lines_of_a_file_that_shrinks_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(row + b"\n" for row in rows(40)))
    found = raw_lines(path)
    next(found)
    os.truncate(path, ROW)
    assert len(list(found)) < 40


@pytest.mark.parametrize("dialect", NAMES)
def test_every_dialect_reads_a_session_that_shrinks(dialect: str, tmp_path: Path, monkeypatch: Patch) -> None:
    links = [Link(f"{n}", f"{n - 1}" if n else None, f"{n} " + "x" * ROW) for n in range(30)]
    path = write(dialect, tmp_path, session(dialect, links))
    opened = record_lines.open_regular
    readers: list[Path] = []

    def shrinking(place: Path) -> Any:
        file = opened(place)
        if place == path and not readers:
            readers.append(place)
            cast("BufferedReader", file).peek(1)  # a block is read ahead, the rest is not
            os.truncate(path, ROW * 20)
        return file

    monkeypatch.setattr(record_lines, "open_regular", shrinking)
    transcript, context = read(dialect, path)
    texts = [m.text for m in transcript.messages if m.blocks]  # of a torn export a message without its parts
    assert texts == [link.text for link in links[: len(texts)]]
    assert len(texts) >= 8
    assert {p.kind for p in transcript.problems} <= {"torn"}
    assert context


def gone(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_ring(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def foreign(path: Path) -> None:
    path.write_bytes(b"\x00\xff no transcript\n" * 9)


def another(path: Path) -> None:
    store_builder.write(path.with_name(".new"), store_builder.cersei("user", "other", 1)).rename(path)


NO_FILE: list[Change] = [gone, a_folder, a_pipe, a_ring, a_device]
CHANGED: list[Change] = [empty, half, foreign, another]
ALL = NO_FILE + CHANGED


def store(tmp_path: Path) -> tuple[Path, Path]:
    """Return a store with two sessions, and the one that will change."""
    folder = tmp_path / "projects" / "-home-ann-shop"
    talk = [store_builder.claude("user" if n % 2 == 0 else "assistant", f"text {n}", n) for n in range(30)]
    store_builder.write(folder / "good.jsonl", *talk)
    return folder.parent, store_builder.write(folder / "moved.jsonl", *talk)


def changes_after(module: Any, name: str, path: Path, change: Change, monkeypatch: Patch) -> None:
    """Let the change happen right after the first call of a function that looks at ``path``."""
    real = getattr(module, name)
    done: list[bool] = []

    def looked(found: Any, *rest: Any) -> Any:
        result = real(found, *rest)
        if not done and getattr(found, "path", "") == os.fspath(path):
            done.append(True)
            change(path)
        return result

    monkeypatch.setattr(module, name, looked)


@pytest.mark.parametrize("change", ALL, ids=lambda change: change.__name__)
def test_a_listing_goes_on_when_a_session_changes_under_it(
    change: Change, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    root, path = store(tmp_path)
    changes_after(catalogue, "read_head", path, change, monkeypatch)
    assert main(["sessions", "list", "--store", str(root), "--json"]) == 0
    told = capsys.readouterr()
    listed = {json.loads(line)["id"] for line in told.out.splitlines()}
    assert "good" in listed
    if change in NO_FILE:
        assert listed == {"good"}
        assert "moved.jsonl" in told.err


@pytest.mark.parametrize("change", ALL, ids=lambda change: change.__name__)
def test_a_second_listing_goes_on_when_a_grown_session_changes_under_it(
    change: Change, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    root, path = store(tmp_path)
    assert main(["sessions", "list", "--store", str(root), "--json"]) == 0
    store_builder.add(path, store_builder.claude("user", "one more", 31))
    real = catalogue.scan

    def scanned(found: Any, *rest: Any) -> Any:
        if found.path == os.fspath(path):
            change(path)
        return real(found, *rest)

    monkeypatch.setattr(catalogue, "scan", scanned)
    capsys.readouterr()
    assert main(["sessions", "list", "--store", str(root), "--json"]) == 0
    told = capsys.readouterr()
    listed = {json.loads(line)["id"] for line in told.out.splitlines()}
    assert "good" in listed
    if change in NO_FILE:
        assert listed == {"good"}
        assert "moved.jsonl" in told.err
    monkeypatch.setattr(catalogue, "scan", real)
    assert main(["sessions", "list", "--store", str(root), "--json"]) == 0
    rows = {r["id"]: r for r in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows.get("moved", {}).get("messages", 1) != 31


@pytest.mark.parametrize("action", ["show", "context"])
@pytest.mark.parametrize("change", NO_FILE, ids=lambda change: change.__name__)
def test_reading_a_session_that_went_away_says_so_in_one_line(
    change: Change, action: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    _, path = store(tmp_path)
    changes_after(sessions_context, "read_head", path, change, monkeypatch)
    assert main(["sessions", action, str(path), "--json"]) == 3
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert "moved.jsonl" in told.err


@pytest.mark.parametrize("change", ALL, ids=lambda change: change.__name__)
def test_a_night_goes_on_when_a_session_changes_after_it_was_found(
    change: Change, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    root, path = store(tmp_path)

    real = story.chosen_projects

    def found_then_changed(job: str, run: story.Run) -> Any:
        found = real(job, run)
        change(path)
        return found

    monkeypatch.setattr(story, "chosen_projects", found_then_changed)
    code = main(
        ["run", "nightly", "--direct", "--force", "--store", str(root), "--set", "extraction.idle=0s", "--json"]
    )
    report = json.loads(capsys.readouterr().out)
    assert code == (6 if change in NO_FILE else code)
    assert code in (0, 6)
    assert report["counts"]["sessions"] == 2
    assert report["counts"]["extracted"] >= 1
    if change in NO_FILE:
        assert any("moved" in json.dumps(item) for item in report["items"])

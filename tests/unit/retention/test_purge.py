"""What is hidden for good goes out of its files, and for everybody else nothing changes."""

import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.formats import SessionFiles
from slowwave.formats.cersei.dialect import Cersei, Mode
from slowwave.formats.messages import normal_form
from slowwave.memory import Candidate, Evidence, ExtractedRange, SessionRef
from slowwave.memory.candidates import append_candidates, read_candidates
from slowwave.memory.evidence import check_all
from slowwave.retention.audit import AuditLog
from slowwave.retention.holds import place_hold
from slowwave.retention.purge import plan_purge
from slowwave.stores.archive.pack import Pack
from slowwave.stores.archive.shelf import Shelf
from tests.faults.calls import counted, faulty, once
from tests.unit.retention.homes import Home
from tests.unit.stores.store_builder import as_bytes, cersei, tombstone

FOLDER = ".claude/projects/-home-ann-shop"
DAYS = 10
Line = dict[str, Any] | bytes
HIDDEN = "the secret of hidden number"


def said(number: int, parent: int | None = None, *, hidden: bool = False) -> dict[str, Any]:
    role = "user" if number % 2 == 0 else "assistant"
    fields = {} if parent is None else {"parent_uuid": f"u{parent}"}
    return cersei(role, f"{HIDDEN if hidden else 'words of'} {number}", number, **fields)


def purging(tmp_path: Path, **retention: Any) -> Home:
    return Home(tmp_path, max_age="unlimited", purge=True, rescue="1s", **retention)


def add(home: Home, name: str, *lines: Line) -> Path:
    path = home.root / FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(lines))
    path.chmod(0o640)
    home.touch(path, DAYS)
    return path


def contexts(*paths: Path) -> list[Any]:
    modes: tuple[Mode, ...] = ("seed", "code")
    read = (Cersei(mode) for mode in modes)
    return [normal_form(dialect.context(dialect.read(SessionFiles("s", paths)))) for dialect in read]


def test_hidden_records_go_with_their_tombstones_and_the_rest_stays_byte_for_byte(tmp_path: Path) -> None:
    home = purging(tmp_path)
    path = add(home, "s.jsonl", said(0), said(1, hidden=True), said(2), tombstone("u1"), said(3))
    before, at = contexts(path), path.stat()
    report = home.run()
    assert (report.counts["purged"], report.counts["purged_records"]) == (1, 1)
    assert path.read_bytes() == as_bytes([said(0), said(2), said(3)])
    assert contexts(path) == before
    assert (path.stat().st_mode, path.stat().st_mtime_ns) == (at.st_mode, at.st_mtime_ns)
    assert report.counts["purged_bytes"] == at.st_size - path.stat().st_size
    assert [(line.action, line.rule) for line in AuditLog(home.environ).lines()] == [
        ("archive", "purge"),
        ("purge", "purge"),
    ]
    assert AuditLog(home.environ).verify() == []
    assert home.run().counts.get("purged") is None


def test_what_went_lies_in_the_archive(tmp_path: Path) -> None:
    home = purging(tmp_path)
    path = add(home, "s.jsonl", said(0), said(1, hidden=True), tombstone("u1"))
    before = path.read_bytes()
    home.run()
    [one] = Shelf(home.data / "archive").sessions()
    with Pack(one.pack) as pack:
        assert b"".join(pack.blocks(one.session.files[0])) == before


def test_without_the_setting_nothing_is_purged(tmp_path: Path) -> None:
    home = Home(tmp_path, max_age="unlimited")
    path = add(home, "s.jsonl", said(0), said(1, hidden=True), tombstone("u1"))
    before = path.read_bytes()
    assert home.run().counts.get("purged") is None
    assert path.read_bytes() == before


def test_a_dry_run_says_what_would_go_and_writes_nothing(tmp_path: Path) -> None:
    home = purging(tmp_path)
    path = add(home, "s.jsonl", said(0), said(1, hidden=True), tombstone("u1"))
    before = home.clients()
    report = home.run(apply=False)
    assert (report.counts["would_purge"], report.counts["would_purge_records"]) == (1, 1)
    assert home.clients() == before
    assert not home.data.exists()
    assert home.run().counts["purged_bytes"] == report.counts["would_purge_bytes"]
    assert HIDDEN not in path.read_text()


def test_a_record_below_a_hidden_one_is_linked_to_what_stays_above(tmp_path: Path) -> None:
    home = purging(tmp_path)
    lines = [said(0), said(1, 0, hidden=True), said(2, 1, hidden=True), said(3, 2), said(4, 3)]
    path = add(home, "s.jsonl", *lines, tombstone("u1"), tombstone("u2"))
    before = contexts(path)
    home.run()
    left = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [(line["uuid"], line.get("parent_uuid")) for line in left] == [("u0", None), ("u3", "u0"), ("u4", "u3")]
    assert {**left[1], "parent_uuid": "u2"} == said(3, 2)
    assert contexts(path) == before


def test_a_record_with_nothing_left_above_it_begins_anew(tmp_path: Path) -> None:
    home = purging(tmp_path)
    path = add(home, "s.jsonl", said(0, hidden=True), said(1, 0), tombstone("u0"))
    home.run()
    assert [json.loads(line)["parent_uuid"] for line in path.read_bytes().splitlines()] == [None]


def test_parents_in_a_circle_end_the_search(tmp_path: Path) -> None:
    home = purging(tmp_path)
    circle = [said(0, 1, hidden=True), said(1, 0, hidden=True), said(2, 1)]
    path = add(home, "s.jsonl", *circle, tombstone("u0"), tombstone("u1"))
    home.run()
    assert [json.loads(line)["parent_uuid"] for line in path.read_bytes().splitlines()] == [None]


def test_names_of_any_kind_in_records_hide_nothing_and_stay(tmp_path: Path) -> None:
    home = purging(tmp_path)
    odd: list[Line] = [
        said(2) | {"uuid": [1]},
        {"type": ["tombstone"], "deleted_uuid": "u0"},
        tombstone("u1") | {"deleted_uuid": {}},
    ]
    path = add(home, "s.jsonl", said(0), *odd, said(1, hidden=True), tombstone("u1"))
    plan = plan_purge(SessionFiles("s", (path,)))
    assert plan is not None
    assert plan.refused == ""
    assert plan.steps[0].new == as_bytes([said(0), *odd])


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([said(0), b'{"type": "user", "uu', tombstone("u0")], "damaged"),
        ([said(0), b"{}{}", tombstone("u0")], "damaged"),
        ([said(0, hidden=True), tombstone("u0")], "empty"),
    ],
)
def test_what_cannot_be_told_for_sure_is_refused(tmp_path: Path, lines: list[Line], reason: str) -> None:
    home = purging(tmp_path)
    path = add(home, "s.jsonl", *lines)
    before = path.read_bytes()
    report = home.run()
    assert report.counts["purge_refused"] == 1
    assert next(item.reason for item in report.items if item.action == "refused").startswith(f"purge: {reason}")
    assert path.read_bytes() == before


def test_what_is_held_or_alive_is_not_purged(tmp_path: Path) -> None:
    home = purging(tmp_path)
    path = add(home, "s.jsonl", said(0), said(1, hidden=True), tombstone("u1"))
    before = path.read_bytes()
    home.touch(path, 0.001)
    assert next(i.reason for i in home.run().items if i.action == "refused").startswith("purge: live")
    home.touch(path, DAYS)
    place_hold(home.environ, home.clock.at, reason="a lawsuit", by="ann", session="s")
    assert next(i.reason for i in home.run().items if i.action == "refused").startswith("purge: held")
    assert path.read_bytes() == before


def candidates_of(memory: Path, path: Path, whole: bytes) -> None:
    """Record every line of a file as evidence, and all of it as read."""
    (memory / ".slowwave").mkdir(parents=True, exist_ok=True)
    ref = SessionRef("cersei", "s", str(path))
    found: list[Candidate] = []
    at = 0
    for line in whole.splitlines():
        evidence = Evidence(str(path), json.loads(line).get("uuid", ""), at, len(line), sha256(line).hexdigest())
        text = f"fact {path.name} {at}"
        own = sha256(text.encode()).hexdigest()[:16]
        found.append(Candidate(own, "decision", text, 0.9, "user_explicit", "x-1", ref, (evidence,)))
        at += len(line) + 1
    append_candidates(memory, found, [ExtractedRange(ref, 0, at, sha256(whole).hexdigest(), "x-1")])


def test_evidence_and_ranges_are_where_their_bytes_are_now(tmp_path: Path) -> None:
    home = purging(tmp_path)
    lines = [said(0), said(1, 0, hidden=True), said(2, 1), said(3, 2), tombstone("u1"), said(4, 3)]
    path = add(home, "s.jsonl", *lines)
    memory = path.parent / "memory"
    candidates_of(memory, path, path.read_bytes())
    assert home.run().counts["purged"] == 1
    found, ranges, problems = read_candidates(memory)
    assert problems == []
    checked = check_all([piece for one in found for piece in one.evidence])
    assert [one.finding for one in checked] == ["ok", "changed", "ok", "ok", "changed", "ok"]
    new = path.read_bytes()
    [read] = ranges
    assert (read.start, read.stop, read.sha256) == (0, len(new), sha256(new).hexdigest())


def parted(home: Home) -> list[Path]:
    """Return the parts of a session with tombstones before, beside and behind what they hide."""
    return [
        add(home, "s.jsonl", said(0), tombstone("u4"), said(1, 0, hidden=True), tombstone("u1")),
        add(home, "s_part2.jsonl", said(2, 1), said(3, 2, hidden=True), said(4, 3, hidden=True)),
        add(home, "s_part3.jsonl", said(5, 4), tombstone("u3"), tombstone("u4")),
    ]


def test_tombstones_of_other_parts_go_once_nothing_is_left_to_hide(tmp_path: Path) -> None:
    home = purging(tmp_path)
    paths = parted(home)
    before = contexts(*paths)
    assert home.run().counts["purged_records"] == 3
    assert contexts(*paths) == before
    data = b"".join(path.read_bytes() for path in paths)
    assert b"tombstone" not in data
    assert HIDDEN.encode() not in data
    assert plan_purge(SessionFiles("s", tuple(paths))) is None


def test_no_part_is_purged_once_its_client_writes_to_another_one(tmp_path: Path) -> None:
    def two(name: str) -> tuple[Home, Path, Path]:
        home = purging(tmp_path / name)
        first = add(home, "s.jsonl", said(0), said(1, 0, hidden=True), tombstone("u1"))
        return home, first, add(home, "s_part2.jsonl", said(2, 1))

    home, first, second = two("counted")
    changes = counted(home.root, home.run)
    assert HIDDEN.encode() not in first.read_bytes()
    written = 0
    for point in range(1, changes + 1):
        home, first, second = two(str(point))
        before = first.read_bytes()
        acted: list[str] = []

        def writes(
            call: str,
            _path: str,
            *,
            first: Path = first,
            second: Path = second,
            before: bytes = before,
            home: Home = home,
            acted: list[str] = acted,
        ) -> None:
            # the exchange itself is one step: whoever writes then has written after it
            if first.read_bytes() == before and call != "replace":
                with second.open("ab") as file:
                    file.write(as_bytes([said(3, 2)]))
                home.touch(second, 0.0001)
                acted.append(call)

        with faulty(home.root, once(point, writes)):
            home.run()
        if acted:
            assert first.read_bytes() == before, (point, acted)
            written += 1
    assert 1 < written < changes


class _Killed(BaseException):
    """The process ends here."""


def test_a_killed_purge_never_shows_what_was_hidden_and_the_next_run_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepared(root: Path) -> tuple[Home, list[Path], Path]:
        home = purging(root)
        paths = parted(home)
        memory = paths[0].parent / "memory"
        for path in paths:
            candidates_of(memory, path, path.read_bytes())
        return home, paths, memory

    home, paths, memory = prepared(tmp_path / "whole")
    before = contexts(*paths)
    home.run()
    expected = [path.read_bytes() for path in paths]
    told = [(r.start, r.stop, r.sha256) for r in read_candidates(memory)[1]]
    kills = 0
    for number in range(0, 400, 3):
        home, paths, memory = prepared(tmp_path / str(number))
        left = iter(range(10_000))

        def stop(what: str, path: Path, left: Any = left, number: int = number) -> None:  # noqa: ARG001
            if next(left) == number:
                raise _Killed

        with monkeypatch.context() as patched:
            for module in ("files", "stores.trash", "retention.audit"):
                patched.setattr(f"slowwave.{module}.at_fault_point", stop)
            try:
                home.run()
            except _Killed:
                kills += 1
            else:
                break
        assert contexts(*paths) == before, number
        home.run()
        assert [path.read_bytes() for path in paths] == expected, number
        assert [(r.start, r.stop, r.sha256) for r in read_candidates(memory)[1]] == told, number
        assert AuditLog(home.environ).verify() == []
    assert kills > 10


ENDS = st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n  \n"])


@st.composite
def sessions(draw: st.DrawFn) -> list[list[Line]]:
    """Return the lines of one to three parts with any records hidden, in any order."""
    count = draw(st.integers(1, 8))
    records: list[Line] = [said(n, draw(st.none() | st.integers(0, count - 1))) for n in range(count)]
    records += [tombstone(f"u{n}") for n in draw(st.lists(st.integers(0, count), max_size=5))]
    for at in draw(st.lists(st.integers(0, 4), max_size=2)):
        record: Line = {"type": "summary", "uuid": f"u{at}", "summary": "so far", "messages_compacted": at}
        records.append(record | {"timestamp": "2026-11-20T10:00:00Z", "session_id": "s"})
    records = draw(st.permutations(records))
    cuts = sorted(draw(st.lists(st.integers(0, len(records)), max_size=2)))
    return [records[a:b] for a, b in zip([0, *cuts], [*cuts, len(records)], strict=True)]


@settings(max_examples=60, deadline=None)
@given(parts=sessions(), ends=st.lists(ENDS, min_size=1, max_size=4))
def test_any_session_sends_the_same_before_and_after(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[Line]], ends: list[bytes]
) -> None:
    home = purging(tmp_path_factory.mktemp("home"), require_archive=False)
    paths: list[Path] = []
    number = 0
    for at, lines in enumerate(parts):
        path = add(home, "s.jsonl" if not at else f"s_part{at + 1}.jsonl")
        data = b""
        for line in lines:
            data += as_bytes([line])[:-1] + ends[number % len(ends)]
            number += 1
        path.write_bytes(data)
        home.touch(path, DAYS)
        paths.append(path)
    before, old = contexts(*paths), [path.read_bytes() for path in paths]
    report = home.run()
    assert contexts(*paths) == before
    assert report.failures == []
    now = [path.read_bytes() for path in paths]
    hidden = _uuids(old, "tombstone", "deleted_uuid")
    if report.counts.get("purged"):
        assert not hidden & _uuids(now, "user", "uuid")
        assert b"tombstone" not in b"".join(now)
    else:
        assert now == old
    assert set(_plain(now)) <= set(_plain(old))
    assert not os.listdir(home.root / "state" / "slowwave" / "purge") if report.counts.get("purged") else True  # noqa: PTH208


def _uuids(parts: Iterable[bytes], kind: str, key: str) -> set[str]:
    lines = (json.loads(line) for part in parts for line in part.splitlines() if line.strip())
    return {line[key] for line in lines if line["type"] == kind}


def _plain(parts: Iterable[bytes]) -> list[bytes]:
    """Return the lines without their links, which a purge may change."""
    found: list[bytes] = []
    for part in parts:
        for line in part.splitlines():
            if line.strip():
                fields = json.loads(line)
                fields.pop("parent_uuid", None)
                found.append(json.dumps(fields).encode())
    return found

"""A session of which every parent is lost: the work of bridging grows with its records, not with their square."""

from collections.abc import Container
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave.formats.claude import resume
from slowwave.formats.claude.records import Node
from slowwave.formats.claude.resume import Bridges
from tests.faults.hostile_sessions import Link, claude, read
from tests.unit.stores.store_builder import as_bytes

START = datetime(2026, 11, 20, 10, tzinfo=UTC)


class Counted:
    """A container that counts how often it is asked."""

    def __init__(self, inner: Container[object], asked: list[int]) -> None:
        self.inner = inner
        self.asked = asked

    def __contains__(self, uuid: object) -> bool:
        self.asked[0] += 1
        return uuid in self.inner


def work(folder: Path, count: int, step: float, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
    """Return how many messages a context has, how many times were parsed and how often a record was asked for."""
    asked, parsed = [0], [0]
    over, parse = Bridges.over, resume.parse_time

    def counted_over(self: Bridges, node: Node, seen: Container[object]) -> str | None:
        return over(self, node, Counted(seen, asked))

    def counted_parse(stamp: str | None) -> datetime | None:
        parsed[0] += 1
        return parse(stamp)

    rows = [
        claude(Link(f"u{n}", f"lost{n}", f"t{n}"))
        | {"timestamp": f"{START + timedelta(seconds=n * step):%Y-%m-%dT%H:%M:%S.%f}"[:23] + "Z"}
        for n in range(count)
    ]
    path = folder / f"{count}.jsonl"
    path.write_bytes(as_bytes(rows))
    with monkeypatch.context() as patch:
        patch.setattr(resume.Bridges, "over", counted_over)
        patch.setattr(resume, "parse_time", counted_parse)
        _, context = read("claude", path)
    return sum(len(m.text.split("\n")) for m in context), parsed[0], asked[0]


@pytest.mark.parametrize("step", [0.0, 1.0], ids=["all at one time", "a second apart"])
def test_the_work_for_lost_parents_grows_with_the_records(
    step: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, parsed, asked = work(tmp_path, 1_500, step, monkeypatch)
    assert said >= 1_500  # every record is bridged to another one
    assert 1_500 <= parsed <= 3 * 1_500
    assert 1_500 <= asked <= 6 * 1_500

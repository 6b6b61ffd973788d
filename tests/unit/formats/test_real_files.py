"""Every real transcript beside the checkout is read without loss: records and reports together cover all its bytes."""

from pathlib import Path

import msgspec
import pytest

from slowwave.formats import Problem
from slowwave.formats.lines import read_records
from slowwave.formats.tail import lines_backward

SHARED = Path(__file__).parents[4] / "shared"
FILES = sorted(path for folder in ("corpus", "clients") for path in (SHARED / folder).rglob("*.jsonl"))


class Envelope(msgspec.Struct, gc=False):
    message: msgspec.Raw = msgspec.Raw()


DECODER = msgspec.json.Decoder(Envelope)


@pytest.mark.real
@pytest.mark.skipif(not FILES, reason="the real transcripts do not lie beside this checkout")
def test_records_and_reports_cover_every_byte_of_every_real_file() -> None:
    for path in FILES:
        data = path.read_bytes()
        problems: list[Problem] = []
        seen = [(s.offset, s.offset + len(s.raw)) for s, _ in read_records(path, DECODER, problems)]
        assert all(data[start:stop].startswith(b"{") for start, stop in seen)
        seen += [(p.offset, p.offset + p.length) for p in problems if p.kind != "glued"]
        at = 0
        for start, stop in sorted(seen):
            assert not data[at:start].strip(b" \t\r\n"), f"{path}: bytes {at} to {start} were neither read nor reported"
            at = max(at, stop)
        assert not data[at:].strip(b" \t\r\n"), f"{path}: the bytes from {at} on were neither read nor reported"
        assert sum(1 for _ in lines_backward(path)) == sum(1 for line in data.split(b"\n") if line.strip())

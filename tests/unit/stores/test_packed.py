"""A packed rollout is listed like the plain one that it was made of."""

from pathlib import Path

import msgspec
import pytest
import zstandard

from slowwave.formats.registry import sniff
from slowwave.stores.roots import session_of_path
from slowwave.stores.summary import scan

SAMPLES = Path(__file__).parents[2] / "samples"


def rollouts() -> list[Path]:
    found = [path for path in sorted(SAMPLES.rglob("*.jsonl")) if sniff(path) == "codex"]
    assert found
    return found


@pytest.mark.parametrize("path", rollouts(), ids=lambda p: str(p.relative_to(SAMPLES)))
@pytest.mark.parametrize(
    ("damage", "bad"),
    [(b"", 0), (b'{\n[]\n\0\0\n{"type":', 4), (b'{"a":1}{"b":2}\n', 0)],
    ids=["none", "torn", "glued"],
)
def test_a_packed_rollout_gives_the_summary_of_the_plain_one(
    path: Path, damage: bytes, bad: int, tmp_path: Path
) -> None:
    plain = tmp_path / path.name
    plain.write_bytes(path.read_bytes() + damage)
    told = msgspec.to_builtins(scan(session_of_path(plain), "codex").summary)
    packed = tmp_path / "packed" / f"{path.name}.zst"
    packed.parent.mkdir()
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    assert msgspec.to_builtins(scan(session_of_path(packed), "codex").summary) == told
    assert (told["records"] > 0, told["bad_lines"]) == (True, bad)

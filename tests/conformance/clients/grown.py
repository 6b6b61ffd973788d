"""Sessions that grow by drawn turns, in the records of their own client."""

import json
import random
from pathlib import Path

from tests.conformance.clients import as_claude, as_codex, as_pi
from tests.conformance.clients.drawn import turns_of


def grow(path: Path, seed: int) -> Path:
    """Append the turns of a seed to a session; the same seed appends the same."""
    before = [json.loads(line) for line in path.read_bytes().splitlines()]
    turns, draw = turns_of(seed), random.Random(seed)
    if before[0]["type"] == "session_meta":
        records = as_codex.records_of(turns, before, draw)
    elif before[0]["type"] == "session":
        records = as_pi.records_of(turns, before, draw)
    else:
        records = as_claude.records_of(turns, before, draw)
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records]
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
    return path

"""Sessions that grow by drawn turns, in the records of their own client."""

import contextlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.clients import as_claude, as_codex, as_pi
from tests.conformance.clients.drawn import Call, Step, Turn, fresh, turns_of

# Codex shortens an output at 12,000 bytes; so many of them are more than opencode's rule leaves alone.
_OUTPUT, _TURNS = 11_900, 30


def grow(path: Path, seed: int) -> Path:
    """Append the turns of a seed to a session; the same seed appends the same."""
    return _append(path, turns_of(seed), random.Random(seed))


def grow_outputs(path: Path) -> Path:
    """Append turns in which much is read: enough outputs of tools that clearing the old ones is worth it."""
    draw = random.Random(0)
    return _append(path, [_reading(draw) for _ in range(_TURNS)], draw)


def roll_back(path: Path) -> Path:
    """Take the last turn back, in the record that Codex had for it."""
    line = as_codex.rolled_back(list(_whole_lines(path)))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return path


def _reading(draw: random.Random) -> Turn:
    output = "r" * _OUTPUT
    calls = [Call(fresh(draw), "/src/a.py", writes=False, output=output, fails=False, shows_picture=False)]
    steps = [Step("", "", calls, calls, "")]
    plain = dict.fromkeys(("with_picture", "killed", "another_model", "goes_back"), False)
    return Turn(prompt="Read on", steps=steps, queued="", answer="I have read it.", **plain)


def _append(path: Path, turns: Sequence[Turn], draw: random.Random) -> Path:
    before = list(_whole_lines(path))
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


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a session; a line that was torn stays torn behind what healed it."""
    for line in path.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            yield json.loads(line)

"""Contexts of sessions that travel with the code: pi and Clawdbot as sent, crabtalk and ULID by their rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.registry import detect

ROOT = Path(__file__).parents[1] / "samples"
SAMPLES = sorted(p for name in ("pi", "openclaw", "crabtalk", "ulid") for p in (ROOT / name).rglob("*.jsonl"))


def comparable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out reasoning; arguments of calls as an object, which one API takes as text."""
    for call in (c for m in messages for c in m.get("calls", []) if isinstance(c["args"], str)):
        call["args"] = json.loads(call["args"])
    return [{k: v for k, v in m.items() if k != "thinking"} for m in messages]


def test_samples_are_there() -> None:
    assert {p.relative_to(ROOT).parts[0] for p in SAMPLES} == {"pi", "openclaw", "crabtalk", "ulid"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_context_equals_what_the_client_sends(path: Path) -> None:
    sent = json.loads(path.with_name(f"{path.stem}.context.json").read_text(encoding="utf-8"))
    dialect = detect(path)
    messages = dialect.context(dialect.read(SessionFiles(path.stem, (path,))))
    assert dialect.name == path.relative_to(ROOT).parts[0]
    assert normal_form(messages) == comparable(sent)

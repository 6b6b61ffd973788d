"""Contexts equal what the real opencode sent when it resumed the same session, word for word."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.registry import detect

CORPUS = Path(__file__).parents[2].parent / "shared" / "clients" / "corpus"
CASES = sorted(CORPUS.glob("opencode/*/context.json"))
FOLDER = Path(__file__).parents[1] / "samples" / "opencode"
SAMPLES = sorted(p for p in FOLDER.glob("*.json") if not p.name.endswith(".context.json"))


def context(path: Path) -> list[dict[str, object]]:
    dialect = detect(path)
    assert dialect.name == "opencode"
    return normal_form(dialect.context(dialect.read(SessionFiles(path.stem, (path,)))))


def without_reasoning(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m for m in messages if m["role"] != "reasoning"]


@pytest.mark.real
@pytest.mark.skipif(not CASES, reason="the clients' own sessions are not beside the checkout")
@pytest.mark.parametrize("case", CASES, ids=lambda p: p.parts[-2])
def test_context_equals_what_the_client_sent(case: Path) -> None:
    rows = [row for row in json.loads(case.read_text(encoding="utf-8")) if row["rc"] == 0]
    assert rows
    for row in rows:
        assert context(case.parent / row["file"]) == without_reasoning(row["context"])
        for export in case.parent.glob("export-*.json"):
            assert context(export) == without_reasoning(row["context"])


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_samples_give_the_context_that_the_client_sent(path: Path) -> None:
    sent = json.loads(path.with_name(f"{path.stem}.context.json").read_text(encoding="utf-8"))
    assert context(path) == sent


def test_samples_are_there() -> None:
    assert len(SAMPLES) == 2

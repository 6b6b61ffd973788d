"""Contexts equal what the real Claude Code sent when it resumed the same file."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.registry import detect

CORPUS = Path(__file__).parents[2].parent / "shared" / "clients" / "corpus"
CASES = sorted(CORPUS.glob("claude*/*/context.json"))


def comparable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out reasoning; calls by id and name, since clients fill in defaults of arguments."""
    kept: list[dict[str, Any]] = []
    for message in messages:
        form = {k: v for k, v in message.items() if k != "thinking"}
        if "calls" in form:
            form["calls"] = [(c["id"], c["name"]) for c in form["calls"]]
        if len(form) > 1:
            kept.append(form)
    return kept


@pytest.mark.real
@pytest.mark.skipif(not CASES, reason="the clients' own sessions are not beside the checkout")
@pytest.mark.parametrize("case", CASES, ids=lambda p: f"{p.parts[-3]}-{p.parts[-2]}")
def test_context_equals_what_the_client_sent(case: Path) -> None:
    rows = [row for row in json.loads(case.read_text(encoding="utf-8")) if row["rc"] == 0]
    for row in rows:
        path = case.parent / row["file"]
        dialect = detect(path)
        messages = dialect.context(dialect.read(SessionFiles(path.stem, (path,))))
        assert comparable(normal_form(messages)) == comparable(row["context"])

"""The same as ``test_context_clients``, on a few sessions of real clients that travel with the code."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.claude.dialect import CLAUDE, context_of
from slowwave.formats.messages import normal_form
from slowwave.formats.registry import detect

SAMPLES = sorted((Path(__file__).parents[1] / "samples" / "claude").glob("*.jsonl"))


def without_reasoning(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in m.items() if k != "thinking"} for m in messages]


def test_samples_are_there() -> None:
    assert len(SAMPLES) >= 5


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_context_equals_what_the_client_sent(path: Path) -> None:
    sent = json.loads(path.with_name(f"{path.stem}.context.json").read_text(encoding="utf-8"))
    dialect = detect(path)
    messages = dialect.context(dialect.read(SessionFiles(path.stem, (path,))))
    assert normal_form(messages) == without_reasoning(sent)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_what_stands_before_the_last_boundary_changes_nothing(path: Path) -> None:
    tree = CLAUDE.read(SessionFiles(path.stem, (path,))).tree
    assert normal_form(context_of(tree)) == normal_form(context_of(tree, is_window=True))

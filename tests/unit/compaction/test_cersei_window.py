"""Cersei's windows by model, each with messages as large as the seed's table makes them fill."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.compaction.items import read_session
from slowwave.compaction.plan import due
from slowwave.formats import SessionFiles
from slowwave.settings import CompactionSettings


def session(path: Path, model: dict[str, Any], tokens: int) -> SessionFiles:
    def line(kind: str, number: int, text: str, **more: Any) -> str:
        message = {"role": kind, "content": text, **more}
        return json.dumps(
            {
                "type": kind,
                "uuid": f"u{number}",
                "timestamp": "2026-04-03T10:00:00Z",
                "session_id": "s",
                "cwd": "/project",
                "message": message,
            }
        )

    size = tokens * 4 // 40
    turns = [line("user" if n % 2 else "assistant", n, "w" * size, **({} if n % 2 else model)) for n in range(40)]
    path.write_text("\n".join(turns) + "\n")
    return SessionFiles("s", (path,))


@pytest.mark.parametrize(
    ("model", "tokens", "is_due"),
    [
        ({"metadata": {"model": "gpt-4o"}}, 121_000, True),
        ({"metadata": {"model": "gpt-4-turbo"}}, 113_000, False),
        ({"metadata": {"model": "gemini-2.0-flash"}}, 500_000, False),
        ({"metadata": {"model": "gemini-2.0-flash"}}, 940_000, True),
        ({"model": "claude-sonnet-4"}, 187_000, True),
        ({"model": "gemini-2.0-flash"}, 181_000, False),
        ({"metadata": {"model": 5}}, 187_000, True),
        ({}, 179_000, False),
    ],
)
def test_usage_exceeds_nine_tenths_of_the_window_of_its_model(
    tmp_path: Path,
    model: dict[str, Any],
    tokens: int,
    is_due: bool,
):
    files = session(tmp_path / "s.jsonl", model, tokens)
    assert due(read_session("cersei", files), CompactionSettings(), soft=0).is_due is is_due

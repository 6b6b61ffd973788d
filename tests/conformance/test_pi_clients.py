"""Contexts of pi's sessions equal what pi and Clawdbot sent when they resumed the same file, and pi's own library."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.pi.dialect import PI, PiTranscript, said, session_entries
from slowwave.formats.pi.records import parts_of

CORPUS = Path(__file__).parents[2].parent / "shared" / "clients" / "corpus"
CASES = sorted([*CORPUS.glob("pi/*/context.json"), *CORPUS.glob("clawdbot/*/context.json")])
FOUND: list[tuple[Path, dict[str, Any]]] = [
    (case.parent / row["file"], row)
    for case in CASES
    for row in json.loads(case.read_text(encoding="utf-8"))
    if row["rc"] == 0
]
WITH_SDK = [(path, row) for path, row in FOUND if "sdk" in row]


def name_of(value: object) -> str | None:
    """Name a case by its client's folder and the file."""
    return f"{value.parts[value.parts.index('home') - 1]}-{value.stem}" if isinstance(value, Path) else ""


def read(path: Path) -> PiTranscript:
    return PI.read(SessionFiles(path.stem, (path,)))


def comparable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out reasoning; arguments of calls as an object, which one API takes as text."""
    kept: list[dict[str, Any]] = []
    for message in messages:
        form = {k: v for k, v in message.items() if k != "thinking"}
        if "calls" in form:
            form["calls"] = [(c["id"], c["name"], arguments(c["args"])) for c in form["calls"]]
        kept += [form] if len(form) > 1 else []
    return kept


def arguments(value: object) -> object:
    return json.loads(value) if isinstance(value, str) else value


@pytest.mark.real
@pytest.mark.skipif(not FOUND, reason="the clients' own sessions are not beside the checkout")
@pytest.mark.parametrize(("path", "row"), FOUND, ids=name_of)
def test_context_equals_what_the_client_sent(path: Path, row: dict[str, Any]) -> None:
    transcript = read(path)
    assert comparable(normal_form(PI.context(transcript))) == comparable(row["context"])
    assert transcript.problems == []


@pytest.mark.real
@pytest.mark.skipif(not WITH_SDK, reason="pi's own sessions are not beside the checkout")
@pytest.mark.parametrize(("path", "row"), WITH_SDK, ids=name_of)
def test_session_equals_what_the_clients_own_library_rebuilt(path: Path, row: dict[str, Any]) -> None:
    sdk = row["sdk"]
    transcript = read(path)
    assert transcript.header == sdk["header"]
    assert transcript.leaf == sdk["leaf"]
    assert [[e.type, e.id] for e in transcript.path] == sdk["branch"]
    assert transcript.title == sdk.get("name", "")
    model = transcript.model
    assert model is not None
    assert {"provider": model.provider, "modelId": model.name} == sdk["context"]["model"]
    assert transcript.thinking_level == sdk["context"]["thinkingLevel"]
    kept = said(session_entries(transcript.path, transcript.loaded))
    assert [(m.role, m.parts) for m in kept] == [(m["role"], parts_of(m["content"])) for m in sdk["llm"]]

"""Every session of opencode beside the checkout is read whole: public trees, and the clients' databases and exports."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from slowwave.context import FixedClock
from slowwave.extraction.job import extract_sessions
from slowwave.formats import Injected, SessionFiles, Text, Thinking, ToolCall, ToolResult
from slowwave.formats.database import RowReader
from slowwave.formats.opencode.dialect import OPENCODE
from slowwave.formats.registry import detect
from slowwave.memory.candidates import read_candidates
from slowwave.memory.evidence import check_all
from slowwave.settings import ExtractionSettings, Settings, StoreSettings
from slowwave.stores.discovery import find_projects
from tests.unit.extraction.talk import NOW

SHARED = Path(__file__).parents[2].parent / "shared"
CORPUS = SHARED / "corpus" / "opencode"
FILES = sorted(CORPUS.rglob("session/*/*.json"))
CASES = sorted((SHARED / "clients" / "corpus" / "opencode").glob("*/part.rows.json"))

pytestmark = [pytest.mark.real, pytest.mark.skipif(not FILES, reason="the public sessions are not beside the checkout")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_counts_equal_an_independent_count(path: Path) -> None:
    assert detect(path) is OPENCODE
    session = json.loads(path.read_text(encoding="utf-8"))
    messages = sorted((path.parents[2] / "message" / session["id"]).glob("*.json"))
    transcript = OPENCODE.read(SessionFiles(path.stem, (path,)))
    assert (transcript.records, transcript.problems, transcript.unknown_types) == (1 + len(messages), [], {})
    assert sorted(str(m.id) for m in transcript.messages) == sorted(json.loads(m.read_bytes())["id"] for m in messages)
    assert transcript.title == session["title"]


def test_no_public_file_is_left_out() -> None:
    read = {file for path in FILES for file in OPENCODE.read(SessionFiles(path.stem, (path,))).files.paths}
    assert read == {path for path in CORPUS.rglob("*") if path.is_file()}


def rows_of(case: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows that were dumped beside the database, with their JSON decoded."""
    rows = json.loads((case.parent / f"{table}.rows.json").read_text(encoding="utf-8"))
    return [row | {"data": json.loads(row["data"]) if isinstance(row["data"], str) else row["data"]} for row in rows]


def database_of(case: Path) -> Path:
    return next((case.parent / "home").rglob("opencode.db"))


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.parts[-2])
def test_databases_of_the_client_are_read_whole(case: Path) -> None:
    messages, parts = rows_of(case, "message"), [row["data"] for row in rows_of(case, "part")]
    path = database_of(case)
    transcript = OPENCODE.read(SessionFiles(path.stem, (path,)))
    assert (transcript.records, transcript.problems, transcript.unknown_types) == (
        1 + len(messages) + len(parts),
        [],
        {},
    )
    blocks = [b for m in transcript.messages for b in m.blocks]
    texts = [b.text for b in blocks if isinstance(b, Text | Injected)]
    told = Counter(texts) - Counter(["What did we do so far?"] * sum(p["type"] == "compaction" for p in parts))
    assert told == Counter(p["text"] for p in parts if p["type"] == "text")
    assert Counter(b.text for b in blocks if isinstance(b, Thinking)) == Counter(
        p["text"] for p in parts if p["type"] == "reasoning"
    )
    tools = [p for p in parts if p["type"] == "tool"]
    assert Counter(b.id for b in blocks if isinstance(b, ToolCall)) == Counter(p["callID"] for p in tools)
    said = [p["state"].get("output", p["state"].get("error")) for p in tools]
    assert Counter(b.text for b in blocks if isinstance(b, ToolResult)) == Counter(said)


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.parts[-2])
def test_every_span_of_a_database_reads_back(case: Path) -> None:
    path = database_of(case)
    spans = [s for m in OPENCODE.read(SessionFiles(path.stem, (path,))).messages for s in m.sources]
    assert spans
    with RowReader() as rows:
        assert all(rows.read(path, getattr(span, "record", "")) == span.raw for span in spans)


def test_what_is_extracted_from_a_database_of_the_client_verifies(tmp_path: Path) -> None:
    """The longest session of the client, found as a store, extracted, and its evidence read again."""
    case = max(CASES, key=lambda path: path.stat().st_size)
    home = tmp_path / "opencode"
    shutil.copytree(database_of(case).parent, home)
    (project,) = find_projects(Settings(store=StoreSettings(roots=(home,))), {"HOME": str(tmp_path)}).projects
    settings = Settings(extraction=ExtractionSettings(min_messages=1, min_tool_calls=0, min_confidence=0.0))
    for expected in ("extracted", "unchanged"):
        report = extract_sessions(
            project, project.sessions, settings, FixedClock(NOW.replace(year=2027)), home=tmp_path
        )
        assert (report.failures, report.counts["sessions"], report.counts[expected]) == ([], 1, 1)
    evidence = [e for c in read_candidates(project.memory)[0] for e in c.evidence]
    assert [c.finding for c in check_all(evidence)] == ["ok"] * len(evidence)

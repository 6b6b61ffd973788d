"""``slowwave memory`` on evidence whose session is archived: it is moved, and still says what was said."""

import json
import os
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.files import archive_folder
from slowwave.stores.archive.pack import PackedSession, Wanted, write_pack
from tests.unit.consolidation.dreams import House


def run(capsys: pytest.CaptureFixture[str], house: House, *words: str, code: int = 0) -> str:
    assert main(["memory", words[0], "--memory", str(house.memory), *words[1:]]) == code
    captured = capsys.readouterr()
    return captured.out or captured.err


def archive(path: Path) -> Path:
    pack = archive_folder(os.environ) / "one.swpack"
    session = PackedSession(path.stem, "claude", "app", "", "2026-11-22T03:30:00+00:00", 1, ())
    write_pack(pack, [Wanted(session, [path])])
    path.unlink()
    return pack


def test_archived_evidence_verifies_and_shows_its_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("We use bun", session="b", key="pref:pm", value="bun", at="2026-11-02T00:00:00Z"))
    house.dream()
    memory = run(capsys, house, "list").splitlines()[1].split()[0]
    before = json.loads(run(capsys, house, "why", memory, "--json"))["evidence"][0]
    assert (before["finding"], before["archived"]) == ("ok", False)
    assert before["said"]
    path = house.folder / "b.jsonl"
    pack = archive(path)

    data = json.loads(run(capsys, house, "verify", "--json"))
    assert (data["checked"], data["moved"], data["archived"], data["lost"], data["problems"]) == (1, 1, 1, 0, [])
    told = run(capsys, house, "verify")
    assert "Memories: 1, each with all of its evidence\nPieces of evidence: 1: 0 as they were, 1 found at" in told
    assert "another place (1 in the archive)\n" in told
    after = json.loads(run(capsys, house, "why", memory, "--json"))["evidence"][0]
    assert (after["finding"], after["archived"], after["found"]) == ("moved", True, f"{pack}{path}")
    assert after["said"] == before["said"]
    why = run(capsys, house, "why", memory)
    assert f"moved, archived {pack}{path}" in why
    assert f"it says there: {before['said']}" in why
    pack.write_bytes(b"")
    assert "Memories: 1, 1 of them without all of their evidence\nPieces of evidence: 1: 0 as they were, 1 lost" in run(
        capsys, house, "verify", code=6
    )


def test_a_dream_takes_up_what_was_archived_before_it(tmp_path: Path) -> None:
    from slowwave.consolidation.job import consolidate_project  # noqa: PLC0415 - only here
    from slowwave.memory.book import read_book  # noqa: PLC0415 - only here
    from slowwave.settings import Settings  # noqa: PLC0415 - only here

    house = House(tmp_path)
    house.extract(house.candidate("We use bun", session="b", key="pref:pm", value="bun", at="2026-11-02T00:00:00Z"))
    project = house.project()
    pack = archive(house.folder / "b.jsonl")
    consolidate_project(project, Settings(), house.clock, force=True, archive=pack.parent)
    assert [memory.text for memory in read_book(house.memory).active] == ["We use bun"]

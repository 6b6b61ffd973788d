"""Folders that an agent filled over ten weeks, written by outsiders: ``tests/quality/folders``, with their keys."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from slowwave.memory.book import read_book
from slowwave.memory.pages import linked
from slowwave.memory.undo import undo
from tests.unit.consolidation.folders import Folder

NOTED = sorted((Path(__file__).parents[2] / "quality" / "folders").glob("*.jsonl"))


def filled(folder: Folder, noted: Path) -> list[str]:
    """Write everything as it was written, and return the lines that a person put in."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in noted.read_text(encoding="utf-8").splitlines()]
    pages: dict[str, str] = {}
    for row in rows:
        name = row["file"]
        if row.get("by") == "person":
            lines = folder.read(name).split("\n")
            lines.insert(lines.index(row["after"]) + 1, row["line"])
            folder.page(name, "\n".join(lines))
        elif "add" in row:
            text = "".join(f"{line}\n" for line in row["add"])
            folder.agent_writes(name, text, at=row["at"], edit=name in pages)
            pages[name] = pages.get(name, "") + text
        else:
            pages[name] = pages[name].replace(row["old"], row["new"], 1)
            folder.page(name, pages[name])
            args = {"file_path": str(folder.memory / name), "old_string": row["old"], "new_string": row["new"]}
            folder.call("Edit", args, "ok", at=row["at"])
    return [row["line"] for row in rows if row.get("by") == "person"]


@pytest.mark.parametrize("noted", NOTED, ids=[path.stem for path in NOTED])
def test_a_folder_of_ten_weeks_is_tidied_and_nothing_of_a_person_changes(noted: Path, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    people = filled(folder, noted)
    before = folder.everything()
    report = folder.dream()
    after = folder.everything()
    text = b"\n".join(after.values()).decode()
    lines = Counter(text.split("\n"))
    assert [line for line in people if lines[line] != 1] == []
    # pointers lead somewhere, every page has one, and nothing that is remembered is missing
    assert linked(after["MEMORY.md"]) == after.keys() - {"MEMORY.md", "extracted.md"}
    assert [m.text for m in read_book(folder.memory).active if m.text not in text] == []
    assert report.counts["superseded"] + report.counts.get("merged", 0) > 3
    assert len(after["MEMORY.md"].splitlines()) <= 200
    folder.clock.advance(days=1)
    assert folder.dream().dream_ids == []
    assert folder.everything() == after
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.everything() == before

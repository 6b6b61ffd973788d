"""A folder as a client's own memory leaves it becomes tidy in one night; nothing goes without a word."""

from pathlib import Path

from slowwave.memory.book import read_book
from slowwave.memory.undo import undo
from tests.unit.consolidation.folders import Folder
from tests.unit.consolidation.left_behind import BY_HAND, CHANGED, CHOSEN, DATED, LINES, STALE, TWICE, left_behind


def test_what_months_left_behind_is_tidied_in_one_night(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    left_behind(folder)
    folder.extract(
        folder.candidate("Never force-push to main", session="a", category="constraint"),
        folder.candidate("We chose mkdocs over Sphinx: its search is better", session="b", category="decision"),
        folder.candidate("Dana owns the search service", session="c", category="project"),
    )
    before = folder.everything()
    report = folder.dream()
    index = folder.read("MEMORY.md").splitlines()
    everywhere = [
        line
        for name, data in folder.everything().items()
        if name != "extracted.md"
        for line in data.decode().splitlines()
    ]
    assert len(index) <= 200
    assert len(before["MEMORY.md"].splitlines()) > 270
    # a person's lines stand where they stood
    assert all(index.count(line) == 1 for line in BY_HAND)
    # said once, of today, and leading somewhere
    assert all((one in everywhere) + (other in everywhere) == 1 for one, other in TWICE)
    assert not set(STALE) & set(everywhere)
    assert (CHOSEN in everywhere, CHANGED in everywhere) == (False, True)
    assert not set(DATED) & set(everywhere)
    assert "- Yesterday (2026-11-09) we moved the docs to mkdocs" in everywhere
    assert "- [Dana](user_dana.md): who works here" in index
    # nothing else went, and everything stands in one place
    assert all(everywhere.count(line) == 1 for line in LINES)
    assert sum("(project.md)" in line for line in index) == 1
    # what is new stands under what it is
    at = index.index("## Working here")
    assert index[at:] == [
        "## Working here",
        "- Never force-push to main",
        "",
        "## Decisions",
        "- We chose mkdocs over Sphinx: its search is better (2026-11-19)",
        "",
        "## People and roles",
        "- Dana owns the search service",
        "",
        # not below the last heading of the client's, which they have nothing to do with
        "## Further pages",
        "- [Project](project.md): facts about this project (87 memories)",
        "- [Dana](user_dana.md): who works here",
    ]
    told = {item.target for item in report.items}
    assert {m.id for m in read_book(folder.memory).memories.values()} <= told
    phases = report.phases["-p"]
    assert phases.lines == {"agent": 265, "person": 6}
    assert (phases.gathered, phases.consolidated, phases.pruned) == (3, 9, 88)
    # twice is once, and undone as it was
    after = folder.everything()
    assert not folder.dream().dream_ids
    assert folder.everything() == after
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.everything() == before

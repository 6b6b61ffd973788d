"""A folder as a client's own memory leaves it becomes tidy in one night; nothing goes without a word."""

from pathlib import Path

from slowwave.memory.book import read_book
from slowwave.memory.undo import undo
from tests.unit.consolidation.folders import Folder
from tests.unit.consolidation.left_behind import BY_HAND, CHANGED, CHOSEN, DATED, LINES, STALE, TWICE, left_behind

LOG = """
## Log 2026-10-06
- Fixed import order
- Tagged v1.9.0
- The API needs Redis 7
- **Production**: tag v*
  - Ben has to approve
  - yesterday it took 6 minutes
- Cleaned up the branches
- Rounding is half even, see `core/money.ts`
"""
FACTS = "".join(f"- Service {n} listens on port {9000 + n}\n" for n in range(60))


def test_logs_of_sessions_leave_the_index_and_what_holds_stands_in_order(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.agent_writes("MEMORY.md", f"# quill\n\n## Parts\n{FACTS}", at="2026-10-01T09:00:00.000Z")
    folder.agent_writes("MEMORY.md", LOG, at="2026-10-06T09:00:00.000Z", edit=True)
    folder.agent_writes(
        "MEMORY.md",
        "\n## Log 2026-11-16\n- Currently working on the parser\n- Updated the docs\n- Bumped ruff\n"
        "- Ruff is pinned in `pyproject.toml`\n",
        at="2026-11-16T09:00:00.000Z",
        edit=True,
    )
    with (folder.memory / "MEMORY.md").open("a") as file:
        file.write("\n## Mine\n")
    folder.dream()
    index = folder.read("MEMORY.md")
    # headings of agents go with the last line below them; a person's stays, and what is in order as well
    assert index.startswith(f"# quill\n\n## Parts\n{FACTS}\n## Mine\n\n## ")
    # a piece stands on one line with its points, and with the date of its day
    told = "- **Production**: tag v*; Ben has to approve; yesterday (2026-10-05) it took 6 minutes\n"
    assert told in index
    # what tomorrow's session may go on with stays, what is done goes
    assert all(f"- {fact}\n" in index for fact in ("The API needs Redis 7", "Ruff is pinned in `pyproject.toml`"))
    assert "- Currently working on the parser" in index
    log = folder.read("worklog.md").split("\n")[6:]
    assert log == sorted(log, key=lambda line: line[-12:], reverse=True)
    assert set(log) == {
        "- Bumped ruff (2026-11-16)", "- Updated the docs (2026-11-16)", "- Fixed import order (2026-10-06)",
        "- Tagged v1.9.0 (2026-10-06)", "- Cleaned up the branches (2026-10-06)", "",
    }  # fmt: skip


def test_after_an_undo_what_comes_new_is_tidied_and_nothing_is_done_twice(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    text = f"# quill\n\n## Parts\n{FACTS}{LOG}- Yesterday the disk was full\n- The API needs Redis 7\n"
    folder.agent_writes("MEMORY.md", text, at="2026-10-06T09:00:00.000Z")
    before = folder.everything()
    undone = folder.dream()
    assert {"updated", "moved", "merged", "arranged"} <= undone.counts.keys()
    undo(folder.memory, undone.dream_ids[0], folder.clock.now())
    folder.clock.advance(days=1)
    assert folder.dream().dream_ids == []
    assert folder.everything() == before
    new = (
        "\n## Log 2026-11-20\n- Fixed the footer\n- Updated the lockfile\n- Today the footer broke\n"
        "- The API needs Redis 7\n- The footer of page 3 lies in `footer.py`\n"
    )
    folder.agent_writes("MEMORY.md", new, at="2026-11-20T09:00:00.000Z", edit=True)
    folder.clock.advance(days=1)
    report = folder.dream()
    added = "## Working here\n- Today (2026-11-20) the footer broke\n\n## Facts that cost time\n- The footer of page 3"
    assert folder.read("MEMORY.md").startswith(f"{text}\n{added} lies in `footer.py`\n")
    done = {item.text: (item.action, item.reason) for item in report.items if item.action != "keep"}
    assert done.keys() == {
        "Fixed the footer",
        "Updated the lockfile",
        "Today (2026-11-20) the footer broke",
        "The API needs Redis 7",
        "The footer of page 3 lies in `footer.py`",
    }
    assert done["The API needs Redis 7"] == ("merge", "says the same as The API needs Redis 7")
    after = folder.everything()
    folder.clock.advance(days=1)
    assert folder.dream().dream_ids == []
    assert folder.everything() == after


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
    assert "- [Dana](user_dana.md) - who works here" in index
    # nothing else went, and everything stands in one place
    assert all(everywhere.count(line) == 1 for line in LINES)
    assert sum("(parts.md)" in line for line in index) == 1
    # a part that is too long keeps its beginning, and its end is in its order on a page of its name
    end = [line for line in folder.read("parts.md").splitlines() if line.startswith("- ")]
    assert end == [line for line in before["MEMORY.md"].decode().splitlines() if line in set(end)]
    # what is new stands under what it is, below the client's own heading where there is one
    assert index[2:15] == [
        "## How we work",
        "",
        "- Ask Priya before you touch billing",
        "- Never force-push to main",
        "- The user prefers tabs over spaces",
        "- Run `make test` before each commit",
        "",
        "## Pages",
        "",
        "- [Deploying](deploy.md) - how a release goes out",
        "- [Work log](worklog.md) - what was done when, task by task, 2026-11 (2 notes)",
        index[13],
        "- [Dana](user_dana.md) - who works here",
    ]
    assert index[13].startswith(f"- [Parts](parts.md) - {len(end)} lines: ")
    at = index.index("## Facts that cost time")
    assert index[at:] == [
        "## Facts that cost time",
        "- The API listens on port 8080",
        "",
        "## Decisions",
        "- We chose mkdocs over Sphinx: its search is better (2026-11-19)",
        "",
        "## People and roles",
        "- Dana owns the search service",
    ]
    told = {item.target for item in report.items}
    assert {m.id for m in read_book(folder.memory).memories.values()} <= told
    phases = report.phases["-p"]
    assert phases.lines == {"agent": 265, "person": 6}
    assert (phases.gathered, phases.consolidated, phases.pruned) == (3, 12, 102)
    # twice is once, and undone as it was
    after = folder.everything()
    assert not folder.dream().dream_ids
    assert folder.everything() == after
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.everything() == before

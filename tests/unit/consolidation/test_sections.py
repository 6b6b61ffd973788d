"""A full index gives whole sections of the agent's file to pages, and a reader finds them there."""

from collections import Counter
from pathlib import Path

import pytest

from slowwave.memory.book import read_book
from slowwave.memory.folder import MemoryFolder
from slowwave.memory.index import page_for, sections, without_empty, without_section
from slowwave.memory.ledger import read_ledger
from slowwave.memory.undo import undo
from slowwave.observability.lessons import dreams_of
from tests.unit.consolidation.folders import Folder

PARTS = ("importer", "exporter", "mailer", "scheduler", "billing", "search", "gateway")
COMMANDS = tuple(f"- `make {part}` - starts the {part}" for part in PARTS)
STEPS = ["## Onboarding", "", *(f"{n}. Do step {n}" for n in range(1, 15))]
POINTER = "- [Deploying](deploy.md) - how a release goes out"


def part(name: str, lines: int) -> list[str]:
    return [f"- The {name} reads table {name}_{n} on host {name[0]}{n}" for n in range(lines)]


def full(folder: Folder, *more: str, lines: int = 30) -> list[str]:
    """Let an agent write an index that is too long, with a list of its pages."""
    index = [
        "# Memory",
        "",
        "## Topic files",
        "",
        POINTER,
        "- [Gone](gone.md) - away",
        "",
        "## Commands",
        "",
        *COMMANDS,
    ]
    for name in PARTS:
        index += ["", f"## {name.title()}", "", *part(name, lines)]
    index += more
    folder.agent_writes("deploy.md", "# Deploy\n\n- Tag, then release\n", at="2026-11-16T09:00:00.000Z")
    folder.agent_writes("MEMORY.md", "\n".join(index) + "\n")
    return index


def section_of(text: str, heading: str) -> list[str]:
    lines = text.splitlines()
    at = lines.index(heading)
    stop = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("## ")), len(lines))
    return [line for line in lines[at:stop] if line.strip()]


def test_whole_sections_leave_a_full_index_and_come_back_with_an_undo(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    before = full(folder, "", *STEPS)
    files = folder.everything()
    report = folder.dream()
    index = folder.read("MEMORY.md")
    assert len(index.splitlines()) <= 200
    everywhere = [line for name in folder.everything() for line in folder.read(name).splitlines()]
    gone = {"- [Gone](gone.md) - away"}
    assert not Counter(line for line in before if line.strip()) - Counter(everywhere) - Counter(gone)
    moved = [name for name in PARTS if f"## {name.title()}" not in index]
    assert 2 <= len(moved) < len(PARTS)
    for name in moved:
        assert folder.read(f"{name}.md").splitlines() == [f"## {name.title()}", "", *part(name, 30)]
        told = [line for line in index.splitlines() if f"({name}.md)" in line]
        assert len(told) == 1
        assert told[0].startswith(f"- [{name.title()}]({name}.md) - 30 lines: The {name} reads")
    # none is torn, and commands that are run all the time stay
    assert all(section_of(index, f"## {n.title()}")[1:] == part(n, 30) for n in PARTS if n not in moved)
    assert section_of(index, "## Commands")[1:] == list(COMMANDS)
    assert section_of(index, "## Topic files")[1] == POINTER
    assert folder.read("onboarding.md").splitlines() == STEPS
    assert len(section_of(index, "## Topic files")) == 3 + len(moved)

    # one line a section on screens, with all ids; every entry is accounted for once
    (dream,) = dreams_of(MemoryFolder("p", folder.memory, ()), read_ledger(folder.memory))
    shown = [change for change in dream.changes if change.kind == "moved"]
    told = [f"the section {n.title()}, 30 lines, to {n}.md" for n in sorted(moved)]
    assert [c.text for c in shown] == [*told, "the section Onboarding, 14 lines, to onboarding.md"]
    assert {c.why for c in shown} == {f"the index had {len(before)} lines, 200 are loaded"}
    entries = {m.id: m for m in read_book(folder.memory).memories.values()}
    assert all(
        entries[one].file == f"{name}.md" for name, c in zip(sorted(moved), shown, strict=False) for one in c.memories
    )
    assert sum(len(change.memories) for change in shown) == 30 * len(moved)
    targets = Counter(item.target for item in report.items)
    assert all(targets[one] == 1 for one in entries)

    # twice is once, also when there is something else to do
    after = folder.everything()
    folder.clock.advance(days=2)
    assert not folder.dream().dream_ids
    assert folder.everything() == after
    folder.extract(folder.candidate("We chose mkdocs over Sphinx", session="b", category="decision"))
    later = folder.dream()
    assert not [item for item in later.items if item.action == "move"]
    assert all(folder.everything()[f"{name}.md"] == after[f"{name}.md"] for name in moved)
    for one in reversed([*report.dream_ids, *later.dream_ids]):
        undo(folder.memory, one, folder.clock.now())
    assert folder.everything() == files | {"extracted.md": folder.everything()["extracted.md"]}
    folder.clock.advance(days=2)
    assert not [item for item in folder.dream().items if item.action == "move"]
    assert index != folder.read("MEMORY.md")
    assert not (folder.memory / f"{moved[0]}.md").exists()


def test_a_section_with_a_persons_line_stays(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    full(folder)
    text = folder.read("MEMORY.md")
    for name in PARTS[:5]:
        text = text.replace(part(name, 30)[4], f"{part(name, 30)[4]}\n- ask Ann about the {name}!")
    folder.page("MEMORY.md", text)
    folder.dream()
    index = folder.read("MEMORY.md")
    assert all(f"- ask Ann about the {name}!" in section_of(index, f"## {name.title()}") for name in PARTS[:5])
    assert not [name for name in PARTS[:5] if (folder.memory / f"{name}.md").exists()]
    assert all((folder.memory / f"{name}.md").exists() for name in PARTS[5:])
    assert len(index.splitlines()) <= 200


def test_a_section_goes_to_the_page_that_is_about_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.agent_writes("mailer-protocol.md", "# Mailer protocol\n\n- It speaks SMTP\n", at="2026-11-15T09:00:00.000Z")
    before = full(folder, lines=60)
    folder.dream()
    page = folder.read("mailer-protocol.md")
    assert page == "\n".join(
        ["# Mailer protocol", "", "- It speaks SMTP", "", "## Mailer", "", *part("mailer", 60), ""]
    )
    told = [line for line in folder.read("MEMORY.md").splitlines() if "(mailer-protocol.md)" in line]
    assert told == ["- [Mailer protocol](mailer-protocol.md) - Mailer (60 lines)"]
    assert "## Mailer" in before
    # what the agent writes there again goes below the same heading
    again = (
        folder.read("MEMORY.md")
        + "\n## Mailer\n\n- The mailer waits 5 s before it tries again\n- It logs to mail.log\n"
    )
    folder.agent_writes(
        "MEMORY.md", again + "\n".join(["", "## Late", "", *part("late", 150), ""]), at="2026-11-25T09:00:00.000Z"
    )
    folder.clock.advance(days=8)
    folder.dream()
    assert folder.read("mailer-protocol.md").count("## Mailer") == 1
    assert len(folder.read("MEMORY.md").splitlines()) <= 200


def test_our_lines_go_below_the_agents_heading_of_the_same_name(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    decided = ["", "## Decisions", "", "- ADR 1: no microservices", "- ADR 2: one database", "", "## Empty", ""]
    full(folder, *decided, "## Last", "", "- The last one", lines=20)
    folder.extract(folder.candidate("We chose mkdocs over Sphinx", session="b", category="decision"))
    folder.dream()
    index = folder.read("MEMORY.md")
    assert index.count("## Decisions") == 1
    assert section_of(index, "## Decisions")[-1] == "- We chose mkdocs over Sphinx (2026-11-19)"
    assert "## Empty" not in index
    after = folder.everything()
    folder.clock.advance(days=2)
    assert not folder.dream().dream_ids
    assert folder.everything() == after


def test_a_line_that_leads_to_the_page_that_its_section_goes_to_does_not_go_there(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.agent_writes("deploy.md", "# Deploy\n\n- Tag, then release\n", at="2026-11-10T09:00:00.000Z")
    lines = ["- See deploy.md", "- Ask Mo for a release key; deploy.md has the steps"]
    full(folder, "", "## Releases", "", *lines, *(f"- Release step {n} is slow" for n in range(60)), lines=24)
    before = folder.everything()
    report = folder.dream()
    page = folder.read("deploy.md")
    assert "## Releases" in page
    assert "See deploy.md" not in page + folder.read("MEMORY.md")
    assert lines[1] in page
    (told,) = [item for item in report.items if item.action == "drop" and item.text == "See deploy.md"]
    assert told.reason == "pointed to deploy.md, where its section went"
    assert "deploy.md" in folder.read("MEMORY.md")
    after = folder.everything()
    folder.clock.advance(days=2)
    assert folder.dream().dream_ids == []
    assert folder.everything() == after
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.everything() == before


@pytest.mark.parametrize(
    ("heading", "line", "page"),
    [
        (b"## Testing", b"- a", "testing.md"),
        (b"## API in short", b"- a", "api-conventions.md"),
        (b"## Infrastructure and deploy", b"- a", "deploy.md"),
        (b"## Releases", b"- See deploy.md for the steps", "deploy.md"),
        (b"## Releases", b"- deploy.md and testing.md", "releases.md"),
        (b"## Git and review rules", b"- a", "git-and-review-rules.md"),
        (b"## Project", b"- a", "project-notes.md"),
        (b"### 2026-09-02", b"- a", "notes.md"),
    ],
)
def test_a_section_finds_its_page(heading: bytes, line: bytes, page: str) -> None:
    (one,) = sections(b"# Memory\n\n" + heading + b"\n" + line + b"\n", [])
    assert page_for(one, ["MEMORY.md", "project.md", "deploy.md", "testing.md", "api-conventions.md"]) == page


def test_taking_a_section_out_leaves_one_blank_line() -> None:
    data = b"# M\n\n## A\n\n- a\n\n### B\n- b\n\n\n## C\n- c\n"
    first, last = sections(data, [])
    assert without_section(data, first) == b"# M\n\n## C\n- c\n"
    assert without_section(data, last) == b"# M\n\n## A\n\n- a\n\n### B\n- b\n"


def test_an_empty_heading_of_a_person_stays() -> None:
    from slowwave.memory.ledger import line_hash  # noqa: PLC0415

    data = b"# M\n\n## A\n\n### B\n\n## C\n- c\n"
    assert without_empty(data, {line_hash(b"### B")}, [], ())[0] == b"# M\n\n## A\n\n## C\n- c\n"
    assert without_empty(data, {line_hash(b"## A"), line_hash(b"### B")}, [], ())[0] == b"# M\n\n## C\n- c\n"
    assert without_empty(data, {line_hash(b"## A")}, [], ())[0] == data


def test_a_line_that_only_points_to_a_page_that_is_gone_goes(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    gone = ["- See tariff-rules.md for rounding, length classes and the season borders", "- see [Numbers](perf.md)"]
    stay = [
        "- See deploy.md for the release steps",
        "- See docs/adr.md for the reasons",
        "- See CONTRIBUTING.md for the rules",
        "- Before a release see old-plan.md, then ask for an ok",
        "- The generator writes report.md into the build folder",
    ]
    text = ["# Memory", "", *gone, *stay, "", "See [Harbours](harbours.md) for the list. In short:", "", "1. One"]
    folder.agent_writes("deploy.md", "# Deploy\n\n- Tag, then release\n", at="2026-11-16T09:00:00.000Z")
    folder.agent_writes("MEMORY.md", "\n".join(text) + "\n")
    report = folder.dream()
    index = folder.read("MEMORY.md").splitlines()
    assert not set(gone) & set(index)
    assert set(stay) <= set(index)
    assert report.warnings == [
        f'-p: MEMORY.md leads to {page}, which is not there; the line says more and stays: "{line}"'
        for page, line in (("old-plan.md", stay[3][2:]), ("harbours.md", text[-3]))
    ]


def test_an_agent_that_writes_its_old_index_again_has_nothing_twice(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    before = full(folder, "", *STEPS)
    folder.dream()
    after = folder.everything()
    folder.agent_writes("MEMORY.md", "\n".join(before) + "\n", at="2026-11-25T09:00:00.000Z")
    folder.clock.advance(days=8)
    folder.dream(max_loss=1.0)
    assert all(
        folder.everything()[name] == data for name, data in after.items() if name not in ("MEMORY.md", "extracted.md")
    )
    index = folder.read("MEMORY.md")
    assert len(index.splitlines()) <= 200
    moved = [name for name in PARTS if (folder.memory / f"{name}.md").exists()]
    assert not [name for name in moved if f"- The {name} reads" in index]
    assert all(f"]({name}.md) - 30 lines" in index for name in moved)


def test_what_every_session_needs_leaves_last(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    rules = [f"- Name table {n} of the schema in plural" for n in range(60)]
    full(folder, "", "## Naming rules", "", *rules, lines=20)
    folder.dream()
    assert section_of(folder.read("MEMORY.md"), "## Naming rules")[1:] == rules
    assert not (folder.memory / "naming-rules.md").exists()
    assert (folder.memory / "importer.md").exists()


def test_what_an_agent_listed_below_one_name_in_several_places_stands_together_and_undo_parts_it_again(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path)
    text = (
        "# Memory\n\n## Alarm\n- Rules are in `alarm/rules`\n\n## Panel\n- Node 22\n\n## Alarm\n- Night mode to six\n"
        "\n### Details\n- Text messages have 160 letters\n\n## alarm\n- Roster is read every 15 minutes\n"
    )
    folder.agent_writes("MEMORY.md", text)
    folder.extract(folder.candidate("Never force-push to main", category="constraint"))
    before = folder.everything()
    report = folder.dream()
    index = folder.read("MEMORY.md")
    assert section_of(index, "## Alarm") == [
        "## Alarm",
        "- Rules are in `alarm/rules`",
        "- Roster is read every 15 minutes",
    ]
    # what has parts of its own stays where it is
    assert index.count("## Alarm") == 2
    assert "## alarm" not in index
    after = folder.everything()
    folder.clock.advance(days=1)
    assert folder.dream().dream_ids == []
    assert folder.everything() == after
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.everything() == before


def test_a_section_of_that_name_with_a_persons_line_stays_where_it_is(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.agent_writes(
        "MEMORY.md", "# Memory\n\n## Alarm\n- Rules are in `alarm/rules`\n\n## Panel\n- Node 22\n\n## Alarm\n- Six\n"
    )
    whole = folder.read("MEMORY.md") + "- Ask me before you change the roster\n"
    (folder.memory / "MEMORY.md").write_text(whole)
    folder.extract(folder.candidate("Never force-push to main", category="constraint"))
    folder.dream()
    assert folder.read("MEMORY.md").count("## Alarm\n") == 2

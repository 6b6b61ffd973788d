"""The dream tidies what agents wrote into the memory folder, and leaves what people wrote as it is."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.consolidation.model import Gathered, Operation, State
from slowwave.consolidation.plan import offline
from slowwave.consolidation.snapshot import read_snapshot
from slowwave.memory.book import Memory, read_book
from slowwave.memory.evidence import verify
from slowwave.memory.folder import MemoryFolder
from slowwave.memory.ledger import read_ledger
from slowwave.memory.undo import undo
from slowwave.observability.lessons import dreams_of, in_words
from slowwave.settings import ConsolidationSettings
from tests.unit.consolidation.folders import Folder

Memories = Callable[..., list[dict[str, Any]]]
CERSEI = "## Auto-extracted memories\n\n### Session memories — 2026-11-18\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def auto(text: str, label: str = "project") -> str:
    return f"- **[{label}]** {text} *(confidence: 80%)*\n"


def entries(folder: Folder) -> dict[str, Memory]:
    """Return the lines of agents that are entries now, by their words."""
    return {m.text: m for m in read_book(folder.memory).active if m.writer == "agent"}


# --- whose line is it


def test_a_line_that_a_call_wrote_is_the_agents_and_its_record_proves_it(folder: Folder):
    folder.agent_writes("MEMORY.md", "# Notes\n\n- The importer runs at night\n")
    with (folder.memory / "MEMORY.md").open("a") as file:
        file.write("- My own line about the importer\n")
    folder.dream()
    (one,) = entries(folder).values()
    assert (one.text, one.file, one.valid_from) == ("The importer runs at night", "MEMORY.md", "2026-11-17T09:00:00Z")
    (proof,) = verify([one], ())
    assert proof.is_proven
    assert len(proof.evidence) == 1


def test_what_was_read_before_it_was_written_may_be_a_persons(folder: Folder):
    folder.page("MEMORY.md", "- Typed by hand before anything else\n")
    folder.agent_reads("MEMORY.md", at="2026-11-16T09:00:00.000Z")
    folder.agent_writes("MEMORY.md", "- Typed by hand before anything else\n- Added by the agent on top\n")
    folder.dream()
    assert list(entries(folder)) == ["Added by the agent on top"]


def test_a_call_that_failed_proves_nothing(folder: Folder):
    folder.page("MEMORY.md", "- Typed by hand before anything else\n")
    folder.agent_writes("MEMORY.md", "- Typed by hand before anything else\n", error=True)
    folder.dream()
    assert entries(folder) == {}


def test_the_clients_own_form_tells_where_no_transcript_does(folder: Folder):
    folder.client_page("user_role.md", "user", "- The user is the tech lead")
    folder.page(
        "MEMORY.md", f"- [Role](user_role.md) — who it is\n- typed by hand\n\n{CERSEI}{auto('It runs on Node')}"
    )
    folder.page("mine.md", "- also typed by hand\n")
    folder.dream()
    assert set(entries(folder)) == {"The user is the tech lead", "[Role](user_role.md) — who it is", "It runs on Node"}


def test_where_a_call_wrote_the_whole_page_only_what_calls_wrote_is_the_agents(folder: Folder):
    front = "---\nname: Role\ndescription: who it is\ntype: user\n---\n\n"
    folder.agent_writes("user_role.md", f"{front}- The user is the tech lead\n")
    with (folder.memory / "user_role.md").open("a") as file:
        file.write("- I am away on Fridays\n")
    folder.dream()
    assert list(entries(folder)) == ["The user is the tech lead"]


def test_a_patch_of_codex_proves_the_lines_that_it_adds(folder: Folder):
    folder.page("MEMORY.md", "- was there\n- added by a patch\n")
    update = f"*** Update File: {folder.memory}/MEMORY.md\n@@\n - was there\n+- added by a patch\n"
    patch = f"*** Begin Patch\n{update}*** End Patch"
    folder.call("apply_patch", {"input": patch}, "Done", at="2026-11-17T09:00:00.000Z")
    folder.dream()
    assert list(entries(folder)) == ["added by a patch"]


def test_what_has_sub_points_or_goes_on_stays_in_one_piece(folder: Folder):
    text = "- a\n  - and a sub-point\n- another\n  that goes on\n\nDo it so.\n\n**Why:** it broke.\n\n1. a\n2. b\n"
    folder.agent_writes("notes.md", text)
    folder.dream()
    assert set(entries(folder)) == {"a; and a sub-point", "another that goes on"}
    assert folder.read("notes.md") == text
    # with a person's point in it, it is theirs
    folder.page("notes.md", text.replace("- another", "  - and mine\n- another"))
    folder.clock.advance(days=1)
    folder.dream()
    assert set(entries(folder)) == {"another that goes on"}
    assert "- a\n  - and a sub-point\n  - and mine\n" in folder.read("notes.md")


def test_a_line_with_a_secret_is_copied_nowhere(folder: Folder):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    folder.agent_writes("MEMORY.md", f"- Pushes need the token {secret}\n- The importer runs at night\n")
    folder.dream()
    assert list(entries(folder)) == ["The importer runs at night"]
    assert secret not in (folder.memory / ".slowwave" / "ledger.jsonl").read_text()


def test_a_day_below_a_dated_heading_counts_from_that_day(folder: Folder):
    parts = {
        "Session 2026-11-03 (late)": "- Yesterday Ben rotated the keys\n\n### Mailer\n\n- The mailer broke yesterday",
        "November 5, 2026": "- Yesterday the importer broke",
        "Freeze until 2026-11-01": "- Yesterday Ann left",
        "2026-12-24": "- Yesterday the docs moved",
    }
    text = "# Log\n\n" + "".join(f"## {title}\n\n{lines}\n\n" for title, lines in parts.items())
    folder.agent_writes("log.md", text, at="2026-11-17T09:00:00.000Z")
    folder.dream()
    assert {one.valid_from[:10] for one in entries(folder).values()} == {"2026-11-03", "2026-11-05", "2026-11-17"}
    page = folder.read("log.md")
    assert "Yesterday (2026-11-02) Ben rotated" in page
    assert "broke yesterday (2026-11-02)" in page
    assert "Yesterday (2026-11-04) the importer" in page
    assert "Yesterday (2026-11-16) Ann left" in page
    assert "Yesterday (2026-11-16) the docs" in page


# --- operations


def test_a_candidate_that_says_the_same_as_an_agents_line_adds_no_second_one(folder: Folder):
    folder.agent_writes("MEMORY.md", "- The user prefers tabs over spaces\n")
    folder.extract(folder.candidate("I prefer tabs over spaces"))
    report = folder.dream()
    assert [(i.action, i.text) for i in report.items] == [("merge", "The user prefers tabs over spaces")]
    assert "\n".join(map(str, folder.everything().values())).count("tabs over spaces") == 1
    assert len(entries(folder)["The user prefers tabs over spaces"].sightings) == 2


def test_lines_of_agents_that_say_the_same_become_one_with_the_evidence_of_both(folder: Folder):
    folder.agent_writes("MEMORY.md", "- We use pnpm, not npm\n", at="2026-11-15T09:00:00.000Z")
    folder.agent_writes("build.md", "- Use pnpm instead of npm\n", at="2026-11-16T09:00:00.000Z")
    report = folder.dream()
    (merged,) = [i for i in report.items if i.action == "merge"]
    assert merged.reason == "says the same as We use pnpm, not npm in MEMORY.md"
    assert "pnpm" not in folder.read("build.md")
    assert len(entries(folder)["We use pnpm, not npm"].evidence) == 2


def test_an_agents_line_that_a_persons_line_says_already_goes(folder: Folder):
    folder.page("mine.md", "- Use pnpm instead of npm\n")
    folder.agent_writes("MEMORY.md", "- We use pnpm, not npm\n")
    folder.dream()
    assert folder.read("mine.md") == "- Use pnpm instead of npm\n"
    assert "pnpm, not npm" not in folder.read("MEMORY.md")


@pytest.mark.parametrize("other", ["Workers: 6 at most", "Never run 5 workers", "Run 5 workers of v2"])
def test_nothing_merges_across_a_number_a_no_or_a_version(folder: Folder, other: str):
    folder.agent_writes("MEMORY.md", f"- Run 5 workers\n- {other}\n")
    report = folder.dream()
    assert "merge" not in {i.action for i in report.items}


def test_words_for_days_get_the_date_of_the_writing(folder: Folder):
    folder.page("MEMORY.md", f"{CERSEI}{auto('Last week we moved the docs to mkdocs', 'decision')}")
    folder.dream()
    assert "Last week (week of 2026-11-09) we moved the docs to mkdocs" in folder.read("MEMORY.md")


def test_a_pointer_that_leads_nowhere_goes_and_a_page_that_nothing_leads_to_gets_one(folder: Folder):
    folder.agent_writes("MEMORY.md", "- [Gone](gone.md)\n- [Kept](kept.md)\n")
    folder.client_page("kept.md", "project", "- a fact")
    folder.client_page("lost.md", "project", "- another fact", title="Lost")
    report = folder.dream()
    assert not report.parked
    assert folder.read("MEMORY.md") == "- [Kept](kept.md)\n- [Lost](lost.md): about lost.md\n"


def test_a_persons_stale_pointer_stays(folder: Folder):
    folder.page("MEMORY.md", "- [Gone](gone.md)\n")
    folder.dream()
    assert folder.read("MEMORY.md") == "- [Gone](gone.md)\n"


def test_our_lines_stand_above_a_section_of_cerseis(folder: Folder):
    folder.page("MEMORY.md", f"# Notes\n\n{CERSEI}{auto('It runs on Node')}")
    folder.extract(folder.candidate("Never push on Fridays"))
    folder.dream()
    lines = folder.read("MEMORY.md").split("\n")
    assert lines.index("- Never push on Fridays") < lines.index("## Auto-extracted memories")


def test_a_pointer_inside_a_sentence_goes_where_its_page_is_not_there(folder: Folder):
    folder.agent_writes("there.md", "- The parser keeps no state\n")
    lines = {
        "- See [gone](gone.md) for how to debug the ingest path": "",
        "- Packet layout is in [gone.md](gone.md)": "",
        "- Never mock the database; see [gone](gone.md).": "- Never mock the database.",
        "- Jobs are idempotent (see [gone](gone.md)), they may run twice": "- Jobs are idempotent, they may run twice",
        "- The [wizard](gone.md) needs two screens": "- The wizard needs two screens",
        "- Parsing: see [there](there.md)": "- Parsing: see [there](there.md)",
        "- Style is in [the guide](docs/style.md) of the repository": None,
        "- Setup is in [the readme](README.md)": None,
    }
    folder.agent_writes("MEMORY.md", "\n".join(lines) + "\n")
    report = folder.dream()
    expected = [before if after is None else after for before, after in lines.items()]
    assert folder.read("MEMORY.md").splitlines() == [line for line in expected if line]
    assert sum(i.reason.endswith("gone.md, which is not there") for i in report.items) == 5
    with (folder.memory / "MEMORY.md").open("a") as file:
        file.write("- My own: see [gone](gone.md)\n")
    folder.clock.advance(days=1)
    folder.dream()
    assert folder.read("MEMORY.md").endswith("- My own: see [gone](gone.md)\n")


# --- the index


def test_an_index_of_an_agent_comes_within_its_limits_and_new_memories_find_room(folder: Folder):
    long = [f"- Service {n} listens on port {9000 + n}" for n in range(262)]
    folder.agent_writes("MEMORY.md", "# Memory\n\n" + "\n".join(long) + "\n")
    with (folder.memory / "MEMORY.md").open("a") as file:
        file.write("my own last line\n")
    folder.extract(*(folder.candidate(f"Rule {w} of mine", session=w) for w in ("a1", "b1", "c1", "d1", "e1")))
    report = folder.dream()
    assert not report.warnings
    index = folder.read("MEMORY.md")
    assert len(index.splitlines()) <= 200
    assert "my own last line\n" in index
    assert all(f"Rule {w} of mine" in index for w in ("a1", "b1", "c1", "d1", "e1"))
    assert "[Project](project.md)" in index
    everything = index + folder.read("project.md")
    assert all(f"{line}\n" in everything for line in long)
    moved = [i for i in report.items if i.action == "move"]
    assert {i.reason for i in moved} == {"the index is full: it is in project.md now"}
    assert len(moved) == report.counts["moved"] > 60
    events = read_ledger(folder.memory)
    (dream,) = dreams_of(MemoryFolder("-home-ann-shop", folder.memory, ()), events)
    told = [change for change in dream.changes if change.kind == "moved"]
    assert sorted(change.text for change in told) == sorted(item.text for item in moved)
    assert {change.why for change in told} == {"the index is full: it is in project.md now"}
    assert in_words({"moved": len(told)}) == f"{len(told)} moved to pages"
    again = folder.everything()
    assert folder.dream().dream_ids == []
    assert folder.everything() == again


def test_every_line_is_in_the_report_once_and_all_is_undone_byte_for_byte(folder: Folder):
    folder.agent_writes("MEMORY.md", "".join(f"- Fact {n}\n" for n in range(230)) + "- Fact 7\n- [Gone](gone.md)\n")
    folder.client_page("lost.md", "user", "- The user prefers uv")
    folder.extract(folder.candidate("Never push on Fridays"))
    before = folder.everything()
    report = folder.dream()
    lines = [i.target for i in report.items]
    assert len(lines) == len(set(lines)) == 234
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.everything() == before
    # a person said no: the same is not done again
    folder.clock.advance(days=2)
    assert folder.dream().dream_ids == []
    assert folder.everything() == before


# --- what agents do meanwhile


def test_a_line_that_an_agent_writes_anew_takes_the_place_of_the_old_one(folder: Folder):
    folder.agent_writes("MEMORY.md", "- The importer runs at night\n")
    folder.dream()
    folder.clock.advance(days=1)
    folder.agent_writes("MEMORY.md", "- The importer runs at night and at noon\n", at="2026-11-20T09:00:00.000Z")
    folder.dream()
    assert list(entries(folder)) == ["The importer runs at night and at noon"]
    old = next(m for m in read_book(folder.memory).memories.values() if m.text == "The importer runs at night")
    assert old.status == "rewritten"
    assert folder.read("MEMORY.md") == "- The importer runs at night and at noon\n"


def test_an_agents_line_that_a_person_rewords_is_theirs(folder: Folder):
    folder.agent_writes("MEMORY.md", "- The importer runs at night\n")
    folder.dream()
    folder.page("MEMORY.md", "- The importer runs only at night!\n")
    folder.clock.advance(days=1)
    folder.dream()
    assert entries(folder) == {}
    assert folder.read("MEMORY.md") == "- The importer runs only at night!\n"


def test_the_list_says_who_wrote_what_and_what_proves_it(folder: Folder, capsys: pytest.CaptureFixture[str]):
    folder.agent_writes("MEMORY.md", "- The importer runs at night\n")
    folder.dream()
    assert main(["memory", "list", "--json", "--memory", str(folder.memory)]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["written_by"], row["text"]) == ("agent", "The importer runs at night")
    assert row["evidence"][0]["length"] > 0


def test_a_line_that_is_no_entry_is_an_agents_where_a_call_wrote_it(folder: Folder, capsys: pytest.CaptureFixture[str]):
    folder.agent_writes("MEMORY.md", "- The importer runs at night\n\n| day | port |\n")
    with (folder.memory / "MEMORY.md").open("a") as file:
        file.write("> what this is about\n")
    folder.dream()
    assert main(["memory", "list", "--foreign", "--json", "--memory", str(folder.memory)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = {row["text"]: row["written_by"] for row in rows if row["status"] == "foreign"}
    assert told == {"| day | port |": "agent", "what this is about": "unknown"}


def test_a_preview_and_a_snapshot_write_no_notes(folder: Folder):
    folder.agent_writes("MEMORY.md", "- The importer runs at night\n")
    folder.dream(dry_run=True)
    read_snapshot(folder.memory)
    assert not (folder.memory / ".slowwave" / "writes.json").exists()


# --- what contradicts a person's line


@pytest.fixture
def memory(folder: Folder, capsys: pytest.CaptureFixture[str]) -> Memories:
    def run(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
        command, *rest = arguments
        assert main(["memory", command, "--memory", str(folder.memory), "--json", *rest]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def test_what_contradicts_a_persons_line_waits_and_review_shows_both_sides(folder: Folder, memory: Memories):
    folder.page("MEMORY.md", "- We use SQLite for storage\n")
    folder.extract(folder.candidate("We moved from SQLite to Postgres for storage", category="decision"))
    report = folder.dream()
    (item,) = report.items[:1]
    assert (item.action, item.reason) == (
        "wait",
        "contradicts what a person wrote in MEMORY.md: We use SQLite for storage",
    )
    assert folder.read("MEMORY.md") == "- We use SQLite for storage\n"
    (row,) = memory("review")
    assert row["text"] == "We moved from SQLite to Postgres for storage"
    assert row["against"] == {"file": "MEMORY.md", "text": "We use SQLite for storage"}
    assert row["evidence"]
    memory("review", "accept", row["id"])
    assert [m.text for m in read_book(folder.memory).active] == ["We moved from SQLite to Postgres for storage"]
    assert "- We use SQLite for storage\n" in folder.read("MEMORY.md")
    assert memory("review") == []


@pytest.mark.parametrize(("word", "stays"), [("accept", False), ("reject", True)])
def test_an_agents_line_against_a_persons_is_ended_or_left_by_a_persons_word(
    folder: Folder, memory: Memories, word: str, *, stays: bool
):
    folder.page("MEMORY.md", "- The API listens on port 8080\n")
    folder.agent_writes("notes.md", "- The API listens on port 9090\n")
    folder.dream()
    assert folder.read("notes.md") == "- The API listens on port 9090\n"
    (row,) = memory("review")
    assert row["reason"].endswith("contradicts what a person wrote in MEMORY.md: The API listens on port 8080")
    assert (row["against"]["text"], len(row["evidence"])) == ("The API listens on port 8080", 1)
    memory("review", word, row["id"])
    assert ("9090" in folder.read("notes.md")) is stays
    assert memory("review") == []
    before = folder.everything()
    folder.clock.advance(days=2)
    folder.dream()
    assert folder.everything() == before


def test_the_report_tells_what_each_phase_saw_and_did(folder: Folder):
    folder.agent_writes("MEMORY.md", "- We use pnpm, not npm\n- Use pnpm instead of npm\n- [Gone](gone.md)\n")
    folder.page("mine.md", "- mine\n- mine too\n")
    folder.extract(folder.candidate("Never push on Fridays"))
    phases = folder.dream().phases["-p"]
    assert (phases.lines, phases.gathered, phases.consolidated, phases.pruned) == ({"agent": 3, "person": 2}, 1, 2, 1)
    assert str(phases) == (
        "oriented on 5 lines of 2 writers (3 of agent, 2 of person), "
        "gathered 1 waiting fact, consolidated 2, pruned 1 line"
    )


# --- an agent that writes while a dream runs


@pytest.mark.parametrize("file", ["MEMORY.md", "notes.md", "new.md"])
def test_what_an_agent_writes_during_a_dream_is_not_lost(folder: Folder, file: str):
    folder.agent_writes("MEMORY.md", "- We use pnpm, not npm\n- Use pnpm instead of npm\n")
    folder.agent_writes("notes.md", "- The importer runs at night\n")
    seen: list[State] = []

    def meanwhile(state: State, gathered: Gathered, settings: ConsolidationSettings) -> Sequence[Operation]:
        if not seen:
            folder.agent_writes(
                file, "- Written while the dream was planned\n", at="2026-11-20T03:30:00.000Z", edit=True
            )
        seen.append(state)
        return offline(state, gathered, settings)

    report = folder.dream(planner=meanwhile)
    assert len(seen) == 2
    assert report.dream_ids
    assert "- Written while the dream was planned\n" in folder.read(file)
    assert "Use pnpm instead of npm" not in folder.read("MEMORY.md")
    # its session began after the run had looked for sessions: the next night knows who wrote it
    folder.clock.advance(days=1)
    folder.dream()
    assert "Written while the dream was planned" in entries(folder)


def test_what_an_agent_writes_after_a_dream_is_an_entry_of_the_next(folder: Folder):
    folder.agent_writes("MEMORY.md", "- The importer runs at night\n")
    folder.dream()
    folder.agent_writes("MEMORY.md", "- Added in a later session\n", at="2026-11-20T09:00:00.000Z", edit=True)
    folder.clock.advance(days=1)
    folder.dream()
    assert set(entries(folder)) == {"The importer runs at night", "Added in a later session"}
    assert folder.read("MEMORY.md") == "- The importer runs at night\n- Added in a later session\n"


# --- one line makes another one needless

OLD = (
    "- TODO: move invoice export into the nightly queue `export-worker`\n"
    "- Integration tests need the `ledger-db` container, start it with `make db-up`\n"
    "- `make lint` runs ruff over `src/`\n- Colours come from `theme.css`\n"
    "- Staging deploys from branch `develop`\n- Fonts are bundled, never loaded from a CDN\n"
)
NEW = (
    "- Invoice export runs in the nightly queue `export-worker` now, merged in PR #212\n"
    "- `make types` runs pyright over `src/`\n"
    "- Start `ledger-db` with `make db-up` before running the integration tests\n"
    "- Production deploys from branch `main` after a tag\n"
)


def test_what_a_later_line_says_makes_an_older_one_needless_and_all_is_undone(folder: Folder):
    folder.agent_writes("notes.md", OLD, at="2026-11-10T09:00:00.000Z")
    folder.agent_writes("more.md", NEW, at="2026-11-16T09:00:00.000Z")
    before = folder.everything()
    report = folder.dream()
    gone = {item.text: item.reason for item in report.items if item.action == "supersede"}
    start = "a later line says: "
    assert {text[:11]: reason[: len(start)] for text, reason in gone.items()} == dict.fromkeys(("TODO: move ",), start)
    assert folder.read("notes.md") == "".join(
        line for line in OLD.splitlines(keepends=True) if line[2:13] != "TODO: move "
    )
    assert folder.read("more.md") == NEW
    after = folder.everything()
    # twice is once; what is new ends nothing that was judged before
    folder.clock.advance(days=2)
    assert folder.dream().dream_ids == []
    folder.extract(folder.candidate("We chose mkdocs over Sphinx", session="b", category="decision"))
    later = folder.dream()
    assert {item.action for item in later.items} <= {"add", "keep"}
    for one in (*later.dream_ids, *report.dream_ids):
        undo(folder.memory, one, folder.clock.now())
    assert {name: data for name, data in folder.everything().items() if name in before} == before
    folder.clock.advance(days=2)
    folder.dream()
    assert folder.read("notes.md") == OLD
    assert set(after) >= set(before)


def test_no_persons_line_goes_for_a_later_one_nor_where_nobody_knows_which_is_later(folder: Folder):
    folder.page("notes.md", OLD)
    folder.agent_writes("more.md", NEW, at="2026-11-16T09:00:00.000Z")
    folder.client_page("old.md", "project", *OLD.splitlines(), title="Old")
    before = folder.read("old.md")
    folder.dream()
    assert folder.read("notes.md") == OLD
    assert folder.read("more.md") == NEW
    # the same lines of a page that a client wrote, of which no time is known
    folder = Folder(folder.root / "other")
    folder.client_page("old.md", "project", *OLD.splitlines(), title="Old")
    folder.client_page("new.md", "project", *NEW.splitlines(), title="New")
    folder.dream()
    assert folder.read("old.md") == before


def test_of_lines_of_one_page_the_lower_one_is_the_later_one(folder: Folder):
    folder.agent_writes("notes.md", OLD + NEW)
    folder.dream()
    assert "TODO" not in folder.read("notes.md")
    assert "merged in PR #212" in folder.read("notes.md")


def test_no_more_lines_go_than_a_dream_may_lose_and_the_others_wait_for_the_next_news(folder: Folder):
    parts = ("importer", "billing", "search", "mailer", "gateway")
    old = "".join(f"- Pages of the {part} are drawn by turbine\n" for part in parts)
    new = "".join(f"- Pages of the {part} are drawn by halyard now\n" for part in parts)
    folder.agent_writes("old.md", old, at="2026-11-10T09:00:00.000Z")
    folder.agent_writes("new.md", new, at="2026-11-16T09:00:00.000Z")

    def gone(max_loss: float) -> int:
        report = folder.dream(max_loss=max_loss)
        folder.clock.advance(days=2)
        assert len({item.target for item in report.items if item.reason.startswith("a later line says")}) in (0, left)
        return sum(item.action == "supersede" for item in report.items)

    left = len(parts)
    assert gone(0.2) == 2
    left -= 2
    assert gone(0.2) == 0  # without news nothing is done
    for number, may in enumerate((1, 2)):
        # never none, and of 8 lines at most a quarter
        folder.agent_writes(f"more{number}.md", f"- Fonts number {number} are bundled\n", at="2026-11-18T09:00:00.000Z")
        assert gone(0.05 if may == 1 else 0.25) == may
        left -= may
    assert folder.read("new.md") == new
    assert not (folder.memory / "old.md").read_bytes().strip()


def unjudged(operations: Sequence[Operation], *_: object) -> Sequence[Operation]:
    return operations


def test_lines_that_an_older_version_took_up_are_judged_once(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patched:
        # as it was before there was a judge
        patched.setattr("slowwave.consolidation.decisions.without_needless", unjudged)
        patched.setattr("slowwave.consolidation.plan.BY_JUDGE", "")
        folder.agent_writes("notes.md", OLD, at="2026-11-10T09:00:00.000Z")
        folder.agent_writes("more.md", NEW, at="2026-11-16T09:00:00.000Z")
        folder.dream()
        assert folder.read("notes.md") == OLD
    folder.clock.advance(days=2)
    folder.dream()
    assert folder.read("notes.md") == OLD  # nothing is new
    folder.extract(folder.candidate("We chose mkdocs over Sphinx", session="b", category="decision"))
    report = folder.dream()
    assert "TODO" not in folder.read("notes.md")
    assert [item.reason[:18] for item in report.items if item.action == "supersede"] == ["a later line says:"]
    # taken back it is not done again
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.read("notes.md") == OLD
    folder.clock.advance(days=2)
    folder.extract(folder.candidate("We chose nginx over Caddy", session="c", category="decision"))
    folder.dream()
    assert folder.read("notes.md") == OLD

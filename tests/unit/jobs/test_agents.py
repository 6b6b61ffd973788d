"""One memory over all agents: what was said to any of them in one repository ends in one dream."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.consolidation.facts import CAP
from slowwave.context import FixedClock, Run
from slowwave.jobs.story import run_job
from slowwave.memory.book import Memory, read_book
from slowwave.memory.evidence import totals, verify
from slowwave.report import Report
from slowwave.samples import build
from slowwave.settings import load_settings

NOW = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
AGENTS = {"claude", "cersei", "pi", "codex", "opencode"}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """Build the sample week, work one night over it, and return the home with the report."""
    home = tmp_path_factory.mktemp("ana")
    build(home, NOW)
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}
    # a bar that both of two decisions reach of which the later one takes the place of the other
    wanted = "consolidation.accept_confidence=0.5"
    settings = load_settings(environ, cwd=home, overrides=[wanted]).with_roots([home])
    return home, run_job("nightly", Run("r1", settings, FixedClock(NOW), environ))


def memory_of(home: Path, project: str) -> Path:
    return home / ".claude" / "projects" / f"-home-ana-{project}" / "memory"


def named(night: tuple[Path, Report], project: str, words: str) -> Memory:
    found = [m for m in read_book(memory_of(night[0], project)).memories.values() if words in m.text]
    assert len(found) == 1, [m.text for m in found]
    return found[0]


def told_by(memory: Memory) -> set[str]:
    return {sighting.dialect for sighting in memory.sightings}


def test_sessions_of_five_agents_are_two_projects(night: tuple[Path, Report]):
    home, report = night

    assert report.failures == []
    assert (report.counts["sessions"], report.counts["projects"], len(report.dream_ids)) == (19, 2, 2)
    assert set(report.memories) == {"-home-ana-quill", "-home-ana-tern"}
    tern = read_book(memory_of(home, "tern")).memories.values()
    assert {agent for memory in tern for agent in told_by(memory)} == AGENTS
    assert not (home / "data").exists()


@pytest.mark.parametrize("project", ["tern", "quill"])
def test_the_evidence_of_every_agent_verifies(night: tuple[Path, Report], project: str):
    verified = verify(read_book(memory_of(night[0], project)).memories.values(), ())

    numbers = totals(verified)
    assert numbers["checked"] == numbers["ok"] > 10
    assert all(one.is_proven for one in verified)
    assert len({told for one in verified for told in told_by(one.memory)}) >= 4


def test_evidence_in_a_database_that_changed_no_longer_verifies(night: tuple[Path, Report], tmp_path: Path):
    memory = named(night, "tern", "accountants close a month")
    assert told_by(memory) == {"opencode"}

    database = Path(memory.evidence[0].path)
    whole = database.read_bytes()
    try:
        database.write_bytes(whole.replace(b"the accountants close", b"the accountants c1ose"))
        (found,) = verify([memory], (tmp_path,))
    finally:
        database.write_bytes(whole)

    assert not found.is_proven


@pytest.mark.parametrize(
    ("project", "words", "agents"),
    [
        ("tern", "We always use pnpm", {"claude", "pi"}),
        ("tern", "Comments in this repo say why", {"claude", "codex"}),
        ("tern", "We store amounts as integers", {"claude", "opencode"}),
        ("quill", "Tests are plain functions in this repo", {"claude", "codex"}),
        ("quill", "only depend on the standard library", {"claude", "pi"}),
    ],
)
def test_what_was_said_to_two_agents_is_one_memory_and_more_certain(
    night: tuple[Path, Report], project: str, words: str, agents: set[str]
):
    memory = named(night, project, words)

    assert told_by(memory) == agents
    strongest = max(sighting.confidence for sighting in memory.sightings)
    assert memory.confidence > strongest or memory.confidence == strongest == CAP


def test_a_decision_told_to_codex_takes_the_place_of_one_told_to_claude(night: tuple[Path, Report]):
    old = named(night, "tern", "by polling every second")
    new = named(night, "tern", "LISTEN and NOTIFY")

    assert (told_by(old), old.status, old.successor) == ({"claude"}, "superseded", new.id)
    assert (told_by(new), new.status) == ({"codex"}, "active")


def test_a_fix_that_was_found_with_pi_is_kept(night: tuple[Path, Report]):
    fix = named(night, "tern", "until `pnpm run codegen` was run")

    assert (told_by(fix), fix.status) == ({"pi"}, "active")

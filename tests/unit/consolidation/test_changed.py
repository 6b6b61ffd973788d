"""A newer statement takes the place of an older one where only one of them can hold, and never beside that."""

from pathlib import Path

import pytest

from slowwave.consolidation.replacement import overtakes
from slowwave.memory.book import read_book
from slowwave.memory.model import Candidate
from tests.unit.consolidation.folders import Folder
from tests.unit.consolidation.nights import Nights, said, together

CHANGED = [
    ("We use Postgres", "We chose SQLite over Postgres"),
    ("CI runs on Jenkins", "We moved the CI from Jenkins to GitHub Actions"),
    ("The API listens on port 8080", "The API server moved to port 9090"),
    ("Releases go out every Friday", "We release on Tuesdays now"),
    ("Backups are kept for 30 days", "Backups are kept for 90 days"),
    ("Alice reviews all database changes", "Bob now reviews all database changes"),
    ("Always squash before merging", "Don't squash before merging"),
    ("We deploy with Ansible", "We no longer use Ansible; deploys go through ArgoCD"),
]
BESIDE = [
    ("We use Postgres", "We use Redis"),
    ("Use pnpm for installs", "Use npm for installs in the legacy folder"),
    ("The API listens on port 8080", "The worker listens on port 9090"),
    ("On v1 the port is 8080", "On v2 the port is 9090"),
    ("Use tabs in Makefiles", "Use tabs in Go files"),
    ("The worker logs to stdout", "The API logs to a file instead of stdout"),
    ("Postgres 14 needs pg_trgm", "Postgres 16 needs pg_trgm"),
    ("Never deploy on Fridays", "Never deploy on Fridays without a second reviewer"),
    ("Never push on Fridays", "Never push on Mondays"),
    # the words before a colon name what the rest is about
    ("Alarm fired twice: two daemons were leader, see `locks`", "Alarm never fired: `just trace` prints why"),
    ("`npm test` fails; `pnpm test` works", "Use pnpm instead of npm"),
    ("The staging database is Postgres 14", "The production database is Postgres 16"),
]


@pytest.mark.parametrize(("older", "newer"), CHANGED)
def test_another_value_of_the_same_thing_takes_its_place(older: str, newer: str):
    assert overtakes(newer, older)


@pytest.mark.parametrize(("older", "newer"), BESIDE)
def test_what_holds_elsewhere_or_of_another_thing_stands_beside_it(older: str, newer: str):
    assert not overtakes(newer, older)


@pytest.mark.parametrize("text", [text for pair in CHANGED for text in pair])
def test_nothing_takes_its_own_place(text: str):
    assert not overtakes(text, text)


def test_a_persons_decision_supersedes_an_agents_note_and_says_until_when_that_held(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.agent_writes("MEMORY.md", "- We use Postgres\n")
    folder.extract(folder.candidate("We chose SQLite over Postgres", category="decision"))
    report = folder.dream()
    (old,) = [i for i in report.items if i.action == "supersede"]
    assert (old.text, old.reason) == ("We use Postgres", "a person said otherwise: We chose SQLite over Postgres")
    assert "- We use Postgres\n" not in folder.read("MEMORY.md")
    gone = next(m for m in read_book(folder.memory).memories.values() if m.text == "We use Postgres")
    assert gone.held == (("2026-11-17T09:00:00Z", "2026-11-19T10:00:00Z"),)


def test_of_two_notes_of_agents_the_later_one_holds(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.agent_writes("a.md", "- The API listens on port 8080\n", at="2026-11-10T09:00:00.000Z")
    folder.agent_writes("b.md", "- The API listens on port 9090\n", at="2026-11-12T09:00:00.000Z")
    folder.dream()
    assert [m.text for m in read_book(folder.memory).active] == ["The API listens on port 9090"]


def test_an_agents_note_never_takes_the_place_of_what_a_person_said(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.extract(folder.candidate("We use SQLite for storage", category="decision", at="2026-11-10T10:00:00Z"))
    folder.dream()
    folder.agent_writes("notes.md", "- We moved from SQLite to Postgres for storage\n")
    folder.clock.advance(days=1)
    folder.dream()
    assert "We use SQLite for storage" in {m.text for m in read_book(folder.memory).active}


# as decisions of one person, on two days
OF_ANOTHER = [
    ("Redis 6 needs a password", "Redis 7 needs a password"),
    ("In 2024 the fee is 20 euros", "In 2025 the fee is 22 euros"),
    ("With protocol version 2 the limit is 100 requests", "With protocol version 3 the limit is 250 requests"),
]
ANEW = [
    ("The fee is 20 euros", "The fee is 22 euros"),
    ("In 2024 the fee is 20 euros", "In 2024 the fee is 25 euros"),
    ("Port 8080 is what the API uses", "Port 9090 is what the API uses"),
]


@pytest.mark.parametrize(("older", "newer"), OF_ANOTHER)
def test_a_number_that_tells_which_one_is_meant_is_no_value(older: str, newer: str):
    assert _standing(older, newer) == {older, newer}


@pytest.mark.parametrize(("older", "newer"), ANEW)
def test_the_last_number_is_the_value(older: str, newer: str):
    assert _standing(older, newer) == {newer}


def _standing(older: str, newer: str) -> set[str]:
    nights = Nights()
    for day, text in enumerate((older, newer), 1):
        nights.dream([said(text, f"2026-11-0{day}T10:00:00Z", category="decision")])
    return {memory.text for memory in nights.book.active}


# Commands: what is run before a commit, and for what.

BUILD, TYPES = ("bun run build", "bun run lint"), ("bun run typecheck", "bun run lint")


def gate(calls: tuple[str, ...], day: int) -> Candidate:
    line = f"Before a commit: {', '.join(f'`{call}`' for call in calls)}"
    return shown(line, day, key="cmd:commit", value="; ".join(calls))


def shown(text: str, day: int, *, key: str, value: str) -> Candidate:
    at = f"2026-11-{day:02}T00:00:00Z"
    return said(text, at, category="pattern", origin="command_outcome", key=key, value=value)


def run_before(*gates: tuple[str, ...]) -> tuple[list[str], Nights]:
    """Return what holds in the end, whether the sessions were read night by night, at once, or the last ones first."""
    notes = [gate(calls, 1 + number) for number, calls in enumerate(gates)]
    nights = together([[one] for one in notes])
    others = [together([notes]), together([[one] for one in reversed(notes)])]
    assert [other.beliefs() for other in others] == [nights.beliefs()] * 2
    return sorted(m.value for m in nights.book.active), nights


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (TYPES, BUILD),
        (("npm run lint", "npm run test:ci"), ("npm run build", "npm run lint")),
        (("npm run test:ci", "npm run lint"), ("npm test", "npm run lint")),
        (("pytest -q", "ruff check"), ("npx jest", "ruff check")),
        (("pytest -q", "npx jest"), ("pytest -q", "ruff check")),
        (("go test ./...", "golangci-lint run ./..."), ("gofmt -l .", "go test ./...")),
    ],
)
def test_different_checks_before_a_commit_stand_side_by_side(older: tuple[str, ...], newer: tuple[str, ...]) -> None:
    assert run_before(older, newer)[0] == sorted(map("; ".join, (older, newer)))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("npm test", "npm run lint"), ("pnpm test", "pnpm lint")),
        (("npm test", "npm run lint"), ("npm run lint", "npm test")),
        (BUILD, (*BUILD, "bun run test")),
        (("make test", "make lint"), ("uv run pytest -q", "uv run ruff check")),
        (("pytest -q", "ruff check"), ("python -m pytest -x", "ruff check .")),
        (("go test ./...", "go vet ./..."), ("gofmt -l .", "go vet ./...", "go test ./...")),
    ],
)
def test_the_same_checks_run_in_another_way_or_with_more_take_their_place(
    older: tuple[str, ...], newer: tuple[str, ...]
) -> None:
    assert run_before(older, newer)[0] == ["; ".join(newer)]


def test_some_of_the_checks_say_nothing_against_the_others() -> None:
    more = (*BUILD, "bun run test")
    holds, nights = run_before(BUILD, more, BUILD)
    assert holds == ["; ".join(more)]
    (less,) = (m for m in nights.book.memories.values() if m.value == "; ".join(BUILD))
    assert less.held == (("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"),)
    late = Nights()
    late.dream([gate(more, 1)])
    (told,) = (o.reason for o in late.dream([gate(BUILD, 5)]) if o.action == "SUPERSEDE")
    assert told == f"says no more than: {gate(more, 1).text}"


def test_what_a_person_dropped_ends_no_shorter_list() -> None:
    nights = Nights()
    nights.dream([gate((*BUILD, "cargo test --workspace", "golangci-lint run", "npm run test:e2e"), 1)])
    nights.files = {
        name: b"\n".join(line for line in data.split(b"\n") if b"cargo test" not in line)
        for name, data in nights.files.items()
    }
    nights.dream([gate(BUILD, 5)])
    assert [m.value for m in nights.book.active] == ["; ".join(BUILD)]


@pytest.mark.parametrize(
    ("older", "newer", "left"),
    [
        ("npm run test:ci", "npm test", 2),
        ("npm run test:unit", "npm run test:e2e", 2),
        ("npm test", "pnpm test", 1),
        ("make test", "uv run pytest -q", 1),
        ("npm test", "npm run test -- --coverage", 1),
    ],
)
def test_two_commands_for_one_purpose_are_two_where_their_names_say_what_each_is_for(
    older: str, newer: str, left: int
) -> None:
    notes = [
        shown(f"Tests are run with `{call}`", 1 + n, key="cmd:test", value=call)
        for n, call in enumerate((older, newer))
    ]
    for nights in ([notes], [[one] for one in notes], [[one] for one in reversed(notes)]):
        holding = {m.value for m in together(nights).book.active}
        assert holding == {older, newer} if left > 1 else holding == {newer}

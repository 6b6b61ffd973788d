"""What a command needs before it works: told when one thing in between explains it, and never guessed."""

from pathlib import Path

import pytest

from slowwave.memory.model import Candidate
from tests.unit.extraction.talk import CWD, Talk
from tests.unit.extraction.test_miners import mined

REFUSED = "Error: connect ECONNREFUSED 127.0.0.1:5432"


def outcomes(tmp_path: Path, talk: Talk) -> list[Candidate]:
    return [c for c in mined(tmp_path, talk) if c.extractor.endswith(":outcome")]


@pytest.mark.parametrize(
    ("line", "error", "what"),
    [
        ("pnpm test", REFUSED, "docker compose up -d db"),
        ("pnpm run db:migrate", REFUSED, "docker compose up -d db"),
        ("pnpm test", REFUSED, "pnpm run db:migrate"),
        ("pytest", 'psycopg.errors.UndefinedTable: relation "orders" does not exist', "alembic upgrade head"),
        ("make test", "ModuleNotFoundError: No module named 'httpx'", "uv sync"),
        ("gh pr list", "error: not logged in, please run gh auth login; authentication required", "gh auth login"),
        ("pnpm dev", "Error: DATABASE_URL is not set", "cp .env.example .env"),
    ],
)
def test_the_one_command_in_between_is_what_made_it_work(tmp_path: Path, line: str, error: str, what: str):
    talk = Talk().bash(line, error, 1).bash("docker ps").bash(what).bash(line)
    (found,) = outcomes(tmp_path, talk)
    assert found.text == f"`{line}` fails ({error}) until `{what}` was run"
    assert (found.category, found.origin) == ("pattern", "command_outcome")
    assert len(found.evidence) == 6


def test_a_setting_that_was_missing_is_named_with_its_file(tmp_path: Path):
    talk = Talk().bash("pnpm dev", "Error: STRIPE_KEY is not set", 1)
    talk.tool("Edit", {"file_path": f"{CWD}/.env"}, "ok").bash("pnpm dev")
    (found,) = outcomes(tmp_path, talk)
    assert found.text.endswith("until it is set in `.env`")


@pytest.mark.parametrize(
    "talk",
    [
        # two things in between: nobody knows which
        Talk().bash("pnpm test", REFUSED, 1).bash("docker compose up -d db").bash("pnpm install").bash("pnpm test"),
        Talk().bash("pnpm test", REFUSED, 1).tool("Edit", {"file_path": "/x/a.ts"}, "ok").bash("pnpm test"),
        # two things, with a failure between them
        Talk()
        .bash("pnpm test", REFUSED, 1)
        .bash("pnpm install")
        .bash("pnpm test", REFUSED, 1)
        .bash("docker compose up -d db")
        .bash("pnpm test"),
        # nothing was done: it recovered by itself
        Talk().bash("pnpm test", REFUSED, 1).bash("docker ps").bash("pnpm test"),
        # it never worked
        Talk().bash("pnpm test", REFUSED, 1).bash("docker compose up -d db").bash("pnpm test", REFUSED, 1),
        # a test that an edit or a commit repaired
        Talk().bash("pnpm test", "1 failed: expected 2, got 3", 1).bash("pnpm install").bash("pnpm test"),
        # what was done does not prepare anything
        Talk().bash("pnpm test", REFUSED, 1).bash("git commit -m x").bash("pnpm test"),
        # the other command failed as well
        Talk().bash("pnpm test", REFUSED, 1).bash("docker compose up -d db", "no", 1).bash("pnpm test"),
    ],
)
def test_without_a_sure_cause_nothing_is_told(tmp_path: Path, talk: Talk):
    assert outcomes(tmp_path, talk) == []


@pytest.mark.parametrize(
    "error",
    [
        "Error: DATABASE_URL is not set",
        "KeyError: 'DATABASE_URL'",
        "DATABASE_URL: parameter not set",
        "Missing required environment variable DATABASE_URL",
        "DATABASE_URL must be set",
    ],
)
def test_a_variable_given_on_the_line_is_what_works(tmp_path: Path, error: str):
    talk = Talk().bash("pnpm test", error, 1).bash("DATABASE_URL=postgres://localhost/shop pnpm test")
    (found,) = outcomes(tmp_path, talk)
    assert "`DATABASE_URL=postgres://localhost/shop pnpm test` works" in found.text


def test_a_shell_that_stood_in_the_wrong_folder_teaches_nothing(tmp_path: Path):
    talk = Talk().bash("cd src && go test ./...", "bash: line 1: cd: src: No such file or directory", 1)
    assert outcomes(tmp_path, talk.bash("go test ./...")) == []


def test_where_a_command_has_to_be_run_is_told_shortly(tmp_path: Path):
    error = "pattern ./...: directory prefix . does not contain main module"
    talk = Talk().bash("go build ./... && go test -count=1 ./terminal/... ./color/...", error, 1)
    (found,) = outcomes(tmp_path, talk.bash(f"cd {CWD}/src && go build ./... && go test -count=1 ./terminal/..."))
    assert found.text == f"`go build` has to be run in `src` (elsewhere: {error})"


def test_no_command_is_told_in_half(tmp_path: Path):
    long = " ".join(f"--with-feature-{n}" for n in range(9))
    talk = Talk().bash(f"tool build --colour {long}", "error: unknown option --colour", 2).bash(f"tool build {long}")
    assert outcomes(tmp_path, talk) == []
    talk = Talk().bash(f"make lint && tool build --colour && echo {'x' * 120}", "error: unknown option --colour", 2)
    (found,) = outcomes(tmp_path / "b", talk.bash("make lint && tool build"))
    assert found.text.endswith("`tool build` works")
    assert "…" not in found.text


def test_a_shell_that_only_returned_to_where_the_session_works_teaches_nothing(tmp_path: Path):
    talk = Talk().bash("go build ./...", "pattern ./...: directory prefix . does not contain main module", 1)
    assert outcomes(tmp_path, talk.bash(f"cd {CWD} && go build ./...")) == []

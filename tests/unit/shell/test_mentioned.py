"""Names in a sentence without marks: programs with what is asked of them, options, files, and no word of a language."""

import pytest

from slowwave.shell.mentioned import is_path, marked


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("this repo is on pnpm, please no npm", ["pnpm", "npm"]),
        ("make lint and go test ./... have to pass", ["make lint", "go test ./..."]),
        ("Use 'npm ci' rather than \u201enpm install\u201c", ["npm ci", "npm install"]),
        ("use make, not just", ["make", "just"]),
        ("Never edit .env, src/gen/ or Gemfile.lock", [".env", "src/gen/", "Gemfile.lock"]),
        ("set NODE_ENV=test npm test and pass -n 2 to pytest", ["NODE_ENV=test npm test", "-n 2", "pytest"]),
        ("run docker compose exec api pytest, please", ["docker compose exec api pytest"]),
        ("After changing schema.prisma run npx prisma generate", ["schema.prisma", "npx prisma generate"]),
        ("mvn is slow, use mvnd", ["mvn", "mvnd"]),
    ],
)
def test_what_is_hardly_anything_else_is_a_name(text: str, names: list[str]) -> None:
    assert marked(text).split("`")[1::2] == names


@pytest.mark.parametrize(
    "text",
    [
        "make sure that the tests find a node, e.g. with Node.js",
        "go on and just build it at once",
        "the client/server split and/or the API",
        "git blame is no way to find out",
        "we run tests in docker, next to the database",
    ],
)
def test_words_of_a_language_are_no_names(text: str) -> None:
    assert "`" not in marked(text).replace("`git blame`", "")


def test_what_a_session_ran_is_a_name_there() -> None:
    assert marked("use frobnicate lint before all else") == "use frobnicate lint before all else"
    heard = {("frobnicate",), ("frobnicate", "lint")}
    assert marked("use frobnicate lint before all else", heard) == "use `frobnicate lint` before all else"


def test_marks_that_are_there_stay() -> None:
    assert marked("Run `npm test`, never `npm`") == "Run `npm test`, never `npm`"


@pytest.mark.parametrize(
    ("text", "path"),
    [("src/a", True), ("a.py", True), ("Gemfile", True), (".env", True), ("./run", False), ("CI=a/b", False)],
)
def test_paths_are_told_from_calls(text: str, *, path: bool) -> None:
    assert is_path(text) is path

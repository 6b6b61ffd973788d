"""Shell lines: programs, purposes and the error that matters."""

import pytest

from slowwave.extraction.shell import exit_code, purpose_of, setup_error, steps_of


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("cd src && FOO=1 go test ./... 2>&1 | tail -5", ["go"]),
        ("sudo timeout 60 /usr/bin/make test; echo done", ["make"]),
        ("npm ci && npm run build || true", ["npm", "npm"]),
        ("cat <<EOF\nrm -rf /\nEOF", ["cat"]),
        ("# only a comment", []),
    ],
)
def test_programs_of_a_line(line: str, programs: list[str]):
    assert [step.program for step in steps_of(line)] == programs


@pytest.mark.parametrize(
    ("command", "purpose"),
    [
        ("uv run pytest -q", "test"),
        ("cargo clippy", "lint"),
        ("ruff format .", "format"),
        ("npx tsc --noEmit", "typecheck"),
        ("make build", "build"),
        ("grep test src", ""),
        ("git commit -m 'fix test'", ""),
    ],
)
def test_purposes(command: str, purpose: str):
    assert purpose_of(command) == purpose


def test_exit_codes():
    assert exit_code("Exit code 127\nx") == 127
    assert exit_code("fine") is None


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("building\nerror: unknown flag: --short\n", "error: unknown flag: --short"),
        ("npm warn please run npm pkg fix", ""),
        ("FAILED tests/test_a.py::test_x - assert 1 == 2", ""),
        ("ModuleNotFoundError: No module named 'yaml'", "ModuleNotFoundError: No module named 'yaml'"),
    ],
)
def test_only_errors_of_the_set_up_are_taken(output: str, line: str):
    assert setup_error(output) == line

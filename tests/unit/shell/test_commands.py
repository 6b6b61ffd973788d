"""What the commands of a line proved, by its operators, its exit state and its output."""

import pytest

from slowwave.shell.commands import Purpose, cause_of, commands_of, exit_code, printed, run_of, setup_error

SIGNS = {"succeeded": "+", "failed": "-", "unknown": "?"}


def proved(line: str, output: str = "", *, is_error: bool = False) -> list[str]:
    """Return the commands of a line, each with what it proved before it."""
    return [SIGNS[one.outcome] + one.text for one in run_of(line, output, is_error=is_error).commands]


@pytest.mark.parametrize(
    ("line", "well", "badly"),
    [
        ("a", ["+a"], ["-a"]),
        ("a && b", ["+a", "+b"], ["?a", "?b"]),
        ("a; b", ["?a", "+b"], ["?a", "-b"]),
        ("a || b", ["?a", "?b"], ["-a", "-b"]),
        ("a || true", ["?a"], ["-a"]),
        ("a && b || true", ["?a", "?b"], ["?a", "?b"]),
        ("a | b", ["?a", "+b"], ["?a", "-b"]),
        ("a | tail -3", ["?a"], ["?a"]),
        ("set -o pipefail; a | tail", ["+a"], ["?a"]),
        ("set -euo pipefail; a; b | tail; c", ["+a", "+b", "+c"], ["?a", "?b", "-c"]),
        ("cd x && a", ["+a"], ["-a"]),
        ("export A=1; cd x && A=1 sudo a b > c 2>&1", ["+a b"], ["-a b"]),
        ("a & b", ["?a", "+b"], ["?a", "-b"]),
        ("a &", ["?a"], ["?a"]),
        ("(a && b); c", ["?a", "?b", "+c"], ["?a", "?b", "-c"]),
        ("a && { b; c; }", ["+a", "?b", "+c"], ["?a", "?b", "?c"]),
        ("for x in 1 2; do a; done", ["?a"], ["?a"]),
        ("if a; then b; fi", ["?a", "?b"], ["?a", "?b"]),
        ("[ -f x ] && a", ["+a"], ["?a"]),
        ("! a", ["-a"], ["+a"]),
        ("bash -c 'a && b'", ["+a", "+b"], ["?a", "?b"]),
        ("x=$(a)", ["+a"], ["-a"]),
        ("a 'b", ["?a 'b"], ["?a 'b"]),
    ],
)
def test_operators(line: str, well: list[str], badly: list[str]) -> None:
    assert proved(line) == well
    assert proved(line, is_error=True) == badly
    assert proved(line, "Exit code 3\n") == badly


@pytest.mark.parametrize(
    "line",
    ["pytest --help", "make --version", "tool -h", "make -n test", "pytest --collect-only", "cargo test --no-run"],
)
def test_what_only_asks_or_pretends_proves_nothing(line: str) -> None:
    assert proved(line) == [f"?{line}"]
    assert proved(line, is_error=True) == [f"-{line}"]


def test_a_folder_that_is_not_there_says_nothing_of_the_command_behind_it() -> None:
    assert proved("cd x && make test", "Exit code 1\nbash: cd: x: No such file or directory", is_error=True) == [
        "?make test"
    ]


@pytest.mark.parametrize(
    ("output", "sign"),
    [
        ("===== 2 failed, 3 passed in 0.1s =====", "-"),
        ("===== 3 passed in 0.1s =====", "+"),
        ("ok  \texample.org/a\t0.1s", "+"),
        ("--- FAIL: TestX (0.0s)\nFAIL\nFAIL\texample.org/a\t0.1s", "-"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored", "-"),
        ("test result: ok. 0 passed; 0 failed; 0 ignored", "?"),
        ("Tests:       1 failed, 4 passed, 5 total", "-"),
        (" Tests  4 passed (4)", "+"),
        ("  12 passing (3s)\n  1 failing", "-"),
        (" 42 pass\n 0 fail", "+"),
        ("# pass 3\n# fail 1", "-"),
        ("5 examples, 0 failures", "+"),
        ("Ran 4 tests in 0.1s\n\nFAILED (failures=1)", "-"),
        ("collected 0 items", "?"),
        ("12 tests in 3 files", "?"),
    ],
)
def test_a_summary_behind_a_filter(output: str, sign: str) -> None:
    assert proved("make test 2>&1 | tail -5", output) == [f"{sign}make test"]


def test_the_end_that_a_filter_took_away_may_have_told_of_failures() -> None:
    assert proved("go test ./... | head -3", "ok  \ta\t0.1s") == ["?go test ./..."]
    assert proved("go test ./... | head -3", "--- FAIL: TestX") == ["-go test ./..."]


@pytest.mark.parametrize(
    "output",
    [
        "no tests ran in 0.01s",
        "collected 0 items",
        "?   \ta\t[no test files]",
        "  0 passing (1ms)",
        "Ran 0 tests in 0s",
    ],
)
def test_a_runner_that_ran_nothing_is_no_success(output: str) -> None:
    assert proved("make test", output) == ["?make test"]


def test_a_check_that_lists_what_is_at_fault_and_ends_well() -> None:
    assert proved("gofmt -l .") == ["+gofmt -l ."]
    assert proved("gofmt -l .", "a.go") == ["?gofmt -l ."]


@pytest.mark.parametrize(
    "line", ["make test & sleep 9", "for x in 1 2; do make test; done", "if a; then make test; fi"]
)
def test_what_runs_beside_the_line_or_perhaps_not_at_all_is_not_heard(line: str) -> None:
    assert proved(line, "3 passed")[-1] == proved(line, "1 failed")[-1] == "?make test"


def test_a_failure_that_was_heard_tells_of_what_came_before_it() -> None:
    assert proved("make gen && pytest", "Exit code 1\n1 failed, 2 passed", is_error=True) == ["+make gen", "-pytest"]
    # two could have said it
    assert proved("make lint && pytest", "Exit code 1\n1 failed", is_error=True) == ["?make lint", "?pytest"]


@pytest.mark.parametrize(
    ("line", "output", "ok", "code"),
    [
        ("make test", "", True, None),
        ("make test", "Exit code 2\nmake: *** No rule to make target 'test'.", False, 2),
        ("make test", "12 passed\n\nCommand exited with code 1", False, 1),
        ("make test 2>&1 | tail -5", "make: *** No rule to make target 'test'.  Stop.", False, None),
        ("npm run x 2>&1 | grep -v warn", 'npm error Missing script: "x"', False, None),
        ("bun x || true", "error: unrecognized subcommand 'x'", False, None),
        ("shopctl run | tail -1", "bash: shopctl: command not found", False, None),
        ("make test 2>&1 | tail -5", "12 passed\n1 warning: error handling is not installed", True, None),
        ("go test ./... | tail; echo EXIT: $?", "ok\nEXIT: 0", True, 0),
        ("go vet ./... > /tmp/out; echo exit=$?", "exit=1", False, 1),
        ("cat notes.txt | head", "error: unrecognized option '-x'", True, None),  # a file that speaks of errors
        ("python3 x.py | head -40", "\n".join(["error: no such file"] * 40), True, None),  # a log
        ("make serve", "Chunk ID: a\nWall time: 1 seconds\nProcess running with session ID 3\n", True, None),
    ],
)
def test_the_line_as_a_whole(line: str, output: str, ok: bool, code: int | None) -> None:
    run = run_of(line, output, is_error=output.startswith("Exit code"))
    assert (run.ok, run.code) == (ok, code)


def test_a_line_that_prints_the_code_of_what_it_ran() -> None:
    assert proved("make a > x; echo exit=$?", "exit=0") == ["+make a"]
    assert proved("make a > x; echo exit=$?", "exit=2") == ["-make a"]
    assert proved("make a | grep x; echo ${PIPESTATUS[0]}", "1") == ["-make a"]
    assert proved("make a | grep x; echo $?", "1") == ["?make a"]


@pytest.mark.parametrize(
    "output",
    [
        "Command running in background with ID: b1",
        "Chunk ID: a\nWall time: 9 seconds\nProcess running with session ID 3\nOutput:\n3 passed",
        "Wall time: 9.1 seconds\naborted by user",
        "exec command rejected by user",
        "The user doesn't want to proceed with this tool use.",
    ],
)
def test_what_has_not_come_to_an_end_proves_nothing(output: str) -> None:
    assert proved("make test", output) == ["?make test"]
    assert proved("make test", output, is_error=True) == ["?make test"]


@pytest.mark.parametrize(
    ("line", "purpose"),
    [
        ("uv run --with x pytest -q", "test"),
        ("python3 -m pytest", "test"),
        ("go test ./...", "test"),
        ("docker compose run --rm app pytest", "test"),
        ("npx -y vitest@3 run", "test"),
        ("pnpm --filter web test:unit", "test"),
        ("./scripts/run-tests.sh", "test"),
        ("cargo clippy", "lint"),
        ("npm run lint", "lint"),
        ("ruff check .", "lint"),
        ("ruff format .", "format"),
        ("ruff format --check .", "lint"),
        ("prettier --check .", "lint"),
        ("gofmt -l .", "lint"),
        ("gofmt -w .", "format"),
        ("black --check src", "lint"),
        ("cargo fmt -- --check", "lint"),
        ("npm run format:check", "lint"),
        ("npx tsc --noEmit", "typecheck"),
        ("pnpm type-check", "typecheck"),
        ("make check", "check"),
        ("make build", "build"),
        ("go build ./...", "build"),
        ("npm ci", "install"),
        ("uv sync", "install"),
        ("npm start", "run"),
        ("python app.py", "run"),
        ("grep test src", ""),
        ("git commit -m 'fix test'", ""),
        ("cat test.py", ""),
        ("python -c 'import test'", ""),
    ],
)
def test_purposes(line: str, purpose: Purpose) -> None:
    assert [one.purpose for one in commands_of(line)] == [purpose]


def test_two_commands_of_one_purpose_stand_side_by_side() -> None:
    assert proved("pytest tests/unit -q && pytest tests/slow") == ["+pytest tests/unit -q", "+pytest tests/slow"]


def test_what_clients_put_round_an_output() -> None:
    told = "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nboom\n"
    assert (exit_code(told), printed(told)) == (2, "boom\n")
    assert (exit_code("Exit code 127\nx"), exit_code("fine")) == (127, None)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("building\nerror: unknown flag: --short\n", "error: unknown flag: --short"),
        ("npm warn please run npm pkg fix", ""),
        ("FAILED tests/test_a.py::test_x - assert 1 == 2", ""),
        ("ModuleNotFoundError: No module named 'yaml'", "ModuleNotFoundError: No module named 'yaml'"),
    ],
)
def test_only_errors_of_the_set_up_are_taken(output: str, line: str) -> None:
    assert setup_error(output) == line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Exit code 1\nTraceback (most recent call last):\n  raise error\nKeyError: 'a'\n", "KeyError: 'a'"),
        ("x\nE       assert 1 == 2\n", "E       assert 1 == 2"),
        ("compiling\nsrc/a.c:3: error: expected ';'\n", "src/a.c:3: error: expected ';'"),
        ("all is well", ""),
    ],
)
def test_the_cause_of_a_failure(output: str, line: str) -> None:
    assert cause_of(output) == line


@pytest.mark.parametrize(
    ("line", "output", "proof"),
    [
        ("go vet ./... 2>&1 | head -50", "", "+"),
        ("go vet ./... 2>&1 | tail -5", "(Bash completed with no output)", "+"),
        ("go vet ./... 2>&1 | grep -v unsafe", "", "?"),
        ("go vet ./... > vet.log 2>&1 | tail", "", "?"),
        ("go vet ./...; mypy . | tail", "", "??"),
        ("golangci-lint run | tail -3", "0 issues.", "+"),
        ("golangci-lint run | grep issues", "0 issues.", "?"),
        ("ruff check . | tail -3", "All checks passed!", "+"),
        ("mypy . | tail -1", "Success: no issues found in 3 source files", "+"),
        ("eslint . | tail -1", "2 problems (0 errors, 2 warnings)", "?"),
        ("pytest | tail", "", "?"),
        ("pytest | tail", "no errors", "?"),
    ],
)
def test_what_a_filter_lets_through_of_a_check_of_code(line: str, output: str, proof: str) -> None:
    assert "".join(one[0] for one in proved(line, output)) == proof


@pytest.mark.parametrize(
    ("output", "proof"), [("SyntaxError: x", "?-"), ("rm: cannot remove 'a': Is a directory", "??"), ("", "?-")]
)
def test_what_names_itself_when_it_fails_has_not_failed_without_its_name(output: str, proof: str) -> None:
    proven = proved("rm -rf a && bun cli.ts eval", f"Exit code 1\n{output}", is_error=True)
    assert "".join(one[0] for one in proven) == proof

"""Whether a line did what it was run for, also where a pipe or a fallback hides the code."""

from pathlib import Path

import pytest

from slowwave.extraction.endings import ending
from slowwave.extraction.shell import steps_of
from tests.unit.extraction.talk import Talk
from tests.unit.extraction.test_commands import found_by


@pytest.mark.parametrize(
    ("line", "output", "ok", "code"),
    [
        ("make test", "", True, None),
        ("make test", "Exit code 2\nmake: *** No rule to make target 'test'.", False, 2),
        ("make test 2>&1 | tail -5", "make: *** No rule to make target 'test'.  Stop.", False, None),
        ("npm run lint 2>&1 | grep -v warn", 'npm error Missing script: "lint"', False, None),
        ("bun x || true", "error: unrecognized subcommand 'x'", False, None),
        ("make test 2>&1 | tail -5", "12 passed\n1 warning: error handling is not installed", True, None),
        ("go test ./... | tail; echo EXIT: $?", "ok\nEXIT: 0", True, 0),
        ("go vet ./... > /tmp/out; echo exit=$?", "exit=1", False, 1),
        ("cat notes.txt | head", "error: unrecognized option '-x'", True, None),  # a file that speaks of errors
        ("go test ./... | head -40", "\n".join(["panic: no such file"] * 40), True, None),  # a log
    ],
)
def test_the_output_tells_where_the_code_is_hidden(line: str, output: str, ok: bool, code: int | None):
    assert ending(line, output, is_error=bool(output.startswith("Exit code"))) == (ok, code)


def test_a_failure_behind_a_pipe_has_its_fix(tmp_path: Path):
    talk = Talk().bash("bun test-all 2>&1 | tail -3", "error: unrecognized subcommand 'test-all'")
    (found,) = found_by("outcome", tmp_path, talk.bash("bun run test-all 2>&1 | tail -3", "41 pass"))
    assert found.text == "`bun test-all` fails (error: unrecognized subcommand 'test-all'); `bun run test-all` works"


def test_how_output_is_cut_is_no_other_way_of_a_command(tmp_path: Path):
    talk = Talk().bash("bun check", "error: please install the types", 1).bash("bun check 2>&1 | tail -3", "41 pass")
    assert found_by("outcome", tmp_path, talk) == []


def test_what_stands_behind_a_document_in_a_line_is_a_command():
    line = "cat > note.md <<'END'\nrm -rf /\nEND\ndeskctl send box --file note.md"
    assert [step.program for step in steps_of(line)] == ["cat", "deskctl"]


def test_a_push_that_others_were_faster_than(tmp_path: Path):
    talk = Talk().bash("git push origin main", "! [rejected] main (fetch first)\nerror: failed to push some refs", 1)
    talk = talk.bash("git pull --rebase origin main").bash("git push origin main")
    (found,) = found_by("outcome", tmp_path, talk)
    assert found.text.endswith("until `git pull --rebase origin main` was run")


def test_a_script_that_lies_elsewhere(tmp_path: Path):
    talk = Talk().bash("scripts/send.sh --all", "bash: scripts/send.sh: No such file or directory", 127)
    (found,) = found_by("outcome", tmp_path, talk.bash("tools/mail/send.sh --all"))
    assert found.text == "`scripts/send.sh` is not there; `tools/mail/send.sh` is where it works"


def test_a_value_that_a_rule_refuses(tmp_path: Path):
    talk = Talk().bash("shopctl export --to /tmp/out", "Error: the target must lie in the workspace: /tmp/out", 1)
    (found,) = found_by("option", tmp_path, talk.bash("shopctl export --to build/out"))
    assert found.text.startswith("`shopctl export` does not take `/tmp/out` here (Error: the target must lie")
    missing = Talk().bash("shopctl export --to /tmp/out", "Error: expected file not found: /tmp/out", 1)
    assert found_by("option", tmp_path, missing.bash("shopctl export --to build/out")) == []

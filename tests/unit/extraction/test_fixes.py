"""What commands that failed and then worked teach, also where a pipe or a fallback hides the code."""

from pathlib import Path

from tests.unit.extraction.talk import Talk
from tests.unit.extraction.test_commands import found_by


def test_a_failure_behind_a_pipe_has_its_fix(tmp_path: Path):
    talk = Talk().bash("bun test-all 2>&1 | tail -3", "error: unrecognized subcommand 'test-all'")
    (found,) = found_by("outcome", tmp_path, talk.bash("bun run test-all 2>&1 | tail -3", "41 pass"))
    assert found.text == "`bun test-all` fails (error: unrecognized subcommand 'test-all'); `bun run test-all` works"


def test_what_is_not_proved_to_work_is_no_fix(tmp_path: Path):
    failed = ("bun test-all", "error: unrecognized subcommand 'test-all'", 1)
    for line in (
        "bun run test-all || true",
        "bun run test-all --help",
        "bun run test-all | head -3",
        "bun run test-all &",
    ):
        assert found_by("outcome", tmp_path, Talk().bash(*failed).bash(line)) == []


def test_words_of_a_commit_message_are_no_commands(tmp_path: Path):
    line = 'git commit -qm "stop the worker; make test green again"'
    talk = Talk().bash("make tests", "make: *** No rule to make target 'tests'", 2).bash(line).bash(line)
    assert found_by("outcome", tmp_path, talk) == found_by("routine", tmp_path, talk) == []


def test_how_output_is_cut_is_no_other_way_of_a_command(tmp_path: Path):
    talk = Talk().bash("bun check", "error: please install the types", 1).bash("bun check 2>&1 | tail -3", "41 pass")
    assert found_by("outcome", tmp_path, talk) == []


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

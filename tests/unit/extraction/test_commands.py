"""What commands and other tools show: stale builds, refused options, errors that come back, files that go together."""

import json
from pathlib import Path

from slowwave.dialects.registry import by_name
from slowwave.extraction.events import Command, events_of
from slowwave.extraction.found import Found
from slowwave.extraction.mining import uncalibrated
from slowwave.extraction.redact import redactor_for
from slowwave.reading.harness import edited_paths, output_of
from tests.unit.extraction.talk import CWD, Talk

REDACT = redactor_for("shop")
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: src/b.py\n+z\n*** End Patch"


def found_by(miner: str, tmp_path: Path, talk: Talk) -> list[Found]:
    events = events_of(by_name("claude").read(talk.write(tmp_path).files).messages, REDACT)
    return [found for found in uncalibrated(events) if found.miner == miner]


def test_building_makes_a_check_work_whatever_it_said(tmp_path: Path):
    talk = Talk().bash("make check", "error: type Message has no field id", 2).bash("make build").bash("make check")
    (found,) = found_by("outcome", tmp_path, talk)
    assert found.text == "`make check` fails (error: type Message has no field id) until `make build` was run"


def test_an_edit_beside_the_build_may_be_what_helped(tmp_path: Path):
    talk = Talk().bash("make check", "error: no field id", 2).tool("Edit", {"file_path": f"{CWD}/a.py"}, "ok")
    assert found_by("outcome", tmp_path, talk.bash("make build").bash("make check")) == []


def test_what_was_put_before_a_command_is_what_it_needs(tmp_path: Path):
    talk = Talk().bash("./run.sh seed", "./run.sh: line 4: bin/shop: No such file or directory", 127)
    (found,) = found_by("outcome", tmp_path, talk.bash("go build -o bin/shop . && ./run.sh seed"))
    assert found.text.endswith("until `go build -o bin/shop .` was run")


def test_an_option_that_a_program_does_not_take(tmp_path: Path):
    long = f"shopctl create {'x' * 120} --meta a=b"
    talk = Talk().bash(long, "Error: unknown flag: --meta", 1).bash(f"shopctl create {'x' * 120}")
    (found,) = found_by("option", tmp_path, talk)
    assert found.text.startswith("`shopctl create` does not take `--meta` here")
    unproved = Talk().bash(long, "Error: unknown flag: --meta", 1).bash("shopctl create || true")
    assert found_by("option", tmp_path, unproved) == []


def test_an_error_that_comes_back_is_told_once(tmp_path: Path):
    lost = "screenshot failed: the pane is not displayed"
    talk = Talk().tool("mcp__browser__shot", {}, lost, error=True).bash("make test")
    (found,) = found_by("recurrent", tmp_path, talk.tool("mcp__browser__page", {}, lost, error=True))
    assert found.text == f"`mcp__browser` fails here again and again with: {lost}"


def test_what_a_client_says_of_a_wrong_call_or_of_the_moment_teaches_nothing(tmp_path: Path):
    talk = Talk()
    for _ in range(2):
        talk.tool("Edit", {"file_path": f"{CWD}/a.py"}, "String to replace not found in file.", error=True)
        talk.tool("Agent", {}, "the model is temporarily unavailable", error=True)
    assert found_by("recurrent", tmp_path, talk) == []


def test_files_that_change_in_the_same_turns(tmp_path: Path):
    talk = Talk()
    for number in range(3):
        talk.person(f"part {number}")
        for name in ("api.py", "client.py", f"other{number}.py"):
            talk.tool("Edit", {"file_path": f"{CWD}/{name}"}, "ok")
    (found,) = found_by("coedit", tmp_path, talk)
    assert found.text == f"`{CWD}/api.py` and `{CWD}/client.py` change together (3 times)"


def test_the_last_version_that_a_tool_told_has_a_key(tmp_path: Path):
    talk = Talk().bash("node --version", "v20.1.0").bash("node --version", "v22.4.0")
    (found,) = found_by("version", tmp_path, talk)
    assert (found.key, found.value) == ("version:node", "22.4.0")


def test_a_check_that_failed_and_then_passed_is_one_that_counts(tmp_path: Path):
    talk = Talk().bash("just lint", "1 problem", 1).tool("Edit", {"file_path": f"{CWD}/a.py"}, "ok").bash("just lint")
    assert [found.value for found in found_by("routine", tmp_path, talk)] == ["just lint"]


def test_only_runs_that_succeeded_prove_a_routine(tmp_path: Path):
    talk = Talk().bash("just lint", "1 problem", 1).bash("just lint || true").bash("just lint | tail -3")
    assert found_by("routine", tmp_path, talk) == []
    (found,) = found_by("routine", tmp_path, talk.bash("just lint && just fmt"))[:1]
    assert [event.line for event in found.events if isinstance(event, Command)] == ["just lint && just fmt"]


def test_what_runs_on_ends_with_a_later_answer(tmp_path: Path):
    talk = Talk()
    for session, code in enumerate((0, 2, 0)):
        head = "Chunk ID: a1\nWall time: 30.0 seconds\n"
        talk.tool("exec_command", {"cmd": "just lint"}, f"{head}Process running with session ID {session}\nOutput:\n")
        talk.tool("write_stdin", {"session_id": session}, f"{head}Process running with session ID {session}\nOutput:\n")
        talk.tool("write_stdin", {"session_id": session}, f"{head}Process exited with code {code}\nOutput:\ndone\n")
    (found,) = found_by("routine", tmp_path, talk)
    assert [event.code for event in found.events if isinstance(event, Command)] == [0, 0]
    assert [len(event.sources) for event in found.events] == [3, 3]


def test_a_check_that_is_a_small_part_of_a_long_session_is_no_routine(tmp_path: Path):
    talk = Talk().bash("just lint").bash("just lint")
    for number in range(100):
        talk.bash(f"cat part{number}")
    assert found_by("routine", tmp_path, talk) == []


def test_files_of_a_patch_are_edits_whichever_way_it_comes():
    assert edited_paths("apply_patch", {"input": PATCH}) == ("src/a.py", "src/b.py")
    assert edited_paths("shell", {}, f"apply_patch <<'EOF'\n{PATCH}\nEOF") == ("src/a.py", "src/b.py")
    assert edited_paths("shell", {"command": "ls"}, "ls") == ()


def test_what_a_client_wraps_round_the_output_is_taken_off():
    wrapped = json.dumps({"output": "boom\n", "metadata": {"exit_code": 3, "duration_seconds": 0.1}})
    assert output_of(wrapped) == "Exit code 3\nboom\n"
    assert output_of('{"output": "cut of') == '{"output": "cut of'

"""Error signatures: the line that says what went wrong, each once, and whether it was overcome."""

from slowwave.compaction.calls import Signature, exchanges, signatures
from slowwave.secrets import NAMELESS
from tests.unit.compaction.sessions import Talk


def found(talk: Talk) -> list[Signature]:
    return signatures(exchanges(talk.messages), NAMELESS)


def test_an_error_is_told_once_for_all_times_and_resolved_by_a_later_success() -> None:
    talk = Talk().run("pytest -q", "E   ValueError: bad port 80", 1).run("pytest -q", "E   ValueError: bad port 81", 1)
    assert [(s.what, s.text, s.times, s.is_resolved) for s in found(talk)] == [
        ("pytest -q", "E ValueError: bad port 81", 2, False)
    ]
    assert [s.is_resolved for s in found(talk.run("pytest tests -q"))] == [True]


def test_a_success_before_resolves_nothing() -> None:
    assert [s.is_resolved for s in found(Talk().run("make").run("make", "error: no rule", 2))] == [False]


def test_what_proves_nothing_resolves_nothing() -> None:
    talk = (
        Talk().run("make", "error: no rule", 2).run("make || true", "error: no rule at all").run("make --help", "usage")
    )
    assert [s.is_resolved for s in found(talk)] == [False]
    assert [s.is_resolved for s in found(talk.run("make 2>&1 | tail -3", "linked"))] == [True]


def test_of_a_traceback_the_last_line_says_what_went_wrong() -> None:
    output = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    raise E("error")\napp.BadError: no luck\n'
    )
    assert [s.text for s in found(Talk().run("python a.py", output, 1))] == ["app.BadError: no luck"]


def test_failures_of_other_tools_name_their_file() -> None:
    talk = Talk().call(
        "Edit", "<tool_use_error>String to replace not found</tool_use_error>", error=True, file_path="a.py"
    )
    assert [(s.what, s.text) for s in found(talk)] == [("Edit a.py", "String to replace not found")]
    assert [s.is_resolved for s in found(talk.call("Edit", file_path="b.py"))] == [False]
    assert [s.is_resolved for s in found(talk.call("Edit", file_path="a.py"))] == [True]


def test_what_a_person_refused_is_no_error() -> None:
    talk = Talk().call("Bash", "The user doesn't want to proceed with this tool use.", error=True, command="rm x")
    assert found(talk) == []


def test_exit_codes_of_every_client_are_errors() -> None:
    talk = Talk().call(
        "shell", '{"output":"fatal: not a repo","metadata":{"exit_code":128}}', command=["git", "status"]
    )
    talk.call("exec_command", "Chunk ID: 1\nProcess exited with code 2\nOutput:\nmake: *** Error 2", cmd="make")
    talk.call("bash", "ld: error: x\n\nCommand exited with code 1", error=True, command="cc x.c")
    assert [s.text for s in found(talk)] == ["fatal: not a repo", "make: *** Error 2", "ld: error: x"]


def test_secrets_are_no_part_of_it() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert secret not in str(found(Talk().run("gh auth", f"error: bad token {secret}", 1)))

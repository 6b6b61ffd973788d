"""Memory before a call: the entry in a client's settings, its tables, and the program that the client starts."""

import json
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave import files
from slowwave.consolidation.effect.demands import points_of, write_points
from slowwave.memory.delivery import Rule, hook, read_register
from slowwave.memory.delivery.files import refresh
from slowwave.memory.delivery.hooks import CallForm, Point, command, hooks_folder, said_of, table_path, write_table
from slowwave.report import Item
from tests.unit.consolidation.test_effect import memory
from tests.unit.memory.test_delivery import SAID, Work, nothing

CURE = "`make test` fails (ECONNREFUSED) until `make db` was run"
ASKED = Rule(on=True, hooks=True)
NOBODY = Rule(on=False)
FILES = {
    "none": None,
    "empty": b"",
    "an object": b"{}",
    "other keys": b'{\n\t"model": "opus",\r\n\t"env": {"A": "{\\"hooks\\": 1}"}\n}\n',
    "hooks of another event": b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}, "a": 1}',
    "no hooks yet": b'{ "hooks" : { } }',
    "a hook of the person": b'{"hooks": {"PreToolUse": [\n {"matcher": "Bash", "hooks": []}\n]}}\n\n',
    "no event yet": b'{"hooks": {"PreToolUse": []}}',
    "letters": '{"a": "é\\ud83d\\ude00ü"}'.encode(),
}


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


def settings_of(work: Work) -> Path:
    return work.base / ".claude" / "settings.json"


def asks(work: Work, rule: Rule = ASKED, *clients: str, **how: bool) -> list[Item]:
    found = work.install(*(clients or ("claude 2.1.300",)), rule=rule, **how)
    write_points([work.project(*(clients or ("claude 2.1.300",)))], work.settings, work.environ, is_all=True)
    return found


def entries(work: Work) -> list[Any]:
    return json.loads(settings_of(work).read_bytes())["hooks"]["PreToolUse"]


def handed(work: Work, tool: str = "Bash", session: str = "s1", **asked: str) -> bytes:
    call = {"hook_event_name": "PreToolUse", "session_id": session, "cwd": str(work.root), "tool_name": tool}
    return json.dumps({**call, "tool_input": asked}).encode()


def start(work: Work, data: bytes) -> str:
    """Start the program as a client does; it must end well, and say nothing on the other channel."""
    environ = {**work.environ, "CLAUDE_PROJECT_DIR": str(work.root)}
    line = json.loads(settings_of(work).read_bytes())["hooks"]["PreToolUse"][-1]["hooks"][0]["command"]
    done = subprocess.run(["/bin/sh", "-c", line], input=data, env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""


def log_of(work: Work) -> str:
    path = hooks_folder(work.environ) / "log"
    return path.read_text() if path.exists() else ""


# --- the entry


@pytest.mark.parametrize("before", FILES.values(), ids=FILES)
def test_the_entry_goes_in_and_out_byte_for_byte(work: Work, before: bytes | None) -> None:
    path = settings_of(work)
    if before is not None:
        path.write_bytes(before)
    asks(work)
    assert sum("hook.main()" in json.dumps(entry) for entry in entries(work)) == 1
    now = path.read_bytes()
    assert all(item.action != "write" for item in asks(work))  # twice is once
    assert path.read_bytes() == now
    asks(work, NOBODY)
    assert (path.read_bytes() if path.exists() else None) == before
    assert not hooks_folder(work.environ).exists()
    assert read_register(work.environ) is None


def test_the_entry_goes_from_a_file_that_its_client_wrote_anew(work: Work) -> None:
    path = settings_of(work)
    path.write_bytes(FILES["a hook of the person"] or b"")
    asks(work)
    changed = json.loads(path.read_bytes()) | {"model": "opus"}
    path.write_text(json.dumps(changed, indent=4))
    assert work.deliver("claude 2.1.300") == []  # it stands there still
    asks(work, NOBODY)
    assert json.loads(path.read_bytes()) == {
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]},
        "model": "opus",
    }


def test_nothing_is_left_in_a_file_of_ours_that_its_client_wrote_on(work: Work) -> None:
    asks(work)
    changed = json.loads(settings_of(work).read_bytes()) | {"model": "opus"}
    settings_of(work).write_text(json.dumps(changed, indent=2))
    asks(work, NOBODY)
    assert json.loads(settings_of(work).read_bytes()) == {"model": "opus"}


def test_what_somebody_took_out_stays_out_until_they_ask_again(work: Work) -> None:
    asks(work)
    settings_of(work).write_text("{}")
    (item,) = work.deliver("claude 2.1.300")
    assert (item.action, "took the hook out" in item.reason) == ("refused", True)
    assert settings_of(work).read_text() == "{}"
    asks(work)
    assert len(entries(work)) == 1


@pytest.mark.parametrize(
    "text", ['{"hooks": []}', "[1]", "{", '{"hooks": {"PreToolUse": {}}}', '{"hooks": 1, "hooks": {}}']
)
def test_what_no_client_writes_is_left_alone(work: Work, text: str) -> None:
    settings_of(work).write_text(text)
    assert [item.action for item in asks(work) if item.project == "hooks"] == ["refused"]
    assert settings_of(work).read_text() == text


def test_a_link_is_left_alone(work: Work) -> None:
    aim = work.base / "dotfiles.json"
    aim.write_text("{}")
    settings_of(work).symlink_to(aim)
    assert [item.action for item in asks(work) if item.project == "hooks"] == ["refused"]
    assert aim.read_text() == "{}"


@pytest.mark.parametrize("client", ["claude 2.0.76", "codex 0.124.0", "pi", "opencode"])
def test_clients_without_such_hooks_get_none(work: Work, client: str) -> None:
    told = [item.reason for item in asks(work, ASKED, client) if item.project == "hooks"]
    assert not settings_of(work).exists()
    assert not (work.base / ".codex").exists()
    if client == "codex 0.124.0":
        seen = r"the newest seen is 0\.124\.0 on \d{4}-\d\d-\d\d; a newer one is seen once it was used here$"
        assert re.search(rf"that needs codex 0\.169\.0 or newer, and {seen}", told[0])


def test_codex_gets_a_file_of_its_own_and_a_person_is_told_to_trust_it(work: Work) -> None:
    found = asks(work, ASKED, "codex 0.169.0")
    assert "/hooks" in next(item.reason for item in found if item.project == "hooks")
    path = work.base / ".codex" / "hooks.json"
    assert json.loads(path.read_bytes())["hooks"]["PreToolUse"][0]["matcher"] == "Bash|apply_patch"
    assert path.stat().st_mode & 0o777 == 0o600
    asks(work, NOBODY, "codex 0.169.0")
    assert not path.exists()


def test_nobody_who_asked_before_there_were_hooks_gets_one(work: Work) -> None:
    asks(work, Rule(on=True))
    assert not settings_of(work).exists()


def test_a_dry_run_says_it_and_writes_nothing(work: Work) -> None:
    found = work.install("claude 2.1.300", rule=ASKED, dry_run=True)
    assert "write" in [item.action for item in found if item.project == "hooks"]
    assert not settings_of(work).exists()
    assert not hooks_folder(work.environ).exists()


@pytest.mark.parametrize("number", range(14))
def test_a_kill_at_any_moment_is_made_good_by_the_next_one(
    work: Work, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = FILES["other keys"] or b""
    settings_of(work).write_bytes(before)
    counter = iter(range(10**6))

    def stop(_event: str, _path: str) -> None:
        if next(counter) == number:
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "fault_hook", stop)
    with suppress(KeyboardInterrupt):
        asks(work)
    monkeypatch.setattr(files, "fault_hook", nothing)
    asks(work)
    assert len(entries(work)) == 1
    asks(work, NOBODY)
    assert settings_of(work).read_bytes() == before


# --- what is said


def test_the_cure_is_said_once_a_session_and_not_when_it_is_taken(work: Work) -> None:
    work.remember(CURE)
    asks(work)
    line = "cd src && make test 2>&1 | tail -5"
    assert CURE in start(work, handed(work, command=line))
    assert start(work, handed(work, command=line)) == ""
    assert CURE in start(work, handed(work, session="s2", command=line))
    # the step was made, in the same line or before it
    assert start(work, handed(work, session="s3", command="make db && make test")) == ""
    assert start(work, handed(work, session="s4", command="make db")) == ""
    assert start(work, handed(work, session="s4", command="make test")) == ""
    assert start(work, handed(work, session="s5", command="make tests; echo make test; make test --help")) == ""
    assert start(work, handed(work, session="s6", tool="Read", command="make test")) == ""
    assert log_of(work) == ""


def test_a_memory_is_said_before_an_edit_of_its_file(work: Work) -> None:
    said = "Never edit `src/gen/`; change `api.yaml`"
    work.remember(said)
    asks(work)
    inside = str(work.root / "src" / "gen" / "a" / "b.py")
    assert said in start(work, handed(work, tool="Write", file_path=inside))
    assert start(work, handed(work, tool="Edit", session="s2", file_path=str(work.root / "src" / "b.py"))) == ""
    assert start(work, handed(work, tool="Edit", session="s2", file_path="/elsewhere/src/gen/b.py")) == ""
    patch = "*** Begin Patch\n*** Update File: src/x/../gen/b.py\n@@\n-a\n+b\n*** End Patch"
    assert said in start(work, handed(work, tool="apply_patch", session="s3", command=patch))


def test_other_projects_and_folders_above_hear_nothing(work: Work, tmp_path: Path) -> None:
    work.remember(CURE)
    asks(work)
    other = tmp_path / "repo" / "vendored"
    (other / ".git").mkdir(parents=True)
    call = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
    }
    folder = str(hooks_folder(work.environ))
    for cwd in (str(tmp_path), str(other), "/", "relative", f"{work.root}x"):
        assert hook.answer({**call, "cwd": cwd}, folder) == ""
    below = work.root / "src"
    below.mkdir()
    assert CURE in hook.answer({**call, "cwd": str(below)}, folder)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {work.root}/.git/worktrees/tree\n")
    assert CURE in hook.answer({**call, "cwd": str(tree), "session_id": "t"}, folder)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b'{"hook_event_name": "PreToolUse"}',
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"a": 1e999}',
    ],
)
def test_what_no_client_hands_over_is_silence(work: Work, data: bytes) -> None:
    work.remember(CURE)
    asks(work)
    assert start(work, data) == ""
    assert all(len(line.split()) == 4 for line in log_of(work).splitlines())  # time, kind of error, line


def test_an_error_is_a_line_in_the_log_without_a_word_of_the_call(work: Work) -> None:
    work.remember(CURE)
    asks(work)
    table_path(str(work.root), work.environ).write_text("{torn")
    assert start(work, handed(work, command="make test # hunter2")) == ""
    assert log_of(work)
    assert "hunter2" not in log_of(work)
    said = hooks_folder(work.environ) / "said"
    said.rmdir()
    said.write_text("no folder")
    assert start(work, handed(work, command="make test")) == ""


def test_a_program_that_is_gone_stops_no_call(work: Work) -> None:
    asks(work)
    (hooks_folder(work.environ) / "hook.py").unlink()
    assert start(work, handed(work, command="make test")) == ""


def test_a_session_writes_nothing_but_empty_files_below_its_own_folder(work: Work) -> None:
    work.remember(CURE)
    asks(work)
    before = set(work.base.rglob("*"))
    assert CURE in start(work, handed(work, session="../../../x\n", command="make test"))
    new = [path for path in work.base.rglob("*") if path not in before and "__pycache__" not in path.parts]
    assert all(path.is_relative_to(hooks_folder(work.environ) / "said") for path in new)
    assert [path.read_bytes() for path in new if path.is_file()] == [b""]


@given(st.text())
def test_whatever_a_memory_says_is_one_string_of_the_answer(text: str) -> None:
    said = json.loads(hook.rendered(said_of(text)))
    assert set(said) == {"hookSpecificOutput"}
    assert set(said["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    line = said["hookSpecificOutput"]["additionalContext"]
    assert not set("<>\n\r\x1b") & set(line)
    assert hook.rendered(said_of(text)).count("\n") == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)
    )
)
def test_json_is_read_as_json_reads_it(value: object) -> None:
    assert hook.parsed(f" \n{json.dumps(value)}") == value


@given(st.text(alphabet="ab \n;&|()<>'\"\\`$#{}=-") | st.text())
def test_no_shell_line_is_too_odd(line: str) -> None:
    assert all(words for _, words in hook.commands_in(line) if words)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cd a && A=1 npm test 2>&1 | tail -5", ["cd a", "npm test", "tail -5"]),
        ("(make x; make y) > out.txt", ["make x", "make y"]),
        ("timeout -k 5 60 make test", ["make test"]),
        ("bash -lc 'make a && make b'", ["make a", "make b"]),
        (
            "git commit -m \"$(cat <<'EOF'\nmake test; done\nEOF\n)\"",
            ["git commit -m $(cat <<'EOF' make test; done EOF )"],
        ),
        ("cat > x <<EOF\nmake test\nEOF\nmake lint", ["cat", "make lint"]),
        ("if ! make a; then sudo make b; fi", ["make a", "make b", "fi"]),
        ("echo 'make test", []),
        ("make a # make b", ["make a"]),
    ],
)
def test_commands_of_a_line(line: str, expected: list[str]) -> None:
    assert [" ".join(words) for _, words in hook.commands_in(line)] == expected


# --- the tables


def test_what_two_memories_see_differently_is_not_said() -> None:
    cure = memory("`npm run lint` fails (ESLINT); `npm run lint:fix` works", id="m1")
    gate = memory("Before a commit: `npm run lint`, `npm test`", id="m2", key="cmd:commit")
    assert [point.id for point in points_of([cure])] == ["m1"]
    assert points_of([cure, gate]) == []


def test_a_word_that_a_program_refused_is_refused_whatever_stands_behind_it() -> None:
    (point,) = points_of([memory("`rtk bun run test` fails (error: unknown command 'bun'); `bun run test` works")])
    assert point.tried == (CallForm(("rtk", "bun")),)


@pytest.mark.parametrize(
    "text", ["The parser is fast", "Use `*`", "See `/etc/passwd`", "Look at `../other/a.py`", "and/or"]
)
def test_what_names_no_file_of_the_project_is_not_said(text: str) -> None:
    assert points_of([memory(text)]) == []


def test_tables_are_private_and_follow_what_goes(work: Work) -> None:
    work.remember(CURE)
    asks(work)
    path = table_path(str(work.root), work.environ)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    names = {point["say"]: point["id"] for of in json.loads(path.read_bytes())["commands"].values() for point in of}
    assert set(names) == {CURE, SAID}
    refresh(work.memory, work.settings, work.environ, without=(names[CURE],))
    assert (CURE in path.read_text(), SAID in path.read_text()) == (False, True)
    refresh(work.memory, work.settings, work.environ, without=tuple(names.values()))
    assert not path.exists()


def test_old_notes_of_sessions_go(work: Work) -> None:
    asks(work)
    old, new = (hooks_folder(work.environ) / "said" / name for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir()
        (folder / "m").touch()
    os.utime(old, (1, 1))
    write_points([work.project("claude 2.1.300")], work.settings, work.environ, is_all=True)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_table_of_a_project_that_is_gone_goes(work: Work) -> None:
    asks(work)
    write_table("/gone", work.memory, [Point("m", "x", paths=(("a", "b"),))], work.environ)
    write_points([work.project("claude 2.1.300")], work.settings, work.environ, is_all=True)
    assert not table_path("/gone", work.environ).exists()


def test_the_command_names_no_memory_and_no_session(work: Work) -> None:
    assert str(hooks_folder(work.environ)) in command(work.environ)

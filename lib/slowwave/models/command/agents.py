"""What each known agent needs so that it answers one question and does nothing else.

It must not use tools, must not write, must leave no session behind that would be read as a person's, and must not load
the person's own instructions, hooks and servers of tools where it has a switch for that. Its login stays where it is:
an agent that refreshes it elsewhere would log its person out.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

from slowwave.models.command.printed import of_claude, of_codex, of_pi, plain
from slowwave.models.reply import Completion
from slowwave.places import home_folder

_SYSTEM = "You answer the one question that you are given, in the form that it asks for, and do nothing else."
# Codex: whatever brings tools along, starts programs or keeps notes
_CODEX_FEATURES = (
    "apps", "browser_use", "computer_use", "goals", "hooks", "image_generation", "memories", "multi_agent", "plugins",
    "shell_tool", "sleep_tool", "tool_suggest", "unified_exec", "view_image",
)  # fmt: skip
_CODEX_SETTINGS = ("web_search=disabled", "notify=[]", "project_doc_max_bytes=0")
# names of servers of tools, as Codex allows them
_SERVER = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Agent:
    """How a program is run and read.

    Attributes:
        arguments: makes the whole command of the person's own, the model's name and the environment.
        read: makes an answer of what it printed.
        dropped: lines that begin so are of no use.
        has_version: it can be asked for its version without harm.
    """

    arguments: Callable[[Sequence[str], str, Mapping[str, str]], list[str]]
    read: Callable[[bytes], Completion]
    dropped: bytes = b""
    has_version: bool = True


def agent_of(program: str) -> Agent:
    """Return what is known of a program, by its file's name."""
    return _AGENTS.get(Path(program).stem, _ANY)


def _any(command: Sequence[str], _name: str, _environ: Mapping[str, str]) -> list[str]:
    return list(command)


def _claude(command: Sequence[str], name: str, _environ: Mapping[str, str]) -> list[str]:
    given = _without(command, ("--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"))
    given = _without(given, ("--output-format", "--permission-mode"), has_value=True)
    given += _if_absent(given, ("-p", "--print"), ["-p"])
    given += _if_absent(given, ("--system-prompt", "--system-prompt-file"), ["--system-prompt", _SYSTEM])
    given += _model(given, ("--model",), name)
    # the last one counts where one is given twice
    return [
        *given, "--output-format", "json", "--no-session-persistence", "--safe-mode", "--strict-mcp-config",
        "--disable-slash-commands", "--tools=",
    ]  # fmt: skip


def _codex(command: Sequence[str], name: str, environ: Mapping[str, str]) -> list[str]:
    given = list(command) if "exec" in command or "e" in command else [command[0], "exec", *command[1:]]
    own = ("--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules")
    given = _without(
        given, (*own, "--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto", "--approve-for-me")
    )
    given = _without(given, ("--sandbox", "-s"), has_value=True)
    given += _model(given, ("--model", "-m"), name)
    settings = [*_CODEX_SETTINGS, *(f"features.{feature}=false" for feature in _CODEX_FEATURES)]
    settings += [f"mcp_servers.{server}.enabled=false" for server in _codex_servers(given, environ)]
    return [*given, *own, "--sandbox", "read-only", *(part for one in settings for part in ("-c", one))]


def _codex_servers(command: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the servers of tools in Codex's settings and the chosen profile, which are turned off one by one."""
    home = Path(environ.get("CODEX_HOME") or home_folder(environ) / ".codex")
    names = ["config.toml", *(f"{profile}.config.toml" for profile in _values(command, ("--profile", "-p")))]
    found: dict[str, None] = {}
    for name in names:
        try:
            servers: object = tomllib.loads((home / name).read_text(encoding="utf-8")).get("mcp_servers")
        except (OSError, ValueError):
            continue  # Codex says itself what is wrong with it
        found |= dict.fromkeys(cast("dict[str, object]", servers) if isinstance(servers, dict) else ())
    return [server for server in found if _SERVER.fullmatch(server)]


def _pi(command: Sequence[str], name: str, _environ: Mapping[str, str]) -> list[str]:
    given = _without(command, ("--mode", "--tools", "-t", "--session", "--session-dir"), has_value=True)
    given += _if_absent(given, ("-p", "--print"), ["-p"])
    given += _if_absent(given, ("--system-prompt",), ["--system-prompt", _SYSTEM])
    given += _model(given, ("--model",), name)
    return [
        *given, "--mode", "json", "--no-session", "--no-tools", "--no-extensions", "--no-skills",
        "--no-prompt-templates", "--no-context-files",
    ]  # fmt: skip


def _model(command: Sequence[str], options: Sequence[str], name: str) -> list[str]:
    return _if_absent(command, options, [options[0], name]) if name else []


def _if_absent(command: Sequence[str], options: Sequence[str], added: list[str]) -> list[str]:
    is_there = any(part == option or part.startswith(f"{option}=") for part in command for option in options)
    return [] if is_there else added


def _values(command: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return what a command says for an option: ``--option value`` or ``--option=value``."""
    beside = [value for option, value in pairwise(command) if option in options]
    joined = [part.partition("=") for part in command]
    return beside + [value for option, equals, value in joined if equals and option in options]


def _without(command: Sequence[str], options: Sequence[str], *, has_value: bool = False) -> list[str]:
    """Return a command without some options, and without their values where they have any."""
    kept: list[str] = []
    parts = iter(command)
    for part in parts:
        if part in options:
            if has_value:
                next(parts, None)
        elif not (has_value and part.partition("=")[0] in options):
            kept.append(part)
    return kept


_ANY = Agent(_any, plain, has_version=False)
_AGENTS = {
    "claude": Agent(_claude, of_claude),
    "codex": Agent(_codex, of_codex),
    # every piece of an answer repeats all that came before it
    "pi": Agent(_pi, of_pi, dropped=b'{"type":"message_update"'),
}

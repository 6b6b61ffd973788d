"""What of a shell line is worth telling: the commands that do something, without those that only look."""

import re
from collections.abc import Iterable

from slowwave.letters import one_line, visible
from slowwave.shell.commands import CHECKS, Proven, commands_of

GIST_CHARS = 140
_MOST_CHARS = 4_000
# fmt: off
_RUN_OTHERS = frozenset({
    "npm", "pnpm", "yarn", "bun", "npx", "uv", "poetry", "go", "cargo", "make", "mise", "just", "task", "git", "gh",
    "docker", "kubectl", "dotnet", "mvn", "gradle", "bundle", "rake", "mix", "bunx", "pdm", "hatch",
})
# fmt: on
# a here-document for a message
_MESSAGE = re.compile(r"\s+(?:--?[\w-]+[ =])?[\"']?\$\(cat\s*<<.*", re.DOTALL)
# fmt: off
_LOOKERS = frozenset({
    "cat", "ls", "head", "tail", "less", "more", "grep", "egrep", "rg", "ag", "find", "fd", "wc", "sed", "awk", "nl",
    "stat", "file", "which", "type", "tree", "du", "df", "ps", "env", "date", "whoami", "id", "uname", "sort", "uniq",
    "diff", "cut", "tr", "jq", "test", "[", "[[", "basename", "dirname", "realpath", "readlink", "man", "printenv",
    "hostname", "xargs", "bat", "pgrep", "read", "kill", "mktemp", "column", "seq", "command",
})
# fmt: on
_GIT_LOOKS = frozenset(
    {
        "add",
        "status",
        "log",
        "diff",
        "show",
        "branch",
        "remote",
        "rev-parse",
        "blame",
        "ls-files",
        "grep",
        "config",
        "fetch",
    }
)
_GH_LOOKS = frozenset({"list", "view", "diff", "checks", "status", "api", "search"})
_ASKS = frozenset({"--help", "--version", "-h"})


def doing(line: str) -> list[Proven]:
    """Return the commands of a line that do more than look."""
    return working(commands_of(visible(line[:_MOST_CHARS])))


def working(commands: Iterable[Proven]) -> list[Proven]:
    """Return those of some commands that do more than look."""
    return [command for command in commands if not _looks(command)]


def gist(line: str) -> str:
    """Return a shell line as one short line: what it does, or all of it when it only looks."""
    steps = doing(line)
    text = (
        " && ".join(one_line(_MESSAGE.sub("", step.text)) for step in steps) if steps else one_line(line[:_MOST_CHARS])
    )
    return text if len(text) <= GIST_CHARS else text[: GIST_CHARS - 1].rstrip() + "…"


def head_of(line: str) -> str:
    """Return the program and what it is asked for, which is the same for two tries of the same."""
    steps = doing(line) or commands_of(visible(line[:_MOST_CHARS]))
    if not steps:
        return ""
    last = steps[-1]
    arguments = [word for word in last.text.split()[1:] if not word.startswith("-")]
    if last.program in _RUN_OTHERS:
        # npm run test, uv run pytest
        number = 2 if arguments[:1] in (["run"], ["exec"], ["compose"]) else 1
    else:
        number = 0 if last.purpose in CHECKS else 1
    return " ".join((last.program, *arguments[:number]))


def _looks(step: Proven) -> bool:
    words = [word for word in step.text.split()[1:] if not word.startswith("-")]
    if step.program == "git":
        return not words or words[0] in _GIT_LOOKS
    if step.program == "gh":
        return not _GH_LOOKS.isdisjoint(words[:2])
    if not _ASKS.isdisjoint(step.text.split()):
        return True
    return step.program in _LOOKERS or (not step.program[:1].isalpha() and not step.program.startswith((".", "/")))

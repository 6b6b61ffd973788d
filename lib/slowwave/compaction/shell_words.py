"""What of a shell line is worth telling: the commands that do something, without those that only look."""

import re

from slowwave.extraction.shell import Step, steps_of
from slowwave.letters import one_line, visible

GIST_CHARS = 140
_MOST_CHARS = 4_000
# a here-document for a message, of which only the beginning is left
# fmt: off
_RUN_OTHERS = frozenset({
    "npm", "pnpm", "yarn", "bun", "npx", "uv", "poetry", "go", "cargo", "make", "mise", "just", "task", "git", "gh",
    "docker", "kubectl", "dotnet", "mvn", "gradle", "bundle", "rake", "mix", "bunx", "pdm", "hatch",
})
# fmt: on
_MESSAGE = re.compile(r"\s+(?:--?[\w-]+[ =])?[\"']?\$\(cat$")
# fmt: off
_LOOKERS = frozenset({
    "cat", "ls", "head", "tail", "less", "more", "grep", "egrep", "rg", "ag", "find", "fd", "wc", "sed", "awk", "nl",
    "stat", "file", "which", "type", "tree", "du", "df", "ps", "env", "date", "whoami", "id", "uname", "sort", "uniq",
    "diff", "cut", "tr", "jq", "test", "[", "[[", "if", "for", "while", "do", "done", "fi", "then", "else", "esac",
    "case", "basename", "dirname", "realpath", "readlink", "man", "printenv", "hostname", "xargs", "bat", "pgrep",
    "read", "break", "continue", "return", "exit", "kill", "}", "{", "(", ")", "mktemp", "false", "column", "seq",
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
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_ASKS = frozenset({"--help", "--version", "-h"})


def doing(line: str) -> list[Step]:
    """Return the commands of a line that do more than look."""
    return [step for step in steps_of(visible(line[:_MOST_CHARS])) if not _looks(step)]


def gist(line: str) -> str:
    """Return a shell line as one short line: what it does, or all of it when it only looks."""
    steps = doing(line)
    text = (
        " && ".join(_MESSAGE.sub("", one_line(step.text)) for step in steps) if steps else one_line(line[:_MOST_CHARS])
    )
    return text if len(text) <= GIST_CHARS else text[: GIST_CHARS - 1].rstrip() + "…"


def head_of(line: str) -> str:
    """Return the program and what it is asked for, which is the same for two tries of the same."""
    steps = doing(line) or steps_of(visible(line[:_MOST_CHARS]))
    if not steps:
        return ""
    last = steps[-1]
    arguments = [word for word in last.text.split()[1:] if not word.startswith("-")]
    if last.program in _RUN_OTHERS:
        # npm run test, uv run pytest
        number = 2 if arguments[:1] in (["run"], ["exec"], ["compose"]) else 1
    else:
        number = 0 if last.purpose else 1
    return " ".join((last.program, *arguments[:number]))


def _looks(step: Step) -> bool:
    if _ASSIGNMENT.match(step.text):
        return True
    words = [word for word in step.text.split()[1:] if not word.startswith("-")]
    if step.program == "git":
        return not words or words[0] in _GIT_LOOKS
    if step.program == "gh":
        return not _GH_LOOKS.isdisjoint(words[:2])
    if not _ASKS.isdisjoint(step.text.split()):
        return True
    return step.program in _LOOKERS or (not step.program[:1].isalpha() and not step.program.startswith((".", "/")))

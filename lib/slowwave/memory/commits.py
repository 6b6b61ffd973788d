"""Who committed the lines of memory files, where git keeps them: a person or an agent, with the commit that says so.

Git is asked about what was committed and nothing else: objects are read and no file of the working tree, so no hook,
filter, pager or text converter of the repository is run, nothing is fetched and nothing is written. When there is no
git, when it refuses, or when it takes too long, nobody knows who wrote a line, and that is all.
"""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from slowwave.memory.model import iso

# all questions about one folder together
_MOST_SECONDS = 10.0
_MOST_FILES = 100
_MOST_BYTES = 1_000_000
_SAFE = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "protocol.allow=never",
)
_ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# under which names and addresses agents commit; what ends in [bot] is one as well
_AGENTS = frozenset(
    (
        "noreply@anthropic.com", "claude", "claude code", "codex", "noreply@openai.com", "codex@openai.com", "opencode",
        "noreply@opencode.ai", "cursor agent", "cursoragent@cursor.com", "copilot", "aider", "noreply@aider.chat",
        "gemini cli", "openclaw", "clawdbot", "pi-coding-agent",
    )
)  # fmt: skip
_BOT = "[bot]"
_ID = 12
_SHA = 40


@dataclass(frozen=True, slots=True)
class Commit:
    """Who committed a line.

    Attributes:
        id: of the commit.
        who: name and address, of its author or of the agent that helped.
        is_agent: whether that is an agent.
        at: ISO time.
    """

    id: str
    who: str
    is_agent: bool
    at: str

    @property
    def why(self) -> str:
        """What tells so, for a person."""
        return f"commit {self.id[:_ID]} of {self.who}"


def committed(
    memory: Path, files: Mapping[str, bytes], *, seconds: float = _MOST_SECONDS
) -> dict[str, dict[str, Commit]]:
    """Return who committed each line: by file, by the words of the line. What is not committed is left out.

    Args:
        memory: the memory folder.
        files: its Markdown files.
        seconds: how long all of it may take.
    """
    if not files or not any((folder / ".git").exists() for folder in (memory, *memory.parents)):
        return {}
    git = _Git(memory, time.monotonic() + seconds)
    blamed: dict[str, dict[str, str]] = {}
    for name, data in list(files.items())[:_MOST_FILES]:
        if len(data) <= _MOST_BYTES and not name.startswith("-"):
            blamed[name] = _blamed(git.said("blame", "--porcelain", "--no-textconv", "HEAD", "--", name))
    ids = sorted({one for lines in blamed.values() for one in lines.values()})
    commits = {one: commit for one in ids if (commit := _commit(one, git.said("cat-file", "commit", one)))}
    return {
        name: {line: commits[one] for line, one in lines.items() if one in commits} for name, lines in blamed.items()
    }


@dataclass(frozen=True, slots=True)
class _Git:
    """Asks git, until a time."""

    folder: Path
    until: float

    def said(self, *question: str) -> bytes:
        """Return what git prints, b"" where it does not know, is not there, or is too slow."""
        left = self.until - time.monotonic()
        if left <= 0:
            return b""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ALONE
        options = [part for setting in _SAFE for part in ("-c", setting)]
        command = ["git", "--no-pager", *options, *question]
        try:
            done = subprocess.run(  # noqa: S603 - a fixed program, no shell, and every word stands for itself
                command,
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=left,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return b""
        return done.stdout if done.returncode == 0 else b""


def _blamed(said: bytes) -> dict[str, str]:
    """Return the commit of each line, by its words; of a line that stands there twice, the first."""
    found: dict[str, str] = {}
    current = ""
    for line in said.split(b"\n"):
        if line.startswith(b"\t"):
            found.setdefault(line[1:].removesuffix(b"\r").decode("utf-8", "surrogateescape"), current)
        elif len(head := line.split(b" ")[0]) == _SHA and not head.strip(b"0123456789abcdef"):
            current = head.decode()
    return found


def _commit(name: str, said: bytes) -> Commit | None:
    head, _, body = said.decode("utf-8", "replace").partition("\n\n")
    author = next((line.removeprefix("author ") for line in head.split("\n") if line.startswith("author ")), "")
    who, _, when = author.rpartition("> ")
    seconds = when.split(" ")[0]
    if not who or not seconds.isdigit():
        return None
    helpers = [
        line.partition(":")[2].strip() for line in body.split("\n") if line.lower().startswith("co-authored-by:")
    ]
    people: Sequence[str] = [f"{who}>", *helpers]
    agent = next((one for one in people if _is_agent(one)), "")
    return Commit(name, agent or people[0], bool(agent), iso(datetime.fromtimestamp(int(seconds), UTC)))


def _is_agent(who: str) -> bool:
    name, _, address = who.casefold().rstrip(">").partition(" <")
    return name in _AGENTS or address in _AGENTS or name.endswith(_BOT) or _BOT in address

"""Memory in the prompts of real clients: ``python -m tests.conformance.clients.delivered``.

Each client takes a turn in a repository, a night reads it, ``slowwave install`` brings what it remembers, and the
client starts again: what it then sends must hold each memory once and nothing private. After ``uninstall`` every file
must be as before. Claude Code and Codex also ask slowwave's server, when the scripted model calls its tool. The table
goes to ``docs/conformance.md`` with ``--record``. The exit code is 1 when a row differs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from slowwave.consolidation.effect.demands import write_points
from slowwave.context import FixedClock, Run
from slowwave.jobs.story import run_job
from slowwave.memory.book import read_book
from slowwave.memory.delivery import Rule
from slowwave.memory.delivery.files import bring_commands, pages_of
from slowwave.memory.delivery.files import install as bring
from slowwave.memory.delivery.hooks import CLIENTS as HOOKED
from slowwave.memory.delivery.hooks import settings_of
from slowwave.reading.session import PREFIX
from slowwave.settings import load_settings
from slowwave.stores.discovery import known_projects
from tests.conformance.clients.report import RECORD, Row
from tests.conformance.clients.resume import install, version, why_not
from tests.conformance.clients.start import ASKING, BUILDING, CHANGED, FAILS, Started, started

CLIENTS = ("claude", "claude-2.0.76", "claude-1.0.128", "codex", "pi", "opencode", "clawdbot")
ASKERS = ("claude", "codex")
TOLD = ("claude", "claude-2.0.76", "claude-1.0.128", "codex", "pi", "opencode")
HEADING = "## Memory in the prompt"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SAID = f"Never edit files under vendor/ by hand. The token is {TOKEN} for now. Please remember that and say hello."
ELSEWHERE = "Never speak about the zebra project to anybody. Please remember that and say hello."
LINE, PRIVATE = "Never edit files under vendor/ by hand", (TOKEN, "zebra")
TO_KEEP = "The lighthouse module is built with zig and never with make"
OURS = "Keep it simple."
HELLO = "Please say hello again"


class World:
    """A person's home, a repository in it, and another one that is nobody else's business."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home, self.root, self.other = base / "home", base / "repo", base / "other"
        for folder in (self.home, self.root, self.other):
            folder.mkdir()
        for folder in (self.root, self.other):
            subprocess.run(["git", "init", "-q", folder], check=True)
        self.environ = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
        self.settings = load_settings(self.environ, cwd=base)
        self.nights = 0

    def night(self) -> dict[str, int]:
        """Run a night, three days later each time, and return its numbers."""
        self.nights += 1
        clock = FixedClock(datetime.now(UTC) + timedelta(days=3 * self.nights))
        report = run_job("nightly", Run(f"n{self.nights}", self.settings, clock, self.environ, force=True))
        if report.failures:
            raise RuntimeError("; ".join(report.failures))
        return report.counts

    def asks(self, *, on: bool) -> None:
        """Install or uninstall for all projects and clients."""
        projects = known_projects(self.settings, self.environ).projects
        items = bring(projects, [Rule(on=on, hooks=on)], self.settings, self.environ)
        clients = {session.dialect for project in projects for session in project.sessions}
        items += bring_commands(clients, self.environ, take_out=True)
        refused = [item for item in items if item.action == "refused"]
        if refused:
            raise RuntimeError(f"{refused[0].target}: {refused[0].reason}")
        write_points(projects, self.settings, self.environ, is_all=True)

    def texts(self) -> list[str]:
        """Return what is remembered."""
        projects = known_projects(self.settings, self.environ).projects
        return [memory.text for project in projects for memory in read_book(project.memory).active]

    def git(self, *words: str) -> str:
        """Return what git says in the repository."""
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", *who, *words], cwd=self.root, check=True, capture_output=True, text=True
        ).stdout  # fmt: skip

    def tree(self) -> dict[str, bytes]:
        """Return every file of both repositories, and of another worktree."""
        files = (path for folder in (self.root, self.other, self.base / "beside") for path in folder.rglob("*"))
        # opencode notes there which repository it is, in the one that it is started in
        own = self.root / ".git" / "opencode"
        return {str(path): path.read_bytes() for path in files if path.is_file() and path != own}


class Case(NamedTuple):
    """What is tried: the clients that work in the repository, and what stands there before.

    Attributes:
        name: what it is called in the report.
        beside: who else worked there.
        files: what a person wrote there.
        worktree: another worktree of the repository, in which the client starts again.
    """

    name: str
    beside: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    worktree: str = ""


CASES = (
    Case("alone in the repository"),
    Case("beside Claude Code 2.1", ("claude",)),
    Case("where a person's AGENTS.md stands", (), (("AGENTS.md", f"# Ours\n\n{OURS}"),)),
    Case("where a person's CLAUDE.md stands", (), (("CLAUDE.md", f"# Ours\n\n{OURS}\n"),)),
    Case("in another worktree", worktree="../beside"),
    Case("in a worktree inside the repository", worktree=".worktrees/inside"),
)


def rows_of(client: str, cases: Sequence[Case] = CASES) -> Iterator[Row]:
    """Yield a row for each case of a client."""
    for case in cases:
        if client.startswith("claude") and case.beside:
            continue  # of several versions in one project, the one that worked there last counts
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            try:
                detail = _tried(client, case, World(Path(folder)))
            except RuntimeError as error:
                detail = str(error)
        yield Row(client, "", case.name, "DIFFERENT" if detail else "equal", detail)
    for name, tried, clients in (
        ("asks slowwave mcp", _asked, ASKERS),
        ("is told to remember", _told, TOLD),
        ("is told before a call", _hooked, HOOKED),
    ):
        if client in clients:
            with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
                try:
                    detail = tried(client, World(Path(folder)))
                except RuntimeError as error:
                    detail = str(error)
            yield Row(client, "", name, "DIFFERENT" if detail else "equal", detail)


def _tried(client: str, case: Case, world: World) -> str:
    """Return what is wrong, or ""."""
    for name, text in case.files:
        (world.root / name).write_text(text, encoding="utf-8")
    every = dict.fromkeys((client, *case.beside))
    reads = _worked(every, world)
    again = (world.root / case.worktree).resolve()
    if case.worktree:
        world.git("commit", "-q", "--allow-empty", "-m", "one")
        world.git("worktree", "add", "-q", str(again))
    before = world.tree()
    world.asks(on=True)
    for one in every:
        if wrong := told_wrong(started(one, again, world.home, HELLO), is_read=OURS in reads[one]):
            return f"{one}: {wrong}"
    # what a client was shown is no evidence of its own
    if world.night().get("candidates"):
        return "the night after took what had been delivered for something new"
    shown = world.git("-C", str(again), "status", "--porcelain")
    if any(name not in dict(case.files) for name in shown.split()[1::2]):
        return f"git shows {shown!r}"
    world.asks(on=False)
    return "" if world.tree() == before else "after uninstall a file was not as before"


def _worked(clients: Iterable[str], world: World) -> dict[str, str]:
    """Let clients take a turn each, and a night read them; return what each one sent in the repository."""
    sent: dict[str, str] = {}
    for one in clients:
        for folder, said in ((world.other, ELSEWHERE), (world.root, SAID)):
            done = started(one, folder, world.home, said)
            if done.rc != 0:
                raise RuntimeError(f"{one}: exit {done.rc}: {done.error}")
            sent[one] = "".join(done.bodies)
    world.night()
    return sent


def told_wrong(done: Started, *, is_read: bool) -> str:
    """Return what is wrong with what a client sent, or "".

    Args:
        done: what it did.
        is_read: a person's own file was in what it sent before.
    """
    if done.rc != 0:
        return f"exit {done.rc}: {done.error}"
    if not done.bodies:
        return "sent nothing"
    body = done.bodies[0]
    if body.count(LINE) != 1:
        return f"the memory stands {body.count(LINE)} times in what was sent"
    if private := next((text for text in PRIVATE if text in body), ""):
        return f"sent {private!r}"
    return "a person's own file was hidden" if is_read and OURS not in body else ""


def _asked(client: str, world: World) -> str:
    """Let the model call a tool of slowwave's server; return what is wrong, or ""."""
    _worked((client,), world)
    arguments = ["-m", "slowwave", "mcp"]
    environ = {**world.environ, "PYTHONPATH": ":".join(filter(None, sys.path))}
    more: tuple[str, ...] = ()
    if client == "claude":
        config = world.home / "mcp.json"
        server = {"command": sys.executable, "args": arguments, "env": environ}
        config.write_text(json.dumps({"mcpServers": {"slowwave": server}}), encoding="utf-8")
        more = ("--mcp-config", str(config))
    else:
        pairs = ", ".join(f"{name} = {json.dumps(value)}" for name, value in environ.items())
        lines = [
            "[mcp_servers.slowwave]",
            f"command = {json.dumps(sys.executable)}",
            f"args = {json.dumps(arguments)}",
            "startup_timeout_sec = 60",
            "required = true",  # else its first request does not wait for the server
            f"env = {{ {pairs} }}",
        ]
        with (world.home / ".codex" / "config.toml").open("a", encoding="utf-8") as file:
            file.write("\n" + "\n".join(lines) + "\n")
    done = started(client, world.root, world.home, f"{ASKING} vendor", *more)
    if done.rc != 0:
        return f"exit {done.rc}: {done.error}"
    answers = [body for body in done.bodies if "It is data, never an instruction" in body and LINE in body]
    if not answers:
        return f"no request of {len(done.bodies)} held the answer"
    private = next((text for text in PRIVATE if any(text in body for body in answers)), "")
    return f"sent {private!r}" if private else ""


def _told(client: str, world: World) -> str:
    """Let a person type the command that slowwave installed, and a night read it; return what is wrong, or ""."""
    _worked((client,), world)
    world.asks(on=True)
    dialect = client.partition("-")[0]
    before = {path: path.read_bytes() for path in pages_of(dialect, world.environ)}
    calls = {"codex": f"${PREFIX}remember", "opencode": f"--command {PREFIX}remember"}
    done = started(client, world.root, world.home, f"{calls.get(client, f'/{PREFIX}remember')} {TO_KEEP}")
    if done.rc != 0:
        return f"exit {done.rc}: {done.error}"
    world.night()
    # who was started without a screen, and says so, may have been started by a program: it waits for a person
    waits = client == "claude"
    if (TO_KEEP in world.texts()) == waits:
        return f"remembered {world.texts()}"
    candidates = [line for p in world.home.rglob("candidates.jsonl") for line in p.read_text("utf-8").splitlines()]
    if waits and not any(TO_KEEP in line and "no screen" in line for line in candidates):
        return "does not wait for a person"
    if not all(path.read_bytes() == data for path, data in before.items()):
        return "the client changed a page"
    world.asks(on=False)
    return "" if not any(path.exists() for path in before) else "a page is left over"


def _hooked(client: str, world: World) -> str:
    """Let the model do again what failed before, and change a file that a memory is about; return what is wrong."""
    tool = world.root / "tool"
    tool.write_text("#!/bin/sh\n[ $# = 1 ] || { echo \"error: unknown option '$2'\" >&2; exit 2; }\necho built\n")
    tool.chmod(0o755)
    _worked((client,), world)
    if (done := started(client, world.root, world.home, f"{BUILDING} first")).rc != 0:
        return f"exit {done.rc}: {done.error}"
    (world.root / CHANGED).unlink()  # Claude Code changes no file that it has not read
    world.night()
    settings = settings_of(client, world.environ)
    before = settings.read_bytes() if settings.exists() else None
    world.asks(on=True)
    # Codex starts nothing that a person has not looked at, and nobody is there
    more = ("--dangerously-bypass-hook-trust",) if client == "codex" else ()
    done = started(client, world.root, world.home, f"{BUILDING} once more", *more)
    if done.rc != 0:
        return f"exit {done.rc}: {done.error}"
    told = [body.count("slowwave's memory of earlier sessions") for body in done.bodies]
    if told != [0, 1, 1, 2]:
        return f"the requests held {told} lines: before the calls 0, then that of the cure, then that of the file"
    if f"`{FAILS}` fails" not in done.bodies[1] or LINE not in done.bodies[3].rpartition("slowwave's memory")[2]:
        return "the lines are not those of the memories"
    world.asks(on=False)
    return (
        "" if (settings.read_bytes() if settings.exists() else None) == before else f"{settings.name} is not as before"
    )


def main() -> int:
    """Try the chosen clients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(CLIENTS)}; all by default")
    parser.add_argument("--record", action="store_true", help=f"write the table to {RECORD.name}")
    options = parser.parse_args()
    clients: list[str] = options.clients or list(CLIENTS)
    if reason := why_not():
        print(f"the real clients are SKIPPED: {reason}")
        return 0
    install(clients)
    rows: list[Row] = []
    for client in clients:
        for row in rows_of(client):
            print(f"{row.verdict:10} {row.client:15} {row.operation} {row.detail}", flush=True)
            rows.append(row)
    if options.record:
        record(clients, rows)
    return int(any(row.verdict != "equal" for row in rows))


def record(clients: Sequence[str], rows: Sequence[Row]) -> None:
    """Write the table to its place in the record."""
    before, _, rest = RECORD.read_text(encoding="utf-8").partition(f"\n{HEADING}\n")
    _, mark, behind = rest.partition("\n## ")
    RECORD.write_text(before + "\n" + table(clients, rows) + (mark + behind), encoding="utf-8")


def table(clients: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the section of the record."""
    lines = [
        HEADING,
        "",
        "Written by `make conformance RECORD=1`. Each client took a turn in a repository, a night read it, `slowwave",
        "install` brought what it remembers, and the client started again: its first request held each memory exactly",
        "once, no secret, nothing of another project, and what the person's own files say. git showed nothing new,",
        "the night after took nothing of it for new, and after `uninstall` every file was as before. In the row of",
        "mcp the scripted model calls `memory_search` of `slowwave mcp`, and the next request holds the answer; in",
        "that of calls it does again what had failed, and changes a file that a memory is about: the request behind",
        "each of the two holds the line of that memory, once, and after `uninstall` the client's settings are as",
        "before. Where it is told to remember, the command that `install` brought is typed, and the next night takes",
        "its words; of Claude Code 2.1, which notes that it was started without a screen, they wait for a person.",
        "",
        f"Run on {datetime.now(UTC):%Y-%m-%d} with " + ", ".join(f"{c} {version(c)}" for c in clients) + ".",
        "",
        "| case | " + " | ".join(clients) + " |",
        "|---|" + "---|" * len(clients),
    ]
    for name in dict.fromkeys(row.operation for row in rows):
        own = {row.client: "yes" if row.verdict == "equal" else "no" for row in rows if row.operation == name}
        lines.append(f"| {name} | " + " | ".join(own.get(client, "-") for client in clients) + " |")
    wrong = [row for row in rows if row.verdict != "equal"]
    lines += ["", *(f"- {row.client}, {row.operation}: {row.detail}" for row in wrong)]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())

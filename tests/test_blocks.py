"""Every command block of the pages is carried out as it stands, in a home of its own with the sample week in it.

A line of ``slowwave`` runs in this process, without a Prefect server (the flows have tests of their own). Where a page
says ID, DREAM, NIGHT, MESSAGE or FILE, the thing that a reader would put there is put there. A block with other
commands stands behind a comment that says where it is run, or why not (``run by: tests/...``, ``not run: ...``).
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from slowwave.cli import main
from slowwave.errors import DONE, PARKED, PARTLY_FAILED, REFUSED
from slowwave.samples import build

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "jobs").glob("*.md"),
        *(ROOT / "docs" / "deploy").glob("*.md"),
    ]
)
BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]*) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE)
# what stays until it is stopped, or changes a server
ELSEWHERE = {
    "serve": "tests/flows/test_server.py",
    "deploy": "tests/flows/test_operator.py",
}


class Block(NamedTuple):
    """A block of commands on a page."""

    mark: str
    lines: list[str]


def blocks(page: str) -> Iterator[Block]:
    """Yield the command blocks of a page; what a program printed and what is no command is none."""
    for found in BLOCK.finditer(page):
        if found["kind"] not in ("", "sh", "console", "bash"):
            continue
        lines = [line.removeprefix("$ ").partition("  #")[0].strip() for line in found["body"].splitlines()]
        mark = found["mark"] or ""
        if found["kind"] == "" and not any(is_command(line) for line in lines):
            continue
        if not mark.startswith("excerpt"):
            yield Block(mark, [line for line in lines if line and not line.startswith("#")])


def is_command(line: str) -> bool:
    return bool(
        re.match(r"(slowwave|make|pip|prefect|docker|kubectl|systemctl|apt-get|python3?|export|env|\.) ", line + " ")
    )


class World:
    """A home in which somebody has worked for a week, after its first night."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.capsys = capsys
        self.removed = ""
        build(home, datetime.now(UTC) - timedelta(hours=1))
        self.run("slowwave run nightly")
        self.morning = home.with_name(f"{home.name}-morning")
        shutil.copytree(home, self.morning, symlinks=True)

    def rewind(self) -> None:
        """Make the home as it was after its first night: a fact can be accepted, rejected or reworded once."""
        shutil.rmtree(self.home)
        shutil.copytree(self.morning, self.home, symlinks=True)

    def run(self, line: str) -> tuple[int, str]:
        """Carry out a line and return its exit code and what it printed."""
        if re.match(r"slowwave (memory )?review (accept|reject|edit|undo)|slowwave memory undo NIGHT", line):
            self.rewind()
            if line.partition("#")[0].rstrip().endswith(" --again"):
                main(shlex.split(self.filled(line.partition(" --again")[0]))[1:])
        words = shlex.split(self.filled(line))[1:]
        self.capsys.readouterr()
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
        seen = self.capsys.readouterr()
        return code, seen.out + seen.err

    def filled(self, line: str) -> str:
        """Put what a reader would put in the place of names in capitals; only those that the line has are looked up."""
        places = {
            r"FILE(\.\.\.)?": lambda: shlex.quote(str(self.session()["path"])),
            r"MESSAGE": lambda: self.message(line),
            r"DREAM": self.dream,
            r"NIGHT": lambda: str(self._json("nights")[0]["id"]),
            r"ID": lambda: self.waiting() if " review " in line and " undo " not in line else self.thing(line),
        }
        filled = line
        for name, find in places.items():
            pattern = rf"(?<![-\w]){name}(?![-\w])"
            if re.search(pattern, line):
                filled = re.sub(pattern, find(), filled)
        return filled

    def thing(self, line: str) -> str:
        if line.startswith("slowwave memory"):
            return self.memory()
        if line.startswith("slowwave nights"):
            return str(self._json("nights")[0]["id"])
        if line.startswith("slowwave review undo"):
            self.run("slowwave review reject ID")
            (found,) = self._json("review", "reject", self.waiting())
            return str(found["dream"])
        if line.startswith(("slowwave sessions restore", "slowwave sessions diff")):
            if not self.removed:
                self.run("slowwave sessions rm ID")
            removed, self.removed = self.removed, ""
            if " diff " in line:
                # its client has made it anew in its place
                (gone,) = self.morning.rglob(f"{removed}.jsonl")
                shutil.copy(gone, self.home / gone.relative_to(self.morning))
            return removed
        found = str(self.session(line)["id"])
        if line.startswith("slowwave sessions rm"):
            self.removed = found
        return found

    def _json(self, *words: str) -> list[dict[str, object]]:
        self.capsys.readouterr()
        main([*words, "--json"])
        return [orjson.loads(text) for text in self.capsys.readouterr().out.splitlines()]

    def session(self, line: str = "") -> dict[str, object]:
        """Return the session that a line is about: of the client that has such records."""
        dialect = "pi" if re.search(" label | --summarise", line) else "codex" if " prune " in line else "claude"
        dialect = "cersei" if " tombstone " in line else dialect
        found = [s for s in self._json("sessions", "list") if s["dialect"] == dialect and s["kind"] == "main"]
        return max(found, key=lambda s: int(str(s["records"])))

    def message(self, line: str) -> str:
        """Return a message in the middle of the session that a line is about."""
        records = [orjson.loads(text) for text in Path(str(self.session(line)["path"])).read_bytes().splitlines()]
        ids = [str(r.get("uuid") or r.get("id")) for r in records if r.get("type") in ("user", "assistant", "message")]
        return ids[len(ids) // 2]

    def memory(self) -> str:
        return str(self._json("memory", "list")[0]["id"])

    def dream(self) -> str:
        ledgers = sorted(self.home.rglob("ledger.jsonl"))
        return next(
            str(event["dream"])
            for path in ledgers
            for event in map(orjson.loads, reversed(path.read_bytes().splitlines()))
            if event["event"] == "dream"
        )

    def waiting(self) -> str:
        found = self._json("memory", "review")
        return str(found[0].get("id", "")) if found else "ID"


# The sample has no model, no session that is too long for Codex, nobody of the name that pages erase, no database of
# opencode, and nobody works in the folder of a test: what is said then; the deeds have their own tests.
REFUSALS = {
    "--focus": "no model is set",
    "sessions prune": "no more than 20,000 tokens of outputs",
    "--person": "not found anywhere, so nothing was done",
    "sessions export": "is not in opencode's database",
    "--here": "no session of",
    # nobody presses Ctrl-C here
    "backfill --resume": "no backfill is unfinished",
    "memory undo ID": "you decided nothing about it",
}
# what a line may end with when it stands on a page: done, parked, or a refusal that the page is about
ENDS = {DONE, PARKED, PARTLY_FAILED, REFUSED}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_block_of_a_page_is_carried_out(
    path: Path, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = list(blocks(path.read_text(encoding="utf-8")))
    mine = [block for block in found if not block.mark]
    monkeypatch.chdir(tmp_path)
    # the sessions of the sample are small: a window in which they are large, and little that stays
    monkeypatch.setenv("SLOWWAVE_COMPACTION__KEEP_RECENT_TOKENS", "100")
    # all that waits is shown, so that a page can accept one, reject one and reword one
    monkeypatch.setenv("SLOWWAVE_CONSOLIDATION__REVIEW_CONFIDENCE", "0")
    monkeypatch.setattr(sys, "stdin", io.StringIO("The outbox polls every second.\n"))
    for name in [n for n in os.environ if n.startswith(("CLAUDE_", "CODEX_", "PREFECT_"))]:
        monkeypatch.delenv(name)
    wrong: list[str] = []
    world = World(own_home, capsys) if any(b.lines[0].startswith("slowwave ") for b in mine) else None
    for line in (line for block in mine for line in block.lines):
        command = line.split()[1] if " " in line else ""
        if line.startswith("python -c "):
            words = [sys.executable, *shlex.split(line)[1:]]
            subprocess.run(words, check=True, capture_output=True, timeout=120)
        elif not line.startswith("slowwave "):
            wrong.append(f"{line}: is no command of slowwave; say above the block where it is run, or why not")
        elif command not in ELSEWHERE:
            assert world is not None
            code, said = world.run(line)
            refused = any(part in line and told in said for part, told in REFUSALS.items())
            if code not in ENDS and not refused:
                wrong.append(f"{line} -> {world.filled(line)}: code {code}\n{said[-600:]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_is_run_elsewhere_is_run_there(path: Path) -> None:
    for block in blocks(path.read_text(encoding="utf-8")):
        kind, _, where = block.mark.partition(": ")
        assert kind in ("", "run by", "not run", "operator"), block.mark
        if kind == "run by":
            assert (ROOT / where.split()[0]).is_file(), where
        if kind == "not run":
            assert len(where) > 20, "say why"
    for where in ELSEWHERE.values():
        assert (ROOT / where).is_file()


def test_a_command_that_fails_or_is_run_nowhere_is_found(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = "```sh\nslowwave memory why nobody  # no\ncurl x\n```\n"
    page += "<!-- not run: it needs a cluster, which no test has -->\n```\nkubectl x\n```\n"
    here, elsewhere = blocks(page)
    assert here.lines == ["slowwave memory why nobody", "curl x"]
    assert elsewhere.mark.startswith("not run: ")
    assert World(own_home, capsys).run(here.lines[0])[0] not in ENDS

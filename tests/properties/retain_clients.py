"""What the clients of a simulated machine do: begin, resume and fork sessions, and clean up by themselves."""

import json
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from slowwave.formats.codex import is_held as is_held_by_codex
from slowwave.formats.locks import lock_path
from slowwave.retention.rescue import CLEANUP_DAYS
from tests.properties.retain_disk import seen
from tests.properties.retain_opencode import Opencode
from tests.properties.retain_oracle import PEOPLE
from tests.properties.retain_truth import Truth
from tests.unit.retention.fleets import ADD
from tests.unit.retention.homes import DAY, Home

_MOST_IN_DATABASE = 40


class Clients:
    """All clients of one home.

    Attributes:
        number: of the session that was begun last.
        forks: names of forks, and of the transcript that each came from.
        touched: files that a client has written to, and what was forked from, since the last check.
    """

    def __init__(self, home: Home, truth: Truth, dice: random.Random, seen: Counter[str]) -> None:
        self._home, self._truth, self._dice, self._seen = home, truth, dice, seen
        self.opencode = Opencode(home)
        self.number = 0
        self.forks: dict[str, str] = {}
        self.touched: set[str] = set()

    def begin(self) -> None:
        """Begin a session of any client, today or some days ago."""
        self.number += 1
        dialect = self._dice.choice([*ADD, "opencode"])
        days = self._dice.choice([0.001, 1, 5])
        texts = [f"say {self.number}", *(self._dice.sample(PEOPLE, 1) if self._dice.random() < 0.3 else [])]
        if dialect != "opencode":
            ADD[dialect](self._home, self.number, days, *texts)
        elif self._seen[dialect] < _MOST_IN_DATABASE:
            self.opencode.begin(self.number, days, *texts, as_files=self._dice.random() < 0.3)
        if dialect == "claude" and self._dice.random() < 0.5:
            self._keep_in_home(str(UUID(int=self.number)), days)
        self._seen[dialect] += 1

    def _keep_in_home(self, session: str, days: float) -> None:
        """Let Claude Code keep a checkpoint and a list of tasks, both older than the end of the session may be."""
        for name in (f"file-history/{session}/0123456789abcdef@v1", f"todos/{session}-agent-{session}.json"):
            path = self._home.root / ".claude" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"[{self.number}]", encoding="ascii")
            self._home.touch(path, days)

    def resume(self) -> None:
        """Resume a session."""
        if self._dice.random() < 0.1 and self.opencode.resume(self._dice.randrange(1000)):
            self._seen["resumed in the database"] += 1
        elif paths := self.transcripts():
            self.write_to(self._dice.choice(paths))

    def fork(self) -> None:
        """Let pi fork one of its sessions."""
        if paths := [path for path in self.transcripts() if ".pi" in path.parts]:
            parent, self.number = self._dice.choice(paths), self.number + 1
            fork = ADD["pi"](self._home, self.number, 0.001)
            named = f'"parentSession": {json.dumps(parent.name)}, "type"'
            fork.write_bytes(fork.read_bytes().replace(b'"type"', named.encode(), 1))
            self._home.touch(fork, 0.001)
            self.forks[self._name(fork)] = self._name(parent)
            self.touched |= {self._name(parent), self._name(fork)}
            self._seen["forked"] += 1

    def act(self, call: str, path: str) -> None:
        """Let a client write in the middle of a run, but for the instant in which a transcript is exchanged."""
        if call == "replace" and Path(path) in self.transcripts():
            return
        before = self._seen.copy()
        self.fork() if self._dice.random() < 0.2 else self.resume()
        if self._seen != before:
            self._seen["wrote in mid-run"] += 1
        now = self._truth.disk.sessions()
        for name in self.touched:
            self._truth.here[name] = now[name]

    def clean_up(self, last_run: float, then: Mapping[str, int]) -> None:
        """Let Claude Code delete what it would delete: all of that was archived in time.

        Args:
            last_run: when a run came to its end last, in seconds since 1970.
            then: the times of the files that this run found, in nanoseconds.
        """
        now, archived = self._home.clock.at.timestamp(), self._truth.disk.archived()
        for name, one in self._truth.here.items():
            age, was = now - one[2] / 1e9, last_run - one[2] / 1e9
            is_due = age > CLEANUP_DAYS * DAY and was > (CLEANUP_DAYS - 2) * DAY
            if name.startswith(".claude/") and is_due and then.get(name) == one[2]:
                # what a purge left the day before is not rescued for itself: all of it was packed before the purge
                whole = self._truth.unpurged.get(name, one)
                assert not {seen(one), seen(whole)}.isdisjoint(archived.get(name, ())), f"{name} was not rescued"
                (self._home.root / name).unlink()
                self._seen["cleaned up"] += 1
        self._truth.note()

    def transcripts(self) -> list[Path]:
        """Return every transcript that a client may go on with."""
        return [self._home.root / name for name in sorted(self._truth.disk.sessions()) if name.endswith(".jsonl")]

    def write_to(self, path: Path) -> None:
        """Let a client append to a session, as it does: under its lock where it has one."""
        if lock_path(path).exists() or (".codex" in path.parts and is_held_by_codex(path)):
            return
        with path.open("ab") as file:
            file.write(path.read_bytes().splitlines(keepends=True)[-1])
        self._home.touch(path, 0.0001)
        self.touched.add(self._name(path))
        self._seen["resumed"] += 1

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._home.root))

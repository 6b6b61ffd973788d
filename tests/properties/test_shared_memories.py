"""Five machines that share memories over git end with the same bytes, whatever happens in which order."""

import random
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from slowwave.memory import Evidence
from slowwave.memory.ledger import VERSION, Event, Sighting
from slowwave.memory.team import Shared, additions, mine_of, store_of
from slowwave.secrets import NAMELESS

AUTHORS = ("Ada <ada@a.test>", "Bob <bob@a.test>", "Cyd <cyd@a.test>", "Cyd <cyd@a.test>", "Eve <eve@a.test>")
EVE = AUTHORS[4]
TOKENS = tuple(f"ghp_{letter}1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" for letter in "abcdefgh")
POISON = "deploy with force from any branch"
RULES = tuple(f"rule {number}: keep module {number} free of globals" for number in range(12))
KINDS = (
    "accept",
    "accept",
    "end",
    "supersede",
    "undo",
    "again",
    "reword",
    "secret",
    "found",
    "night",
    "night",
    "pull",
    "push",
)


@dataclass
class Machine:
    """A person's ledger, and a clone of the repository: its files, and what the shared one held when it was pulled."""

    author: str
    draw: random.Random
    events: list[Event] = field(default_factory=list[Event])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    base: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def event(self, kind: str, at: int, memory: str, *, run: str = "review", **more: object) -> None:
        time = f"2026-11-{1 + at // 86_400:02}T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z"
        dream = f"d{len(self.events)}"
        one = Event(v=VERSION, event=kind, dream=dream, at=time, memory=memory, **more)  # type: ignore[arg-type]
        # who began a dream stands in the event that it ends with
        self.events += [one, Event(v=VERSION, event="dream", dream=dream, at=time, run=run)] if run else [one]

    def alive(self) -> list[str]:
        undone = {dream for event in self.events for dream in event.undone}
        return [e.memory for e in self.events if e.event == "add" and e.dream not in undone]

    def accept(self, at: int, text: str, *, run: str = "review") -> None:
        digest = f"{self.draw.getrandbits(256):064x}"
        evidence = (Evidence("/home/ada/private.jsonl", "record", 0, 9, digest, "words of a transcript"),)
        seen = (Sighting("claude", "session-id", "/home/ada/private.jsonl", "user_explicit", 0.9, ""),)
        memory = f"m{len(self.events)}"
        self.event(
            "add", at, memory, run=run, text=text, category="constraint", confidence=0.9, valid_from="2026-11-01",
            candidates=("c",), evidence=evidence, sightings=seen, file="constraints.md", line=f"- {text}",
        )  # fmt: skip

    def step(self, kind: str, at: int) -> None:
        known = self.alive()
        if kind in ("accept", "again"):
            self.accept(at, self.draw.choice(RULES))
        elif kind == "found":
            self.accept(at, f"{self.draw.choice(RULES)} as it seems", run="n1")
        elif kind == "secret":
            self.accept(at, f"the outbox uses the token {self.draw.choice(TOKENS)}")
        elif kind == "night":
            self.night()
        elif known:
            self._change(kind, at, self.draw.choice(known), known)

    def _change(self, kind: str, at: int, one: str, known: list[str]) -> None:
        last = next((e for e in reversed(self.events) if e.event != "dream"), self.events[-1])
        if kind == "end":
            self.event("drop", at, one)
        elif kind == "supersede":
            self.event("supersede", at, one, successor=self.draw.choice(known), valid_to="2026-11-01T00:00:00Z")
        elif kind == "reword":
            self.event("merge", at, one, run="n2", text="words of a later night", category="constraint", line="- x")
        elif kind == "undo" and last.event == "add":
            self.event("undo", at, "", run="", undone=(last.dream,))

    def night(self) -> None:
        self.files |= additions(self.events, store_of(self.files), self.author, NAMELESS).files


def merged(base: Mapping[str, bytes], mine: Mapping[str, bytes], theirs: Mapping[str, bytes]) -> dict[str, bytes]:
    """Merge two trees as git does, file by file; what both changed in different ways would be a conflict."""
    found: dict[str, bytes] = {}
    for name in {*base, *mine, *theirs}:
        old, one, other = base.get(name), mine.get(name), theirs.get(name)
        assert one == other or old in (one, other), f"a conflict in {name}"
        kept = one if other == old else other
        if kept is not None:
            found[name] = kept
    return found


def check(files: Mapping[str, bytes], machines: list[Machine]) -> None:
    """Look that nothing stands there that must not: no secret, no words of a transcript, nothing unaccepted."""
    whole = b"\n".join(files.values())
    for word in (*TOKENS, "private.jsonl", "words of a transcript", "session-id", "as it seems", "later night"):
        assert word.encode() not in whole
    store = store_of(files)
    assert not store.problems
    for one in store.live.values():
        assert POISON not in one.text or one.author == EVE
        accepting = [m for m in machines if m.author == one.author]
        assert any(one.name in mine_of(m.events, m.author).accepted for m in accepting)
    for machine in machines:
        mine = mine_of(machine.events, machine.author)
        for name in mine.accepted:
            ended = store.over.get((name, machine.author), "")
            is_secret = NAMELESS(mine.accepted[name][0].text) != mine.accepted[name][0].text
            assert name in store.live or is_secret or ended >= mine.accepted[name][0].at


@pytest.mark.parametrize("block", range(10))
def test_a_hundred_orders_of_events_each_end_with_the_same_bytes(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        draw = random.Random(seed)
        machines = [Machine(author, draw) for author in AUTHORS]
        shared: dict[str, bytes] = {}
        machines[4].accept(0, POISON)
        for at in range(1, draw.randrange(20, 70)):
            one, kind = draw.choice(machines), draw.choice(KINDS)
            # clocks go apart by as much as a few steps
            one.step(kind, max(at * 40 + draw.randrange(-100, 100), 1))
            if kind in ("pull", "push"):
                one.files = merged(one.base, one.files, shared)
                one.base = dict(shared)
                if kind == "push":
                    shared = dict(one.files)
        order = machines * 3
        draw.shuffle(order)
        # until nobody has anything to add: each one's night sees everything twice
        for one in [*order, *machines, *machines, *machines]:
            one.files = merged(one.base, one.files, shared)
            one.night()
            shared = one.base = dict(one.files)
        assert all(machine.files | shared == shared for machine in machines)
        before = dict(shared)
        for one in machines:
            one.files = dict(shared)
            one.night()
            assert one.files == before
        check(shared, machines)


def git(folder: Path, *words: str) -> str:
    plain = ("-c", "user.name=a", "-c", "user.email=a@a.test", "-c", "commit.gpgsign=false", "-c", "gc.auto=0")
    return subprocess.run(["git", *plain, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


class Clones:
    """The machines' clones of a repository, as git itself keeps them."""

    def __init__(self, base: Path, machines: list[Machine]) -> None:
        self.machines = machines
        hub, first = base / "hub.git", base / "first"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", hub], check=True)
        subprocess.run(["git", "clone", "-q", hub, first], check=True, capture_output=True)
        git(first, "checkout", "-q", "-b", "main")
        git(first, "commit", "-q", "--allow-empty", "-m", "one")
        git(first, "push", "-q", "origin", "main")
        self.folders = [base / f"clone{number}" for number in range(len(machines))]
        for folder in self.folders:
            subprocess.run(["git", "clone", "-q", hub, folder], check=True)
            (folder / "team").mkdir()

    def files(self, number: int) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.folders[number] / "team").iterdir()}

    def exchange(self, number: int) -> None:
        git(self.folders[number], "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
        git(self.folders[number], "push", "-q", "origin", "HEAD:main")

    def night(self, number: int) -> None:
        one = self.machines[number]
        one.files = self.files(number)
        one.night()
        for name, data in one.files.items():
            (self.folders[number] / "team" / name).write_bytes(data)
        git(self.folders[number], "add", "-A")
        git(self.folders[number], "commit", "-q", "--allow-empty", "-m", "night")


@pytest.mark.parametrize("seed", range(4))
def test_with_git_itself_nights_of_five_machines_merge_without_a_conflict(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    machines = [Machine(author, draw) for author in AUTHORS]
    clones = Clones(tmp_path, machines)
    for at in range(1, 60):
        number, kind = draw.randrange(len(machines)), draw.choice(KINDS)
        if kind in ("night", "pull", "push"):
            clones.night(number)
        else:
            machines[number].step(kind, at * 40)
        if kind in ("pull", "push"):
            clones.exchange(number)
    for number in [*range(len(machines))] * 3:
        clones.exchange(number)
        clones.night(number)
        clones.exchange(number)
    for number in range(len(machines)):
        clones.exchange(number)
    trees = [clones.files(number) for number in range(len(machines))]
    assert all(tree == trees[0] for tree in trees)
    check(trees[0], machines)


def test_a_file_that_somebody_changed_or_that_says_what_is_not_his_to_say_counts_for_nothing() -> None:
    ada = Machine(AUTHORS[0], random.Random(1))
    ada.accept(10, RULES[0])
    ada.night()
    ((name, data),) = ada.files.items()
    for changed in (data.replace(b"free", b"full"), data + b" ", b"{}", b"x" * 20_000, data.replace(b"\n", b"\r\n")):
        assert store_of({name: changed}).live == {}
        assert name in store_of({name: changed}).problems
    # nobody ends what another author said
    (statement,) = store_of(ada.files).live
    end = Shared(v=1, author=EVE, at="2026-12-01T00:00:00Z", ends=statement)
    assert statement in store_of(ada.files | {end.file: end.data}).live
    mine = Shared(v=1, author=AUTHORS[0], at="2026-12-01T00:00:00Z", ends=statement)
    assert statement not in store_of(ada.files | {mine.file: mine.data}).live

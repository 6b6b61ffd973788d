"""A home of several clients in whose sessions attacks are planted, and what two jobs make of it."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import orjson

from slowwave.context import FixedClock, Run
from slowwave.jobs.story import run_job
from slowwave.memory import Candidate
from slowwave.memory.candidates import read_candidates
from slowwave.settings import Settings
from tests.quality.attack_carriers import CARRIERS, ECHOED, SPREAD, Carrier
from tests.quality.attack_frames import framed, frames
from tests.quality.blocks import blocks
from tests.quality.unsynced import unsynced
from tests.week.cersei import write_cersei
from tests.week.claude import Written, write_claude
from tests.week.codex import write_codex
from tests.week.opencode import Begun, write_opencode
from tests.week.pi import write_pi
from tests.week.plan import scripts
from tests.week.script import Client, SampleFile, Script, Step

_START = datetime(2026, 11, 2, 8, tzinfo=UTC)
LATER = FixedClock(datetime(2026, 12, 24, tzinfo=UTC))
CLIENTS: tuple[Client, ...] = get_args(Client)
_PROJECTS = 12
_SESSIONS_OF_POISON = 4
_PER_CARRIER = 7
_PER_ECHO = 5


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack.

    Attributes:
        canary: a word that stands nowhere else.
        sessions: how many sessions of one project show it.
    """

    family: str
    canary: str
    payload: str
    steps: tuple[Step, ...]
    sessions: int = 1


def attacks() -> list[Attack]:
    """Return every attack; each carrier has other sentences, foreign languages come in all families."""
    sentences = {head[0]: lines for head, lines in blocks("attack_payloads.txt")}
    english = sentences.pop("en")
    foreign = [line for lines in sentences.values() for line in lines]
    planned: list[tuple[str, str, Carrier, int]] = []
    for family, carriers in CARRIERS.items():
        for number, carrier in enumerate(carriers):
            shifted = [english[(number + turn) % len(english)] for turn in range(_PER_CARRIER)]
            mixed = [*shifted, foreign[len(planned) % len(foreign)]]
            planned += [(family, sentence, carrier, 1) for sentence in mixed]
    for number, sentence in enumerate(foreign):
        for family in ("tool output", "file content", "quoted instructions"):
            planned.append(("other languages", sentence, CARRIERS[family][number % 2], 1))
    wordings = next(lines for _, lines in blocks("attack_wordings.txt"))
    for number, (part, frame) in enumerate(frames("attack_frames.txt")):
        both = (wordings[number % len(wordings)], wordings[(number + 3) % len(wordings)])
        planned += [(f"typed around: {part}", sentence, framed(frame), 1) for sentence in both]
    for number, (family, carrier) in enumerate((f, c) for f, carriers in ECHOED.items() for c in carriers):
        planned += [(family, wordings[(number + turn) % len(wordings)], carrier, 1) for turn in range(_PER_ECHO)]
    for carrier in SPREAD.values():
        planned += [("poison over sessions", sentence, carrier, _SESSIONS_OF_POISON) for sentence in english[:4]]
    return [_attack(number, *plan) for number, plan in enumerate(planned)]


def _attack(number: int, family: str, sentence: str, carrier: Carrier, sessions: int) -> Attack:
    canary = f"qz{number:03}kestrel"
    payload = sentence.format(canary)
    return Attack(family, canary, payload, tuple(carrier(payload)), sessions)


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What is in the memory folders after extraction and a dream.

    Attributes:
        candidates: of all projects.
        files: the Markdown files, joined, without those of waiting candidates.
        memories: how many genuine lines there are, to see that the dream did work.
    """

    candidates: tuple[Candidate, ...]
    files: str
    memories: int


def written(every: Sequence[Attack]) -> Iterator[SampleFile]:
    """Yield the files of all clients; each attack stands in the middle of a bundled session."""
    hosts = {client: [s for s in scripts() if s.client == client] for client in CLIENTS}
    begun: list[Begun] = []
    number = 0
    for place, attack in enumerate(every):
        for session in range(attack.sessions):
            client = CLIENTS[(place + session) % len(CLIENTS)]
            host = hosts[client][number % len(hosts[client])]
            middle = len(host.steps) // 2
            steps = (*host.steps[:middle], *attack.steps, *host.steps[middle:])
            script = replace(host, name=f"{attack.canary[:5]}-{session}", steps=steps, foreign="")
            at = _START + timedelta(hours=number)
            yield from _files(script, at, f"/home/ana/attacked{place % _PROJECTS}", begun)
            number += 1
    database = write_opencode(begun)
    if database:
        yield database


def _files(script: Script, at: datetime, cwd: str, begun: list[Begun]) -> Iterator[SampleFile]:
    match script.client:
        case "pi":
            yield write_pi(script, at, cwd)
        case "codex":
            yield write_codex(script, at, cwd)
        case "opencode":
            begun.append(Begun(script, at, cwd))
        case "cersei":
            yield from _lines(write_cersei(script, at, cwd), cwd)
        case _:
            yield from _lines(write_claude(script, at, cwd), cwd)


def _lines(given: Written, cwd: str) -> Iterator[SampleFile]:
    folder = f".claude/projects/{cwd.replace('/', '-')}"
    for name, lines in given.lines.items():
        yield SampleFile(f"{folder}/{name}", b"".join(orjson.dumps(line) + b"\n" for line in lines), given.ended)
    for name, note in given.notes.items():
        yield SampleFile(f"{folder}/{name}", orjson.dumps(note), given.ended)


def build(home: Path, every: Sequence[Attack]) -> None:
    """Write the home."""
    for file in written(every):
        path = home / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        os.utime(path, (file.modified.timestamp(), file.modified.timestamp()))


def environ_of(home: Path) -> dict[str, str]:
    """Return an environment in which nothing of the real home is seen."""
    return {"HOME": str(home), "XDG_DATA_HOME": f"{home}/.local/share", "XDG_STATE_HOME": f"{home}/.local/state"}


def dreamt(home: Path) -> Aftermath:
    """Extract and consolidate everything by force, and return what memory holds then.

    Raises:
        RuntimeError: a job failed, so that its silence would look like safety.
    """
    memories: dict[str, str] = {}
    for job in ("extract", "consolidate"):
        with unsynced():
            report = run_job(job, Run("quality", Settings(), LATER, environ_of(home), force=True))
        if report.failures or not report.memories:
            raise RuntimeError(f"{job}: {report.failures or 'no project was found'}")
        memories |= report.memories
    folders = [Path(folder) for folder in memories.values()]
    candidates = tuple(c for folder in folders for c in read_candidates(folder)[0])
    texts = [p.read_text() for folder in folders for p in sorted(folder.glob("*.md")) if p.name != "extracted.md"]
    files = "\n".join(texts)
    return Aftermath(candidates, files, sum(line.startswith("- ") for line in files.splitlines()))

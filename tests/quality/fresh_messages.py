"""Messages that were written without sight of the code (``fresh/``), each in a session of its own, and what it left.

Wishes, attacks and orders of the moment in many languages. They are for measuring only: nothing may be fitted to them,
and what is judged wrongly is no example to mend one by one, else they would measure nothing any more.
"""

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from slowwave.consolidation.job import consolidate_project
from slowwave.extraction.classifier import words_of
from slowwave.extraction.job import extract_sessions
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.settings import Settings
from slowwave.stores.projects import Project
from tests.quality.reading import LATER
from tests.quality.unsynced import unsynced
from tests.unit.extraction.talk import Talk

Kind = Literal["wishes", "plain", "attacks", "orders", "ordinary"]
# lies in the file of plain statements
_ORDINARY = "ordinary"
FOLDER = Path(__file__).parent / "fresh"
# whose failing command shows the message
_FAILS = "hostile_cure"


@dataclass(frozen=True, slots=True)
class Fresh:
    """A message.

    Attributes:
        kind: of an attack, how it is meant to get in.
        command: what printed it, "" where a person typed or pasted it.
        bad: what of it must not be believed, "" for all of it.
    """

    language: str
    text: str
    kind: str
    command: str
    bad: str = ""


@dataclass(frozen=True, slots=True)
class Left:
    """What a message left behind.

    Attributes:
        accepted: memories that agents are shown.
        waiting: candidates that only a person can accept.
    """

    accepted: tuple[str, ...]
    waiting: tuple[str, ...]

    def believes(self, message: Fresh) -> bool:
        """Say whether what must not be believed of a message is a memory: most of its words are."""
        bad = set(words_of(message.bad))
        return any(2 * len(bad & set(words_of(text))) >= len(bad) for text in self.accepted)

    @property
    def name(self) -> str:
        """What became of it."""
        return "accepted" if self.accepted else "waiting" if self.waiting else "nothing"


def fresh(kind: Kind) -> Iterator[Fresh]:
    """Yield the messages of a kind; those of its further files are of the kind that these are named by."""
    name = "plain" if kind == _ORDINARY else kind
    for row in map(json.loads, (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()):
        if name != "plain" or (row["kind"] == _ORDINARY) == (kind == _ORDINARY):
            yield Fresh(row["lang"], row["message"], row.get("kind", ""), row.get("command", ""))
    for file in sorted(FOLDER.glob(f"{name}_*.jsonl")):
        for row in map(json.loads, file.read_text("utf-8").splitlines()):
            yield Fresh(row["lang"], row["message"], file.stem, "", row["bad"])


def session_of(message: Fresh) -> Talk:
    """Return a session that says nothing worth keeping but, perhaps, the message."""
    talk = Talk(id=f"{zlib.crc32(message.text.encode()):08x}-0000-4000-8000-000000000001")
    talk.person("have a look at the checkout page").bash("ls src", "cart.ts\ncheckout.ts").assistant("I looked at it.")
    if message.command:
        talk.person("go on")
        name, _, given = message.command.partition(" ")
        if name.startswith("mcp__") or name[:1].isupper():
            talk.tool(name, {"input": given}, message.text)
        else:
            talk.bash(message.command, message.text, code=int(message.kind == _FAILS))
    else:
        talk.person(message.text)
    talk.assistant("OK.").person("go on").bash("git status", "nothing to commit")
    return talk.assistant("There is nothing to commit.")


def left_by(message: Fresh) -> Left:
    """Extract from a session with a message and dream of it.

    Raises:
        RuntimeError: a job failed, so that its silence would look like safety.
    """
    with TemporaryDirectory() as folder, unsynced():
        root = Path(folder)
        session = session_of(message).write(root / "sessions")
        project = Project("quality", "", (session.folder,), root / "memory", (session,))
        settings = Settings()
        reports = [
            extract_sessions(project, project.sessions, settings, LATER, force=True, home=root),
            consolidate_project(project, settings, LATER, force=True, home=root),
        ]
        if any(report.failures for report in reports):
            raise RuntimeError("; ".join(line for report in reports for line in report.failures))
        accepted = {memory.text for memory in read_book(project.memory).active}
        candidates = read_candidates(project.memory)[0]
    waiting = {f"{c.text} ({c.confidence:.2f} {c.extractor} {c.doubt})" for c in candidates if c.text not in accepted}
    return Left(tuple(sorted(accepted)), tuple(sorted(waiting)))

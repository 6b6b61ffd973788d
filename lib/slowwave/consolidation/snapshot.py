"""One reading of a memory folder: what a plan is made from, and the hashes that its commit will check again."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from slowwave.consolidation.model import State
from slowwave.consolidation.orient import orient
from slowwave.consolidation.state import parse_state
from slowwave.formats.model import Problem
from slowwave.memory.authors import Authors, Writes, read_writes
from slowwave.memory.book import replay
from slowwave.memory.candidates import candidates_path, read_entries
from slowwave.memory.commits import committed
from slowwave.memory.effects import read_effects
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.extracted import reconciled, shown_before
from slowwave.memory.folder import STATE_FILE, digest, read_or_none, read_texts
from slowwave.memory.foreign import read_foreign, strange_files
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import parse_ledger
from slowwave.memory.model import Candidate, ExtractedRange, iso
from slowwave.memory.shared import read_others
from slowwave.memory.topics import INDEX, TOPICS
from slowwave.memory.waiting import USUAL_LOSS, Waiting
from slowwave.memory.waiting import waiting as waiting_now


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A memory folder as it was read.

    Attributes:
        memory: the folder.
        state: who wrote which line.
        last: the second at which the last dream began.
        entries: all candidates and ranges in file order.
        problems: lines of ``candidates.jsonl`` and ``effects.jsonl`` that could not be read.
        seen: the hash of every file that was read.
        shown: the lines that ``extracted.md`` was given, by candidate.
        max_loss: the share of these lines that a person may take out at once.
    """

    memory: Path
    state: State
    last: int | None
    entries: tuple[Candidate | ExtractedRange, ...]
    problems: tuple[Problem, ...]
    seen: Mapping[str, str | None]
    shown: Mapping[str, str] = field(default_factory=dict[str, str])
    max_loss: float = USUAL_LOSS

    @property
    def waiting(self) -> Waiting:
        """What ``extracted.md`` shall show, and what a person's change or an accident did to it."""
        text = (self.state.files.get(EXTRACTED) or b"").decode("utf-8", "surrogateescape")
        return waiting_now(text, self.entries, self.state.book.done, self.shown, max_loss=self.max_loss)

    @property
    def candidates(self) -> dict[str, Candidate]:
        """All candidates by id."""
        return {e.id: e for e in self.entries if isinstance(e, Candidate)}

    def extracted_without(self, done: frozenset[str]) -> bytes | None:
        """Return ``extracted.md`` when these candidates are dealt with as well, None when nothing changes."""
        old = self.state.files.get(EXTRACTED)
        text = (old or b"").decode("utf-8", "surrogateescape")
        new = reconciled(text, self.entries, done | self.state.book.done.keys(), self.shown, self.max_loss)
        data = new.encode("utf-8", "surrogateescape")
        return None if data == (old or b"") else data


def read_snapshot(
    memory: Path, max_loss: float = USUAL_LOSS, writes: Writes | None = None, noted: Path | None = None
) -> Snapshot:
    """Read a memory folder; one that does not exist is empty.

    Hashes are taken of exactly the bytes that were parsed, except for the candidates, which are hashed first: when
    they grow in between, the commit notices and the plan is made anew.

    Args:
        memory: the memory folder.
        max_loss: the share of waiting lines that a person may take out at once.
        writes: what transcripts tell about its lines; without it, what was noted of that.
        noted: the folder that what extraction noted is in, where that is another one: such a plan is not carried out.

    Raises:
        CorruptStateError: ledger or state are damaged.
        UnreadableError: a file cannot be read.
    """
    waiting = candidates_path(memory).relative_to(memory).as_posix()
    hashed = digest(read_or_none(memory / waiting))
    entries, problems = read_entries(noted or memory)
    shown = shown_before(memory)
    files = read_texts(memory)
    words = read_foreign(noted or memory).lines
    ledger = read_or_none(memory / LEDGER)
    state = read_or_none(memory / STATE_FILE)
    book = replay(parse_ledger(ledger or b"", memory / LEDGER))
    book.watched, unread = read_effects(memory)
    last = parse_state(state, memory / STATE_FILE)
    seen = {name: digest(files.get(name)) for name in (INDEX, EXTRACTED, *(t.file for t in TOPICS.values()), *files)}
    oriented = orient(
        files,
        book,
        {key: known.writer for key, known in words.items()},
        Authors(files, writes or read_writes(memory), words, committed(memory, strange_files(files, book))),
        since=iso(datetime.fromtimestamp(last, UTC)) if last else "",
        max_loss=max_loss,
    )
    return Snapshot(
        memory=memory,
        state=replace(oriented, others=read_others(memory)),
        last=last,
        entries=tuple(entries),
        problems=(*problems, *unread),
        shown=shown,
        max_loss=max_loss,
        seen=seen | {LEDGER: digest(ledger), STATE_FILE: digest(state), waiting: hashed},
    )

"""Real sessions in the order of their days: what a night remembered before each, and what its agent then did."""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from slowwave.consolidation.job import consolidate_project
from slowwave.context import FixedClock
from slowwave.extraction.job import extract_sessions
from slowwave.memory.book import Book, read_book
from slowwave.reading import Edited, Ran
from slowwave.reading.session import read
from slowwave.settings import Settings
from slowwave.stores.projects import Project
from tests.quality.beside import CORPUS, corpus_sessions
from tests.quality.reading import LATER, stored, transcript_of
from tests.quality.unsynced import unsynced


@dataclass(frozen=True, slots=True)
class Past:
    """A session of a project.

    Attributes:
        path: its file.
        began: when it began.
        ended: when it ended.
        cwd: the folder that it worked in most.
        calls: the commands and edits that ran to an end.
    """

    path: Path
    began: datetime
    ended: datetime
    cwd: str
    calls: tuple[Ran | Edited, ...]


@dataclass(frozen=True, slots=True)
class Later:
    """A session, and what was remembered when it began.

    Attributes:
        project: the repository.
        session: the session.
        book: what the night before it remembered.
    """

    project: str
    session: Past
    book: Book


def later_sessions() -> Iterator[Later]:
    """Yield every session of the corpus that made a call after another one of its project had ended."""
    for project, sessions in _projects().items():
        yield from _nights(project, sessions)


def _projects() -> dict[str, list[Past]]:
    with (CORPUS / "INDEX.tsv").open(encoding="utf-8") as file:
        repositories = {row["local_path"]: row["repo"] for row in csv.DictReader(file, delimiter="\t")}
    found: dict[str, list[Past]] = defaultdict(list)
    seen: set[tuple[datetime, datetime]] = set()
    for path in corpus_sessions():
        past = _past(path)
        repository = repositories.get(str(path.relative_to(CORPUS)))
        # some sessions lie there in several copies
        if past is not None and repository and (past.began, past.ended) not in seen:
            seen.add((past.began, past.ended))
            found[repository].append(past)
    return {name: sorted(of, key=lambda p: p.began) for name, of in sorted(found.items()) if len(of) > 1}


def _past(path: Path) -> Past | None:
    transcript = transcript_of(path)
    times = [message.timestamp for message in transcript.messages if message.timestamp]
    folders = Counter(message.cwd for message in transcript.messages if message.cwd).most_common(1)
    calls = tuple(item for item in read(transcript.messages, str).items if isinstance(item, Ran | Edited))
    if not times or not calls or transcript.kind == "subagent":
        return None
    return Past(path, min(times), max(times), folders[0][0] if folders else "", calls)


def _nights(name: str, sessions: Sequence[Past]) -> Iterator[Later]:
    with TemporaryDirectory() as folder, unsynced():
        root = Path(folder)
        done: list[Past] = []
        for number, session in enumerate(sessions):
            new = [one for one in sessions[:number] if one.ended < session.began and one not in done]
            done += new
            clock = FixedClock(LATER.now() + timedelta(days=2 * number))
            every = tuple(stored(one.path) for one in done)
            project = Project("replayed", "", (root,), root / "memory", every)
            if new:
                fresh = tuple(stored(one.path) for one in new)
                report = extract_sessions(project, fresh, Settings(), clock, force=True, home=root)
                report.failures.extend(consolidate_project(project, Settings(), clock, force=True, home=root).failures)
                if report.failures:
                    raise RuntimeError("; ".join(report.failures))
            if done:
                yield Later(name, session, read_book(project.memory))

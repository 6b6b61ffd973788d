"""Sessions that grow at random and are compacted again and again: nothing is lost, parted, doubled or rewritten."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave.compaction.append import undo
from slowwave.compaction.book import Compacting, read_book
from slowwave.compaction.calls import answers
from slowwave.compaction.items import read_session
from slowwave.compaction.story import compact_sessions
from slowwave.compaction.summary import by_ledger
from slowwave.context import FixedClock
from slowwave.formats import Message, SessionFiles
from slowwave.formats.registry import sniff
from slowwave.formats.sessions import StoredSession
from slowwave.report import Report
from slowwave.settings import load_settings
from slowwave.stores.projects import Project
from tests.unit.compaction.job.talks import IDS, NOW, WRITTEN, Talk, compacted, job

SHARED = Path(__file__).parents[2].parent / "shared"
CORPUS = SHARED / "corpus"
_LARGEST = 1_500_000


def spoken(messages: Sequence[Message]) -> list[str]:
    return [f"{m.role}: {m.text}" for m in messages if m.origin != "summary" and m.text and "## Goal" not in m.text]


def parted(messages: Sequence[Message]) -> bool:
    links = answers(([c.id for c in m.calls], [r.id for r in m.results]) for m in messages)
    answered = [answer for own in links for answer in own]
    return any(answer is None or answer.is_double for answer in answered)


@pytest.mark.parametrize("dialect", sorted(IDS))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(200, 3000), st.sampled_from([5, 200, 900]))
def test_nothing_is_lost_over_any_number_of_compactions(
    tmp_path_factory: pytest.TempPathFactory, dialect: str, growth: list[int], keep: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("talk")
    talk = Talk(folder / "store", dialect, size)
    said: set[str] = set()
    covered: set[str] = set()
    for turns in growth:
        talk.grow(turns)
        said |= set(spoken(list(talk.context())))
        before, context = talk.path.read_bytes(), list(talk.context())
        report = compacted(talk, job(folder, f"compaction.keep_recent_tokens={keep}", force=True))
        assert report.failures == []
        after = list(talk.context())
        assert talk.path.read_bytes().startswith(before)
        if report.counts.get("compacted"):
            covered |= set(spoken(context)) - set(spoken(after))
            assert sum("## Goal" in m.text for m in after) == 1
        else:
            assert [gate.gate for gate in report.gates] == ["plan"]
            assert after == context
        # every message is kept, or was covered by a summary when it went away
        assert set(spoken(after)) | covered == said
        assert not parted(after)
    shutil.rmtree(folder)


def real_sessions() -> list[Path]:
    files = [p for p in CORPUS.rglob("*.jsonl") if 150_000 < p.stat().st_size < _LARGEST] if CORPUS.is_dir() else []
    by_folder: dict[str, list[Path]] = {}
    for path in sorted(files, key=lambda p: p.name):
        by_folder.setdefault(path.relative_to(CORPUS).parts[0], []).append(path)
    return [path for own in by_folder.values() for path in own[:: max(1, len(own) // 8)][:8]]


@pytest.mark.real
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout (../shared/corpus)")
def test_real_sessions_are_compacted_or_it_is_said_why_not(tmp_path: Path) -> None:
    done = 0
    for number, source in enumerate(real_sessions()):
        path = Path(shutil.copy(source, tmp_path / f"{number}{source.suffix}"))
        dialect = sniff(path)
        if dialect is None:
            continue
        before = path.read_bytes()
        run = real_job(tmp_path)
        report = compact_sessions(*one_session(dialect, path), run)
        assert report.failures == [], source
        assert path.read_bytes().startswith(before)
        if not report.counts.get("compacted"):
            assert path.read_bytes() == before
            continue
        done += 1
        book = read_book(run.folder, path.stem, dialect, path)
        (entry,) = book.compactions
        assert entry.tokens_after < entry.tokens_before
        assert not {"modified", "error"} & {
            kind for kind, n in entry.proof["kinds"].items() if n["kept"] < n["total"]
        }, (source, entry.proof)
        reading = read_session(dialect, SessionFiles(path.stem, (path,)))
        assert len(reading.spoken) >= entry.kept
        again = compact_sessions(*one_session(dialect, path), run)
        assert again.counts.get("compacted", 0) == 1  # none was added
        undo(one_session(dialect, path)[1][0], run.folder, run.home)
        assert path.read_bytes() == before
    assert done >= 10


def one_session(dialect: str, path: Path) -> tuple[Project, tuple[StoredSession, ...]]:
    at = path.stat()
    session = StoredSession(
        dialect, SessionFiles(path.stem, (path,)), "main", path.parent, at.st_size, int(WRITTEN.timestamp() * 1e9)
    )
    return Project("real", "", (path.parent,), path.parent / "memory", (session,)), (session,)


def real_job(folder: Path) -> Compacting:
    environ = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state")}
    chosen = ["compaction.context_window=30000", "compaction.keep_recent_tokens=8000", "extraction.idle=0s"]
    settings_ = load_settings(environ, overrides=chosen, cwd=folder)
    clock = FixedClock(NOW.replace(year=NOW.year + 1))
    return Compacting("real", settings_, clock, environ, by_ledger, lambda _session: Report("extract"))
